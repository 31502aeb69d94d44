"""sliding_window. BASE is a multiple of 10 s."""

from . import everywhere
from .script import DAY, MS, S, Scenario, check, no, peek, refund, rule, yes

DESCRIPTION = "sliding_window: the current count plus the covered part of the previous one"

TEN = rule("sliding_window", 10, 10)

SCENARIOS = [
    *everywhere.scenarios("sliding_window/", TEN),
    Scenario(
        "sliding_window/boundary-1",
        "10 used in [0, 10): at 10 s all of them still count, each further second frees one; at 20 s none is left",
        [TEN],
        [
            check(0, 10, yes(0, 20 * S)),
            check(10 * S - 1, 1, no(0, 1 * S + 1, 10 * S + 1)),
            check(10 * S, 1, no(0, 1 * S, 10 * S)),
            check(11 * S - 1, 1, no(0, 1, 9 * S + 1)),
            check(11 * S, 1, yes(0, 19 * S)),
        ],
    ),
    Scenario(
        "sliding_window/weighted",
        "previous 8, current 3 at 15 s: 8 * 5/10 + 3 = 7, 3 left. For 4 the previous may weigh 3: 8 * x = 3,"
        " x = 0.375, so at 20 s - 3.75 s = 16.25 s",
        [TEN],
        [
            check(2 * S, 8, yes(2, 18 * S)),
            check(15 * S, 3, yes(3, 15 * S)),
            check(15 * S, 4, no(3, 1_250_000, 15 * S)),
            check(16_250_000 - 1, 4, no(3, 1, 13_750_001)),
            check(16_250_000, 4, yes(0, 13_750_000)),
        ],
    ),
    Scenario(
        "sliding_window/in-the-next-window",
        "All 10 come at 5 s. 6 more fit when 10 * x <= 4, x = 0.4, that is at 20 s - 4 s = 16 s",
        [TEN],
        [
            check(5 * S, 10, yes(0, 15 * S)),
            check(5 * S, 6, no(0, 11 * S, 15 * S)),
            check(16 * S - 1, 6, no(5, 1, 4 * S + 1)),
            check(16 * S, 6, yes(0, 14 * S)),
        ],
    ),
    Scenario(
        "sliding_window/full-limit-waits-two-windows",
        "The whole limit fits only when nothing counts any more: 10 s + 10 s after the window of the last use began",
        [TEN],
        [
            check(9 * S, 1, yes(9, 11 * S)),
            check(9 * S, 10, no(9, 11 * S, 11 * S)),
            check(20 * S - 1, 10, no(9, 1, 1)),
            check(20 * S, 10, yes(0, 20 * S)),
        ],
    ),
    Scenario(
        "sliding_window/sevenths",
        "7 per second, 7 used: one more when 7 * x <= 6, x = 6/7 = 857,142.86 us before the end, rounded up from"
        " 142,857.14 to 142,858 us into the next window",
        [rule("sliding_window", 7, 1)],
        [
            check(0, 7, yes(0, 2 * S)),
            check(0, 1, no(0, 1_142_858, 2 * S)),
            check(1_142_857, 1, no(0, 1, 857_143)),
            check(1_142_858, 1, yes(0, 1_857_142)),
        ],
    ),
    Scenario(
        "sliding_window/two-windows-later",
        "At 20 s the window [0, 10) is older than the previous one and gone",
        [TEN],
        [check(9_999_999, 10, yes(0, 10_000_001)), peek(20 * S - 1, 9, yes(9, 1)), check(20 * S, 10, yes(0, 20 * S))],
    ),
    Scenario(
        "sliding_window/refund-spans-both",
        "previous 6, current 2 at 15 s: giving back 5 takes 2 of the current and 3 of the previous; 3 * 5/10 = 1.5"
        " is left, floor(10 - 1.5) = 8",
        [TEN],
        [
            check(0, 6, yes(4, 20 * S)),
            check(15 * S, 2, yes(5, 15 * S)),
            refund(15 * S, 5, yes(8, 5 * S)),
            refund(15 * S, 5, yes(10, 0)),
        ],
    ),
    Scenario(
        "sliding_window/refund-after-expiry",
        "Two windows later there is nothing to give back",
        [TEN],
        [check(0, 8), refund(20 * S, 8, yes(10, 0)), check(20 * S, 10, yes(0, 20 * S))],
    ),
    Scenario(
        "sliding_window/one-per-millisecond",
        "1 per 1 ms: as long as anything of the previous unit counts, no whole unit is free",
        [rule("sliding_window", 1, 0.001)],
        [
            check(0, 1, yes(0, 2 * MS)),
            check(1999, 1, no(0, 1, 1)),
            check(2000, 1, yes(0, 2 * MS)),
        ],
    ),
    Scenario(
        "sliding_window/million-a-day",
        "BASE lies 32,000 s into a day. Half a day after it ended half a million counts: 500,000 fit, and no more",
        [rule("sliding_window", 1_000_000, 86400)],
        [
            check(0, 1_000_000, yes(0, 2 * DAY - 32_000 * S)),
            check(DAY - 32_000 * S + DAY // 2, 500_001, no(500_000, 86_400, DAY // 2)),
            check(DAY - 32_000 * S + DAY // 2, 500_000, yes(0, DAY + DAY // 2)),
        ],
    ),
]
