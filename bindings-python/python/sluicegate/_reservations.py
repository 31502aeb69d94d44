"""What is reserved by the limiter for asyncio."""

from __future__ import annotations

import asyncio
import logging
import weakref
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Protocol

from ._awaiting import Awaiting
from ._native import Reserved
from .errors import ClosedError, SluicegateError

__all__ = ["AsyncReservation"]

_LOG = logging.getLogger("sluicegate")
# The loop refers to tasks weakly.
_TASKS: set[asyncio.Task[None]] = set()
# A renewal that failed is tried again after this part of the lease, to be in time more than once.
RETRY_PART = 1 / 8


def warn_lost(held: Reserved) -> None:
    """Says that a block has outlived the lease of its reservation."""
    _LOG.warning(
        'the lease of a reservation under rule "%s" was over, or it was ended elsewhere, before its block ended: others may '
        "have run at the same time (reserve with renewed=True if it was not, or raise lease_seconds from %g)",
        held.rule,
        held._lease or 0,
    )


def warn_unrenewed(held: Reserved, error: SluicegateError | None, *, is_first: bool) -> bool:
    """Says that a reservation could not be renewed, unless that was said. Answers whether to try again."""
    if error is not None:
        if is_first:
            _LOG.warning('a reservation under rule "%s" could not be renewed: %s', held.rule, error)
        return not isinstance(error, ClosedError)
    if not held._is_over:
        _LOG.warning('a reservation under rule "%s" is renewed no longer: its lease was over, or it was ended elsewhere', held.rule)
    return False


class _Limiter(Protocol):
    """The limiter that made a reservation, as far as that ends it."""

    async def commit(
        self, reservation: str | Reserved, cost: int | Mapping[str, int] | Mapping[int, int] | None = None
    ) -> bool: ...

    async def release(self, reservation: str | Reserved) -> bool: ...

    async def renew(self, reservation: str | Reserved) -> bool: ...


class AsyncReservation(Reserved):
    """The answer to `reserve`: a decision and, when it was granted, what is held.

    Used in an `async with` statement it is committed as it was reserved at a normal end of the block, and released by
    an exception, unless the block has tried to end it itself; a block that has outlived the lease is logged as a
    warning. Without either it is held until its lease ends, and charged in full then.
    """

    __slots__ = ("__weakref__", "_limiter")

    _limiter: _Limiter

    def __new__(cls, limiter: _Limiter, reserved: Reserved, /) -> AsyncReservation:
        self = super().__new__(cls, reserved)
        self._limiter = limiter
        return self

    async def commit(self, cost: int | Mapping[str, int] | Mapping[int, int] | None = None) -> bool:
        """Ends the reservation and charges what was really used, also beyond the limit: `cost`, or as was reserved.

        Of several items the cost of each by its rule, or by its place. Answers whether it took effect.
        """
        return await self._limiter.commit(self, cost)

    async def release(self) -> bool:
        """Ends the reservation, of which nothing was used. Answers whether it took effect."""
        return await self._limiter.release(self)

    async def renew(self) -> bool:
        """Renews the lease. Answers whether it took effect."""
        return await self._limiter.renew(self)

    async def __aenter__(self) -> AsyncReservation:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_over:
            return
        if kind is None:
            if not await self.commit():
                warn_lost(self)
            return
        # What the caller is to hear of is the exception. The lease ends what this could not.
        with suppress(SluicegateError):
            if not await self.release():
                warn_lost(self)


class AsyncRenewal:
    """Renews what is held at half its lease until it is ended, or forgotten."""

    __slots__ = ("_fails", "_held", "_loop")

    def __init__(self, held: AsyncReservation) -> None:
        self._held = weakref.ref(held)
        self._fails = False
        self._loop = asyncio.get_running_loop()
        self._later((held._lease or 0) / 2)

    def _later(self, pause: float) -> None:
        self._loop.call_later(pause, self._begin)

    def _begin(self) -> None:
        held = self._held()
        if held is not None and not held._is_over:
            task = self._loop.create_task(self._renew(held))
            _TASKS.add(task)
            task.add_done_callback(_TASKS.discard)

    async def _renew(self, held: AsyncReservation) -> None:
        lease = held._lease or 0
        try:
            if await held.renew():
                self._fails = False
                self._later(lease / 2)
            else:
                warn_unrenewed(held, None, is_first=True)
        except SluicegateError as error:
            if warn_unrenewed(held, error, is_first=not self._fails):
                self._fails = True
                self._later(lease * RETRY_PART)


class Reserving(Awaiting[AsyncReservation]):
    """A reservation on its way: `await` it, make it a task, or enter it by `async with`, which ends it."""

    __slots__ = ("_begin", "_limiter", "_renewed", "_reservation", "_reserved")

    _reservation: AsyncReservation

    def __init__(
        self,
        call: str,
        limiter: _Limiter,
        begin: Callable[[], Reserved | int],
        reserved: Callable[[int], Awaitable[Reserved]],
        renewed: bool = False,
    ) -> None:
        super().__init__(f"AsyncRateLimiter.{call}")
        self._limiter = limiter
        self._begin = begin
        # The answer to a call that has begun, by its token.
        self._reserved = reserved
        self._renewed = renewed

    async def _run(self) -> AsyncReservation:
        answer = self._begin()
        if isinstance(answer, int):
            answer = await self._reserved(answer)
        held = AsyncReservation(self._limiter, answer)
        if self._renewed and not held._is_over:
            AsyncRenewal(held)
        return held

    async def __aenter__(self) -> AsyncReservation:
        self._reservation = await self
        return self._reservation

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._reservation.__aexit__(kind, error, trace)
