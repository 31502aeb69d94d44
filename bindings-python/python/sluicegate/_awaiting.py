"""What may be awaited, made a task, and entered by `async with`."""

from __future__ import annotations

from collections.abc import Coroutine, Generator
from typing import Any, TypeVar

_T = TypeVar("_T")


class Awaiting(Coroutine[Any, Any, _T]):
    """Runs a coroutine: that of `_run`. `asyncio.create_task` takes nothing but what is one itself."""

    __slots__ = ("_running",)

    _running: Coroutine[Any, Any, _T]

    def _run(self) -> Coroutine[Any, Any, _T]:
        raise NotImplementedError

    def __await__(self) -> Generator[Any, Any, _T]:
        return self._run().__await__()

    def _begun(self) -> Coroutine[Any, Any, _T]:
        if not hasattr(self, "_running"):
            self._running = self._run()
        return self._running

    def send(self, value: Any, /) -> Any:
        return self._begun().send(value)

    def throw(self, *error: Any) -> Any:
        return self._begun().throw(*error)

    def close(self) -> None:
        if hasattr(self, "_running"):
            self._running.close()
