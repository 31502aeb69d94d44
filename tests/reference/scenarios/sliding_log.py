"""sliding_log, both structures."""

from . import everywhere
from .script import DAY, MS, S, Scenario, check, no, peek, refund, rule, yes

DESCRIPTION = "sliding_log: exact, whether stored as a list or as a sorted set"


def exact(prefix: str, **structure) -> list[Scenario]:
    """The structure is not to be noticed."""
    ten = rule("sliding_log", 10, 10, **structure)
    three = rule("sliding_log", 3, 10, **structure)
    return [
        *everywhere.scenarios(prefix, ten),
        Scenario(
            f"{prefix}exact-expiry",
            "Entries at 1, 2 and 4 s. At 10.999999 s the first counts, at 11 s its age is exactly the window: gone",
            [three],
            [
                check(1 * S, 1, yes(2, 10 * S)),
                check(2 * S, 1, yes(1, 10 * S)),
                check(4 * S, 1, yes(0, 10 * S)),
                check(11 * S - 1, 1, no(0, 1, 3 * S + 1)),
                check(11 * S, 1, yes(0, 10 * S)),
                check(11 * S, 1, no(0, 1 * S, 10 * S)),
            ],
        ),
        Scenario(
            f"{prefix}waits-for-the-k-th",
            "4 at 0 s, 3 at 2 s, 2 at 5 s; 1 is free. 2 need one entry gone (10 s), 5 need four (10 s), 6 need five"
            " (12 s), 9 need eight (15 s)",
            [ten],
            [
                check(0, 4, yes(6, 10 * S)),
                check(2 * S, 3, yes(3, 10 * S)),
                check(5 * S, 2, yes(1, 10 * S)),
                peek(6 * S, 2, no(1, 4 * S, 9 * S)),
                peek(6 * S, 5, no(1, 4 * S, 9 * S)),
                peek(6 * S, 6, no(1, 6 * S, 9 * S)),
                peek(6 * S, 9, no(1, 9 * S, 9 * S)),
                check(12 * S - 1, 6, no(5, 1, 3 * S + 1)),
                check(12 * S, 6, yes(2, 10 * S)),
            ],
        ),
        Scenario(
            f"{prefix}same-microsecond",
            "Ten units within one microsecond are ten entries, and all go at once",
            [ten],
            [
                *(check(7, None, yes(9 - done, 10 * S)) for done in range(10)),
                check(7, 1, no(0, 10 * S, 10 * S)),
                peek(10 * S + 6, 1, no(0, 1, 1)),
                peek(10 * S + 7, 10, yes(10, 0)),
            ],
        ),
        Scenario(
            f"{prefix}refund-newest-first",
            "4 at 0 s, 4 at 6 s; 5 given back: all of 6 s and one of 0 s. 3 are left, gone at 10 s",
            [ten],
            [
                check(0, 4, yes(6, 10 * S)),
                check(6 * S, 4, yes(2, 10 * S)),
                refund(7 * S, 5, yes(7, 3 * S)),
                peek(10 * S - 1, 7, yes(7, 1)),
                peek(10 * S, 10, yes(10, 0)),
            ],
        ),
        Scenario(
            f"{prefix}refund-spares-the-gone",
            "5 at 0 s, 2 at 8 s. At 10 s only 2 count; giving back 4 removes these 2 and no more",
            [ten],
            [
                check(0, 5),
                check(8 * S, 2, yes(3, 10 * S)),
                refund(10 * S, 4, yes(10, 0)),
                check(10 * S, 10, yes(0, 10 * S)),
            ],
        ),
        Scenario(
            f"{prefix}one-per-millisecond",
            "1 per 1 ms",
            [rule("sliding_log", 1, 0.001, **structure)],
            [
                check(300, 1, yes(0, MS)),
                check(1299, 1, no(0, 1, 1)),
                check(1300, 1, yes(0, MS)),
                check(2299, 1, no(0, 1, 1)),
            ],
        ),
        Scenario(
            f"{prefix}thirty-days",
            "3 per 30 days",
            [rule("sliding_log", 3, 2_592_000, **structure)],
            [
                check(0, 2, yes(1, 30 * DAY)),
                check(DAY, 1, yes(0, 30 * DAY)),
                check(2 * DAY, 3, no(0, 29 * DAY, 29 * DAY)),
                check(30 * DAY - 1, 2, no(0, 1, DAY + 1)),
                check(30 * DAY, 2, yes(0, 30 * DAY)),
            ],
        ),
    ]


SCENARIOS = exact("sliding_log/") + exact("sliding_log/sorted_set-", structure="sorted_set")
