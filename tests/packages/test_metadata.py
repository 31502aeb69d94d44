"""What packages say of themselves: one version, one set of platforms."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
import unittest
from pathlib import Path

ROOT = Path(__file__).parents[2]


def text(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def toml(path: str) -> dict:
    return tomllib.loads(text(path))


def number(version: str | None) -> list[int]:
    return [int(part) for part in (version or "0").split(".")][:2]


PACKAGE = toml("Cargo.toml")["workspace"]["package"]
PLATFORMS = json.loads(text(".github/release/platforms.json"))


class Version(unittest.TestCase):
    def test_all_say_the_same(self) -> None:
        header = text("bindings-c/include/sluicegate.h")
        numbers = [re.search(rf"#define SLUICEGATE_VERSION_{part} (\d+)", header)[1] for part in ("MAJOR", "MINOR", "PATCH")]
        dependencies = toml("Cargo.toml")["workspace"]["dependencies"]
        stated = {
            "package.json": json.loads(text("bindings-node/package.json"))["version"],
            "package-lock.json": json.loads(text("bindings-node/package-lock.json"))["version"],
            "sluicegate.h": ".".join(numbers),
            "sluicegate": dependencies["sluicegate"]["version"],
            "sluicegate-lua": dependencies["sluicegate-lua"]["version"],
            "sluicegate-lab": dependencies["sluicegate-lab"]["version"],
            "sluicegate-cli": dependencies["sluicegate-cli"]["version"],
        }
        self.assertEqual({PACKAGE["version"]}, set(stated.values()), stated)

    def test_members_of_the_workspace_take_theirs_from_it(self) -> None:
        for folder in ("core", "core/lab", "core/cli", "lua", "bindings-c", "bindings-python", "bindings-node"):
            package = toml(f"{folder}/Cargo.toml")["package"]
            for field in ("version", "rust-version", "license", "authors", "repository", "homepage"):
                self.assertEqual({"workspace": True}, package[field], f"{folder}: {field}")
        # maturin passes on the addresses of Cargo.toml only if they are declared.
        self.assertEqual(["version", "urls"], toml("bindings-python/pyproject.toml")["project"]["dynamic"])

    def test_the_changelog_has_it(self) -> None:
        self.assertRegex(text("CHANGELOG.md"), rf"(?m)^## {re.escape(PACKAGE['version'])} - (\d{{4}}-\d\d-\d\d|unreleased)$")

    def test_the_oldest_rust_is_stated_alike(self) -> None:
        version = PACKAGE["rust-version"]
        self.assertIn(f"Rust {version} or newer", text("core/README.md"))
        self.assertIn(f"Rust ({version} or newer)", text("bindings-c/README.md"))
        self.assertIn(f'RUST_VERSION: "{version}"', text(".github/workflows/test.yml"))

    def test_no_dependency_needs_a_newer_rust(self) -> None:
        command = ["cargo", "metadata", "--format-version", "1", "--locked"]
        output = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout
        packages = json.loads(output)["packages"]
        self.assertGreater(len(packages), 100)
        newer = [it["name"] for it in packages if number(it["rust_version"]) > number(PACKAGE["rust-version"])]
        self.assertEqual([], newer)


class Platforms(unittest.TestCase):
    def test_the_loader_knows_all_of_them(self) -> None:
        known = re.findall(r"'([\w-]+)': \(\) => require\('@sluicegate/([\w-]+)'\)", text("bindings-node/lib/native.js"))
        names = sorted(platform["name"] for platform in PLATFORMS)
        self.assertEqual([(name, name) for name in names], known)

    def test_the_page_has_a_row_for_each(self) -> None:
        page = text("docs/platforms.md")
        for platform in PLATFORMS:
            self.assertIn(f"| `{platform['name']}` |", page)

    def test_the_page_says_the_same_versions(self) -> None:
        page = text("docs/platforms.md")
        python = toml("bindings-python/pyproject.toml")["project"]["requires-python"].removeprefix(">=")
        node = json.loads(text("bindings-node/package.json"))["engines"]["node"].removeprefix(">=")
        for words in (f"Rust {PACKAGE['rust-version']}", f"CPython {python}", f"Node {node}"):
            self.assertIn(words, page)


if __name__ == "__main__":
    unittest.main()
