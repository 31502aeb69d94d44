"""What every framework tells of a request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol


# Headers that an environ of WSGI has under names of their own.
_UNPREFIXED = ("CONTENT_TYPE", "CONTENT_LENGTH")


class Asked(Protocol):
    """What functions of the application are asked about."""

    @property
    def arguments(self) -> tuple[Any, ...]:
        """What they are called with."""

    @property
    def where(self) -> str:
        """What messages call it."""


# Not frozen: to make one of those takes three times as long, and each request makes one.
@dataclass(slots=True)
class RouteRequest:
    """A request at a route."""

    # What functions of the application are called with.
    arguments: tuple[Any, ...]
    method: str
    # The template of the route, such as `/items/{id}`; never the raw path.
    template: str
    # What the application calls itself, if it does.
    name: str | None
    peer: str | None
    # The values of a header, by its name in small letters. Most requests are asked for one header, and none for all.
    values: Callable[[str], list[str]]
    path: Mapping[str, Any]

    @property
    def where(self) -> str:
        """What messages call it."""
        return f"route {self.template}"

    @property
    def content_type(self) -> str | None:
        """That of a body: every call of gRPC is a POST."""
        values = self.values("content-type") if self.method == "POST" else []
        return values[0] if values else None


def among(headers: list[tuple[str, str]]) -> Callable[[str], list[str]]:
    """Looks for values among headers with names in small letters."""
    return lambda name: [value for other, value in headers if other == name]


def in_environ(environ: Mapping[str, Any]) -> Callable[[str], list[str]]:
    """Looks for values in an environ of WSGI, whose server has joined several lines of a header."""

    def values(name: str) -> list[str]:
        word = name.upper().replace("-", "_")
        value = environ.get(word if word in _UNPREFIXED else f"HTTP_{word}")
        return [] if value is None else [value]

    return values
