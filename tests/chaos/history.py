"""What the clients were told, and when, and what was done to the servers meanwhile. All times are microseconds of one clock."""

from __future__ import annotations

import time
from dataclasses import dataclass, field


def now() -> int:
    return time.monotonic_ns() // 1000


@dataclass(frozen=True)
class Call:
    """One check. The decision was made, if one was, between `before` and `after`."""

    client: str
    lane: int
    number: int
    before: int
    after: int
    # None: an error.
    allowed: bool | None
    # Who decided, or the kind of the error.
    word: str
    remaining: int

    @property
    def is_by_server(self) -> bool:
        return self.word == "server"

    @property
    def is_by_fallback(self) -> bool:
        return self.word == "fallback"


@dataclass(frozen=True)
class Fault:
    """What was done to the servers, and how much more than the limit that may admit by what is stated."""

    name: str
    began: int
    # The servers could decide again.
    healed: int
    # They did so for every client, and one server alone was in charge of the keys.
    settled: int
    # So many times the servers may have forgotten what was counted.
    forgets: int = 0
    # Until it was settled two servers may have been in charge of the keys at once.
    is_split: bool = False
    # Clients must have noticed it.
    is_noticed: bool = True


@dataclass(frozen=True)
class Lane:
    """What one thread or task of each client checks; a timeout of 0 is the default of the limiter."""

    rule: str
    key: str
    timeout_us: int = 0


@dataclass(frozen=True)
class Stall:
    """A process that had nothing to wait for was kept waiting by the machine since then, so long."""

    at: int
    us: int


@dataclass
class History:
    """Everything that the clients said, each call by call."""

    lanes: list[Lane]
    calls: list[Call] = field(default_factory=list)
    # How many calls each client says that each of its lanes made; without those that never said so.
    counts: dict[str, list[int]] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    stalls: list[Stall] = field(default_factory=list)

    def longest_stall(self, start: int, end: int) -> int:
        return max((stall.us for stall in self.stalls if start <= stall.at + stall.us and stall.at <= end), default=0)

    def of(self, rule: str) -> list[Call]:
        numbers = {number for number, lane in enumerate(self.lanes) if lane.rule == rule}
        return [call for call in self.calls if call.lane in numbers]


def parsed(client: str, line: str) -> Call:
    """A line of a worker; see the README."""
    lane, number, before, after, allowed, word, remaining = line.split()
    result = None if allowed == "-" else allowed == "1"
    return Call(client, int(lane), int(number), int(before), int(after), result, word, int(remaining))
