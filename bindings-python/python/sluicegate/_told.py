"""Whose headers an answer has where limits are inside each other: those of the innermost, as in every language."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

_KEY = "sluicegate.told"


class Told:
    """What the limits of one request have told its client so far, the innermost first."""

    __slots__ = ("_told", "is_denied")

    def __init__(self) -> None:
        self._told: list[Sequence[tuple[str, str]]] = []
        # By one further in, whose answer is left alone.
        self.is_denied = False

    def claim(self, headers: Sequence[tuple[str, str]], sent: Iterable[tuple[str, str]]) -> bool:
        """Whether an answer, which has `sent` so far, gets these headers: it is for one client, and no limit further in told it."""
        lowered = [(name.lower(), value) for name, value in sent]
        if self.is_denied or self._has_told(lowered) or _is_for_all(lowered):
            return False
        self.note(headers)
        return True

    def note(self, headers: Sequence[tuple[str, str]]) -> None:
        """Notes what an answer that is made later may have."""
        self._told.append(headers)

    def _has_told(self, lowered: list[tuple[str, str]]) -> bool:
        """Whether an answer has any of it."""
        return any((name.lower(), value) in lowered for headers in self._told for name, value in headers)


def _is_for_all(headers: Iterable[tuple[str, str]]) -> bool:
    """Whether a cache that clients share may send an answer to other clients, by its headers with names in small letters."""
    stated = ",".join(value for name, value in headers if name == "cache-control")
    directives = [directive.strip().lower() for directive in stated.split(",")]
    if any(directive.startswith(("private", "no-store", "no-cache")) for directive in directives):
        return False
    return any(directive == "public" or _lasts(directive) for directive in directives)


def _lasts(directive: str) -> bool:
    name, _, seconds = directive.partition("=")
    return name in ("max-age", "s-maxage") and seconds.strip('" 0') != ""


def told(place: Any, key: Any = _KEY) -> Told:
    """That of a request, which is kept in its scope, its environ or another mapping."""
    found: Told | None = place.get(key)
    if found is None:
        found = place[key] = Told()
    return found


def note(place: Any, headers: Sequence[tuple[str, str]]) -> None:
    """Notes the headers of an answer that is made later, for the limits further out, if there are any."""
    found: Told | None = place.get(_KEY)
    if found is not None:
        found.note(headers)


def denied(place: Any, key: Any = _KEY) -> None:
    """Notes a denial for the limits further out, if there are any."""
    found: Told | None = place.get(key)
    if found is not None:
        found.is_denied = True
