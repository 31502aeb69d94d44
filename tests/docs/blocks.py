"""The code blocks of the site's pages and of the README, and what their pages say about running them."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]

_FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,}) *(?P<language>[\w+-]*)(?P<rest>.*)$")
_TITLE = re.compile(r'title="([^"]*)"')
_DIRECTIVE = re.compile(r"^ *<!-- (?P<name>not run|continues|request)(?:: (?P<value>.*))? -->$")
_SNIPPET = re.compile(r'^--8<-- "(?P<path>[^":]+)(?::\w+)?"$')


@dataclass
class Block:
    """A fenced block. `directives` are the comments right above it."""

    page: Path
    line: int
    language: str
    title: str
    code: str
    directives: list[tuple[str, str]] = field(default_factory=list)
    output: str | None = None

    @property
    def name(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line} ({self.language})"

    def directive(self, name: str) -> list[str]:
        return [value for key, value in self.directives if key == name]

    @property
    def is_file(self) -> bool:
        """Whether the title is the name of a file, which the page's other blocks may use."""
        return bool(re.fullmatch(r"[\w-]+\.\w+", self.title))


def pages() -> list[Path]:
    """All pages but those that are generated."""
    generated = ROOT / "docs" / "api"
    written = [page for page in sorted((ROOT / "docs").rglob("*.md")) if "node_modules" not in page.parts]
    return [ROOT / "README.md", *(page for page in written if generated not in page.parents)]


def blocks_of(page: Path) -> list[Block]:
    """The blocks of a page. One titled "Output" belongs to the block above it."""
    found: list[Block] = []
    directives: list[tuple[str, str]] = []
    lines = enumerate(page.read_text(encoding="utf-8").splitlines(), start=1)
    for number, line in lines:
        if directive := _DIRECTIVE.match(line):
            directives.append((directive["name"], directive["value"] or ""))
        elif fence := _FENCE.match(line):
            code = _code(lines, fence)
            title = _TITLE.search(fence["rest"])
            block = Block(page, number, fence["language"], title[1] if title else "", code, directives)
            directives = []
            if block.title == "Output":
                found[-1].output = block.code
            else:
                found.append(block)
        elif line.strip():
            directives = []
    return found


def _code(lines: enumerate[str], fence: re.Match[str]) -> str:
    """The text up to the closing fence. A file that it includes stands for it, whole."""
    code = []
    for _, line in lines:
        if line.strip() == fence["ticks"]:
            break
        code.append(line)
    text = textwrap.dedent("\n".join(code))
    snippet = _SNIPPET.match(text.strip())
    return (ROOT / snippet["path"]).read_text(encoding="utf-8") if snippet else text + "\n"
