"""Which files of a crate name items of which others.

An item that a module exports again counts as that of the file which defines it. So a `mod.rs` that only declares and
exports its children is in nobody's way.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from circles import Imports

NAME = r"[A-Za-z_]\w*"
# What is no code: comments, and texts.
NOISE = re.compile(
    r'//[^\n]*|/\*.*?\*/|b?r(?P<hashes>#*)".*?"(?P=hashes)|b?"(?:\\.|[^"\\])*"|b?\'(?:\\.[^\']*|[^\'\\])\'', re.S
)
TEST_ITEM = re.compile(r"#\[cfg\(test\)\]\s*(?:#\[[^\]]*\]\s*)*")
USE = re.compile(rf"(?P<public>\bpub(?:\([^)]*\))?\s+)?\buse\s+(?P<tree>[^;]+);")
PATH = re.compile(rf"(?<![\w:.$])(?:\$)?({NAME}(?:\s*::\s*{NAME})+)")
MODULE = re.compile(rf"\bmod\s+({NAME})\s*[;{{]")

TESTS = {"tests", "tests.rs", "fuzz.rs"}

Module = tuple[str, ...]


@dataclass
class File:
    """A module that has a file of its own."""

    path: Path
    module: Module
    text: str
    # What names stand for, by `use` and by `mod`; those that others may import through this module.
    names: dict[str, Module] = field(default_factory=dict)
    exported: dict[str, Module] = field(default_factory=dict)
    wildcards: list[Module] = field(default_factory=list)


def imports(sources: Path) -> Imports:
    """Of every file that is not a test, the files whose items it names, and by which paths."""
    paths = [path for path in sorted(sources.rglob("*.rs")) if not TESTS & set(path.relative_to(sources).parts)]
    files = {file.module: file for file in (read(path, sources) for path in paths)}
    for file in files.values():
        declare(file, files)
    return {file.path: named_by(file, files) for file in files.values()}


def read(path: Path, sources: Path) -> File:
    module = path.relative_to(sources).with_suffix("").parts
    if module[-1] in ("mod", "lib", "main"):
        module = module[:-1]
    text = NOISE.sub(lambda noise: '""' if '"' in noise[0] else " ", path.read_text(encoding="utf-8"))
    return File(path, module, without_tests(text))


def without_tests(text: str) -> str:
    """The text without items that only tests have."""
    while found := TEST_ITEM.search(text):
        text = text[: found.start()] + text[end_of_item(text, found.end()) :]
    return text


def end_of_item(text: str, start: int) -> int:
    depth = 0
    for at in range(start, len(text)):
        if text[at] in "{([":
            depth += 1
        elif text[at] in "})]":
            depth -= 1
            if depth < 0 or (depth == 0 and text[at] == "}" and text[at + 1 : at + 2] != ";"):
                return at + (depth == 0)
        elif text[at] in ";," and depth == 0:
            return at + 1
    return len(text)


def declare(file: File, files: dict[Module, File]) -> None:
    for name in MODULE.findall(file.text):
        if (*file.module, name) in files:
            file.names[name] = file.exported[name] = (*file.module, name)
    for use in USE.finditer(file.text):
        for path, name in leaves(use["tree"]):
            target = absolute(path, file, files)
            if target is None:
                continue
            if name == "*":
                file.wildcards.append(target)
            elif name != "_":
                file.names[name] = target
                if use["public"]:
                    file.exported[name] = target


def leaves(tree: str, before: Module = ()) -> list[tuple[Module, str]]:
    """The paths that a tree of `use` names, and their names in the file."""
    tree = tree.strip()
    if not tree:
        return []
    if "{" in tree:
        head, _, rest = tree.partition("{")
        before = (*before, *parts(head))
        return [leaf for branch in branches(rest[: rest.rindex("}")]) for leaf in leaves(branch, before)]
    path, _, other = (part.strip() for part in re.sub(r"\s+as\s+", "\0", tree).partition("\0"))
    path = (*before, *parts(path))
    if path[-1] == "*":
        return [(path[:-1], "*")]
    if path[-1] == "self" and len(path) > 1:
        path = path[:-1]
    return [(path, other or path[-1])]


def parts(path: str) -> Module:
    return tuple(part for part in (part.strip() for part in path.split("::")) if part)


def branches(text: str) -> list[str]:
    found, depth = [""], 0
    for letter in text:
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth == 0:
            found.append("")
        else:
            found[-1] += letter
    return found


def absolute(path: Module, file: File, files: dict[Module, File]) -> Module | None:
    """The path from the root of the crate; none if it leads elsewhere."""
    at = None
    for count, part in enumerate(path):
        if part == "crate" and count == 0:
            at = ()
        elif part == "self" and count == 0:
            at = file.module
        elif part == "super":
            at = (file.module if at is None else at)[:-1]
        elif at is None:
            at = file.names.get(part)
            if at is None and file.path.name in ("mod.rs", "lib.rs") and (*file.module, part) in files:
                at = (*file.module, part)
            if at is None:
                return None
        else:
            at = (*at, part)
    return at


def owner(path: Module, files: dict[Module, File], seen: frozenset[Module] = frozenset()) -> File | None:
    """The file with the item of a path: where it is defined, not where it is exported again."""
    if path in files or path in seen:
        return files.get(path)
    module = next((path[:length] for length in range(len(path) - 1, -1, -1) if path[:length] in files), None)
    if module is None:
        return None
    file, name = files[module], path[len(module)]
    if name in file.exported and file.exported[name] != path:
        return owner((*file.exported[name], *path[len(module) + 1 :]), files, seen | {path})
    if not defines(file, name):
        for wildcard in file.wildcards:
            found = files.get(wildcard)
            if found and (name in found.exported or defines(found, name)):
                return owner((*wildcard, name), files, seen | {path})
    return file


def defines(file: File, name: str) -> bool:
    return re.search(rf"\b(?:fn|struct|enum|trait|type|const|static|mod|union|macro_rules!)\s+{name}\b", file.text) is not None


def named_by(file: File, files: dict[Module, File]) -> dict[Path, set[str]]:
    found: dict[Path, set[str]] = {}
    for path in paths(file):
        target = absolute(path, file, files)
        other = None if target is None else owner(target, files)
        if other and other is not file and not (target in files and is_folder_of(other, files)):
            found.setdefault(other.path, set()).add("::".join(path))
    return found


def is_folder_of(file: File, files: dict[Module, File]) -> bool:
    """Whether a module has children: who imports the module itself names one of them by it, which is seen elsewhere."""
    return any(module[:-1] == file.module and module for module in files if module != file.module)


def paths(file: File) -> list[Module]:
    """The paths in the code, but for those that are only exported again."""
    found: list[Module] = []
    for use in USE.finditer(file.text):
        if not use["public"]:
            found += [path for path, _ in leaves(use["tree"])]
    code = USE.sub(";", file.text)
    found += [parts(path) for path in PATH.findall(code)]
    # A name that is exported again and used here as well.
    found += [(name,) for name in file.exported if re.search(rf"(?<!mod )(?<![\w.]){name}\b(?!\s*;)", code) and not name.islower()]
    return found
