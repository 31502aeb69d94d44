"""uniform: gcra with a burst of 1."""

from .script import DAY, MS, Scenario, check, no, peek, refund, reset, rule, yes

DESCRIPTION = "uniform: evenly spaced, at most one per window / limit"

FIVE = rule("uniform", 5, 1)

SCENARIOS = [
    Scenario(
        "uniform/spacing",
        "5 per second: one each 0.2 s. The limit reported is what an untouched key admits at once: 1",
        [FIVE],
        [
            check(0, 1, yes(0, 200 * MS, limit=1)),
            check(0, 1, no(0, 200 * MS, 200 * MS, limit=1)),
            check(200 * MS - 1, 1, no(0, 1, 1)),
            check(200 * MS, 1, yes(0, 200 * MS)),
            check(401 * MS, 1, yes(0, 200 * MS)),
            check(600 * MS, 1, no(0, 1 * MS, 1 * MS)),
        ],
    ),
    Scenario(
        "uniform/never",
        "Two at once can never be",
        [FIVE],
        [check(0, 2, no(1, "never", 0)), check(0, 1, yes(0, 200 * MS)), check(DAY, 2, no(1, "never", 0))],
    ),
    Scenario(
        "uniform/thirds",
        "3 per second: 333,333.33 us apart, so the second fits at 333,334 us",
        [rule("uniform", 3, 1)],
        [check(0, 1, yes(0, 333_334)), check(333_333, 1, no(0, 1, 1)), check(333_334, 1, yes(0, 333_334))],
    ),
    Scenario(
        "uniform/refund",
        "What was given back can be used at once; giving back twice is no credit",
        [FIVE],
        [
            check(0, 1, yes(0, 200 * MS)),
            refund(50 * MS, 1, yes(1, 0)),
            refund(50 * MS, 1, yes(1, 0)),
            check(50 * MS, 1, yes(0, 200 * MS)),
            check(60 * MS, 1, no(0, 190 * MS, 190 * MS)),
        ],
    ),
    Scenario(
        "uniform/peek-and-reset",
        "A peek takes nothing, a reset forgets",
        [FIVE],
        [
            peek(0, 1, yes(1, 0)),
            check(0, 1, yes(0, 200 * MS)),
            peek(1, 1, no(0, 200 * MS - 1, 200 * MS - 1)),
            reset(2),
            check(2, 1, yes(0, 200 * MS)),
        ],
    ),
    Scenario(
        "uniform/one-per-day",
        "1 per day",
        [rule("uniform", 1, 86400)],
        [check(0, 1, yes(0, DAY)), check(DAY - 1, 1, no(0, 1, 1)), check(DAY, 1, yes(0, DAY))],
    ),
    Scenario(
        "uniform/one-per-millisecond",
        "1 per 1 ms",
        [rule("uniform", 1, 0.001)],
        [check(7, 1, yes(0, MS)), check(1006, 1, no(0, 1, 1)), check(1007, 1, yes(0, MS))],
    ),
]
