"""Calls that are repeated with their request id."""

from ..reservations.held import EVERY, two_level
from ..script import (
    MS,
    S,
    Scenario,
    charge,
    check,
    commit,
    no,
    peek,
    refund,
    reserve,
    reset,
    rule,
    yes,
)

DESCRIPTION = "A call that is repeated with its request id gets the answer of the first, and counts nothing"

KEPT = 60 * S


def counter(limit: int = 10, window: int = 10, **others) -> dict:
    return rule("fixed_window", limit, window, **others)


def drips(limit: int = 10, window: int = 10, **others) -> dict:
    return rule("gcra", limit, window, **others)


def per_algorithm(title: str, note: str, steps: list) -> list[Scenario]:
    return [Scenario(f"{title}-{name}", note, [made(name)], steps) for name in EVERY]


def made(name: str) -> dict:
    algorithm, limit, window, options = EVERY[name]
    return rule(algorithm, limit, window, **options)


SCENARIOS = [
    *per_algorithm(
        "repeat/admitted",
        "4 and 3 of 10: each is repeated twice and charged once; the answer is the first one, whatever came in between",
        [
            check(0, 4, {"allowed": True, "remaining": 6}, request_id="a"),
            check(0, 4, {"allowed": True, "remaining": 6}, request_id="a"),
            check(0, 3, {"allowed": True, "remaining": 3}, request_id="b"),
            check(10 * MS, 4, {"allowed": True, "remaining": 6}, request_id="a"),
            check(20 * MS, 3, {"allowed": True, "remaining": 3}, request_id="b"),
            peek(20 * MS, 3, {"allowed": True, "remaining": 3}),
            check(20 * MS, 3, {"allowed": True, "remaining": 0}),
            check(30 * MS, 4, {"allowed": True, "remaining": 6}, request_id="a"),
        ],
    ),
    *per_algorithm(
        "repeat/denied",
        "A denial is kept too: the repeat is denied although there is room by then, and a new id is not",
        [
            check(0, 8, {"remaining": 2}),
            check(0, 3, {"allowed": False, "remaining": 2}, request_id="a"),
            refund(0, 8, {"allowed": True, "remaining": 10}),
            check(10 * MS, 3, {"allowed": False, "remaining": 2}, request_id="a"),
            check(10 * MS, 3, {"allowed": True, "remaining": 7}, request_id="b"),
            check(10 * MS, 3, {"allowed": False, "remaining": 2}, request_id="a"),
        ],
    ),
    *per_algorithm(
        "repeat/charge-and-refund",
        "A charge and a refund are repeated: 12 less 5 are used, not 24 and not 2",
        [
            charge(0, 12, {"allowed": False, "remaining": 0}, request_id="used"),
            charge(10 * MS, 12, {"allowed": False, "remaining": 0}, request_id="used"),
            refund(10 * MS, 5, None, request_id="back"),
            refund(20 * MS, 5, None, request_id="back"),
            charge(30 * MS, 12, {"allowed": False, "remaining": 0}, request_id="used"),
            peek(30 * MS, 4, {"allowed": False, "remaining": 3}),
            peek(30 * MS, 3, {"allowed": True, "remaining": 3}),
        ],
    ),
    Scenario(
        "repeat/raw-answer",
        "The waits of a repeat are those of the first call, 4 s later too",
        [drips()],
        [
            check(0, 10, yes(0, 10 * S)),
            check(1 * S, 3, no(1, 2 * S, 9 * S), request_id="a"),
            check(5 * S, 3, no(1, 2 * S, 9 * S), request_id="a"),
            check(5 * S, 3, yes(2, 8 * S), request_id="b"),
            check(9 * S, 3, yes(2, 8 * S), request_id="b"),
            peek(9 * S, 6, yes(6, 4 * S)),
        ],
    ),
    Scenario(
        "repeat/kept-for-a-minute",
        "The answer is kept for 60 s, to the microsecond; then the id is new, and its call charges again",
        [counter(10, 100)],
        [
            check(0, 1, yes(9, 100 * S), request_id="a"),
            check(KEPT - 1, 1, yes(9, 100 * S), request_id="a"),
            peek(KEPT - 1, 1, {"remaining": 9}),
            check(KEPT, 1, yes(8, 40 * S), request_id="a"),
            check(2 * KEPT - 1, 1, yes(8, 40 * S), request_id="a"),
        ],
    ),
    Scenario(
        "repeat/not-prolonged",
        "A repeat does not prolong the minute",
        [counter(10, 100)],
        [
            check(0, 1, yes(9, 100 * S), request_id="a"),
            check(40 * S, 1, yes(9, 100 * S), request_id="a"),
            check(59 * S, 1, yes(9, 100 * S), request_id="a"),
            check(61 * S, 1, yes(8, 39 * S), request_id="a"),
        ],
    ),
    Scenario(
        "repeat/after-the-window",
        "The state has been forgotten long since, the answer is kept",
        [counter(3, 1)],
        [
            check(0, 3, yes(0, 1 * S), request_id="a"),
            check(30 * S, 3, yes(0, 1 * S), request_id="a"),
            peek(30 * S, 3, yes(3, 0)),
            check(30 * S, 3, yes(0, 1 * S), request_id="b"),
        ],
    ),
    Scenario(
        "repeat/reset",
        "A reset forgets what was used and keeps the answers",
        [counter()],
        [
            check(0, 4, yes(6, 10 * S), request_id="a"),
            check(0, 7, no(6, 10 * S, 10 * S), request_id="b"),
            reset(1 * S),
            check(1 * S, 4, yes(6, 10 * S), request_id="a"),
            check(1 * S, 7, no(6, 10 * S, 10 * S), request_id="b"),
            peek(1 * S, 10, yes(10, 0)),
        ],
    ),
    Scenario(
        "repeat/never",
        "A cost that can never fit: so says the repeat",
        [counter()],
        [check(0, 11, no(10, "never", 0), request_id="a"), check(5 * S, 11, no(10, "never", 0), request_id="a")],
    ),
    Scenario(
        "repeat/refund",
        "Given back once: 5 of 6, and 5 of 6",
        [counter()],
        [
            check(0, 6, yes(4, 10 * S)),
            refund(0, 1, yes(5, 10 * S), request_id="a"),
            refund(1 * S, 1, yes(5, 10 * S), request_id="a"),
            refund(1 * S, 1, yes(6, 9 * S), request_id="b"),
        ],
    ),
    Scenario(
        "repeat/refund-of-nothing",
        "A refund that found nothing to give back does not find it later",
        [counter()],
        [refund(0, 3, yes(10, 0), request_id="a"), check(0, 3), refund(0, 3, yes(10, 0), request_id="a"), peek(0, 1, yes(7, 10 * S))],
    ),
    Scenario(
        "repeat/without-an-id",
        "Calls without an id in between are calls like any other",
        [counter()],
        [
            check(0, 1, yes(9, 10 * S), request_id="a"),
            check(0, 1, yes(8, 10 * S)),
            check(0, 1, yes(9, 10 * S), request_id="a"),
            check(0, 1, yes(7, 10 * S)),
        ],
    ),
    Scenario(
        "repeat/many",
        "Twelve ids, each used twice",
        [counter(20, 100)],
        [
            *(check(at * S, 1, {"remaining": 19 - at}, request_id=f"id-{at}") for at in range(12)),
            *(check((12 + at) * S, 1, {"remaining": 19 - at}, request_id=f"id-{at}") for at in range(12)),
            peek(24 * S, 1, {"remaining": 8}),
        ],
    ),
    Scenario(
        "repeat/limit",
        "With a limit of the call: the repeat brings the same one",
        [counter()],
        [
            check(0, 15, yes(5, 10 * S, limit=20), limit=20, request_id="a"),
            check(1 * S, 15, yes(5, 10 * S, limit=20), limit=20, request_id="a"),
            peek(1 * S, 1, no(0, 9 * S, 9 * S, limit=10)),
        ],
    ),
    Scenario(
        "repeat/two-limits",
        "A rule of two limits",
        [rule("fixed_window", limits=[{"limit": 2, "window_size_seconds": 1}, {"limit": 5, "window_size_seconds": 10}])],
        [
            check(0, 2, yes(0, 10 * S, limit=2), request_id="a"),
            check(0, 1, no(0, 1 * S, 10 * S, limit=2), request_id="b"),
            check(1 * S, 2, yes(0, 10 * S, limit=2), request_id="a"),
            check(1 * S, 1, no(0, 1 * S, 10 * S, limit=2), request_id="b"),
            check(1 * S, 2, yes(0, 9 * S, limit=2), request_id="c"),
        ],
    ),
    Scenario(
        "repeat/count_denied",
        "A denial that is counted is counted once",
        [counter(count_denied=True)],
        [
            check(0, 8),
            check(0, 3, no(0, 10 * S, 10 * S), request_id="a"),
            check(1 * S, 3, no(0, 10 * S, 10 * S), request_id="a"),
            refund(1 * S, 2, no(1, 9 * S, 9 * S)),
        ],
    ),
    Scenario(
        "repeat/shadow",
        "In shadow the repeat says again what would have been",
        [counter(3, shadow=True)],
        [
            check(0, 4, {"allowed": True, "shadow_denied": True, "remaining": 3}, request_id="a"),
            check(0, 3, yes(0, 10 * S, shadow_denied=False), request_id="b"),
            check(1 * S, 4, {"allowed": True, "shadow_denied": True, "remaining": 3}, request_id="a"),
            check(1 * S, 3, yes(0, 10 * S, shadow_denied=False), request_id="b"),
        ],
    ),
    Scenario(
        "repeat/decay",
        "A level that falls each second; the answer stays",
        [rule("decay", 8, resolution_seconds=1)],
        [
            check(0, 8, {"allowed": True, "remaining": 0}, request_id="a"),
            check(2 * S, 8, {"allowed": True, "remaining": 0}, request_id="a"),
            peek(2 * S, 6, {"allowed": True, "remaining": 6}),
        ],
    ),
    Scenario(
        "repeat/calendar",
        "Before and after midnight in UTC: the same answer, and nothing is charged to the new day",
        [rule("fixed_window", 5) | {"window": "day"}],
        [
            check(54_390 * S, 2, yes(3, 10 * S), request_id="a"),
            check(54_410 * S, 2, yes(3, 10 * S), request_id="a"),
            peek(54_410 * S, 5, yes(5, 0)),
        ],
    ),
    Scenario(
        "repeat/beside-reservations",
        "A repeat sees nothing of what has been held and charged since",
        [counter(reservations=True, lease_seconds=5)],
        [
            check(0, 2, yes(8, 10 * S), request_id="a"),
            reserve(0, 4, {"allowed": True, "remaining": 4}),
            check(1 * S, 5, no(4, 9 * S, 9 * S), request_id="b"),
            commit(2 * S, 1),
            check(2 * S, 5, no(4, 9 * S, 9 * S), request_id="b"),
            check(2 * S, 2, yes(8, 10 * S), request_id="a"),
            peek(2 * S, 1, yes(7, 8 * S)),
            charge(3 * S, 1, yes(6, 7 * S), request_id="c"),
            reserve(3 * S, 6, {"allowed": True, "remaining": 0}),
            refund(4 * S, 3, yes(3, 6 * S), request_id="d"),
            charge(9 * S, 1, yes(6, 7 * S), request_id="c"),
            refund(9 * S, 3, yes(3, 6 * S), request_id="d"),
            peek(9 * S, 1, yes(3, 1 * S)),
        ],
    ),
    Scenario(
        "repeat/resource",
        "A key that uses a resource: both are charged once",
        [{name: value for name, value in two_level("fixed_window", 3, 5).items() if name != "reservations"}],
        [
            check(0, 2, yes(1, 10 * S, limit=3), resource="printer", request_id="a"),
            check(1 * S, 2, yes(1, 10 * S, limit=3), resource="printer", request_id="a"),
            peek(1 * S, 1, yes(3, 9 * S, limit=5), resource="printer", key="bob"),
        ],
    ),
]
