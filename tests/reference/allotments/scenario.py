"""The words that scenarios of allotments are written in. Times are microseconds after BASE."""

from dataclasses import dataclass

BASE = 1_760_000_000_000_000
RULE, KEY = "api", "alice"
TRIP = 40_123
"""Neither this nor the age of loans is a round number: answers must not depend on how a fraction is rounded."""
MS, S = 1_000, 1_000_000


@dataclass(frozen=True)
class Scenario:
    id: str
    note: str
    steps: list[dict]
    rule: dict


def rule(algorithm: str = "gcra", limit: int = 1_000, age: int = 801, **others) -> dict:
    """A rule of one second."""
    named = {"rule_id": RULE, "algorithm": algorithm, "limit": limit, "window_size_seconds": 1}
    return {**named, "global": {"max_age_ms": age}, **others}


def spend(at: int, cost: int = 1, trip: int = TRIP) -> dict:
    return {"at_us": BASE + at, "op": "spend", "trip_us": trip, "cost": cost}


def together(at: int, *items: dict, others_fit: bool = True) -> dict:
    return {"at_us": BASE + at, "op": "spend_together", "trip_us": TRIP, "items": list(items), "others_fit": others_fit}


def item(cost: int, there: bool | None = None, key: str = KEY) -> dict:
    said = {} if there is None else {"there": there}
    return {"key": key, "cost": cost, **said}


def deposit(at: int, units: int = 0, lasts: int = 800 * MS, fresh: int = S, denied=None, contended: int = 0) -> dict:
    """What the region in charge says: it has lent units, it has denied a cost until a time and expects room at another, or it has
    lent less than it was asked for. Times are relative to `at`."""
    said = {"at_us": BASE + at, "op": "deposit", "trip_us": TRIP, "fresh_at": BASE + at + fresh}
    if units:
        # By the other region's clock, which is a minute behind.
        said |= {"granted": units, "valid_until": BASE + at + lasts, "granted_at": BASE + at - 60 * S}
    if denied:
        cost, until, fits = denied
        said |= {"denied_cost": cost, "denied_until": BASE + at + until, "fits_at": BASE + at + fits}
    if contended:
        said |= {"contended_until": BASE + at + contended}
    return said


def lend(at: int, want: int, own: int | None = None) -> dict:
    said = {} if own is None else {"own": own}
    return {"at_us": BASE + at, "op": "lend", "want": want, **said}
