"""What is reserved by the limiter for asyncio."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Protocol

from ._awaiting import Awaiting
from ._native import Reserved
from .errors import SluicegateError

__all__ = ["AsyncReservation"]


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
    an exception, unless the block has tried to end it itself. Without either it is held until its lease ends, and
    charged in full then.
    """

    __slots__ = ("_limiter",)

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
            await self.commit()
            return
        # What the caller is to hear of is the exception. The lease ends what this could not.
        with suppress(SluicegateError):
            await self.release()


class Reserving(Awaiting[AsyncReservation]):
    """A reservation on its way: `await` it, make it a task, or enter it by `async with`, which ends it."""

    __slots__ = ("_begin", "_limiter", "_reservation", "_reserved")

    _reservation: AsyncReservation

    def __init__(
        self,
        call: str,
        limiter: _Limiter,
        begin: Callable[[], Reserved | int],
        reserved: Callable[[int], Awaitable[Reserved]],
    ) -> None:
        super().__init__(f"AsyncRateLimiter.{call}")
        self._limiter = limiter
        self._begin = begin
        # The answer to a call that has begun, by its token.
        self._reserved = reserved

    async def _run(self) -> AsyncReservation:
        answer = self._begin()
        if isinstance(answer, int):
            answer = await self._reserved(answer)
        return AsyncReservation(self._limiter, answer)

    async def __aenter__(self) -> AsyncReservation:
        self._reservation = await self
        return self._reservation

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._reservation.__aexit__(kind, error, trace)
