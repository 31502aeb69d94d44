"""The types of what a limiter has counted."""

from __future__ import annotations

from typing import TypedDict


class DecisionCounts(TypedDict):
    """How calls under a rule ended: `shadow_denied` by a rule in shadow, `blocked` since the key is blocked, `error` undecided."""

    admitted: int
    denied: int
    shadow_denied: int
    blocked: int
    error: int


class LoanUnits(TypedDict):
    """Units that servers and other regions lend, by what became of them."""

    asked: int
    granted: int
    spent: int
    given_back: int
    lost: int


class DeniedKey(TypedDict):
    """A key, as it is stored, that is denied often: from `denied - overstated` to `denied` times."""

    key: str
    denied: int
    overstated: int


class RuleMetrics(TypedDict):
    """What is counted of a rule: `decisions` by who decided (`"server"`, `"memory"`, ...), `top_denied` the most first."""

    decisions: dict[str, DecisionCounts]
    cost: int
    waiting: int
    loans: LoanUnits
    top_denied: list[DeniedKey]


class ServerMetrics(TypedDict):
    """The circuit breaker of a server: whether it is open, and how often it has opened."""

    breaker_open: bool
    breaker_openings: int


class RoundTripBucket(TypedDict):
    """How many answers took so many seconds at most."""

    at_most: float
    count: int


class RoundTrips(TypedDict):
    """How long servers took to answer: how many answers there were, the seconds of all together, and a histogram."""

    count: int
    sum: float
    buckets: list[RoundTripBucket]


class Metrics(TypedDict):
    """What a limiter has counted: by the names of rules, the kinds of errors, the addresses of servers; and its region, if it has one."""

    rules: dict[str, RuleMetrics]
    errors: dict[str, int]
    servers: dict[str, ServerMetrics]
    round_trips: RoundTrips
    rules_version: str
    rules_refusals: int
    region: str | None
