"""The functions by which an application says whom a route limits, by how much, and what becomes of it."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Generator
from dataclasses import dataclass, fields
from typing import Any, Literal

from .._middleware import ensure
from ..errors import InvalidArgumentError

Hook = Callable[..., Any]
Count = Literal["all", "failures", "successes"] | Callable[[Any], bool]

# What a generator yields may be awaitable; it is sent back what that leads to.
Steps = Generator[Any, Any, Any]

# From this status on an answer is a failure.
FAILURE = 400


class HookError(RuntimeError):
    """A function of the application did not do what it has to. The message names route and function, and never a key."""


class CoroutineError(TypeError):
    """A function is a coroutine where none can be awaited."""


NOT_AWAITED = "a coroutine cannot be awaited here (use a function that is none, and a RateLimiter)"
_LOG = logging.getLogger("sluicegate")


@dataclass(frozen=True)
class Hooks:
    """What a route states, or its `RouteLimits` for all of them. The documentation is that of `RouteLimits`."""

    key: Hook | None = None
    user_id: Hook | None = None
    cost: int | Hook = 1
    limit: int | Hook | None = None
    skip: Hook | None = None
    on_denied: Hook | None = None
    on_decision: Hook | None = None
    count: Count = "all"
    no_address: Literal["deny", "shared", "skip"] = "shared"

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name in _WORDS:
                self._ensure_word(field.name, value, _WORDS[field.name])
            elif field.name in ("cost", "limit"):
                is_fit = value is None if field.name == "limit" else False
                ensure(field.name, "a function or an int", value, is_fit or callable(value) or _is_whole(value))
                if _is_whole(value) and value < 1:
                    raise InvalidArgumentError(f"{field.name} {value}: must be at least 1 (`skip` exempts requests)")
            else:
                ensure(field.name, "a function", value, value is None or callable(value))

    @staticmethod
    def _ensure_word(name: str, value: Any, words: tuple[str, ...]) -> None:
        if name == "count" and inspect.iscoroutinefunction(value):
            raise CoroutineError("count must be a function that is no coroutine: nobody awaits it")
        if name == "count" and callable(value) or value in words:
            return
        ensure(name, "a str", value, isinstance(value, str))
        known = ", ".join(f'"{word}"' for word in words)
        raise InvalidArgumentError(f"{name} must be one of {known}{' or a function' if name == 'count' else ''}")

    def refuse_coroutines(self) -> None:
        """For frameworks that can await none."""
        for field in fields(self):
            if inspect.iscoroutinefunction(getattr(self, field.name)):
                raise CoroutineError(f"{field.name}: {NOT_AWAITED}")

    @property
    def by_outcome(self) -> bool:
        """Whether it depends on the answer what is charged."""
        return self.count != "all"

    def is_kept(self, response: object, status: int) -> bool:
        """Whether what was reserved is charged, now that the answer is known."""
        if callable(self.count):
            try:
                return bool(self.count(response))
            except Exception as error:
                # The answer is made already. What raises must not make a route unlimited.
                name = getattr(self.count, "__qualname__", type(self.count).__qualname__)
                _LOG.error("count (%s) raised %s: the request is charged", name, type(error).__name__)
                return True
        return self.count == "all" or (self.count == "failures") == (status >= FAILURE)


_WORDS = {"count": ("all", "failures", "successes"), "no_address": ("deny", "shared", "skip")}


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def ask(where: str, name: str, hook: Hook, arguments: tuple[Any, ...], passing: tuple[type[BaseException], ...]) -> Steps:
    """Calls a function of the application. What it raises is its fault, but for what the framework answers with."""
    try:
        return (yield hook(*arguments))
    except CoroutineError as error:
        raise CoroutineError(f"{where}: {name}: {error}") from None
    except passing:
        raise
    except Exception as error:
        # Its message may hold a key: of the error only where it was raised is kept.
        raise HookError(f"{where}: {name} raised {type(error).__name__}").with_traceback(error.__traceback__) from None


def whole(where: str, name: str, value: object) -> int:
    """A cost or a limit that a function returned."""
    if _is_whole(value) and value >= 1:  # type: ignore[operator]
        return value  # type: ignore[return-value]
    wanted = "a whole number from 1 on"
    raise HookError(f"{where}: {name} returned {shown(value)} (return {wanted}; `skip` exempts requests)")


def name_of(where: str, hook: str, value: object) -> str | tuple[str, ...]:
    """Whom a function named: a text, a number or several texts."""
    if _is_whole(value) and value != 0:
        return str(value)
    if isinstance(value, str) and value:
        return value
    if isinstance(value, (list, tuple)) and value and all(isinstance(part, str) and part or _is_whole(part) for part in value):
        return tuple(map(str, value))
    wanted = "return a text that is not empty, a number other than 0, or a list of these; `skip` exempts requests"
    # A number may be somebody's.
    what = "a float" if isinstance(value, float) else shown(value)
    raise HookError(f"{where}: {hook} returned {what} ({wanted})")


def shown(value: object) -> str:
    """What may be told of a value: a key is not."""
    is_told = value is None or isinstance(value, (bool, int, float)) or (isinstance(value, str) and not value)
    return repr(value) if is_told else f"a {type(value).__name__}"
