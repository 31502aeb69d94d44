"""Whose headers an answer has where limits are inside each other: those of the innermost, as in every language."""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping
from typing import Any

_KEY = "sluicegate.told"


class Told:
    """What the limits of one request have told its client so far, the innermost first."""

    __slots__ = ("_fields", "is_denied")

    def __init__(self) -> None:
        self._fields: set[tuple[str, str]] = set()
        # By one further in, whose answer is left alone.
        self.is_denied = False

    def claim(self, headers: Iterable[tuple[str, str]], sent: Iterable[tuple[str, str]]) -> bool:
        """Whether an answer, which has `sent` so far, gets these headers: a limit further in has told nothing."""
        if self.is_denied or self._fields and any((name.lower(), value) in self._fields for name, value in sent):
            return False
        self.note(headers)
        return True

    def note(self, headers: Iterable[tuple[str, str]]) -> None:
        """Notes what an answer that is made later may have."""
        self._fields.update((name.lower(), value) for name, value in headers)


def told(place: MutableMapping[str, Any]) -> Told:
    """That of a request, which is kept in its scope, its environ or the like."""
    found: Told | None = place.get(_KEY)
    if found is None:
        found = place[_KEY] = Told()
    return found


def denied(place: MutableMapping[str, Any]) -> None:
    """Notes a denial for the limits further out, if there are any."""
    found: Told | None = place.get(_KEY)
    if found is not None:
        found.is_denied = True
