"""Limits of Starlette and FastAPI that stand above `@app.get`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from weakref import WeakSet

from .misplaced import Misplaced
from .needed import needed

with needed("Starlette", "fastapi"):
    from starlette.applications import Starlette
    from starlette.routing import Router

MISPLACED = Misplaced()
# Applications that were looked through.
_SEEN: WeakSet[Starlette] = WeakSet()


def name_misplaced(scope: Any) -> None:
    """Names the endpoints that an application serves without their limits, with the first request that gets here."""
    app = scope.get("app")
    if app in _SEEN or not isinstance(app, Starlette):
        return
    _SEEN.add(app)
    MISPLACED.name(_served(app, ""))


def served_by(value: Any) -> Iterator[tuple[str, Any]]:
    """The templates and endpoints of an application or a router."""
    # Not by `isinstance`, which asks some objects for their class, such as proxies that have none before the first request.
    return _served(value, "") if issubclass(type(value), (Starlette, Router)) else iter(())


def _served(router: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    """The templates and endpoints of a router, and of those in it."""
    for each in getattr(router, "routes", None) or ():
        for route in _included(each):
            template = prefix + getattr(route, "path", "")
            yield template, getattr(route, "endpoint", None)
            yield from _served(route, template)


def _included(route: Any) -> Iterator[Any]:
    """A route, or those of a router that FastAPI includes as it is, with their paths there."""
    if hasattr(route, "effective_route_contexts"):
        for context in route.effective_route_contexts():
            yield context.starlette_route or context
    else:
        yield route
