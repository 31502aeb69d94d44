"""What examples of the pages must not teach: an address as a key by which one client has many, and limits that count otherwise
than what they replace. And sentences that readers stumbled over, so that they do not come back."""

from __future__ import annotations

import re
import unittest
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
MIGRATION = REPOSITORY / "docs/migration"

BLOCK = re.compile(r"^( *)```.*?^\1```", re.M | re.S)
# A call that is given an address: one of the documentation, or that of a request.
ADDRESS = re.compile(
    r"\b(?:check|peek|reserve|charge|wait|key)\b\W.*?(?:[\"']203\.0\.113\.\d+[\"']|client\.host|request\.ip\b|remote_addr\b|remoteAddress)"
)
COUNTS_BY_NETWORK = re.compile(r"ip_address|address_?key", re.I)

# By page and section: what the package that is replaced counts in, as far as it is not told otherwise.
COUNTED_IN = {
    "express-rate-limit.md": "fixed_window",
    "rate-limiter-flexible.md": "fixed_window",
    "limits.md#Flask-Limiter": "fixed_window",
    "limits.md#slowapi": "fixed_window",
    "python-frameworks.md#django-ratelimit": "fixed_window",
    "python-frameworks.md#Django REST framework": "sliding_log",
    "python-frameworks.md#fastapi-limiter": "fixed_window",
}

# In pages, errors and help alike.
ODD = re.compile(
    r"cannot be decided now|admitted undecided|has to have a unit of time|a resource is needed|(?:begin|lease begins?) anew|"
    r"[Ss]ay of (?:every rule|servers)|escaped twice is decoded once|the network says nothing of it|it is so only because|"
    r"rules that stand in a variable|server says nothing of|shows a page of another origin nothing|Who limits routes"
)
SPOKEN = ["core/src", "core/cli/src", "bindings-python/src", "bindings-python/python", "bindings-node/src", "bindings-node/lib",
          "bindings-c/src", "bindings-c/include"]


def pages() -> list[Path]:
    """Those of the site, and the README of every package."""
    readmes = [path for path in REPOSITORY.glob("*/README.md")]
    return [REPOSITORY / "README.md", *readmes, *sorted((REPOSITORY / "docs").rglob("*.md"))]


def blocks(text: str) -> list[str]:
    """The code of a page, of which the old one of a migration is not ours."""
    ours = re.sub(r'^=== "Before"$.*?(?=^=== )', "", text, flags=re.M | re.S)
    return [found.group() for found in BLOCK.finditer(ours)]


def section(place: str) -> str:
    """The text of a page, or of one section of it."""
    name, _, title = place.partition("#")
    text = (MIGRATION / name).read_text()
    return text if not title else re.split(r"^## ", text.split(f"\n## {title}\n")[1], maxsplit=1, flags=re.M)[0]


class Pages(unittest.TestCase):
    """The examples of the site, and of every README."""

    def test_addresses_are_keys_by_their_network(self) -> None:
        seen = 0
        for page in pages():
            if "node_modules" in page.parts:
                continue
            for block in blocks(page.read_text()):
                if ADDRESS.search(block):
                    seen += 1
                    self.assertRegex(block, COUNTS_BY_NETWORK, f"{page.relative_to(REPOSITORY)} has an address as a key")
        self.assertGreater(seen, 10, "no example is found")

    def test_no_sentence_is_one_that_readers_stumbled_over(self) -> None:
        sources = [path for folder in SPOKEN for path in (REPOSITORY / folder).rglob("*.*")]
        spoken = [path for path in sources if path.suffix in {".rs", ".py", ".pyi", ".js", ".h"}]
        self.assertGreater(len(spoken), 300)
        found = [
            f"{path.relative_to(REPOSITORY)}: {odd.group()}"
            for path in [*pages(), *spoken]
            if "node_modules" not in path.parts
            for odd in [ODD.search(path.read_text())]
            if odd
        ]
        self.assertEqual(found, [])

    def test_migrations_count_as_what_they_replace(self) -> None:
        for place, algorithm in COUNTED_IN.items():
            with self.subTest(place):
                code = "\n".join(blocks(section(place)))
                self.assertIn(algorithm, code)
                self.assertNotRegex(code, r"limits\(\"\d+/", "a rate alone is gcra")


if __name__ == "__main__":
    unittest.main()
