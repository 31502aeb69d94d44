"""The limiter for asyncio."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING

from ._async_keys import AsyncKeys
from ._async_reservations import AsyncReservations
from ._async_rules import AsyncRules
from ._calls import Calls
from ._connecting import Connecting
from ._credentials import on_loop
from ._metrics import Metrics
from ._native import Bridge, Check, Decision, ManualClock, Options

if TYPE_CHECKING:
    from ._credentials import _AsyncCredentials as _Credentials
    from ._native import _Headers, _Key, _Name, _Path, _Rules

__all__ = ["AsyncRateLimiter"]


class AsyncRateLimiter(AsyncReservations, AsyncKeys, AsyncRules):
    """Decides whether a cost is admitted; each call is a coroutine that takes one round trip.

    Made by `await AsyncRateLimiter.connect(...)`, or `async with AsyncRateLimiter.connect(...) as limiter`,
    for the event loop that runs then. The calls of one iteration of the loop travel together. A call that is
    cancelled does not disturb the others; its cost may have been charged. `memory://` answers at once.
    """

    __slots__ = ("__weakref__", "_bridge", "_calls")

    _bridge: Bridge
    _calls: Calls

    def __init__(self, *_: object, **__: object) -> None:
        raise TypeError("use `await AsyncRateLimiter.connect(...)`")

    @classmethod
    def connect(
        cls,
        url: str,
        *,
        rules: _Rules,
        connect_timeout: float = 1.0,
        response_timeout: float = 0.5,
        breaker_failures: int = 5,
        breaker_probe: float = 0.1,
        tls_ca: _Path | None = None,
        tls_cert: _Path | None = None,
        tls_key: _Path | None = None,
        replicas: int = 0,
        replica_timeout: float = 0.005,
        credentials: _Credentials | None = None,
        prefix: str = "sluicegate",
        fallback: str = "error",
        instances: int = 1,
        clock: ManualClock | None = None,
        rules_cache: _Path | None = None,
        identifier_secret: str | None = None,
        max_keys: int | None = None,
        request_id_seconds: int = 60,
        regions: Mapping[str, str] | None = None,
        region: str | None = None,
        region_parts: Mapping[str, float] | None = None,
        share: float = 1.0,
        lazy: bool = False,
        remember_denials: float = 0.0,
        top_denied: int = 0,
    ) -> Connecting[AsyncRateLimiter]:
        """Opens a limiter; to be awaited, or entered by `async with`."""
        credentials = on_loop(credentials)
        options = Options(
            url,
            rules=rules,
            connect_timeout=connect_timeout,
            response_timeout=response_timeout,
            breaker_failures=breaker_failures,
            breaker_probe=breaker_probe,
            tls_ca=tls_ca,
            tls_cert=tls_cert,
            tls_key=tls_key,
            replicas=replicas,
            replica_timeout=replica_timeout,
            credentials=credentials,
            prefix=prefix,
            fallback=fallback,
            instances=instances,
            clock=clock,
            rules_cache=rules_cache,
            identifier_secret=identifier_secret,
            max_keys=max_keys,
            request_id_seconds=request_id_seconds,
            regions=regions,
            region=region,
            region_parts=region_parts,
            share=share,
            lazy=lazy,
            remember_denials=remember_denials,
            top_denied=top_denied,
        )
        return Connecting(lambda: AsyncRateLimiter._open(options))

    @classmethod
    async def _open(cls, options: Options) -> AsyncRateLimiter:
        calls = await Calls.open(options)
        limiter = cls.__new__(cls)
        limiter._calls, limiter._bridge = calls, calls.bridge
        return limiter

    async def check(
        self,
        rule: str,
        key: _Key,
        *,
        cost: int = 1,
        resource: _Name | None = None,
        limit: int | None = None,
        timeout: float | None = None,
        request_id: str | None = None,
    ) -> Decision:
        """Admits a cost for `key` under `rule`, or denies it.

        `timeout` is the whole time that the call may take, in seconds; by default `connect_timeout` and
        `response_timeout` together. `request_id`, of 1 to 64 bytes, makes the call safe to repeat: later calls with the
        same id get the first answer, and charge nothing.
        """
        answer = self._bridge.check(rule, key, cost, resource, limit, timeout, request_id)
        return answer if isinstance(answer, Decision) else await self._calls.answer(answer)

    async def check_all(self, checks: Iterable[Check], *, request_id: str | None = None) -> Decision:
        """Decides several checks together: all of them are charged, or none is.

        The decision is that of the deciding check; its `parts` hold one per item. `request_id` is as for `check`, of the
        call as a whole.
        """
        answer = self._bridge.check_all(checks, request_id)
        return answer if isinstance(answer, Decision) else await self._calls.answer(answer)

    async def check_request(
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
    ) -> Decision:
        """Decides a request by all the rules that match it, together.

        The `parts` of the decision hold one per rule; if there is none, the request is admitted and `rule_applied`
        is false. The path is that of the request line, percent-encoded; `other_paths` are further ones that the
        application may act on, such as `PATH_INFO`, spelled likewise. `api_key_header` names the header that has the
        API key, each of whose values counts. `ignore_case`: the application routes without regard to capitals.
        """
        answer = self._bridge.check_request(
            method, path, user_id, ip, api_key, headers, api_key_header, other_paths, ignore_case, timeout
        )
        return answer if isinstance(answer, Decision) else await self._calls.answer(answer)

    async def peek(
        self,
        rule: str,
        key: _Key,
        *,
        cost: int = 1,
        resource: _Name | None = None,
        limit: int | None = None,
        timeout: float | None = None,
    ) -> Decision:
        """What `check` would answer now; changes nothing."""
        answer = self._bridge.decide("peek", rule, key, cost, resource, limit, timeout, None)
        return answer if isinstance(answer, Decision) else await self._calls.answer(answer)

    async def refund(
        self,
        rule: str,
        key: _Key,
        *,
        cost: int = 1,
        resource: _Name | None = None,
        limit: int | None = None,
        timeout: float | None = None,
        request_id: str | None = None,
    ) -> Decision:
        """Gives back a cost that turned out not to be used, the newest first; answers as `peek` would then."""
        answer = self._bridge.decide("refund", rule, key, cost, resource, limit, timeout, request_id)
        return answer if isinstance(answer, Decision) else await self._calls.answer(answer)

    async def charge(
        self,
        rule: str,
        key: _Key,
        *,
        cost: int = 1,
        resource: _Name | None = None,
        limit: int | None = None,
        timeout: float | None = None,
        request_id: str | None = None,
    ) -> Decision:
        """Counts a cost that was used already, also beyond the limit, and answers as `peek` of 1 would then."""
        answer = self._bridge.decide("charge", rule, key, cost, resource, limit, timeout, request_id)
        return answer if isinstance(answer, Decision) else await self._calls.answer(answer)

    async def wait(
        self,
        rule: str,
        key: _Key,
        *,
        timeout: float,
        cost: int = 1,
        resource: _Name | None = None,
        limit: int | None = None,
    ) -> Decision:
        """Waits until the cost is admitted, for `timeout` seconds at most.

        Waits for the same key take turns, in the order of their arrival. Returns the last decision: a denial as soon as
        it is known that the wait would be too long.
        """
        return await self._calls.waited(self._bridge.wait(rule, key, timeout, cost, resource, limit))

    async def wait_all(self, checks: Iterable[Check], *, timeout: float) -> Decision:
        """Waits until several checks are admitted together, for `timeout` seconds at most.

        They are decided as by `check_all`: all of them are charged, or none is.
        """
        return await self._calls.waited(self._bridge.wait_all(checks, timeout))

    def metrics(self) -> Metrics:
        """What the limiter has counted since it was made, as a dict of plain values.

        Decisions by rule and who decided, their cost, errors by kind, how long servers took to answer, the circuit breaker
        of each server, the version of the rules, and, where the option `top_denied` asks for them, the keys denied most.
        Times are in seconds. Does no I/O.
        """
        return self._bridge.metrics()

    def prometheus(self) -> str:
        """`metrics` in the text format of Prometheus (version 0.0.4), without any key. Does no I/O."""
        return self._bridge.prometheus()

    async def ping(self, *, timeout: float | None = None) -> None:
        """Tries the server."""
        await self._calls.done(self._bridge.ping(timeout))

    async def close(self) -> None:
        """Closes the connections. Final: calls under way and later ones raise `ClosedError`.

        What was reserved for a call under way is released: that waits for the server, for as long as a call may take at most.
        `match_request` and `rules_status`, which only look at the rules, still answer.
        """
        await self._calls.close()

    async def __aenter__(self) -> AsyncRateLimiter:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __del__(self) -> None:
        if hasattr(self, "_calls") and self._calls.abandon():
            warnings.warn(f"unclosed {self!r}", ResourceWarning, source=self, stacklevel=1)
