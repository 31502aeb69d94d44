"""Rules by which requests take places, and how many are left."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from sluicegate import RateLimiter

PLACES = 3
RULES: list[dict[str, Any]] = [
    {
        "rule_id": "places",
        "algorithm": "concurrency",
        "limit": PLACES,
        "identifier_type": "global",
        "match": {"path_pattern": "/jobs/*"},
    },
    {
        "rule_id": "tokens",
        "algorithm": "fixed_window",
        "limit": 1000,
        "window_size_seconds": 3600,
        "reservations": True,
        "cost": 10,
        "identifier_type": "global",
        "match": {"path_pattern": "/jobs/metered"},
    },
    {
        "rule_id": "short",
        "algorithm": "concurrency",
        "limit": 1,
        "lease_seconds": 0.6,
        "identifier_type": "global",
        "match": {"path_pattern": "/short/*"},
    },
    {"rule_id": "plain", "rate": "100/h", "identifier_type": "global", "match": {"path_pattern": "/plain"}},
]


def left(url: str, prefix: str, rule: str = "places") -> int:
    with RateLimiter(url, rules=RULES, prefix=prefix) as limiter:
        return limiter.peek(rule, "global").remaining


def until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.01)
