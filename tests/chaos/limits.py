"""The rules that the clients check, and how much each may admit by what is stated."""

from __future__ import annotations

from dataclasses import dataclass

from history import Lane

# Each second; as much may come at once. It is divided among processes without a rest.
LIMIT = 60
SECOND = 1_000_000
# Of calls without a timeout of their own: to connect and to be answered.
DEADLINE_US = 1_500_000
SHORT_US = 400_000

# Never used up, in a window that no run outlasts: each charge has a number of its own, that of what remains.
COUNTED = 1_000_000
RULES = [
    {"rule_id": "counted", "algorithm": "fixed_window", "window_start": "first_request", "limit": COUNTED, "window_size_seconds": 86_400},
    {"rule_id": "strict", "limit": LIMIT, "burst": LIMIT, "window_size_seconds": 1},
    {"rule_id": "local", "limit": LIMIT, "burst": LIMIT, "window_size_seconds": 1, "fallback": "local"},
]
LANES = [Lane("counted", "alice", SHORT_US), Lane("strict", "alice"), Lane("local", "alice")]


@dataclass(frozen=True)
class Bound:
    """At most `burst` at once, and `rate` each second."""

    burst: float
    rate: float

    def within(self, microseconds: float) -> float:
        return self.burst + self.rate * microseconds / SECOND


WHOLE = Bound(LIMIT, LIMIT)


def share(instances: int) -> Bound:
    """What each process admits by itself."""
    return Bound(LIMIT // instances, LIMIT // instances)
