"""Requests in flight: what was reserved for one is held until its response is over."""

from __future__ import annotations

import asyncio
import heapq
import logging
import os
import threading
import time
import weakref
from collections.abc import Coroutine
from contextlib import suppress
from itertools import count
from typing import Any

from ._middleware import Undecided
from ._native import Reservation
from ._reservations import RETRY_PART, AsyncReservation, warn_unrenewed
from .errors import ClosedError, SluicegateError

_LOG = logging.getLogger("sluicegate")
# The loop refers to tasks weakly.
_TASKS: set[asyncio.Task[None]] = set()
# While a server is away, as many requests are under way as there may be.
_UNRENEWED, _UNENDED = Undecided(), Undecided()
# Threads that renew: each may have to wait for a server that does not answer, while others do.
_THREADS = 64
# So many of them wait for what is due next, rather than end.
_IDLE = 2


def _too_long(most: float) -> None:
    _LOG.warning(
        "a reservation is not renewed any more: the response to its request is not over after %g s "
        "(raise max_lease_seconds if requests take that long)",
        most,
    )


def _failed(error: SluicegateError) -> None:
    _UNENDED.warn("what was reserved for a request is held until its lease ends", error)


def _unrenewed(error: SluicegateError) -> bool:
    """Says that what is held for a request could not be renewed. Answers whether to try again."""
    _UNRENEWED.warn("what was reserved for a request could not be renewed", error)
    return not isinstance(error, ClosedError)


class AsyncInFlight:
    """Renews what is held at half its lease, and commits it as it was reserved when the response is over.

    A response that is not over after `most` seconds is not waited for any longer: what is held ends with its lease.
    """

    __slots__ = ("_end", "_held", "_loop", "_most", "_timer", "_until")

    def __init__(self, held: AsyncReservation, most: float) -> None:
        self._held = held
        self._most = most
        self._until = time.monotonic() + most
        self._loop = asyncio.get_running_loop()
        self._end: asyncio.Task[None] | None = None
        self._timer = self._renew_later(1 / 2)

    def end(self, *, is_kept: bool = True) -> None:
        """Commits, or releases what is not kept, without waiting for it; what the application has ended stays as it is."""
        self._timer.cancel()
        if self._end is None and not self._held._is_over:
            # Not the application's own task, which may have been cancelled.
            self._end = self._begin(self._settle(is_kept))

    async def ended(self, *, is_kept: bool = True) -> None:
        """The same, unless that has begun, and waits for it."""
        self.end(is_kept=is_kept)
        if self._end is not None:
            await asyncio.shield(self._end)

    def _begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = self._loop.create_task(work)
        _TASKS.add(task)
        task.add_done_callback(_TASKS.discard)
        return task

    async def _settle(self, is_kept: bool) -> None:
        try:
            await (self._held.commit() if is_kept else self._held.release())
        except SluicegateError as error:
            _failed(error)

    def _renew_later(self, part: float) -> asyncio.TimerHandle:
        return self._loop.call_later((self._held._lease or 0) * part, lambda: self._begin(self._renew()))

    async def _renew(self) -> None:
        if self._held._is_over:
            return
        if time.monotonic() >= self._until:
            return _too_long(self._most)
        part = 1 / 2
        try:
            is_held = await self._held.renew()
        except SluicegateError as error:
            is_held, part = _unrenewed(error), RETRY_PART
        if is_held and not self._held._is_over:
            self._timer = self._renew_later(part)


class InFlight:
    """The same for threads: a few of them renew what is held for all requests of the process."""

    __slots__ = ("_held",)

    def __init__(self, held: Reservation, most: float) -> None:
        self._held = held
        _RENEWALS.add(_Renewal(held, most))

    def end(self, *, is_kept: bool = True) -> None:
        """Commits, or releases what is not kept; what the application has ended stays as it is."""
        try:
            if not self._held._is_over:
                (self._held.commit if is_kept else self._held.release)()
        except SluicegateError as error:
            _failed(error)


