"""The calls of an async limiter that are under way, and how they meet the event loop."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ._native import Bridge, Options
from .errors import SluicegateError

_ELSEWHERE = "the limiter belongs to another event loop; connect one in each loop"


class Calls:
    """Sends the calls of one turn of the loop together, and ends the futures of all that were answered."""

    def __init__(self, options: Options) -> None:
        self._loop = asyncio.get_running_loop()
        self.bridge = Bridge.open(options)
        self._futures: dict[int, asyncio.Future[Any]] = {}
        self._flushing = False
        self.opened = self._futures[Bridge.OPENED] = self._loop.create_future()
        self._watch()

    def future(self, token: int) -> asyncio.Future[Any]:
        """The answer to a call that was just made."""
        if asyncio._get_running_loop() is not self._loop:
            self.bridge.give_up(token)
            raise RuntimeError(_ELSEWHERE)
        if not self._flushing:
            self._flushing = True
            self._loop.call_soon(self._flush)
        future = self._futures[token] = self._loop.create_future()
        return future

    def _flush(self) -> None:
        self._flushing = False
        try:
            self.bridge.flush()
        except SluicegateError as error:
            self._fail_all(error)

    def _settle(self) -> None:
        for token, answer in self.bridge.drain():
            future = self._futures.pop(token, None)
            # Whoever waited may have given up.
            if future is None or future.done():
                continue
            if isinstance(answer, SluicegateError):
                future.set_exception(answer)
            else:
                future.set_result(answer)

    def _fail_all(self, error: SluicegateError) -> None:
        futures, self._futures = self._futures, {}
        for future in futures.values():
            if not future.done():
                future.set_exception(error)

    def give_up(self, token: int) -> None:
        """Ends a wait that nobody waits for any longer."""
        self._futures.pop(token, None)
        self.bridge.give_up(token)

    def close(self) -> None:
        """Closes the limiter; calls under way end with `ClosedError`."""
        if asyncio._get_running_loop() is not self._loop:
            raise RuntimeError(_ELSEWHERE)
        error = self.bridge.close()
        if error is not None:
            self._end(error)

    def _end(self, error: SluicegateError) -> None:
        self._unwatch()
        self._fail_all(error)

    def abandon(self) -> bool:
        """Closes the limiter on behalf of an owner that is gone, on any thread, with the loop closed or not.

        Answers whether there was something to close.
        """
        # At once: a loop that has stopped may never come to it.
        error = self.bridge.close()
        if error is None:
            return False
        # There is nobody to be told if the loop is closed.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._end, error)
        return True

    def _watch(self) -> None:
        doorbell = self.bridge.doorbell
        if doorbell is not None:
            with suppress(NotImplementedError):
                return self._loop.add_reader(doorbell, self._rung)
        arguments = (self.bridge, self._loop, weakref.WeakMethod(self._settle))
        threading.Thread(target=_listen, args=arguments, name="sluicegate-listen", daemon=True).start()

    def _unwatch(self) -> None:
        # A forked child has no doorbell, and the same set of watched files as its parent.
        doorbell = self.bridge.doorbell
        if doorbell is not None:
            with suppress(NotImplementedError):
                self._loop.remove_reader(doorbell)

    def _rung(self) -> None:
        if self.bridge.silence():
            self._settle()


def _listen(
    bridge: Bridge, loop: asyncio.AbstractEventLoop, settle: Callable[[], Callable[[], None] | None]
) -> None:
    """For loops that cannot watch a file: one call per burst, until the limiter is closed or gone."""
    while bridge.listen():
        handler = settle()
        if handler is None:
            return
        try:
            loop.call_soon_threadsafe(handler)
        except RuntimeError:
            # The loop is closed.
            return
        del handler

