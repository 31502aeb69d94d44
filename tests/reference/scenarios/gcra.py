"""gcra."""

from . import everywhere
from .script import DAY, HOUR, MS, S, Scenario, check, no, peek, refund, rule, yes

DESCRIPTION = "gcra: a debt that leaks one microsecond per microsecond; a unit adds window / limit"

TEN = rule("gcra", 10, 10)

SCENARIOS = [
    *everywhere.scenarios("gcra/", TEN),
    Scenario(
        "gcra/boundary-1",
        "A unit is 1 s. 10 used at 0 s: the debt is 10 s, one more fits when it is 9 s, at 1 s",
        [TEN],
        [
            check(0, 10, yes(0, 10 * S)),
            check(S - 1, 1, no(0, 1, 9 * S + 1)),
            check(S, 1, yes(0, 10 * S)),
            check(3_500 * MS, 3, no(2, 500 * MS, 7_500 * MS)),
            check(4 * S, 3, yes(0, 10 * S)),
        ],
    ),
    Scenario(
        "gcra/idle-is-not-credit",
        "However long nobody came, no more than the burst is admitted in a row",
        [TEN],
        [check(0, 1), check(DAY, 10, yes(0, 10 * S)), check(DAY, 1, no(0, 1 * S, 10 * S))],
    ),
    Scenario(
        "gcra/sevenths",
        "A unit is 142,857.14 us. 7 used: the debt of 1 s leaves room for one at 142,857.14, rounded up, us; at"
        " 285,715 us, two sevenths rounded up, another one",
        [rule("gcra", 7, 1)],
        [
            check(0, 7, yes(0, S)),
            check(142_857, 1, no(0, 1, 857_143)),
            check(142_858, 1, yes(0, S)),
            check(285_714, 1, no(0, 1, 857_144)),
            check(285_715, 1, yes(0, S)),
        ],
    ),
    Scenario(
        "gcra/burst-below-limit",
        "10 per 10 s, at most 3 at once: a unit is 1 s, 4 at once can never be",
        [rule("gcra", 10, 10, burst=3)],
        [
            check(0, 4, no(3, "never", 0, limit=3)),
            check(0, 3, yes(0, 3 * S, limit=3)),
            check(S - 1, 1, no(0, 1, 2 * S + 1)),
            check(S, 1, yes(0, 3 * S)),
            check(3 * S, 3, no(2, 1 * S, 1 * S)),
        ],
    ),
    Scenario(
        "gcra/burst-above-limit",
        "2 per second, 10 at once: a unit is 0.5 s",
        [rule("gcra", 2, 1, burst=10)],
        [
            check(0, 10, yes(0, 5 * S, limit=10)),
            check(0, 4, no(0, 2 * S, 5 * S)),
            check(2 * S - 1, 4, no(3, 1, 3 * S + 1)),
            check(2 * S, 4, yes(0, 5 * S)),
        ],
    ),
    Scenario(
        "gcra/refund-by-hand",
        "4 used at 0 s, 2 s later the debt is 2 s; 1 given back leaves 1 s, 5 more leave nothing, not less",
        [TEN],
        [
            check(0, 4, yes(6, 4 * S)),
            refund(2 * S, 1, yes(9, 1 * S)),
            refund(2 * S, 5, yes(10, 0)),
            check(2 * S, 10, yes(0, 10 * S)),
        ],
    ),
    Scenario(
        "gcra/refund-after-expiry",
        "The debt of 3 s is gone at 3 s; nothing can be given back then",
        [TEN],
        [check(0, 3), refund(3 * S, 3, yes(10, 0)), check(3 * S, 10, yes(0, 10 * S))],
    ),
    Scenario(
        "gcra/part-of-a-unit",
        "Half a unit of debt takes a whole unit of capacity: floor(9.5) = 9",
        [TEN],
        [
            check(0, 1, yes(9, S)),
            peek(500 * MS, 10, no(9, 500 * MS, 500 * MS)),
            check(S - 1, 10, no(9, 1, 1)),
            peek(S, 10, yes(10, 0)),
        ],
    ),
    Scenario(
        "gcra/one-per-millisecond",
        "1 per 1 ms",
        [rule("gcra", 1, 0.001)],
        [check(300, 1, yes(0, MS)), check(1299, 1, no(0, 1, 1)), check(1300, 1, yes(0, MS))],
    ),
    Scenario(
        "gcra/faster-than-the-clock",
        "4 units fit into a microsecond: 4,000,000 per second, at most 8 at once. 8 are a debt of 2 us, reset after"
        " 2 us; 1 us later 4 are free",
        [rule("gcra", 4_000_000, 1, burst=8)],
        [
            check(0, 8, yes(0, 2)),
            check(0, 1, no(0, 1, 2)),
            check(1, 5, no(4, 1, 1)),
            check(1, 4, yes(0, 2)),
            peek(3, 8, yes(8, 0)),
        ],
    ),
    Scenario(
        "gcra/hundred-a-day",
        "A unit is 864 s; 100 at once, then one each 864 s",
        [rule("gcra", 100, 86400)],
        [
            check(0, 100, yes(0, DAY)),
            check(HOUR, 5, no(4, 720 * S, DAY - HOUR)),
            check(HOUR, 4, yes(0, DAY - HOUR + 3456 * S)),
        ],
    ),
]
