"""Texts with brackets in them, of languages that Python has no parser for."""

from __future__ import annotations

CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}


def split(text: str, separator: str) -> list[str]:
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
    return [part for part in stripped if part]


def inside(text: str, start: int) -> str:
    """What stands in the bracket that opens at `start`."""
    opening, closing, depth = text[start], CLOSING[text[start]], 0
    for at in range(start, len(text)):
        depth += (text[at] == opening) - (text[at] == closing)
        if depth == 0:
            return text[start + 1 : at]
    raise AssertionError(f"a bracket stays open: {text[start : start + 40]}")
