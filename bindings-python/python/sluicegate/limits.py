"""A storage of the package limits, so that Flask-Limiter, slowapi and others run on Sluicegate by URL alone.

Importing this module registers the schemes: `sluicegate+redis://localhost/0`, `sluicegate+rediss`, `sluicegate+unix`,
`sluicegate+redis-cluster`, `sluicegate+redis-sentinel` and `sluicegate+memory`.
"""

from __future__ import annotations

import threading
import time
from typing import Any

from ._routes.needed import needed

with needed("limits", "limits"):
    from limits.limits import GRANULARITIES
    from limits.storage import MovingWindowSupport, SlidingWindowCounterSupport, Storage

from ._native import RateLimiter
from .errors import SluicegateError

__all__ = ["SluicegateStorage"]

_PREFIX = "sluicegate+"
_SERVERS = ("memory", "redis", "rediss", "unix", "redis-cluster", "redis-sentinel")
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


class SluicegateStorage(Storage, MovingWindowSupport, SlidingWindowCounterSupport):
    """Counts for every strategy of limits: fixed window, moving window, sliding window counter.

    Each call is atomic at the server, and the time is the server's. Fixed windows count denied calls too, as the package
    documents it. `uri` is a URL of Sluicegate with `sluicegate+` before it; other options are those of `RateLimiter`.

    `reset()` works in memory alone: no call of Sluicegate deletes all keys of a server.
    """

    STORAGE_SCHEME = [_PREFIX + server for server in _SERVERS]

    def __init__(self, uri: str | None = None, wrap_exceptions: bool = False, **options: Any) -> None:
        super().__init__(uri, wrap_exceptions)
        self._url = (uri or "memory://").removeprefix(_PREFIX)
        self._options = options
        self._lock = threading.Lock()
        # Windows that the key does not name, as it does for the package's own items.
        self._others: set[int] = set()
        self._known: dict[tuple[str, int], str] = {}
        self._limiter = RateLimiter(self._url, rules=[], **options)

    @property
    def base_exceptions(self) -> type[Exception]:
        """What calls may raise."""
        return SluicegateError

    def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        """Counts, in a window that begins with its first call, and answers the count."""
        if expiry not in self._windows(key):
            self._others.add(expiry)
        if amount < 1:
            return self.get(key)
        decision = self._limiter.check(self._rule("fixed", expiry), key, cost=amount)
        return decision.limit - decision.remaining + (0 if decision else amount)

    def get(self, key: str) -> int:
        """The count of a fixed window."""
        counts = (self._peek(key, window) for window in self._windows(key))
        return next((count for count, _ in counts if count), 0)

    def get_expiry(self, key: str) -> float:
        """When the fixed window of a key ends, in seconds since 1970."""
        ends = (self._peek(key, window) for window in self._windows(key))
        return time.time() + next((left for count, left in ends if count), 0.0)

    def acquire_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        """Admits calls if no moving window then holds more than the limit."""
        return amount < 1 or bool(self._limiter.check(self._rule("moving", expiry), key, cost=amount, limit=limit))

    def get_moving_window(self, key: str, limit: int, expiry: int) -> tuple[float, int]:
        """When the oldest call in the moving window was, and how many there are."""
        rule, now = self._rule("moving", expiry), time.time()
        decision = self._limiter.peek(rule, key, limit=limit)
        count = limit - decision.remaining
        if count == 0:
            return now, 0
        # One more than fits waits until the oldest call leaves.
        wait = self._limiter.peek(rule, key, cost=decision.remaining + 1, limit=limit).retry_after
        return now + wait - expiry, count

    def acquire_sliding_window_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        """Admits calls if the weighted count of two windows is then not above the limit."""
        cost, most = amount * _PARTS, limit * _PARTS + _PARTS - 1
        return amount < 1 or bool(self._limiter.check(self._rule("sliding", expiry), key, cost=cost, limit=most))

    def get_sliding_window(self, key: str, expiry: int) -> tuple[int, float, int, float]:
        """The weighted count of both windows as that of the current one, and after how many seconds it falls."""
        rule = self._rule("sliding", expiry)
        count = (_MOST - self._limiter.peek(rule, key, limit=_MOST).remaining) // _PARTS
        if count == 0:
            return 0, 0.0, 0, 0.0
        cost = _MOST - count * _PARTS + 1
        wait = self._limiter.peek(rule, key, cost=cost, limit=_MOST).retry_after
        return 0, 0.0, count, min(wait, expiry - _TICK)

    def clear_sliding_window(self, key: str, expiry: int) -> None:
        """Forgets a key of the sliding window counter."""
        self._limiter.reset(self._rule("sliding", expiry), key)

    def clear(self, key: str) -> None:
        """Forgets a key of fixed and moving windows."""
        for window in self._windows(key):
            for kind in ("fixed", "moving"):
                self._limiter.reset(self._rule(kind, window), key)

    def check(self) -> bool:
        """Whether the server answers."""
        try:
            self._limiter.ping()
        except SluicegateError:
            return False
        return True

    def reset(self) -> int | None:
        """Forgets everything, in memory. Raises NotImplementedError where there is a server."""
        if not self._url.startswith("memory:"):
            raise NotImplementedError("a server is not emptied: `clear` forgets a key, and windows end by themselves")
        with self._lock:
            self._limiter = RateLimiter(self._url, rules=self._limiter.rules(), **self._options)
        return None

    def _peek(self, key: str, window: int) -> tuple[int, float]:
        decision = self._limiter.peek(self._rule("fixed", window), key)
        return decision.limit - decision.remaining, decision.reset_after

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
        self._limiter.add_rules([{"rule_id": name, "window_size_seconds": window, **_RULES[kind]}])
        self._known[kind, window] = name
        return name
