"""sliding_buckets."""

from . import everywhere
from .script import DAY, MS, S, Scenario, check, no, peek, refund, rule, yes

DESCRIPTION = "sliding_buckets: a count per slot of time"

TEN = rule("sliding_buckets", 10, 10, resolution_seconds=1)
UNEVEN = rule("sliding_buckets", 10, 1, resolution_seconds=0.3)

SCENARIOS = [
    *everywhere.scenarios("sliding_buckets/", TEN),
    *everywhere.scenarios("sliding_buckets/default-", rule("sliding_buckets", 10, 10)),
    Scenario(
        "sliding_buckets/boundary-1",
        "Slots of 1 s. Slot 0 is gone at 0 + 10 s, even for what came at 0.9 s",
        [TEN],
        [
            check(900 * MS, 10, yes(0, 9_100 * MS)),
            check(10 * S - 1, 1, no(0, 1, 1)),
            peek(10 * S, 10, yes(10, 0)),
            check(10 * S, 10, yes(0, 10 * S)),
        ],
    ),
    Scenario(
        "sliding_buckets/which-slot-frees-enough",
        "3 in slot 0, 4 in slot 2, 2 in slot 5; 1 free at 6.5 s. 4 fit at 10 s, 5 to 8 at 12 s, 10 at 15 s",
        [TEN],
        [
            check(100 * MS, 3, yes(7, 9_900 * MS)),
            check(2_700 * MS, 4, yes(3, 9_300 * MS)),
            check(5 * S, 2, yes(1, 10 * S)),
            peek(6_500 * MS, 4, no(1, 3_500 * MS, 8_500 * MS)),
            peek(6_500 * MS, 5, no(1, 5_500 * MS, 8_500 * MS)),
            peek(6_500 * MS, 8, no(1, 5_500 * MS, 8_500 * MS)),
            peek(6_500 * MS, 10, no(1, 8_500 * MS, 8_500 * MS)),
            check(12 * S - 1, 5, no(4, 1, 3 * S + 1)),
            check(12 * S, 5, yes(3, 10 * S)),
        ],
    ),
    Scenario(
        "sliding_buckets/default-resolution",
        "Window 0.1 s: slots of ceil(100,000 / 60) = 1,667 us. BASE mod 1,667 = 923: its slot began 923 us before it"
        " and is gone 100,000 us after it began, 99,077 us after BASE",
        [rule("sliding_buckets", 3, 0.1)],
        [
            check(0, 3, yes(0, 99_077)),
            check(0, 1, no(0, 99_077, 99_077)),
            check(99_076, 3, no(0, 1, 1)),
            peek(99_077, 3, yes(3, 0)),
        ],
    ),
    Scenario(
        "sliding_buckets/resolution-does-not-divide",
        "Slots of 0.3 s, window 1 s. BASE lies 0.2 s into its slot, the next one begins 0.1 s later; each is gone"
        " 1 s after it began: at 0.8 s and 1.1 s. 0.8 s lies 0.1 s into a slot that is gone at 1.7 s",
        [UNEVEN],
        [
            check(0, 6, yes(4, 800 * MS)),
            check(100 * MS - 1, 1, yes(3, 700 * MS + 1)),
            check(100 * MS, 3, yes(0, S)),
            check(800 * MS - 1, 1, no(0, 1, 300 * MS + 1)),
            check(800 * MS, 7, yes(0, 900 * MS)),
        ],
    ),
    Scenario(
        "sliding_buckets/one-slot",
        "A resolution as long as the window: a fixed window",
        [rule("sliding_buckets", 2, 10, resolution_seconds=10)],
        [check(9 * S, 2, yes(0, S)), check(10 * S - 1, 1, no(0, 1, 1)), check(10 * S, 2, yes(0, 10 * S))],
    ),
    Scenario(
        "sliding_buckets/refund-newest-first",
        "4 in slot 0, 4 in slot 6; 5 given back: all of slot 6 and one of slot 0. 3 are left until 10 s",
        [TEN],
        [
            check(0, 4, yes(6, 10 * S)),
            check(6_200 * MS, 4, yes(2, 9_800 * MS)),
            refund(7 * S, 5, yes(7, 3 * S)),
            peek(10 * S - 1, 7, yes(7, 1)),
            peek(10 * S, 10, yes(10, 0)),
        ],
    ),
    Scenario(
        "sliding_buckets/refund-spares-the-gone",
        "5 in slot 0, 2 in slot 8. At 10 s only 2 count; giving back 4 removes these 2 and no more",
        [TEN],
        [
            check(0, 5),
            check(8 * S, 2, yes(3, 10 * S)),
            refund(10 * S, 4, yes(10, 0)),
            check(10 * S, 10, yes(0, 10 * S)),
        ],
    ),
    Scenario(
        "sliding_buckets/one-per-millisecond",
        "1 per 1 ms in slots of ceil(1,000 / 60) = 17 us. BASE mod 17 = 15, so its slot is gone after 985 us; that"
        " instant lies 14 us into its own slot: (985 + 15) mod 17",
        [rule("sliding_buckets", 1, 0.001)],
        [check(0, 1, yes(0, 985)), check(984, 1, no(0, 1, 1)), check(985, 1, yes(0, 986))],
    ),
    Scenario(
        "sliding_buckets/thirty-days",
        "5 per 30 days in slots of a day; BASE lies 32,000 s into its day, which is gone 30 days after it began",
        [rule("sliding_buckets", 5, 2_592_000, resolution_seconds=86400)],
        [
            check(0, 5, yes(0, 30 * DAY - 32_000 * S)),
            check(DAY, 1, no(0, 29 * DAY - 32_000 * S, 29 * DAY - 32_000 * S)),
            check(30 * DAY - 32_000 * S, 1, yes(4, 30 * DAY)),
        ],
    ),
]
