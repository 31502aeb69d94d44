"""reference.py SITE: whether the built page on Python has every name that a module of the package exports."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

from blocks import ROOT

PACKAGE = ROOT / "bindings-python/python/sluicegate"


def exported(module: Path) -> list[str]:
    """What a module's `__all__` lists."""
    for statement in ast.parse(module.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "__all__":
            return ast.literal_eval(statement.value)
    return []


def main(site: Path) -> int:
    page = (site / "reference/python/index.html").read_text(encoding="utf-8")
    shown = set(re.findall(r'id="(sluicegate\.[\w.]+)"', page))
    # The package exports the errors again, which stand where they are defined.
    shown |= {f"sluicegate.{name.removeprefix('sluicegate.errors.')}" for name in shown}
    modules = [module for module in PACKAGE.glob("*.py") if not module.stem.startswith("_")]
    names = [f"sluicegate.{name}" for name in exported(PACKAGE / "__init__.py")]
    names += [f"sluicegate.{module.stem}.{name}" for module in modules for name in exported(module)]
    missing = [name for name in names if name not in shown]
    for name in missing:
        print(f"docs/reference/python.md lacks {name}")
    return 1 if missing or not names else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
