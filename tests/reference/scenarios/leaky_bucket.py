"""leaky_bucket: the arithmetic of gcra in other words."""

from . import everywhere
from .script import MS, S, Scenario, check, no, refund, rule, yes

DESCRIPTION = "leaky_bucket: the capacity is the burst, the leak is the limit per window"

SCENARIOS = [
    *everywhere.scenarios("leaky_bucket/", rule("leaky_bucket", 10, 10)),
    Scenario(
        "leaky_bucket/leak",
        "A bucket of 4 that loses 5 per second, one each 0.2 s: full at 0 s, room for 1 at 0.2 s, for 3 at 0.6 s",
        [rule("leaky_bucket", 5, 1, burst=4)],
        [
            check(0, 4, yes(0, 800 * MS, limit=4)),
            check(200 * MS - 1, 1, no(0, 1, 600 * MS + 1)),
            check(200 * MS, 1, yes(0, 800 * MS)),
            check(600 * MS, 3, no(2, 200 * MS, 400 * MS)),
        ],
    ),
    Scenario(
        "leaky_bucket/steady",
        "Filled once, it takes one unit each 0.25 s and no more",
        [rule("leaky_bucket", 4, 1, burst=2)],
        [
            check(0, 2, yes(0, 500 * MS)),
            check(250 * MS, 1, yes(0, 500 * MS)),
            check(250 * MS, 1, no(0, 250 * MS, 500 * MS)),
            check(500 * MS, 1, yes(0, 500 * MS)),
            check(S, 2, yes(0, 500 * MS)),
        ],
    ),
    Scenario(
        "leaky_bucket/refund-by-hand",
        "3 in, 1 s later none has leaked out but 1 (1 per s): 2 are taken out again",
        [rule("leaky_bucket", 1, 1, burst=3)],
        [check(0, 3, yes(0, 3 * S)), refund(1 * S, 2, yes(3, 0)), check(1 * S, 3, yes(0, 3 * S))],
    ),
]
