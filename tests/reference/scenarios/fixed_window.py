"""fixed_window. BASE is a multiple of 10 s."""

from . import everywhere
from .script import DAY, MINUTE, MS, S, Scenario, check, no, peek, refund, rule, yes

DESCRIPTION = "fixed_window: windows that start at multiples of their length, or at the first request"

ALIGNED = rule("fixed_window", 10, 10)
FIRST_REQUEST = rule("fixed_window", 10, 10, window_start="first_request")

SCENARIOS = [
    *everywhere.scenarios("fixed_window/", ALIGNED),
    *everywhere.scenarios("fixed_window/first_request-", FIRST_REQUEST),
    Scenario(
        "fixed_window/boundary-1",
        "The window is [0 s, 10 s): at 9.999999 s it is full for 1 us more, at 10 s all 10 are free again",
        [ALIGNED],
        [
            check(4 * S, 10, yes(0, 6 * S)),
            check(10 * S - 1, 1, no(0, 1, 1)),
            peek(10 * S, 10, yes(10, 0)),
            check(10 * S, 10, yes(0, 10 * S)),
        ],
    ),
    Scenario(
        "fixed_window/boundary-2",
        "Twice the limit within 2 us: what a fixed window lets through at its edge",
        [ALIGNED],
        [check(10 * S - 1, 10, yes(0, 1)), check(10 * S, 10, yes(0, 10 * S)), check(10 * S, 1, no(0, 10 * S, 10 * S))],
    ),
    Scenario(
        "fixed_window/minute",
        "BASE lies 20 s into a minute, so 40 s are left of it",
        [rule("fixed_window", 3, 60)],
        [check(0, 3, yes(0, 40 * S)), check(0, 2, no(0, 40 * S, 40 * S)), check(40 * S, 2, yes(1, MINUTE))],
    ),
    Scenario(
        "fixed_window/day",
        "BASE lies 32,000 s into a day of 86,400 s: 54,400 s are left",
        [rule("fixed_window", 1000, 86400)],
        [
            check(0, 999, yes(1, 54_400 * S)),
            check(1, 2, no(1, 54_400 * S - 1, 54_400 * S - 1)),
            check(54_400 * S, 2, yes(998, DAY)),
        ],
    ),
    Scenario(
        "fixed_window/thirty-days",
        "BASE / 30 days = 679.01..: 1,760,000,000 - 679 * 2,592,000 = 32,000 s have passed of this window",
        [rule("fixed_window", 5, 2_592_000)],
        [check(0, 5, yes(0, 2_560_000 * S)), check(DAY, 1, no(0, 2_473_600 * S, 2_473_600 * S))],
    ),
    Scenario(
        "fixed_window/one-per-millisecond",
        "1 per 1 ms: one more at each whole millisecond",
        [rule("fixed_window", 1, 0.001)],
        [
            check(0, 1, yes(0, MS)),
            check(999, 1, no(0, 1, 1)),
            check(1000, 1, yes(0, MS)),
            check(1250, 1, no(0, 750, 750)),
            check(2999, 1, yes(0, 1)),
        ],
    ),
    Scenario(
        "fixed_window/window-that-divides-nothing",
        "Windows of 0.7 s count from 1970: BASE mod 700,000 = 200,000, so 500,000 us are left",
        [rule("fixed_window", 2, 0.7)],
        [
            check(0, 2, yes(0, 500 * MS)),
            check(500 * MS - 1, 1, no(0, 1, 1)),
            check(500 * MS, 1, yes(1, 700 * MS)),
        ],
    ),
    Scenario(
        "fixed_window/refund-after-expiry",
        "What was used in an older window cannot be given back to this one",
        [ALIGNED],
        [
            check(0, 8),
            refund(10 * S, 8, yes(10, 0)),
            check(10 * S, 3, yes(7, 10 * S)),
            refund(11 * S, 8, yes(10, 0)),
        ],
    ),
    Scenario(
        "fixed_window/first_request-boundary-1",
        "The window opens at 3 s and ends at 13 s, whatever comes in between",
        [FIRST_REQUEST],
        [
            check(3 * S, 4, yes(6, 10 * S)),
            check(9 * S, 6, yes(0, 4 * S)),
            check(13 * S - 1, 1, no(0, 1, 1)),
            check(13 * S, 1, yes(9, 10 * S)),
            peek(23 * S - 1, 9, yes(9, 1)),
            peek(23 * S, 10, yes(10, 0)),
        ],
    ),
    Scenario(
        "fixed_window/first_request-opens-when-counted",
        "Neither a peek nor a denial opens the window; the check at 5 s does",
        [FIRST_REQUEST],
        [
            peek(0, 1, yes(10, 0)),
            check(1 * S, 11, no(10, "never", 0)),
            check(5 * S, 10, yes(0, 10 * S)),
            check(14 * S, 1, no(0, 1 * S, 1 * S)),
        ],
    ),
    Scenario(
        "fixed_window/first_request-refund-forgets-the-window",
        "Opened at 0 s, emptied at 4 s, so the next check opens a new one: 4 s + 10 s = 14 s",
        [FIRST_REQUEST],
        [
            check(0, 5, yes(5, 10 * S)),
            refund(4 * S, 5, yes(10, 0)),
            check(4 * S, 2, yes(8, 10 * S)),
            check(12 * S, 9, no(8, 2 * S, 2 * S)),
        ],
    ),
]
