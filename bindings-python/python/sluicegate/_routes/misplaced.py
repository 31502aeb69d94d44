"""Limits that stand above what registers a route: it registers the function itself, and not what is put around it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar
from weakref import WeakSet

_Place = TypeVar("_Place")


class Misplaced:
    """Finds functions that are served without the limit that was put around them."""

    def __init__(self) -> None:
        self._limited: WeakSet[Callable[..., Any]] = WeakSet()
        # What they limit, until it is found to be served limited. A function may be served in both ways.
        self._functions: WeakSet[Callable[..., Any]] = WeakSet()

    def watch(self, limited: Callable[..., Any]) -> None:
        """Watches a function with a limit around it."""
        self._limited.add(limited)
        self._functions.update(function for function in _layers(limited) if function is not limited)

    @property
    def is_settled(self) -> bool:
        """Whether all that is limited has been found in its place."""
        return not self._functions

    def among(self, served: Mapping[_Place, Any]) -> set[_Place]:
        """The places of what is served without its limit, among all that an application serves."""
        layers = {place: set(_layers(function)) for place, function in served.items()}
        for functions in layers.values():
            if not self._limited.isdisjoint(functions):
                self._functions.difference_update(functions)
        return {place for place, functions in layers.items() if not self._functions.isdisjoint(functions)}


def _layers(function: Any) -> Iterator[Callable[..., Any]]:
    """A function and those that it is put around."""
    while inspect.isfunction(function):
        yield function
        function = getattr(function, "__wrapped__", None)
