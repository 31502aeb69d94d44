"""Windows of the calendar against `zoneinfo`, in time zones, around all of their transitions from 2000 to 2040.

With SLUICEGATE_LONG_TESTS in every time zone, otherwise in a sample.
"""

from __future__ import annotations

import os
import sys
import zoneinfo
from collections.abc import Iterator
from datetime import date, datetime, timedelta, timezone
from importlib import resources
from pathlib import Path

import pytest

from sluicegate import ManualClock, RateLimiter

sys.path.append(str(Path(__file__).parents[2] / "tests" / "reference"))

from limiter.calendar import first_date, following, midnight  # noqa: E402

SECOND = 1_000_000
FIRST, LAST = 2000, 2040
WINDOWS = {"day": ("day", 1), "week": ("week", 1), "month": ("month", 1), "last": ("month", 31), "year": ("year", 1)}


@pytest.fixture(scope="module", autouse=True)
def _pinned_database() -> Iterator[None]:
    """The time zones of the package `tzdata`, which is of the release that core has, and not those of the system."""
    zoneinfo.reset_tzpath(to=[])
    zoneinfo.ZoneInfo.clear_cache()
    yield
    zoneinfo.reset_tzpath()
    zoneinfo.ZoneInfo.clear_cache()


def different_zones() -> list[str]:
    """One name for all the zones that have the same data."""
    names: dict[bytes, str] = {}
    for name in sorted(zoneinfo.available_timezones()):
        data = resources.files("tzdata.zoneinfo").joinpath(*name.split("/")).read_bytes()
        names.setdefault(data, name)
    return sorted(names.values())


def transitions(zone: zoneinfo.ZoneInfo) -> Iterator[date]:
    """The days around each change of offset."""
    step = timedelta(days=5)
    at, end = datetime(FIRST, 1, 1, tzinfo=timezone.utc), datetime(LAST, 12, 31, tzinfo=timezone.utc)
    while at < end:
        early, late = at, at + step
        if early.astimezone(zone).utcoffset() != late.astimezone(zone).utcoffset():
            offset = early.astimezone(zone).utcoffset()
            while late - early > timedelta(minutes=1):
                middle = early + (late - early) / 2
                if middle.astimezone(zone).utcoffset() == offset:
                    early = middle
                else:
                    late = middle
            yield from (late.astimezone(zone).date() + timedelta(days=day) for day in (-2, -1, 0, 1))
        at += step


def expected(zone: str) -> dict[int, list[tuple[str, int]]]:
    """When windows begin around transitions, and when those windows end."""
    days = {date(FIRST, 2, 27), date(2024, 2, 28), *transitions(zoneinfo.ZoneInfo(zone))}
    found: dict[int, list[tuple[str, int]]] = {}
    for rule, window in WINDOWS.items():
        for begins in {first_date(*window, day) for day in days}:
            start, after = midnight(zone, begins), following(*window, begins)
            # A day that a zone skipped has no time of its own.
            if start < midnight(zone, after):
                found.setdefault(start, []).append((rule, midnight(zone, after)))
    return found


def rules(zone: str) -> list[dict[str, object]]:
    common = {"algorithm": "fixed_window", "limit": 1, "time_zone": zone}
    first = {"last": {"month_start_day": 31}}
    return [{"rule_id": name, "window": unit, **common, **first.get(name, {})} for name, (unit, _) in WINDOWS.items()]


def faults(zone: str) -> list[str]:
    clock = ManualClock(0)
    limiter = RateLimiter("memory://", rules=rules(zone), clock=clock)  # type: ignore[arg-type]
    found = []

    def compare(rule: str, at: int, end: int) -> None:
        clock.advance((at - clock.now_us) / 1e6)
        answer = round(limiter.check(rule, f"{at}").reset_after * 1e6)
        if (clock.now_us, answer) != (at, end - at):
            found.append(f"{zone}: {rule} at {at} ends in {answer} us, not in {end - at} us")

    for start, windows in sorted(expected(zone).items()):
        for rule, _ in windows:
            compare(rule, start - 1, start)
        for rule, end in windows:
            compare(rule, start, end)
    return found


def test_every_zone_is_known() -> None:
    names = zoneinfo.available_timezones()
    assert len(names) > 500
    RateLimiter(
        "memory://",
        rules=[
            {"rule_id": name, "algorithm": "fixed_window", "limit": 1, "window": "day", "time_zone": name}
            for name in names
            if "+" not in name
        ],
    )


def test_every_transition_of_every_zone() -> None:
    zones = different_zones()
    assert len(zones) > 300
    if not os.environ.get("SLUICEGATE_LONG_TESTS"):
        # `tests/run nightly` plays all of them.
        zones = zones[::8]
    assert [fault for zone in zones for fault in faults(zone)] == []
