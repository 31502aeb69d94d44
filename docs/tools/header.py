"""Writes the reference of the C library from its header: header.py HEADER PAGE."""

from __future__ import annotations

import re
import sys
from pathlib import Path

ITEM = re.compile(r"(?P<doc>(?:^///.*\n)+)(?P<code>^(?!///)(?:.*\n)+?)(?=^$|^///|^#)", re.MULTILINE)


def intro(header: str) -> str:
    """The comment that the header begins with, of which the conventions are a list."""
    lines = [line.removeprefix(" *").removeprefix(" ") for line in header.split("*/")[0].splitlines()[1:]]
    text = "\n".join(lines)
    return re.sub(r"^(\w+) {2,}(.*(?:\n {10,}.*)*)", _convention, text, flags=re.MULTILINE)


def _convention(found: re.Match[str]) -> str:
    text = " ".join(line.strip() for line in found[2].splitlines())
    return f"- **{found[1]}.** {text}"


def name_of(code: str) -> str:
    for pattern in (r"^#define (\w+)", r"\(\*(\w+)\)", r"(\w+)\(", r"\}\s*(\w+);", r"(\w+);\s*$"):
        if found := re.search(pattern, code):
            return found[1]
    raise ValueError(f"no name in {code!r}")


def kind_of(code: str) -> str:
    if code.startswith("#define"):
        return "Constants"
    return "Types" if code.startswith("typedef") else "Functions"


def item(doc: str, code: str) -> str:
    text = "\n".join(line.removeprefix("///").removeprefix(" ") for line in doc.splitlines())
    return f"### {name_of(code)} {{ #{name_of(code)} }}\n\n```c\n{code.rstrip()}\n```\n\n{text}\n"


def page(header: str) -> str:
    sections: dict[str, list[str]] = {"Functions": [], "Types": [], "Constants": []}
    for found in ITEM.finditer(header):
        sections[kind_of(found["code"])].append(item(found["doc"], found["code"]))
    parts = ["# C", intro(header)]
    for title, items in sections.items():
        parts += [f"## {title}", *items]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    source, target = map(Path, sys.argv[1:])
    target.parent.mkdir(exist_ok=True)
    target.write_text(page(source.read_text(encoding="utf-8")), encoding="utf-8")
