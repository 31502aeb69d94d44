"""What a package offers, in the words of the Rust API."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]


@dataclass(frozen=True)
class Surface:
    """The names of one language, by what they belong to."""

    limiter: set[str]
    async_limiter: set[str]
    options: set[str]
    check: set[str]
    decision: set[str]
    clock: set[str]
    error: set[str]
    kinds: set[str]
    sources: set[str]


def read(path: str) -> str:
    return (REPOSITORY / path).read_text(encoding="utf-8")


def block(text: str, beginning: str) -> str:
    """What stands between the braces after a beginning, which has to be there once."""
    found = re.findall(rf"^{beginning}[^\n{{]*\{{\n(.*?)^\}}", text, re.MULTILINE | re.DOTALL)
    assert len(found) == 1, f"{beginning} was found {len(found)} times"
    return found[0]


def snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z])[A-Z]", lambda letter: "_" + letter[0], name).lower()


def camel_case(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))