def give_back(held: AsyncReservation | Reservation) -> None:
    """Releases what is held for a request that goes no further, on a loop without waiting for it."""
    if isinstance(held, AsyncReservation):
        return AsyncInFlight(held, 0).end(is_kept=False)
    try:
        held.release()
    except SluicegateError as error:
        _failed(error)


class _Renewal:
    """What is renewed for one request."""

    __slots__ = ("_held", "_most", "_until", "due")

    def __init__(self, held: Reservation, most: float) -> None:
        self._held = held
        self._most = most
        self._until = time.monotonic() + most
        self.due = self._in(1 / 2)

    def _in(self, part: float) -> float:
        """When this part of the lease will have passed."""
        return time.monotonic() + (self._held._lease or 0) * part

    def renew(self) -> bool:
        """Renews it if it is still held. Answers whether to come back when it is due."""
        if self._held._is_over:
            return False
        if time.monotonic() >= self._until:
            _too_long(self._most)
            return False
        part = 1 / 2
        try:
            is_held = self._held.renew()
        except SluicegateError as error:
            is_held, part = _unrenewed(error), RETRY_PART
        self.due = self._in(part)
        return is_held


class _Kept:
    """What is renewed until it is ended, or forgotten."""

    __slots__ = ("_fails", "_held", "due")

    def __init__(self, held: Reservation) -> None:
        self._held = weakref.ref(held)
        self._fails = False
        self.due = time.monotonic() + (held._lease or 0) / 2

    def renew(self) -> bool:
        """As of `_Renewal`."""
        held = self._held()
        if held is None or held._is_over:
            return False
        lease = held._lease or 0
        try:
            is_held = held.renew()
        except SluicegateError as error:
            is_first, self._fails = not self._fails, True
            self.due = time.monotonic() + lease * RETRY_PART
            return warn_unrenewed(held, error, is_first=is_first)
        self._fails = False
        if not is_held:
            warn_unrenewed(held, None, is_first=True)
        self.due = time.monotonic() + lease / 2
        return is_held


class _Renewals:
    """What is to be renewed, by when; what has ended is forgotten when its time comes."""

    def __init__(self) -> None:
        self._due: list[tuple[float, int, _Renewal | _Kept]] = []
        self._changed = threading.Condition()
        self._numbers = count()
        self._threads = 0
        self._idle = 0

    def add(self, renewal: _Renewal | _Kept) -> None:
        entry = (renewal.due, next(self._numbers), renewal)
        with self._changed:
            heapq.heappush(self._due, entry)
            if not self._idle:
                self._start()
            elif self._due[0] is entry:
                self._changed.notify()

    def _start(self) -> None:
        """Starts a thread that waits; not while there are many already."""
        if self._threads < _THREADS:
            threading.Thread(target=self._run, name="sluicegate-renew", daemon=True).start()
            self._threads += 1
            self._idle += 1

    def _run(self) -> None:
        while (renewal := self._next()) is not None:
            if renewal.renew():
                self.add(renewal)
            with self._changed:
                self._idle += 1
            # Not to be held until the next one is due.
            del renewal

    def _next(self) -> _Renewal | _Kept | None:
        """What is due, when it is; None for a thread that is not needed to wait for it."""
        with self._changed:
            while not self._due or self._due[0][0] > time.monotonic():
                if self._idle > _IDLE:
                    self._idle -= 1
                    self._threads -= 1
                    return None
                self._changed.wait(self._due[0][0] - time.monotonic() if self._due else None)
            self._idle -= 1
            renewal = heapq.heappop(self._due)[2]
            # This one may take long: another thread looks when the next is due.
            if self._idle:
                self._changed.notify()
            else:
                # Which a process that ends does not have.
                with suppress(RuntimeError):
                    self._start()
            return renewal


_RENEWALS = _Renewals()


def keep(held: Reservation) -> None:
    """Renews a reservation until it is ended, or forgotten."""
    _RENEWALS.add(_Kept(held))


if hasattr(os, "register_at_fork"):
    # Neither the thread nor the requests of the parent are in a child.
    os.register_at_fork(after_in_child=_RENEWALS.__init__)  # type: ignore[misc]
