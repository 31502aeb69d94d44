"""What a limit around an endpoint is handed: by Starlette one argument, by FastAPI what its signature asks for."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from inspect import Parameter
from typing import Annotated, Any, get_origin

from .needed import needed

if sys.version_info >= (3, 14):
    from annotationlib import Format

with needed("Starlette", "fastapi"):
    from starlette.requests import HTTPConnection, Request
    from starlette.responses import Response
    from starlette.websockets import WebSocket

_KINDS = {"sluicegate_connection": HTTPConnection, "sluicegate_response": Response}


class Handed:
    """The parameters of an endpoint, and those that FastAPI has to fill for its limit."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._name = getattr(function, "__qualname__", type(function).__qualname__)
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
            return self._of_starlette(arguments), None
        connection, response = named[self._connection], named[self._response]
        for name in self._added:
            del named[name]
        return connection, response

    def _of_starlette(self, arguments: tuple[Any, ...]) -> HTTPConnection:
        """The request or WebSocket, before which a method is handed its endpoint."""
        for argument in arguments:
            if isinstance(argument, HTTPConnection):
                return argument
        handed = ", ".join(type(argument).__name__ for argument in arguments)
        raise TypeError(f"{self._name}(): none of the arguments ({handed}) is a Request or a WebSocket (call it with one)")


def _signature(function: Callable[..., Any]) -> inspect.Signature:
    """That of a function, with each annotation that can be evaluated: a type may be imported for checks alone."""
    stated = _stated(function)
    names = _names_of(inspect.unwrap(function))
    parameters = [
        parameter.replace(annotation=_evaluated(parameter.annotation, names)) for parameter in stated.parameters.values()
    ]
    return stated.replace(parameters=parameters, return_annotation=_evaluated(stated.return_annotation, names))


def _stated(function: Callable[..., Any]) -> inspect.Signature:
    if sys.version_info >= (3, 14):
        # Annotations are evaluated now, and what cannot be becomes a reference.
        return inspect.signature(function, annotation_format=Format.FORWARDREF)
    return inspect.signature(function)


def _names_of(function: Any) -> dict[str, Any]:
    while isinstance(function, functools.partial):
        function = function.func
    if not hasattr(function, "__globals__"):
        function = getattr(type(function), "__call__", None)
    found: dict[str, Any] = getattr(function, "__globals__", {})
    return found


def _evaluated(annotation: Any, names: dict[str, Any]) -> Any:
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, names)
    except Exception:
        # Where FastAPI needs it, it will say so.
        return annotation


def _name_of(kind: type, signature: inspect.Signature) -> str | None:
    """The parameter for which FastAPI has one place alone."""
    for parameter in signature.parameters.values():
        stated = parameter.annotation
        if get_origin(stated) is Annotated:
            stated = stated.__origin__
        if isinstance(stated, type) and issubclass(stated, kind) and not issubclass(stated, (Request, WebSocket)):
            return parameter.name
    return None
