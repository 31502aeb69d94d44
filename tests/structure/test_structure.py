"""No file imports what imports it, directly or by others; nor does a folder. And the map of the files is right, and the mistakes fit."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory

import rust
import scripts
from circles import Imports, faults

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.append(str(REPOSITORY / "tests/mistakes"))

from mistakes import MISTAKES  # noqa: E402
from workspace import copy_to  # noqa: E402

SOURCE = Path("core/src")

# With the tests of the crate, which the mistakes are found by.
CHECK = "cargo check --package sluicegate --lib --profile test --all-features --locked --quiet".split()
# Some profile of its own: cargo would take the copy for the crate itself later, as both have the same name.
PROFILE = ["--config", "profile.test.package.sluicegate.codegen-units=2"]

CRATES = ["core/src", "core/lab/src", "core/cli/src", "lua/src", "bindings-python/src", "bindings-node/src", "bindings-c/src"]


class Structure(unittest.TestCase):
    """The repository as it is."""

    def check(self, folder: str, imports: Imports) -> None:
        self.assertGreater(sum(map(len, imports.values())), 2, "nothing is read")
        found = faults(REPOSITORY / folder, imports)
        self.assertFalse(found, "\n".join(found))

    def test_crates(self) -> None:
        for folder in CRATES:
            with self.subTest(folder):
                self.check(folder, rust.imports(REPOSITORY / folder))

    def test_python(self) -> None:
        folder = "bindings-python/python/sluicegate"
        self.check(folder, scripts.of_python(REPOSITORY / folder))

    def test_node(self) -> None:
        self.check("bindings-node/lib", scripts.of_node(REPOSITORY / "bindings-node/lib"))


class Map(unittest.TestCase):
    """CONTRIBUTING, which says where a change goes."""

    def test_files(self) -> None:
        text = (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8")
        listed = subprocess.run(["git", "ls-files"], cwd=REPOSITORY, check=True, capture_output=True, text=True)
        known = [f"/{path}" for path in listed.stdout.split() if (REPOSITORY / path).exists()]
        named = set(re.findall(r"`([\w./-]+\.(?:rs|py|pyi|js|ts|json|h|c|toml|md))`", text))
        self.assertGreater(len(named), 50)
        self.assertEqual([name for name in sorted(named) if not any(path.endswith(f"/{name}") for path in known)], [])


class Mistakes(unittest.TestCase):
    """Those that `tests/mistakes/run` makes in the driver."""

    def test_they_fit(self) -> None:
        self.assertGreater(len(MISTAKES), 20)
        for mistake in MISTAKES:
            source = (REPOSITORY / SOURCE / mistake.file).read_text(encoding="utf-8")
            self.assertEqual(source.count(mistake.right), 1, mistake.name)

    def test_they_compile(self) -> None:
        sources: dict[Path, str] = {}
        for mistake in MISTAKES:
            path = SOURCE / mistake.file
            source = sources.get(path) or (REPOSITORY / path).read_text(encoding="utf-8")
            self.assertEqual(source.count(mistake.right), 1, f"{mistake.name}: overlaps another mistake")
            sources[path] = source.replace(mistake.right, mistake.wrong)
        target = Path(os.environ.get("CARGO_TARGET_DIR") or REPOSITORY / "target").absolute()
        copy = target / "all-mistakes"
        copy_to(copy, sources)
        environment = {**os.environ, "CARGO_TARGET_DIR": str(target)}
        # In units of its own: cargo would take those of the copy for those of the repository.
        own = [f"--config=profile.test.package.{name}.debug=0" for name in ("sluicegate", "sluicegate-lua")]
        command = [*CHECK, *PROFILE, *own, "--manifest-path", str(copy / "Cargo.toml")]
        # From the repository, by whose settings of cargo the dependencies are compiled already.
        check = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False)
        self.assertEqual(check.returncode, 0, check.stderr)


class Noticed(unittest.TestCase):
    """Whether a circle is found."""

    def found(self, files: dict[str, str]) -> list[str]:
        with TemporaryDirectory() as folder:
            sources = Path(folder).resolve() / "src"
            for name, text in files.items():
                (sources / name).parent.mkdir(parents=True, exist_ok=True)
                (sources / name).write_text(text, encoding="utf-8")
            imports = rust.imports(sources) or scripts.of_python(sources)
            return faults(sources, imports or scripts.of_node(sources))

    def test_two_files(self) -> None:
        files = {"lib.rs": "mod a;\nmod b;", "a.rs": "use crate::b::{self, B};\npub struct A;", "b.rs": "struct B(super::a::A);"}
        self.assertIn("a.rs -> b.rs: crate::b", "".join(self.found(files)))
        files["b.rs"] = "struct B; // super::a::A\n#[cfg(test)]\nmod tests {\n    use super::super::a::A;\n}"
        self.assertEqual(self.found(files), [])

    def test_a_parent_with_items_of_its_own(self) -> None:
        files = {"lib.rs": "mod a;", "a/mod.rs": "mod b;\nuse b::B;\npub struct A(B);", "a/b.rs": "use super::A;\npub struct B;"}
        self.assertIn("a/b.rs -> a/mod.rs: super::A", "".join(self.found(files)))
        files["a/mod.rs"] = "mod b;\nmod c;\npub use b::B;\npub use c::A;"
        files["a/c.rs"] = "pub struct A;"
        self.assertEqual(self.found(files), [])

    def test_two_folders(self) -> None:
        files = {
            "lib.rs": "mod a;\nmod b;",
            "a/mod.rs": "pub mod x;\npub mod y;",
            "a/x.rs": "use crate::b::x::X;",
            "a/y.rs": "pub struct Y;",
            "b/mod.rs": "pub mod x;\npub mod y;",
            "b/x.rs": "pub struct X;",
            "b/y.rs": "fn f() { crate::a::y::Y }",
        }
        self.assertIn("a circle of what src holds", "".join(self.found(files)))

    def test_python(self) -> None:
        files = {"a.py": "from .b import B", "b.py": "if TYPE_CHECKING:\n    from .a import A"}
        self.assertIn("b.py -> a.py: A", "".join(self.found(files)))

    def test_node(self) -> None:
        files = {"a.js": "const { b } = require('./b.js')", "b.js": "/** @import { A } from './a.js' */"}
        self.assertEqual(self.found(files), [])
        files["b.js"] = "import { a } from './a.js'"
        self.assertIn("b.js -> a.js", "".join(self.found(files)))


if __name__ == "__main__":
    unittest.main()
