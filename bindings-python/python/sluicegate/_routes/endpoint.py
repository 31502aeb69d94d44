"""What a limit around an endpoint is handed: by Starlette one argument, by FastAPI what its signature asks for."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from inspect import Parameter
from typing import Any

from .needed import needed

with needed("Starlette", "fastapi"):
    from starlette.requests import HTTPConnection, Request
    from starlette.responses import Response
    from starlette.websockets import WebSocket

_KINDS = {"sluicegate_connection": HTTPConnection, "sluicegate_response": Response}


class Handed:
    """The parameters of an endpoint, and those that FastAPI has to fill for its limit."""

    def __init__(self, function: Callable[..., Any]) -> None:
        stated = _signature(function)
        own = {kind: _name_of(kind, stated) for kind in _KINDS.values()}
        self._connection, self._response = (own[kind] or name for name, kind in _KINDS.items())
        # Not for the endpoint.
        self._added = [name for name, kind in _KINDS.items() if own[kind] is None]
        added = [Parameter(name, Parameter.KEYWORD_ONLY, annotation=_KINDS[name]) for name in self._added]
        last = [each for each in stated.parameters.values() if each.kind is Parameter.VAR_KEYWORD]
        others = [each for each in stated.parameters.values() if each not in last]
        self.signature = stated.replace(parameters=[*others, *added, *last])

    def taken(self, arguments: tuple[Any, ...], named: dict[str, Any]) -> tuple[HTTPConnection, Response | None]:
        """The request or WebSocket, and where FastAPI makes the response, what it takes its headers from."""
        if arguments:
            return arguments[0], None
        connection, response = named[self._connection], named[self._response]
        for name in self._added:
            del named[name]
        return connection, response


def _signature(function: Callable[..., Any]) -> inspect.Signature:
    try:
        return inspect.signature(function, eval_str=True)
    except Exception:
        # Of a type that is imported for checks alone, for example: FastAPI will say so.
        return inspect.signature(function)


def _name_of(kind: type, signature: inspect.Signature) -> str | None:
    """The parameter for which FastAPI has one place alone."""
    for parameter in signature.parameters.values():
        stated = parameter.annotation
        if isinstance(stated, type) and issubclass(stated, kind) and not issubclass(stated, (Request, WebSocket)):
            return parameter.name
    return None
