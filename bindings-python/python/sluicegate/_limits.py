"""How the strategies of the package limits count: what its blocking and its async storage have in common.

Each method is made of steps, of which a blocking limiter answers each at once, and one for asyncio is awaited.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

from limits.limits import GRANULARITIES

if TYPE_CHECKING:
    from ._routes.hooks import Steps

# What a counter may reach: more than anybody counts, and whole in a double.
_MOST = 10**15
# limits drops the fraction of a weighted count. Counted in so many parts of a request, a limit that has all but one part of the
# next request does the same.
_PARTS = 1000
# So that a wait of the whole window is not taken for none.
_TICK = 0.001
_RULES: dict[str, dict[str, Any]] = {
    # Counts denied calls too, as limits does: so the limit is never reached, and the strategy compares.
    "fixed": {"algorithm": "fixed_window", "window_start": "first_request", "limit": _MOST},
    # The calls say the limit.
    "moving": {"algorithm": "sliding_log", "limit": 1},
    "sliding": {"algorithm": "sliding_window", "limit": _PARTS},
}


class Counts:
    """Counts in the windows of a limiter, whose rules are made when they are needed."""

    def __init__(self, limiter: Any) -> None:
        self.limiter = limiter
        self._lock = threading.Lock()
        # Windows that the key does not name, as it does for the package's own items.
        self._others: set[int] = set()
        self._known: dict[tuple[str, int], str] = {}

    def incr(self, key: str, expiry: int, amount: int) -> Steps:
        """Counts in a fixed window, and answers the count."""
        if expiry not in self._windows(key):
            self._others.add(expiry)
        if amount < 1:
            return (yield from self.get(key))
        decision = yield self.limiter.check(self._rule("fixed", expiry), key, cost=amount)
        return decision.limit - decision.remaining + (0 if decision else amount)

    def get(self, key: str) -> Steps:
        """The count of a fixed window."""
        count, _ = yield from self._fixed(key)
        return count

    def left(self, key: str) -> Steps:
        """The seconds until the fixed window of a key ends."""
        _, left = yield from self._fixed(key)
        return left

    def acquire_moving(self, key: str, limit: int, expiry: int, amount: int) -> Steps:
        """Admits calls if no moving window then holds more than the limit."""
        if amount < 1:
            return True
        return bool((yield self.limiter.check(self._rule("moving", expiry), key, cost=amount, limit=limit)))

    def moving(self, key: str, limit: int, expiry: int) -> Steps:
        """When the oldest call in the moving window was, and how many there are."""
        rule, now = self._rule("moving", expiry), time.time()
        decision = yield self.limiter.peek(rule, key, limit=limit)
        count = limit - decision.remaining
        if count == 0:
            return now, 0
        # One more than fits waits until the oldest call leaves.
        one_more = yield self.limiter.peek(rule, key, cost=decision.remaining + 1, limit=limit)
        return now + one_more.retry_after - expiry, count

    def acquire_sliding(self, key: str, limit: int, expiry: int, amount: int) -> Steps:
        """Admits calls if the weighted count of two windows is then not above the limit."""
        if amount < 1:
            return True
        cost, most = amount * _PARTS, limit * _PARTS + _PARTS - 1
        return bool((yield self.limiter.check(self._rule("sliding", expiry), key, cost=cost, limit=most)))

    def sliding(self, key: str, expiry: int) -> Steps:
        """The weighted count of both windows as that of the current one, and after how many seconds it falls."""
        rule = self._rule("sliding", expiry)
        count = (_MOST - (yield self.limiter.peek(rule, key, limit=_MOST)).remaining) // _PARTS
        if count == 0:
            return 0, 0.0, 0, 0.0
        falls = yield self.limiter.peek(rule, key, cost=_MOST - count * _PARTS + 1, limit=_MOST)
        return 0, 0.0, count, min(falls.retry_after, expiry - _TICK)

    def clear_sliding(self, key: str, expiry: int) -> Steps:
        """Forgets a key of the sliding window counter."""
        yield self.limiter.reset(self._rule("sliding", expiry), key)

    def clear(self, key: str) -> Steps:
        """Forgets a key of fixed and moving windows."""
        for window in self._windows(key):
            for kind in ("fixed", "moving"):
                yield self.limiter.reset(self._rule(kind, window), key)

    def ping(self) -> Steps:
        """Asks the server for an answer."""
        yield self.limiter.ping()

    def _fixed(self, key: str) -> Steps:
        for window in self._windows(key):
            decision = yield self.limiter.peek(self._rule("fixed", window), key)
            count = decision.limit - decision.remaining
            if count:
                return count, decision.reset_after
        return 0, 0.0

    def _windows(self, key: str) -> set[int]:
        """The windows that a key may be counted in, of which `get` and `clear` are told nothing."""
        parts = key.rsplit("/", 2)
        item = GRANULARITIES.get(parts[-1])
        if item is None or len(parts) < 3 or not parts[-2].isdecimal():
            return set(self._others)
        return {item.GRANULARITY.seconds * int(parts[-2])} | self._others

    def _rule(self, kind: str, window: int) -> str:
        name = self._known.get((kind, window))
        if name is None:
            with self._lock:
                name = self._known.get((kind, window)) or self._add(kind, window)
        return name

    def _add(self, kind: str, window: int) -> str:
        name = f"limits:{kind}:{window}"
        self.limiter.add_rules([{"rule_id": name, "window_size_seconds": window, **_RULES[kind]}])
        self._known[kind, window] = name
        return name
