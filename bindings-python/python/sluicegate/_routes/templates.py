"""The templates of routes of Starlette and FastAPI, with those of what they are mounted in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .needed import needed

with needed("Starlette", "fastapi"):
    from starlette.routing import Match, Mount


def template_of(scope: Any) -> str:
    """That of the route of a request; nothing in it was chosen by the client."""
    path = getattr(_included(scope) or scope.get("route") or _route_of(scope), "path", None)
    if path is None:
        endpoint = scope.get("endpoint")
        path = f"{getattr(endpoint, '__module__', '')}.{getattr(endpoint, '__qualname__', type(endpoint).__qualname__)}"
    return _mounted_at(scope) + str(path)


def _included(scope: Any) -> Any:
    """What FastAPI tells of a route that it has not copied from the router that it includes: its path there, and the prefix."""
    context = scope.get("fastapi", {}).get("effective_route_context")
    # A mounted application finds that of the mount.
    if context is None or getattr(context.original_route, "endpoint", None) is not scope.get("endpoint"):
        return None
    return context.starlette_route or context


def _mounted_at(scope: Any) -> str:
    """The template of the place where an application is mounted: a root path has what the client chose in place of parameters."""
    server, root_path = scope.get("app_root_path"), scope.get("root_path", "")
    # Only a mount says what the root path was before.
    if server is None or server == root_path:
        return ""
    return _leading_to(root_path.removeprefix(server), scope.get("router")) or ""


def _leading_to(path: str, router: Any) -> str | None:
    """The templates of the mounts that a path leads through; None where it does not."""
    for mount in _of_router(router):
        match = mount.path_regex.match(f"{path}/") if isinstance(mount, Mount) else None
        if match is None:
            continue
        rest = match["path"].rstrip("/")
        inner = _leading_to(f"/{rest}", mount) if rest else ""
        if inner is not None:
            return str(mount.path) + inner
    return None


def _of_router(router: Any) -> Iterator[Any]:
    """The routes of a router, and of those that FastAPI includes in it as they are there."""
    for route in getattr(router, "routes", None) or ():
        if hasattr(route, "effective_route_contexts"):
            yield from (context.starlette_route for context in route.effective_route_contexts())
        else:
            yield route


def _route_of(scope: Any) -> Any:
    """The route, which Starlette before 1.0 does not name: that of the endpoint, and of the path where several have it."""
    known = [route for route in _routes(scope.get("router")) if getattr(route, "endpoint", None) is scope.get("endpoint")]
    if len(known) > 1:
        known = [route for route in known if route.matches(scope)[0] is Match.FULL]
    return known[0] if known else None


def _routes(router: Any) -> Iterator[Any]:
    for route in getattr(router, "routes", None) or ():
        yield route
        yield from _routes(route)
