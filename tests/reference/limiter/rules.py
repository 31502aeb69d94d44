"""Rules as vectors write them, read strictly. A mistake here is a mistake in a vector, hence plain asserts."""

import re
from dataclasses import dataclass
from fractions import Fraction

from .algorithm import Algorithm
from .block import Blocking
from .calendar import CalendarWindow
from .concurrency import Concurrency
from .decay import Decay
from .fixed_window import FixedWindow
from .gcra import Gcra
from .latitude import Latitude
from .sliding_buckets import SlidingBuckets
from .sliding_log import SlidingLog
from .sliding_window import SlidingWindow

GCRA_FAMILY = {"gcra", "token_bucket", "leaky_bucket", "uniform"}
CALENDAR = ("window", "time_zone", "month_start_day")
EVERY_RULE = {
    "rule_id", "description", "algorithm", "limit", "limits", "priority", "shadow", "lease_seconds", "block", "overrides",
    "identifier_type", "resource_identifier_type", "ipv6_prefix_length", "match", "unless", "cost",
}  # fmt: skip
OWN_FIELDS = {
    "fixed_window": {"window_size_seconds", "rate", "window_start", "count_denied", *CALENDAR},
    "sliding_window": {"window_size_seconds", "rate", "count_denied"},
    "sliding_log": {"window_size_seconds", "rate", "structure"},
    "sliding_buckets": {"window_size_seconds", "rate", "resolution_seconds", "count_denied"},
    "gcra": {"window_size_seconds", "rate", "burst"},
    "token_bucket": {"window_size_seconds", "rate", "burst"},
    "leaky_bucket": {"window_size_seconds", "rate", "burst"},
    "uniform": {"window_size_seconds", "rate"},
    "decay": {"resolution_seconds", "decay_factor", "count_denied"},
    "concurrency": set(),
}
LEASE_SECONDS = 60


def exact(number: int | float) -> Fraction:
    """The decimal number that was written, not the double nearest to it."""
    return Fraction(str(number))


def microseconds(seconds: int | float) -> int:
    whole = exact(seconds) * 1_000_000
    assert whole.denominator == 1, f"{seconds} s is no whole number of microseconds"
    return int(whole)


UNITS = {
    unit: seconds
    for names, seconds in (
        ("ms", Fraction(1, 1000)),
        ("s second seconds", Fraction(1)),
        ("m min minute minutes", Fraction(60)),
        ("h hour hours", Fraction(3600)),
        ("d day days", Fraction(86400)),
    )
    for unit in names.split()
}


def without_rate(fields: dict) -> dict:
    """The same fields, with limit and window in place of a rate."""
    if "rate" not in fields:
        return fields
    limit, count, unit = re.fullmatch(r"(\d+)/(\d*)([a-z]+)", fields["rate"]).groups()
    window = float(int(count or 1) * UNITS[unit])
    others = {name: value for name, value in fields.items() if name != "rate"}
    assert not {"limit", "window_size_seconds"} & set(others)
    return others | {"limit": int(limit), "window_size_seconds": window}


def is_power_of_two(number: Fraction) -> bool:
    return number.denominator == 1 and number.numerator.bit_count() == 1


