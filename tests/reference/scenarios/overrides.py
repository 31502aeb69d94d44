"""limit=: another limit for one call. The usage is the same."""

from .script import MS, S, Scenario, check, error, no, peek, refund, rule, yes

DESCRIPTION = "A call may bring its own limit; it takes effect at once and forgets no usage"

COUNTED = ("fixed_window", "sliding_window", "sliding_log", "sliding_buckets")


def up_and_down(algorithm: str, **options) -> Scenario:
    return Scenario(
        f"overrides/{algorithm}-up-and-down",
        "10 used of 10. With 20 there are 10 more; with 5 it is above the limit, and nothing is left, not less",
        [rule(algorithm, 10, 10, **options)],
        [
            check(0, 10, {"allowed": True, "remaining": 0, "limit": 10}),
            check(0, 1, {"allowed": True, "remaining": 9, "limit": 20}, limit=20),
            peek(1 * S, 1, {"allowed": False, "remaining": 0, "limit": 5}, limit=5),
            peek(1 * S, 6, {"allowed": False, "retry_after_us": "never", "limit": 5}, limit=5),
            peek(1 * S, 1, {"allowed": False, "remaining": 0, "limit": 10}),
            refund(1 * S, 7, {"allowed": False, "remaining": 1, "limit": 5}, limit=5),
            check(1 * S, 2, {"allowed": False, "remaining": 1}, limit=5),
            check(1 * S, 1, {"allowed": True, "remaining": 0}, limit=5),
        ],
    )


SCENARIOS = [
    *(up_and_down(name) for name in COUNTED),
    Scenario(
        "overrides/fixed_window-by-hand",
        "A limit lowered below the count: nothing fits until the window ends",
        [rule("fixed_window", 10, 10)],
        [
            check(0, 8, yes(2, 10 * S, limit=10)),
            check(2 * S, 1, no(0, 8 * S, 8 * S, limit=4), limit=4),
            check(2 * S, 3, no(2, 8 * S, 8 * S, limit=10)),
            check(2 * S, 3, yes(1, 8 * S, limit=12), limit=12),
        ],
    ),
    Scenario(
        "overrides/sliding_window-by-hand",
        "8 in [0, 10); with a limit of 4, 1 more fits when 8 * x <= 3, x = 0.375, at 16.25 s",
        [rule("sliding_window", 10, 10)],
        [
            check(0, 8, yes(2, 20 * S)),
            check(1 * S, 1, no(0, 15_250 * MS, 19 * S, limit=4), limit=4),
            check(16_250 * MS - 1, 1, no(0, 1, 3_750 * MS + 1), limit=4),
            check(16_250 * MS, 1, yes(0, 13_750 * MS, limit=4), limit=4),
        ],
    ),
    Scenario(
        "overrides/sliding_log-by-hand",
        "6 at 0 s and 2 at 3 s; with a limit of 4, 2 fit when 6 are gone, at 10 s, and 3 when 7 are, at 13 s",
        [rule("sliding_log", 10, 10)],
        [
            check(0, 6),
            check(3 * S, 2, yes(2, 10 * S)),
            peek(4 * S, 2, no(0, 6 * S, 9 * S, limit=4), limit=4),
            peek(4 * S, 3, no(0, 9 * S, 9 * S, limit=4), limit=4),
            check(10 * S, 2, yes(0, 10 * S, limit=4), limit=4),
        ],
    ),
    Scenario(
        "overrides/gcra-by-hand",
        "60 per minute: 30 used leak at one a second, whatever the limit, until a charge makes it another pace",
        [rule("gcra", 60, 60)],
        [
            check(0, 30, yes(30, 30 * S, limit=60)),
            peek(0, 90, yes(90, 30 * S, limit=120), limit=120),
            peek(0, 91, no(90, 1 * S, 30 * S, limit=120), limit=120),
            peek(0, 1, no(0, 1 * S, 30 * S, limit=30), limit=30),
            peek(0, 31, no(0, "never", 30 * S, limit=30), limit=30),
            check(0, 10, yes(80, 20 * S, limit=120), limit=120),
            check(0, 10, yes(10, 50 * S, limit=60)),
            refund(0, 4, yes(74, 46 * S, limit=120), limit=120),
        ],
    ),
    Scenario(
        "overrides/gcra-down-below-the-debt",
        "60 used of 60 per minute; with a limit of 30, 31 have to leak until 1 fits, one a second",
        [rule("gcra", 60, 60)],
        [
            check(0, 60, yes(0, 60 * S)),
            check(1 * S, 1, no(0, 30 * S, 59 * S, limit=30), limit=30),
            check(31 * S, 1, yes(0, 60 * S, limit=30), limit=30),
        ],
    ),
    Scenario(
        "overrides/gcra-stated-burst",
        "A burst that the rule states stays: 5 at once. 10 per 10 s is a unit of 1 s, 20 per 10 s one of 0.5 s",
        [rule("gcra", 10, 10, burst=5)],
        [
            check(0, 4, yes(1, 4 * S, limit=5)),
            check(0, 1, yes(0, 2_500 * MS, limit=5), limit=20),
            check(0, 1, no(0, 500 * MS, 2_500 * MS, limit=5)),
            check(500 * MS, 1, yes(0, 5 * S, limit=5)),
        ],
    ),
    Scenario(
        "overrides/uniform",
        "The burst of uniform is always 1: one each 2 s instead of one each second",
        [rule("uniform", 10, 10)],
        [
            check(0, 1, yes(0, 2 * S, limit=1), limit=5),
            check(1 * S, 1, no(0, 1 * S, 1 * S, limit=1)),
            check(2 * S, 1, yes(0, 1 * S, limit=1)),
        ],
    ),
    Scenario(
        "overrides/decay",
        "8 of 10; with 20 there are 12 more, with 4 nothing until 3 slots later the level is 1 and 3 fit",
        [rule("decay", 10, resolution_seconds=1)],
        [
            check(0, 8, yes(2, 33 * S)),
            peek(0, 12, yes(12, 33 * S, limit=20), limit=20),
            check(0, 3, no(0, 3 * S, 33 * S, limit=4), limit=4),
            check(3 * S, 3, yes(0, 32 * S, limit=4), limit=4),
        ],
    ),
    Scenario(
        "overrides/several-limits",
        "With two limits it would be unclear which is meant",
        [
            rule(
                "fixed_window",
                limits=[{"limit": 2, "window_size_seconds": 1}, {"limit": 5, "window_size_seconds": 10}],
            )
        ],
        [check(0, 1, error("InvalidArgument"), limit=9), peek(0, 2, yes(2, 0, limit=2))],
    ),
    Scenario(
        "overrides/one-entry-in-limits",
        "A list of one limit is a single limit",
        [rule("fixed_window", limits=[{"limit": 2, "window_size_seconds": 10}])],
        [check(0, 7, yes(2, 10 * S, limit=9), limit=9), check(0, 1, no(0, 10 * S, 10 * S, limit=2))],
    ),
]
