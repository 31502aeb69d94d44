"""The calls of an async limiter that are under way, and how they meet the event loop."""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections.abc import Awaitable, Callable, Generator, Iterable
from contextlib import suppress
from types import coroutine
from typing import Any, cast

from ._native import Bridge, Decision, Options, Reserved
from .errors import SluicegateError


# Seconds between two looks at what a limiter that is being closed still waits for.
_LOOK_EVERY = 0.001


class Calls:
    """Sends the calls of one iteration of the loop together, and ends the futures of all that were answered."""

    def __init__(self, options: Options) -> None:
        self._loop = asyncio.get_running_loop()
        self._pid = os.getpid()
        self.bridge = Bridge.open(options)
        self._futures: dict[int, asyncio.Future[Any] | _FirstAnswer] = {}
        self._flushing = False
        # Whether several calls were under way at the end of the last iteration.
        self._has_company = False
        self._socket: int | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._listener: threading.Thread | None = None
        self.opened = self._loop.create_future()
        self._futures[Bridge.OPENED] = self.opened
        self._watch()

    @classmethod
    async def open(cls, options: Options) -> Calls:
        """Connects a limiter."""
        calls = cls(options)
        try:
            await calls.opened
        except BaseException:
            calls.abandon()
            raise
        return calls

    def answer(self, token: int) -> Awaitable[Any]:
        """The answer to a call that was just made."""
        if not self._futures and not self._has_company:
            return self._answer_alone(token)
        future = self._loop.create_future()
        self._futures[token] = future
        # It may have been sent already: what follows is done while the server is at work.
        if not self._flushing:
            self._flushing = True
            self._loop.call_soon(self._flush)
        return future

    def future(self, token: int) -> asyncio.Future[Any]:
        """The same as a future."""
        self._has_company = True
        return cast("asyncio.Future[Any]", self.answer(token))

    @coroutine
    def _answer_alone(self, token: int) -> Generator[Any, Any, Any]:
        """The answer to the only call under way, which looks for it by itself: without a future, and an iteration sooner."""
        first = self._futures[token] = _FirstAnswer()
        # It was sent at once, since it is alone, and may have ended, as by an open circuit breaker. If not, what else is
        # ready goes first, while the server is at work.
        if not self.bridge.has_answers:
            yield
        self._flush()
        if first.done():
            # A task that calls again and again keeps no other from running.
            if first.error is not None:
                yield
            return first.result()
        future = self._futures[token] = self._loop.create_future()
        try:
            return (yield from future)
        finally:
            # An error refers to this frame, and the future to the error.
            del future

    async def done(self, token: int | None) -> None:
        """The end of a call that was just made, which has no token if it has ended."""
        if token is not None:
            await self.answer(token)

    async def took_effect(self, answer: bool | int) -> bool:
        """Whether a call that was just made took effect: its answer or, if that is yet to come, its token."""
        # A bool is an int, too.
        return answer if isinstance(answer, bool) else await self.answer(answer)

    async def waited(self, token: int) -> Decision:
        """The answer to a wait that was just made."""
        try:
            decision: Decision = await self.future(token)
            return decision
        except BaseException:
            # Cancelled, or thrown away.
            self.give_up(token)
            raise

    async def reserved(self, token: int) -> Reserved:
        """The answer to a `reserve` that was just made; it is released if nobody wants it any more."""
        future = self.future(token)
        try:
            reserved: Reserved = await future
            return reserved
        except BaseException:
            # Cancelled, or thrown away: what is not answered yet leaves the queue, or is released.
            if future.cancel() or future.cancelled():
                self.give_up(token)
            elif future.exception() is None:
                self._release(future.result())
            raise
        finally:
            # An error refers to this frame, and the future to the error.
            del future

    def _release(self, reserved: Reserved) -> None:
        # What is not released now, its lease ends.
        with suppress(SluicegateError, RuntimeError):
            answer = self.bridge.end("release", reserved, None)
            if not isinstance(answer, bool):
                self.future(answer).add_done_callback(_look)

    def _flush(self) -> None:
        self._flushing = False
        self._has_company = len(self._futures) > 1
        try:
            answers = self.bridge.flush()
        except SluicegateError as error:
            return self._fail_all(error)
        self._settle(answers)
        if self._socket is not None and self._futures and (self._timer is None or self.bridge.is_hurried):
            self._expire()

    def _read(self) -> None:
        self._settle(self.bridge.read_socket())

    def _expire(self) -> None:
        """Ends calls whose time is up; again and again while there are calls under way, or units are borrowed."""
        if self._timer is not None:
            self._timer.cancel()
        left = self.bridge.expire()
        self._timer = None if left is None else self._loop.call_later(left, self._expire)
        self._drain()

    def _drain(self) -> None:
        self._settle(self.bridge.drain())

    def _settle(self, answers: Iterable[tuple[int, Any, SluicegateError | None]]) -> None:
        for token, answer, error in answers:
            future = self._futures.pop(token, None)
            # The waiter may have given up.
            if future is None or future.done():
                if isinstance(answer, Reserved):
                    self._release(answer)
                continue
            if error is None:
                future.set_result(answer)
            else:
                future.set_exception(error)

    def _fail_all(self, error: SluicegateError) -> None:
        futures, self._futures = self._futures, {}
        for future in futures.values():
            if not future.done():
                future.set_exception(error)

    def give_up(self, token: int) -> None:
        """Ends a wait that nobody waits for any longer."""
        self._futures.pop(token, None)
        self.bridge.give_up(token)

    async def close(self) -> None:
        """Closes the limiter; calls under way end with `ClosedError`, and what was reserved for them is released."""
        self.bridge.ensure_at_home()
        error = self.bridge.shut()
        if error is None:
            return
        # Of those that are not ended now, the callers still learn what they were answered.
        answered = {token: future for token, future in self._futures.items() if not self.bridge.give_up(token)}
        for token in answered:
            del self._futures[token]
        self._fail_all(error)
        self._futures = answered
        try:
            await self._settled()
        finally:
            self.bridge.close()
            self._end(error)
            # It was rung, and has the pipe open until it comes to that.
            if self._listener is not None:
                self._listener.join()

    async def _settled(self) -> None:
        """Waits for the last answers: those that are on their way, and the server's to what is released."""
        self._drain()
        while self._futures or self.bridge.is_releasing:
            await asyncio.sleep(_LOOK_EVERY)
            # What has no answer in time ends, too.
            self.bridge.expire()
            self._drain()

    def _end(self, error: SluicegateError) -> None:
        self._unwatch()
        self._fail_all(error)

    def abandon(self) -> bool:
        """Closes the limiter on behalf of an owner that is gone, on any thread, with the loop closed or not.

        Answers whether there was something to close.
        """
        # What a forked child inherited is its parent's to close. At once: a loop that has stopped may never come to it.
        error = self.bridge.shut() if os.getpid() == self._pid else None
        if error is None:
            return False
        self.bridge.close()
        # A closed loop has no waiter to wake.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._end, error)
        return True

    def _watch(self) -> None:
        doorbell = self.bridge.doorbell
        if doorbell is not None:
            with suppress(NotImplementedError):
                self._loop.add_reader(doorbell, self._rung)
                return
        arguments = (self.bridge, self._loop, weakref.WeakMethod(self._drain))
        listener = threading.Thread(target=_listen, args=arguments, name="sluicegate-listen", daemon=True)
        listener.start()
        self._listener = listener

    def _unwatch(self) -> None:
        # A forked child has no doorbell, and the same set of watched files as its parent.
        doorbell = self.bridge.doorbell
        if doorbell is not None:
            with suppress(NotImplementedError):
                self._loop.remove_reader(doorbell)
            self._unwatch_socket()
        # Where a thread watches the connections, that has them open.
        self.bridge.end_socket()
        self.bridge.end_doorbell()
        if self._timer is not None:
            self._timer.cancel()

    def _rung(self) -> None:
        if self.bridge.silence():
            self._drain()
            self._watch_socket()
            # Also without calls under way: what was borrowed and is not spent in time is to be given back.
            if self._socket is not None and self.bridge.is_hurried:
                self._expire()

    def _watch_socket(self) -> None:
        if self.bridge.is_socket_over:
            self._unwatch_socket()
        socket = self.bridge.new_socket()
        if socket is not None:
            self._socket = socket
            self._loop.add_reader(socket, self._read)

    def _unwatch_socket(self) -> None:
        if self._socket is not None:
            self._loop.remove_reader(self._socket)
            self._socket = None
            self.bridge.end_socket()


class _FirstAnswer:
    """Takes the answer that comes at the end of an iteration of the loop, at less expense than a future."""

    __slots__ = ("_is_done", "_result", "error")
    error: BaseException | None

    def __init__(self) -> None:
        self._is_done = False

    def done(self) -> bool:
        return self._is_done

    def set_result(self, result: Any) -> None:
        self._is_done, self._result, self.error = True, result, None

    def set_exception(self, error: BaseException) -> None:
        self._is_done, self.error = True, error

    def result(self) -> Any:
        # An error refers to this frame, which is not to refer to the error.
        error, self.error = self.error, None
        if error is None:
            return self._result
        try:
            raise error
        finally:
            del error


def _look(future: asyncio.Future[Any]) -> None:
    """So that an error is not reported as one that nobody has looked at."""
    if not future.cancelled():
        future.exception()


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
        # One that closed meanwhile keeps the handler, and thus the limiter, for as long as it lives itself.
        if loop.is_closed():
            return
        del handler

