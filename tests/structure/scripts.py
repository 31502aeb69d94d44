"""Which files of the Python and of the Node package import from which others."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from circles import Imports

REQUIRE = re.compile(r"""(?:\brequire\(|\bfrom\s+|\bimport\s+)['"](\.{1,2}/[^'"]+)['"]""")
COMMENT = re.compile(r"/\*.*?\*/|^\s*//[^\n]*", re.S | re.M)


def of_python(package: Path) -> Imports:
    """Imports for type checkers count, too."""
    return {path: of_module(path, package) for path in sorted(package.rglob("*.py"))}


def of_module(path: Path, package: Path) -> dict[Path, set[str]]:
    found: dict[Path, set[str]] = {}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.ImportFrom):
            continue
        base = package.parent if node.level == 0 else path.parents[node.level - 1]
        module = base.joinpath(*(node.module or "").split("."))
        for name in node.names:
            # The module itself, or one in the package that the name stands for.
            for target in ((module / name.name).with_suffix(".py"), module.with_suffix(".py")):
                if target.is_file() and target != path:
                    found.setdefault(target, set()).add(name.name)
                    break
    return found


def of_node(package: Path) -> Imports:
    """Those of types, which stand in comments, do not count."""
    found: Imports = {}
    for path in sorted(package.rglob("*.js")):
        code = COMMENT.sub("", path.read_text(encoding="utf-8"))
        targets = {(path.parent / name).resolve() for name in REQUIRE.findall(code)}
        found[path] = {target: {target.name} for target in targets if target.is_file() and target != path}
    return found
