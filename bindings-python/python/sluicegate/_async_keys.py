"""What the limiter for asyncio does about single keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._calls import Calls
from ._native import Bridge, Decision

if TYPE_CHECKING:
    from ._native import _Key, _Name


class AsyncKeys:
    """The methods of `AsyncRateLimiter` that look at a key, forget, block or limit it."""

    __slots__ = ()

    _bridge: Bridge
    _calls: Calls

    async def reset(
        self, rule: str, key: _Key, *, resource: _Name | None = None, timeout: float | None = None
    ) -> None:
        """Forgets what was counted for `key` under `rule`, and nothing else."""
        await self._calls.done(self._bridge.reset(rule, key, resource, timeout))

    async def block(self, rule: str, key: _Key, seconds: float, *, timeout: float | None = None) -> None:
        """Blocks `key` under `rule` for so many seconds from now: every check of it is denied and counts nothing.

        Takes the place of a block that it has already.
        """
        await self._calls.done(self._bridge.block(rule, key, seconds, timeout))

    async def unblock(self, rule: str, key: _Key, *, timeout: float | None = None) -> bool:
        """Ends the block of `key` under `rule`. Answers whether there was one."""
        return await self._calls.took_effect(self._bridge.change("unblock", rule, key, timeout))

    async def set_limit(
        self,
        rule: str,
        key: _Key,
        limit: int,
        expires_in: float | None = None,
        *,
        timeout: float | None = None,
    ) -> None:
        """Stores a limit for `key` under `rule`, which every process uses from its next check on.

        It holds for `expires_in` seconds, or until it is cleared. The `limit` of a call still comes first.
        """
        await self._calls.done(self._bridge.set_limit(rule, key, limit, expires_in, timeout))

    async def clear_limit(self, rule: str, key: _Key, *, timeout: float | None = None) -> bool:
        """Forgets the limit that is stored for `key` under `rule`. Answers whether there was one."""
        return await self._calls.took_effect(self._bridge.change("clear_limit", rule, key, timeout))

    async def inspect(
        self, key: _Key, *, resource: _Name | None = None, timeout: float | None = None
    ) -> Decision:
        """Looks at `key` under every rule; changes nothing.

        The `parts` of the decision hold, for each rule, what it would answer to a check of cost 1 now. Rules that
        limit a resource are left out unless one is given.
        """
        answer = self._bridge.inspect(key, resource, timeout)
        return answer if isinstance(answer, Decision) else await self._calls.answer(answer)

    async def reset_all(
        self, key: _Key, *, resource: _Name | None = None, timeout: float | None = None
    ) -> None:
        """Forgets what was counted for `key` under every rule, one after the other.

        Rules that limit a resource are left out unless one is given.
        """
        await self._calls.done(self._bridge.reset_all(key, resource, timeout))
