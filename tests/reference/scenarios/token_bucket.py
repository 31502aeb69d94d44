"""token_bucket: the arithmetic of gcra in other words."""

from . import everywhere
from .script import MS, S, Scenario, check, no, refund, rule, yes

DESCRIPTION = "token_bucket: the capacity is the burst, the refill is the limit per window"

SCENARIOS = [
    *everywhere.scenarios("token_bucket/", rule("token_bucket", 10, 10)),
    Scenario(
        "token_bucket/refill",
        "5 tokens, 2 per second: emptied at 0 s, 1 token at 0.5 s, 3 at 1.5 s, full at 2.5 s",
        [rule("token_bucket", 2, 1, burst=5)],
        [
            check(0, 5, yes(0, 2_500 * MS, limit=5)),
            check(500 * MS - 1, 1, no(0, 1, 2 * S + 1)),
            check(1_500 * MS, 4, no(3, 500 * MS, 1 * S)),
            check(1_500 * MS, 3, yes(0, 2_500 * MS)),
        ],
    ),
    Scenario(
        "token_bucket/never-above-capacity",
        "A bucket of 3 holds 3 tokens after an hour, too",
        [rule("token_bucket", 60, 60, burst=3)],
        [check(0, 1, yes(2, S)), check(3600 * S, 4, no(3, "never", 0)), check(3600 * S, 3, yes(0, 3 * S))],
    ),
    Scenario(
        "token_bucket/refund-by-hand",
        "2 of the 3 tokens taken are put back: 1 of 5 is missing, for 0.5 s",
        [rule("token_bucket", 2, 1, burst=5)],
        [check(0, 3, yes(2, 1_500 * MS)), refund(0, 2, yes(4, 500 * MS)), check(0, 4, yes(0, 2_500 * MS))],
    ),
]
