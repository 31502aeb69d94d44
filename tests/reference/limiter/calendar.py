"""fixed_window with `window`: a count that starts again with every day, week, month or year of a time zone."""

from calendar import monthrange
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

from .algorithm import SUM_MAX, Algorithm

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
SECOND = 1_000_000


class State(NamedTuple):
    begins: date
    count: int


@dataclass(frozen=True)
class CalendarWindow(Algorithm):
    most: int
    unit: str
    zone: str
    first_day: int

    def window(self, now: int) -> date:
        """The date at which the window of `now` begins: the latest of those whose midnight has come."""
        day = (EPOCH + timedelta(microseconds=now)).astimezone(ZoneInfo(self.zone)).date()
        begins = following(self.unit, self.first_day, first_date(self.unit, self.first_day, day))
        while midnight(self.zone, begins) > now:
            begins = first_date(self.unit, self.first_day, begins - timedelta(days=1))
        return begins

    def end(self, now: int) -> int:
        return midnight(self.zone, following(self.unit, self.first_day, self.window(now)))

    def healed(self, state, now):
        return State(min(state.begins, self.window(now)), state.count)

    def since(self, state):
        return midnight(self.zone, state.begins)

    def usage(self, state, now):
        return state.count if state.begins >= self.window(now) else 0

    def charged(self, state, now, cost):
        used = 0 if state is None else self.usage(state, now)
        return State(self.window(now), min(used + cost, SUM_MAX))

    def refunded(self, state, now, cost):
        return state._replace(count=max(self.usage(state, now) - cost, 0))


def first_date(unit: str, first_day: int, day: date) -> date:
    """The date at which the window begins that has this day."""
    if unit == "day":
        return day
    if unit == "week":
        return day - timedelta(days=day.weekday())
    if unit == "year":
        return date(day.year, 1, 1)
    first = in_month(day, first_day)
    return first if first <= day else in_month(day.replace(day=1) - timedelta(days=1), first_day)


def following(unit: str, first_day: int, begins: date) -> date:
    """The date at which the next window begins."""
    days = {"day": 1, "week": 7, "year": 366}
    if unit in days:
        return first_date(unit, first_day, begins + timedelta(days=days[unit]))
    return in_month(begins.replace(day=1) + timedelta(days=31), first_day)


def in_month(month: date, first_day: int) -> date:
    return month.replace(day=min(first_day, monthrange(month.year, month.month)[1]))


@lru_cache(maxsize=None)
def midnight(zone: str, day: date) -> int:
    """The first instant at which it is this date, or a later one, and before which it was an earlier one."""
    wanted = datetime.combine(day, time())
    # The first of two midnights. Of none it is what a clock would show that was not set forward: not before the gap.
    late = int((wanted.replace(tzinfo=ZoneInfo(zone)) - EPOCH).total_seconds())
    early = late - 2 * 86_400

    def has_come(second: int) -> bool:
        local = (EPOCH + timedelta(seconds=second)).astimezone(ZoneInfo(zone))
        return local.replace(tzinfo=None) >= wanted

    while late - early > 1:
        middle = (early + late) // 2
        early, late = (early, middle) if has_come(middle) else (middle, late)
    return late * SECOND
