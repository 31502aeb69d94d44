"""What every framework tells of a request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol


class Asked(Protocol):
    """What functions of the application are asked about."""

    @property
    def arguments(self) -> tuple[Any, ...]:
        """What they are called with."""

    @property
    def where(self) -> str:
        """What messages call it."""


@dataclass(frozen=True)
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
    # Names in small letters.
    headers: Iterable[tuple[str, str]]
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

    def values(self, name: str) -> list[str]:
        """The values of a header."""
        return [value for other, value in self.headers if other == name]
