"""fixed_window with windows of the calendar. Times that matter are dates here, not offsets from BASE."""

from datetime import datetime

from . import everywhere
from .script import (
    BASE,
    DAY,
    HOUR,
    KEY,
    MINUTE,
    S,
    Scenario,
    charge,
    check,
    check_all,
    item,
    no,
    peek,
    refund,
    reset,
    rule,
    yes,
)

DESCRIPTION = "fixed_window by the calendar: days, weeks, months and years of a time zone"


def at(text: str, more: int = 0) -> int:
    """A date and time with its offset, such as 2026-03-29T00:00+01:00, and some microseconds."""
    return round(datetime.fromisoformat(text).timestamp()) * S + more - BASE


def by(window: str, zone: str | None = None, limit: int = 10, **others) -> dict:
    made = rule("fixed_window", limit, **others) | {"window": window}
    return made | ({"time_zone": zone} if zone else {})


def edge(name: str, note: str, made: dict, begins: int, length: int) -> Scenario:
    """A window from its first microsecond to its last, and the first of the next."""
    end = begins + length
    return Scenario(
        f"calendar/{name}",
        note,
        [made],
        [
            check(begins - 1, 10, {"allowed": True, "remaining": 0, "reset_after_us": 1}),
            check(begins, 9, yes(1, length)),
            check(begins + length // 2, 2, no(1, length - length // 2, length - length // 2)),
            check(end - 1, 1, yes(0, 1)),
            check(end - 1, 1, no(0, 1, 1)),
            peek(end, 10, yes(10, 0)),
            check(end, 10, {"allowed": True, "remaining": 0}),
        ],
    )


UTC_DAY = by("day")
NEXT = at("2025-10-10T00:00+00:00")
"""The end of the day that BASE is in, by UTC."""

DAYS = [
    edge("day-utc", "24 hours, as ever in UTC", UTC_DAY, at("2025-10-09T00:00+00:00"), DAY),
    edge(
        "day-of-23-hours",
        "Berlin sets its clocks forward in the night of 29 March 2026",
        by("day", "Europe/Berlin"),
        at("2026-03-29T00:00+01:00"),
        23 * HOUR,
    ),
    edge(
        "day-of-25-hours",
        "and back on 26 October 2025",
        by("day", "Europe/Berlin"),
        at("2025-10-26T00:00+02:00"),
        25 * HOUR,
    ),
    edge(
        "day-of-23-hours-and-a-half",
        "Lord Howe Island sets its clocks forward by half an hour",
        by("day", "Australia/Lord_Howe"),
        at("2025-10-05T00:00+10:30"),
        23 * HOUR + 30 * MINUTE,
    ),
    edge(
        "day-without-midnight",
        "In Beirut midnight of 31 March 2024 was 01:00: the day begins right after the gap",
        by("day", "Asia/Beirut"),
        at("2024-03-31T01:00+03:00"),
        23 * HOUR,
    ),
    edge(
        "day-with-two-midnights",
        "In Havana 01:00 of 3 November 2024 was midnight once more: the day began at the first",
        by("day", "America/Havana"),
        at("2024-11-03T00:00-04:00"),
        25 * HOUR,
    ),
    edge(
        "day-set-back-to-the-day-before",
        "In Goose Bay 00:01 of 7 November 2010 became 23:01 of the day before: the new day goes on",
        by("day", "America/Goose_Bay"),
        at("2010-11-07T00:00-03:00"),
        25 * HOUR,
    ),
    edge(
        "day-before-a-skipped-one",
        "Samoa had no 30 December 2011: the 29th ends where the 31st begins",
        by("day", "Pacific/Apia"),
        at("2011-12-29T00:00-10:00"),
        DAY,
    ),
    edge("day-after-a-skipped-one", "The 31st", by("day", "Pacific/Apia"), at("2011-12-31T00:00+14:00"), DAY),
    edge(
        "day-with-odd-offset",
        "Kathmandu is 5:45 ahead",
        by("day", "Asia/Kathmandu"),
        at("2025-10-09T00:00+05:45"),
        DAY,
    ),
    edge(
        "day-by-another-name",
        "Asia/Calcutta is another name of Asia/Kolkata, and as good",
        by("day", "Asia/Calcutta"),
        at("2025-10-09T00:00+05:30"),
        DAY,
    ),
    edge("day-of-1970", "The second day there is", UTC_DAY, at("1970-01-02T00:00+00:00"), DAY),
    edge(
        "day-far-ahead",
        "Rules of daylight saving go on for ever: Berlin in the spring of 2200",
        by("day", "Europe/Berlin"),
        at("2200-03-30T00:00+01:00"),
        23 * HOUR,
    ),
]

WEEKS = [
    edge("week-utc", "From Monday", by("week"), at("2025-10-06T00:00+00:00"), 7 * DAY),
    edge(
        "week-across-the-year",
        "Week 1 of 2026 begins on Monday, 29 December 2025",
        by("week"),
        at("2025-12-29T00:00+00:00"),
        7 * DAY,
    ),
    edge(
        "week-of-167-hours",
        "New York sets its clocks forward on Sunday, 8 March 2026",
        by("week", "America/New_York"),
        at("2026-03-02T00:00-05:00"),
        167 * HOUR,
    ),
]


def month(name: str, note: str, begins: str, days: int, first: int | None = None) -> Scenario:
    made = by("month") | ({"month_start_day": first} if first else {})
    return edge(f"month-{name}", note, made, at(f"{begins}T00:00+00:00"), days * DAY)


MONTHS = [
    month("of-28-days", "February 2026", "2026-02-01", 28),
    month("of-29-days", "February 2024", "2024-02-01", 29),
    month("of-30-days", "April 2026", "2026-04-01", 30),
    month("of-31-days", "December 2025, after which the year changes", "2025-12-01", 31),
    month("from-the-15th", "15 February to 14 March", "2026-02-15", 28, 15),
    month("from-the-31st-to-the-28th", "February has no 31st: its last day", "2026-01-31", 28, 31),
    month("from-the-28th-to-the-31st", "28 February to 30 March", "2026-02-28", 31, 31),
    month("from-the-31st-to-the-30th", "31 March to 29 April", "2026-03-31", 30, 31),
    month("from-the-30th-in-a-leap-year", "29 February to 29 March", "2024-02-29", 30, 30),
    edge(
        "month-without-midnight",
        "In Sao Paulo 4 November 2018 began at 01:00; a month from the 4th has an hour less",
        by("month", "America/Sao_Paulo", month_start_day=4),
        at("2018-11-04T01:00-02:00"),
        30 * DAY - HOUR,
    ),
]

YEARS = [
    edge("year-of-365-days", "2025", by("year"), at("2025-01-01T00:00+00:00"), 365 * DAY),
    edge("year-of-366-days", "2024", by("year"), at("2024-01-01T00:00+00:00"), 366 * DAY),
    edge(
        "year-of-a-zone",
        "In Auckland the year begins 13 hours earlier",
        by("year", "Pacific/Auckland"),
        at("2026-01-01T00:00+13:00"),
        365 * DAY,
    ),
]

SEVERAL_LIMITS = rule(
    "fixed_window",
    limits=[{"limit": 3, "window_size_seconds": 10}, {"limit": 5, "window": "day"}, {"limit": 9, "window": "month"}],
)

SCENARIOS = [
    *everywhere.scenarios("calendar/", UTC_DAY),
    *DAYS,
    *WEEKS,
    *MONTHS,
    *YEARS,
    Scenario(
        "calendar/refund-after-the-end",
        "What was used yesterday cannot be given back today",
        [UTC_DAY],
        [
            check(NEXT - 1, 8),
            refund(NEXT, 8, yes(10, 0)),
            check(NEXT, 3, yes(7, DAY)),
            refund(NEXT + S, 8, yes(10, 0)),
        ],
    ),
    Scenario(
        "calendar/charge",
        "An overdraft ends with the day",
        [UTC_DAY],
        [charge(0, 25, no(0, NEXT, NEXT)), peek(NEXT - 1, 1, no(0, 1, 1)), check(NEXT, 10, yes(0, DAY))],
    ),
    Scenario(
        "calendar/reset-within-the-day",
        "A reset forgets the window of one key",
        [UTC_DAY],
        [check(0, 10), check(0, 4, key="bob"), reset(S), peek(S, 10, yes(10, 0)), peek(S, 6, yes(6, NEXT - S), key="bob")],
    ),
    Scenario(
        "calendar/changed-limit",
        "The usage is kept when a call brings another limit",
        [UTC_DAY],
        [
            check(0, 6, yes(4, NEXT)),
            check(0, 1, no(0, NEXT, NEXT, limit=3), limit=3),
            check(0, 14, yes(0, NEXT, limit=20), limit=20),
            check(NEXT, 3, yes(0, DAY, limit=3), limit=3),
        ],
    ),
    Scenario(
        "calendar/count-denied",
        "Denied costs count until the day ends",
        [by("day", count_denied=True)],
        [check(0, 11, {"allowed": False}), check(0, 1, no(0, NEXT, NEXT)), check(NEXT, 1, yes(9, DAY))],
    ),
    Scenario(
        "calendar/shadow",
        "A rule in shadow admits what it would deny",
        [by("day", shadow=True)],
        [check(0, 10, {"allowed": True}), check(0, 1, {"allowed": True, "shadow_denied": True}), peek(NEXT, 10)],
    ),
    Scenario(
        "calendar/several-limits",
        "3 in 10 s, 5 a day and 9 a month",
        [SEVERAL_LIMITS],
        [
            check(0, 3, yes(0, at("2025-11-01T00:00+00:00"), limit=3)),
            check(10 * S, 3, {"allowed": False, "limit": 5, "retry_after_us": NEXT - 10 * S}),
            check(10 * S, 2, {"allowed": True, "remaining": 0, "limit": 5}),
            check(NEXT, 3, {"allowed": True, "remaining": 0, "limit": 3}),
            check(NEXT + 10 * S, 1, {"allowed": True, "remaining": 0, "limit": 9}),
            check(NEXT + DAY, 1, {"allowed": False, "limit": 9}),
            check(at("2025-11-01T00:00+00:00"), 3, {"allowed": True, "remaining": 0, "limit": 3}),
        ],
    ),
    Scenario(
        "calendar/zones-of-limits",
        "Limits have the time zone of their rule, or one of their own; the first day is for months alone",
        [
            rule(
                "fixed_window",
                time_zone="Asia/Tokyo",
                month_start_day=10,
                limits=[
                    {"limit": 4, "window": "day"},
                    {"limit": 6, "window": "day", "time_zone": "America/Lima"},
                    {"limit": 8, "window": "month"},
                ],
            )
        ],
        [
            check(0, 4, {"allowed": True, "remaining": 0, "limit": 4}),
            check(0, 1, {"allowed": False, "retry_after_us": at("2025-10-10T00:00+09:00")}),
            check(at("2025-10-10T00:00+09:00"), 3, {"allowed": False, "retry_after_us": 14 * HOUR}),
            check(at("2025-10-10T00:00+09:00"), 2, {"allowed": True, "remaining": 0, "limit": 6}),
            check(at("2025-10-10T00:00-05:00"), 2, {"allowed": True, "remaining": 0, "limit": 4}),
            peek(at("2025-10-11T00:00-05:00"), 4, {"allowed": True, "remaining": 4}),
        ],
    ),
    Scenario(
        "calendar/resource",
        "5 a day for the resource, 3 for each key on it",
        [
            rule(
                "fixed_window",
                limits=[{"limit": 5, "window": "day", "scope": "resource"}, {"limit": 3, "window": "day"}],
            )
        ],
        [
            check(0, 3, yes(0, NEXT, limit=3), resource="printer"),
            check(0, 3, no(2, NEXT, NEXT, limit=5), key="bob", resource="printer"),
            check(0, 2, yes(0, NEXT, limit=5), key="bob", resource="printer"),
            check(NEXT, 3, yes(0, DAY), key="bob", resource="printer"),
        ],
    ),
    Scenario(
        "calendar/all-or-nothing",
        "A day that is over denies together with a gcra that is not",
        [UTC_DAY, {"rule_id": "burst", "algorithm": "gcra", "limit": 2, "window_size_seconds": 2}],
        [
            check_all(0, item(cost=2), item("burst", cost=2), by_hand={"allowed": True, "remaining": 0}),
            check_all(0, item(cost=2), item("burst", cost=1), by_hand={"allowed": False, "rule": "burst"}),
            check(0, 8, yes(0, NEXT)),
            check_all(4 * S, item(), item("burst"), by_hand={"allowed": False, "rule": "api"}),
            peek(4 * S, 2, {"allowed": True, "remaining": 2}, rule="burst"),
        ],
    ),
    Scenario(
        "calendar/clock-steps-back",
        "A day back: what was used in the future counts as used today",
        [UTC_DAY],
        [
            check(DAY, 6, {"remaining": 4}),
            check(0, 5, no(4, NEXT, NEXT)),
            check(0, 3, yes(1, NEXT)),
            check(NEXT, 10, yes(0, DAY)),
        ],
    ),
    Scenario(
        "calendar/clock-steps-back-within-the-day",
        "An hour back changes nothing",
        [UTC_DAY],
        [check(HOUR, 6, yes(4, NEXT - HOUR)), check(0, 4, yes(0, NEXT)), check(0, 1, no(0, NEXT, NEXT), key=KEY)],
    ),
]
