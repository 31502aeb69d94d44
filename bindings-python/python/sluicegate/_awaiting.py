"""What may be awaited, made a task, and entered by `async with`."""

from __future__ import annotations

import warnings
from collections.abc import Coroutine, Generator
from typing import Any, NoReturn, TypeVar

_T = TypeVar("_T")


class Awaiting(Coroutine[Any, Any, _T]):
    """Runs a coroutine: that of `_run`. `asyncio.create_task` takes nothing but what is one itself.

    Where `await` was forgotten it says so: it has no truth value and none of the attributes of what it leads to, and warns
    when it goes away.
    """

    __slots__ = ("_call", "_has_begun", "_running")

    _running: Coroutine[Any, Any, _T]

    def __init__(self, call: str) -> None:
        # The method that was called, for messages.
        self._call = call
        self._has_begun = False

    def _run(self) -> Coroutine[Any, Any, _T]:
        raise NotImplementedError

    def __await__(self) -> Generator[Any, Any, _T]:
        self._has_begun = True
        return self._run().__await__()

    def _begun(self) -> Coroutine[Any, Any, _T]:
        self._has_begun = True
        if not hasattr(self, "_running"):
            self._running = self._run()
        return self._running

    def send(self, value: Any, /) -> Any:
        return self._begun().send(value)

    def throw(self, *error: Any) -> Any:
        return self._begun().throw(*error)

    def close(self) -> None:
        self._has_begun = True
        if hasattr(self, "_running"):
            self._running.close()

    def __bool__(self) -> NoReturn:
        raise TypeError(f"{self._call}(...) was not awaited: it is neither true nor false (write `await` before it)")

    def __getattr__(self, name: str) -> NoReturn:
        message = f"{type(self).__name__!r} object has no attribute {name!r}"
        if not name.startswith(("_", "cr_")):
            message = f"{self._call}(...) was not awaited: it has no attribute {name!r} (write `await` before it)"
        raise AttributeError(message, name=name, obj=self)

    def __del__(self) -> None:
        # Not where the constructor failed.
        if not getattr(self, "_has_begun", True):
            warnings.warn(f"{self._call}(...) was never awaited", RuntimeWarning, source=self, stacklevel=2)