def one_slot_in_sixty(window: int) -> int:
    return -(-window // 60)


@dataclass(frozen=True)
class Limit:
    """One limit of a rule: its fields, those it shares with the others included."""

    fields: dict
    scope: str

    def algorithm(self, override: int | None, latitude: Latitude) -> Algorithm:
        """The arithmetic of this limit, or of the limit a call puts in its place."""
        name = self.fields["algorithm"]
        limit = exact(self.fields["limit"] if override is None else override)
        if name == "decay":
            return Decay(limit, self.resolution(), self.decay_factor(latitude))
        assert limit.denominator == 1
        if "window" in self.fields:
            return self.calendar_window(int(limit))
        if name == "concurrency":
            return Concurrency(int(limit))
        most, window = int(limit), microseconds(self.fields["window_size_seconds"])
        if name == "fixed_window":
            return FixedWindow(most, window, self.fields.get("window_start", "aligned") == "aligned")
        if name == "sliding_window":
            return SlidingWindow(most, window)
        if name == "sliding_log":
            return SlidingLog(most, window)
        if name == "sliding_buckets":
            return SlidingBuckets(most, window, self.resolution() or one_slot_in_sixty(window))
        assert name in GCRA_FAMILY
        burst = 1 if name == "uniform" else self.fields.get("burst", most)
        return Gcra(burst, self.unit(Fraction(window, most), latitude), latitude.gcra_drift)

    def calendar_window(self, most: int) -> CalendarWindow:
        unit, fields = self.fields["window"], self.fields
        assert "window_size_seconds" not in fields and "window_start" not in fields
        first_day = fields.get("month_start_day", 1) if unit == "month" else 1
        return CalendarWindow(most, unit, fields.get("time_zone", "UTC"), first_day)

    def resolution(self) -> int:
        return microseconds(self.fields.get("resolution_seconds", 0))

    def decay_factor(self, latitude: Latitude) -> Fraction:
        factor = exact(self.fields.get("decay_factor", 2))
        return factor if is_power_of_two(factor) else factor * (1 + latitude.decay_drift)

    def unit(self, unit: Fraction, latitude: Latitude) -> Fraction:
        grid = latitude.gcra_grid
        return unit if grid is None else Fraction(unit * grid // 1, grid)


@dataclass(frozen=True)
class Rule:
    id: str
    limits: list[Limit]
    priority: int
    shadow: bool
    count_denied: bool
    reservations: bool
    lease: int
    """Microseconds that a reservation lives without being renewed."""

    block: Blocking | None
    overrides: bool
    """Whether limits of single keys may be stored."""

    given: dict
    """As a vector writes it."""

    @property
    def is_concurrency(self) -> bool:
        return self.limits[0].fields["algorithm"] == "concurrency"

    @property
    def counts_keys(self) -> bool:
        return any(limit.scope == "key" for limit in self.limits)

    @property
    def has_resource(self) -> bool:
        return any(limit.scope == "resource" for limit in self.limits)


def read_rule(given: dict) -> Rule:
    fields = {"algorithm": "gcra"} | given
    is_concurrency = fields["algorithm"] == "concurrency"
    known = EVERY_RULE | OWN_FIELDS[fields["algorithm"]] | (set() if is_concurrency else {"reservations"})
    unknown = set(fields) - known
    assert not unknown, f"{fields['rule_id']}: {unknown}"
    assert sum(name in fields for name in ("limits", "limit", "rate")) == 1
    reservations = is_concurrency or fields.get("reservations", False)
    assert reservations or "lease_seconds" not in fields
    assert not (reservations and fields.get("count_denied", False))
    shared = {name: value for name, value in fields.items() if name != "limits"}
    entries = [without_rate({**shared, **entry}) for entry in fields.get("limits", [{}])]
    assert "burst" not in fields or len(entries) == 1
    made = Rule(
        id=fields["rule_id"],
        limits=[Limit(entry, entry.get("scope", "key")) for entry in entries],
        priority=fields.get("priority", 0),
        shadow=fields.get("shadow", False),
        count_denied=fields.get("count_denied", False),
        reservations=reservations,
        lease=microseconds(fields.get("lease_seconds", LEASE_SECONDS)),
        block=read_block(fields["block"]) if "block" in fields else None,
        overrides=fields.get("overrides", False),
        given=given,
    )
    assert not (made.has_resource and (made.block or made.overrides))
    assert not (made.overrides and len(made.limits) > 1)
    return made


def read_block(fields: dict) -> Blocking:
    assert fields.keys() <= {"seconds", "factor", "max_seconds"}
    if not fields:
        return Blocking()
    seconds = microseconds(fields["seconds"])
    longest = microseconds(fields["max_seconds"]) if "max_seconds" in fields else 10 * seconds
    assert 0 < seconds <= longest
    return Blocking(seconds, exact(fields.get("factor", 1)), longest)
