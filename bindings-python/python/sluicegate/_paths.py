"""The paths that an application may act on, by what its server tells of a request."""

from __future__ import annotations

import sys
from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlparse

from ._middleware import paths

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

# More middleware than this around an application is not looked through.
_DEEPEST = 32


def environ_paths(environ: WSGIEnvironment) -> tuple[str, list[str]]:
    """Of WSGI: the path of the request line, and the others."""
    raw = raw_bytes(environ.get("RAW_URI") or environ.get("REQUEST_URI"))
    # Applications route by PATH_INFO alone; some servers let the client choose SCRIPT_NAME.
    mounted = raw_bytes(environ.get("PATH_INFO"))
    return paths(raw, raw_bytes(environ.get("SCRIPT_NAME")) + mounted, mounted)


def raw_bytes(value: str | None) -> bytes:
    """Texts of a request are bytes in the guise of Latin-1 (PEP 3333)."""
    return (value or "").encode("latin-1", "replace")


def scope_paths(scope: MutableMapping[str, Any], own_root: str) -> tuple[str, list[str]]:
    """Of ASGI, likewise."""
    decoded, inside = _bytes(scope["path"]), _bytes(_of_link(scope["path"]))
    # Routers look at what is left of the path behind the place of the application.
    roots = (scope.get("root_path", ""), own_root)
    return paths(scope.get("raw_path") or b"", decoded, inside, *(_behind(decoded, root.encode()) for root in roots))


def _of_link(path: str) -> str:
    """The path of what does not begin with a slash: Quart decodes the target, and then takes it for a link."""
    try:
        return path if path.startswith("/") else urlparse(path).path
    except ValueError:
        return path


def _behind(path: bytes, root: bytes) -> bytes:
    """What follows the root path, which Litestar looks for anywhere."""
    return path.split(root, 1)[-1] if root else path


def _bytes(path: str) -> bytes:
    return path.encode("utf-8", "surrogateescape")


def own_root_path(app: object) -> str:
    """The root path that the application puts in place of the server's: that of FastAPI, behind middleware or not."""
    for _ in range(_DEEPEST):
        root_path = getattr(app, "root_path", None)
        if isinstance(root_path, str) and root_path:
            return root_path
        app = getattr(app, "app", None) or getattr(app, "_app", None)
    # Django has one for the whole process.
    django = sys.modules.get("django.conf")
    return (django.settings.FORCE_SCRIPT_NAME or "") if django and django.settings.configured else ""
