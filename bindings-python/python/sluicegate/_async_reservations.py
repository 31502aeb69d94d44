"""What the limiter for asyncio does about reservations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ._calls import Calls
from ._middleware import ensure
from ._native import Bridge, Check, Reserved
from ._reservations import Reserving

if TYPE_CHECKING:
    from ._native import _Headers, _Key, _Name


class AsyncReservations:
    """The methods of `AsyncRateLimiter` that reserve, and that end what is reserved."""

    __slots__ = ()

    _bridge: Bridge
    _calls: Calls

    def reserve(
        self,
        rule: str,
        key: _Key,
        *,
        cost: int = 1,
        resource: _Name | None = None,
        limit: int | None = None,
        timeout: float | None = None,
        wait: float | None = None,
        renewed: bool = False,
    ) -> Reserving:
        """Reserves a cost for `key` under `rule`, or denies it; to be awaited, or entered by `async with`.

        Room is held, and nothing is charged until it is committed. What is reserved for a call that was cancelled is
        released. `wait` is how many seconds to wait for room at most, in the order of arrival. With `renewed` the lease
        is renewed in the background until the reservation is ended, or forgotten.
        """
        ensure("renewed", "a bool", renewed, isinstance(renewed, bool))
        return Reserving(
            "reserve",
            self,
            lambda: self._bridge.reserve(rule, key, cost, resource, limit, timeout, wait),
            self._calls.reserved,
            renewed,
        )

    def reserve_all(self, checks: Iterable[Check], *, wait: float | None = None, renewed: bool = False) -> Reserving:
        """Reserves several costs together, all of them or none; to be awaited, or entered by `async with`.

        Items whose rule has no reservations are charged at once. `wait` and `renewed` are as for `reserve`.
        """
        ensure("renewed", "a bool", renewed, isinstance(renewed, bool))
        return Reserving(
            "reserve_all", self, lambda: self._bridge.reserve_all(checks, wait), self._calls.reserved, renewed
        )

    def reserve_request(
        self,
        method: str,
        path: str,
        *,
        user_id: _Name | None = None,
        ip: str | None = None,
        api_key: str | None = None,
        headers: _Headers | None = None,
        api_key_header: str | None = None,
        other_paths: Iterable[str] | None = None,
        ignore_case: bool = False,
        timeout: float | None = None,
    ) -> Reserving:
        """Decides a request as `check_request` does; to be awaited, or entered by `async with`.

        It reserves under the rules that have reservations, and charges the others at once. Where there are none, nothing
        is held, and `id` is None.
        """
        return Reserving(
            "reserve_request",
            self,
            lambda: self._bridge.reserve_request(
                method, path, user_id, ip, api_key, headers, api_key_header, other_paths, ignore_case, timeout
            ),
            self._calls.reserved,
        )

    async def commit(
        self, reservation: str | Reserved, cost: int | Mapping[str, int] | Mapping[int, int] | None = None
    ) -> bool:
        """Ends a reservation, given by itself or its id, and charges what was really used, also beyond the limit.

        That is `cost`, or as much as was reserved; of several items the cost of each by its rule, or by its place.
        Answers whether it took effect: not where the reservation had ended, expired or been denied.
        """
        return await self._end("commit", reservation, cost)

    async def release(self, reservation: str | Reserved) -> bool:
        """Ends a reservation, given by itself or its id, of which nothing was used. Answers whether it took effect."""
        return await self._end("release", reservation)

    async def renew(self, reservation: str | Reserved) -> bool:
        """Renews the lease of a reservation, given by itself or its id. Answers whether it took effect."""
        return await self._end("renew", reservation)

    async def _end(
        self,
        method: str,
        reservation: str | Reserved,
        cost: int | Mapping[str, int] | Mapping[int, int] | None = None,
    ) -> bool:
        return await self._calls.took_effect(self._bridge.end(method, reservation, cost))
