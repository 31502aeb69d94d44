"""Texts with brackets in them, of languages that Python has no parser for.

The same texts are asked about again and again, as most files are the same in each comparison.
"""

from __future__ import annotations

from functools import cache

CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}


@cache
def split(text: str, separator: str) -> tuple[str, ...]:
    """What stands between separators that are in no bracket; nothing for what is blank."""
    parts, depth = [""], 0
    # The heads of arrows are no brackets.
    for letter in text.replace("=>", "=\0").replace("->", "-\0"):
        depth += (letter in CLOSING) - (letter in CLOSING.values())
        if letter == separator and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    stripped = (part.replace("\0", ">").strip() for part in parts)
    return tuple(part for part in stripped if part)


@cache
def before(text: str, start: int, separator: str) -> str:
    """What stands from `start` to the first separator that is in no bracket."""
    depth = 0
    for at in range(start, len(text)):
        is_arrow = text[at - 1 : at + 1] in ("=>", "->")
        depth += 0 if is_arrow else (text[at] in CLOSING) - (text[at] in CLOSING.values())
        if text[at] == separator and depth == 0:
            return text[start:at].strip()
    raise AssertionError(f"no {separator} ends {text[start : start + 40]}")


@cache
def inside(text: str, start: int) -> str:
    """What stands in the bracket that opens at `start`."""
    opening, closing, depth = text[start], CLOSING[text[start]], 0
    for at in range(start, len(text)):
        depth += (text[at] == opening) - (text[at] == closing)
        if depth == 0:
            return text[start + 1 : at]
    raise AssertionError(f"a bracket stays open: {text[start : start + 40]}")
