"""Stored limits of the gcra family: what was counted keeps its pace until the next charge, and then takes the new one."""

from ..script import (
    MS,
    S,
    Scenario,
    charge,
    check,
    clear_limit,
    no,
    peek,
    refund,
    rule,
    set_limit,
    yes,
)
from .overriding import counter, drips

DESCRIPTION = "Stored limits by hand, algorithm by algorithm"

SCENARIOS = [
    Scenario(
        "pace/gcra",
        "60 per minute: 30 used leak at one a second, whatever is stored, until a charge makes it another pace",
        [drips(60, 60)],
        [
            check(0, 30, yes(30, 30 * S, limit=60)),
            set_limit(0, 120),
            peek(0, 91, no(90, 1 * S, 30 * S, limit=120)),
            set_limit(0, 30),
            peek(0, 1, no(0, 1 * S, 30 * S, limit=30)),
            set_limit(0, 120),
            check(0, 10, yes(80, 20 * S, limit=120)),
            clear_limit(0),
            check(0, 10, yes(10, 50 * S, limit=60)),
        ],
    ),
    Scenario(
        "pace/gcra-expires",
        "40 at two a second leak on at two a second after the limit has expired, until 10 more are charged",
        [drips(60, 60)],
        [
            set_limit(0, 120, expires_in=4),
            check(0, 40, yes(80, 20 * S, limit=120)),
            peek(4 * S - 1, 1, {"remaining": 87, "limit": 120}),
            peek(4 * S, 1, yes(28, 16 * S, limit=60)),
            peek(4 * S, 29, no(28, 500 * MS, 16 * S, limit=60)),
            check(4 * S, 10, yes(18, 42 * S, limit=60)),
        ],
    ),
    Scenario(
        "pace/gcra-refund",
        "A refund gives back units at the pace they were counted with",
        [drips(10, 10)],
        [
            check(0, 8, yes(2, 8 * S)),
            set_limit(0, 20),
            refund(0, 3, yes(15, 5 * S, limit=20)),
            check(0, 1, yes(14, 3 * S, limit=20)),
            clear_limit(0),
            refund(0, 2, yes(6, 2 * S, limit=10)),
        ],
    ),
    Scenario(
        "pace/gcra-charge",
        "A charge takes the pace of the stored limit: 15 of 20 at one in half a second",
        [drips(10, 10)],
        [
            set_limit(0, 20),
            charge(0, 15, yes(5, 7_500 * MS, limit=20)),
            clear_limit(0),
            peek(0, 1, no(0, 3 * S, 7_500 * MS, limit=10)),
            charge(0, 1, no(0, 7 * S, 16 * S, limit=10)),
        ],
    ),
    Scenario(
        "pace/gcra-below-the-debt",
        "60 used of 60; with 30 stored, 31 have to leak until 1 fits, one a second",
        [drips(60, 60)],
        [
            check(0, 60, yes(0, 60 * S)),
            set_limit(1 * S, 30),
            check(1 * S, 1, no(0, 30 * S, 59 * S, limit=30)),
            check(31 * S, 1, yes(0, 60 * S, limit=30)),
        ],
    ),
    Scenario(
        "pace/stated-burst",
        "A burst that the rule states stays: the stored limit changes the pace alone",
        [drips(10, 10, burst=5)],
        [
            set_limit(0, 20),
            check(0, 4, yes(1, 2 * S, limit=5)),
            check(0, 2, no(1, 500 * MS, 2 * S, limit=5)),
            check(500 * MS, 2, yes(0, 2_500 * MS, limit=5)),
            clear_limit(500 * MS),
            check(1 * S, 1, yes(0, 5 * S, limit=5)),
        ],
    ),
    Scenario(
        "pace/token_bucket",
        "A bucket without a burst of its own holds the stored limit",
        [rule("token_bucket", 10, 10, overrides=True)],
        [
            set_limit(0, 40),
            check(0, 30, yes(10, 7_500 * MS, limit=40)),
            clear_limit(2_500 * MS),
            check(5 * S, 1, no(0, 250 * MS, 2_500 * MS, limit=10)),
        ],
    ),
    Scenario(
        "pace/uniform",
        "The burst of uniform is always 1: one each 2 s in place of one each second",
        [rule("uniform", 10, 10, overrides=True)],
        [
            set_limit(0, 5),
            check(0, 1, yes(0, 2 * S, limit=1)),
            clear_limit(1 * S),
            check(1 * S, 1, no(0, 1 * S, 1 * S, limit=1)),
            check(2 * S, 1, yes(0, 1 * S, limit=1)),
        ],
    ),
    Scenario(
        "pace/fixed_window",
        "8 of 10; 4 stored: nothing until the window ends; 12 stored: 4 more",
        [counter()],
        [
            check(0, 8, yes(2, 10 * S, limit=10)),
            set_limit(1 * S, 4),
            check(2 * S, 1, no(0, 8 * S, 8 * S, limit=4)),
            set_limit(3 * S, 12),
            check(4 * S, 4, yes(0, 6 * S, limit=12)),
            clear_limit(5 * S),
            check(10 * S, 10, yes(0, 10 * S, limit=10)),
        ],
    ),
    Scenario(
        "pace/sliding_window",
        "8 in [0, 10); with 4 stored, 1 more fits when 8 * x <= 3, x = 0.375, at 16.25 s",
        [rule("sliding_window", 10, 10, overrides=True)],
        [
            check(0, 8, yes(2, 20 * S)),
            set_limit(1 * S, 4),
            check(1 * S, 1, no(0, 15_250 * MS, 19 * S, limit=4)),
            check(16_250 * MS, 1, yes(0, 13_750 * MS, limit=4)),
            clear_limit(16_250 * MS),
            check(16_250 * MS, 6, yes(0, 13_750 * MS, limit=10)),
        ],
    ),
    *(
        Scenario(
            f"pace/sliding_log-{structure}",
            "6 at 0 s and 2 at 3 s; with 4 stored, 2 fit when 6 are gone, at 10 s, and 3 when 7 are, at 13 s; 12 leave 4",
            [rule("sliding_log", 10, 10, structure=structure, overrides=True)],
            [
                check(0, 6),
                check(3 * S, 2, yes(2, 10 * S)),
                set_limit(4 * S, 4),
                peek(4 * S, 2, no(0, 6 * S, 9 * S, limit=4)),
                peek(4 * S, 3, no(0, 9 * S, 9 * S, limit=4)),
                set_limit(4 * S, 12),
                check(4 * S, 4, yes(0, 10 * S, limit=12)),
                clear_limit(4 * S),
                peek(4 * S, 1, no(0, 6 * S, 10 * S, limit=10)),
            ],
        )
        for structure in ("list", "sorted_set")
    ),
    Scenario(
        "pace/sliding_buckets",
        "4 in the slot of 0 s, 4 in that of 3 s; with 5 stored, 1 fits when the first is gone",
        [rule("sliding_buckets", 10, 10, resolution_seconds=1, overrides=True)],
        [
            check(0, 4),
            check(3 * S, 4),
            set_limit(3 * S, 5),
            check(4 * S, 1, no(0, 6 * S, 9 * S, limit=5)),
            check(10 * S, 1, yes(0, 10 * S, limit=5)),
            clear_limit(10 * S),
            check(10 * S, 5, yes(0, 10 * S, limit=10)),
        ],
    ),
    Scenario(
        "pace/decay",
        "8 of 10; with 20 there are 12 more, with 4 nothing until 3 slots later the level is 1 and 3 fit",
        [rule("decay", 10, resolution_seconds=1, overrides=True)],
        [
            check(0, 8, yes(2, 33 * S)),
            set_limit(0, 20),
            peek(0, 12, yes(12, 33 * S, limit=20)),
            set_limit(0, 4, expires_in=3),
            check(0, 3, no(0, 3 * S, 33 * S, limit=4)),
            check(3 * S, 3, yes(6, 32 * S, limit=10)),
        ],
    ),
    Scenario(
        "pace/decay-fractional-limit",
        "A limit of 2.5 admits 2; a stored one of 3 admits 3",
        [rule("decay", 2.5, resolution_seconds=1, overrides=True)],
        [
            peek(0, 1, yes(2, 0, limit=2)),
            set_limit(0, 3),
            check(0, 3, yes(0, 32 * S, limit=3)),
            clear_limit(1 * S),
            peek(1 * S, 1, yes(1, 31 * S, limit=2)),
        ],
    ),
]
