"""Limits that stand above what registers a route: it registers the function itself, and not what is put around it."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterable, Iterator
from types import FrameType
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

_LOG = logging.getLogger("sluicegate")
_Function = Callable[..., Any]


class Misplaced:
    """Names functions that are served without a limit that was put around them.

    A route may be unlimited by intention, while the same function is limited elsewhere: so nothing is refused.
    """

    def __init__(self) -> None:
        self._limited: WeakSet[_Function] = WeakSet()
        # What they limit, and the limited functions around it, until it is found to be served limited, or was named.
        self._around: WeakKeyDictionary[_Function, WeakSet[_Function]] = WeakKeyDictionary()
        # The templates of a function that were logged at its definition, as far as they were known then.
        self._logged: WeakKeyDictionary[_Function, tuple[str, ...]] = WeakKeyDictionary()

    def watch(self, limited: _Function) -> None:
        """Watches a function with a limit around it."""
        self._limited.add(limited)
        for function in list(_layers(limited))[1:]:
            self._around.setdefault(function, WeakSet()).add(limited)

    @property
    def is_settled(self) -> bool:
        """Whether nothing is left to be found."""
        return not any(map(self._lacks_limit, list(self._around)))

    def name(self, served: Iterable[tuple[str, Any]]) -> None:
        """Logs the routes whose functions lack a limit, among the templates and functions of all that an application serves."""
        stacks = [(template, list(_layers(function))) for template, function in served]
        for _, stack in stacks:
            for function in self._below_limit(stack):
                self._around.pop(function, None)
        lacking = [(template, stack) for template, stack in stacks if any(map(self._lacks_limit, stack))]
        named = {(template, _name_of(stack[0])) for template, stack in lacking if not self._is_logged(template, stack)}
        for template, name in sorted(named):
            _LOG.warning(
                "route %s: a limit of %s is not in force (write its decorator below that of the route, unless this route is to be "
                "unlimited)",
                template,
                name,
            )
        for _, stack in lacking:
            for function in stack:
                self._around.pop(function, None)

    def name_at_definition(self, function: Any, frame: FrameType, served_by: Callable[[Any], Iterable[tuple[str, Any]]]) -> None:
        """Logs the routes of a function that is served already while it is being defined, by something that its definition sees.

        `frame` is that of the definition; `served_by` answers templates and functions of an application, a router or a table of
        routes, and nothing of other objects.
        """
        seen = [*frame.f_locals.values(), *frame.f_globals.values()]
        # One that has a name already may be limited for a further route.
        if any(value is function for value in (*seen, *getattr(function, "__globals__", {}).values())):
            return
        templates = sorted({template for value in seen for template, each in served_by(value) if each is function})
        for template in templates:
            _LOG.warning(
                "route %s: a limit of %s is not in force (write its decorator below that of the route)", template, _name_of(function)
            )
        if templates and inspect.isfunction(function):
            self._logged[function] = tuple(templates)

    def _is_logged(self, template: str, stack: list[_Function]) -> bool:
        # What includes a router puts a prefix before its templates.
        return template.endswith(self._logged.get(stack[0], ()))

    def _below_limit(self, stack: list[_Function]) -> list[_Function]:
        """What stands below the outermost limit of what is served. A limit that was put around that one is not in force."""
        return next((stack[place + 1 :] for place, function in enumerate(stack) if function in self._limited), [])

    def _lacks_limit(self, function: _Function) -> bool:
        # A function of a module outlives applications that were made of it, limited, and are gone. One that is made together
        # with its application does not, and what limits it, out of place, is gone at once.
        around = self._around.get(function)
        return around is not None and ("<locals>" in function.__qualname__ or len(around) > 0)


def _layers(function: Any) -> Iterator[_Function]:
    """A function and those that it is put around."""
    while inspect.isfunction(function):
        yield function
        function = getattr(function, "__wrapped__", None)


def _name_of(function: Any) -> str:
    # An object that is called like a function has no name of its own.
    return f"{function.__module__}.{getattr(function, '__qualname__', type(function).__qualname__)}"
