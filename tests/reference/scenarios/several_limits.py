"""Several limits in one rule: all must have room, all are charged together."""

from .script import MS, S, Scenario, check, no, peek, refund, reset, rule, yes

DESCRIPTION = "Several limits in one rule"


def limits(*pairs, **others) -> list[dict]:
    return [{"limit": limit, "window_size_seconds": window, **others} for limit, window in pairs]


def two(algorithm: str, **options) -> dict:
    return rule(algorithm, limits=limits((2, 1), (5, 10)), **options)


def same_story(algorithm: str, **options) -> Scenario:
    """2 per 1 s and 5 per 10 s, two each second: the long limit ends it."""
    return Scenario(
        f"several_limits/{algorithm}",
        "2 per second and 5 per 10 s: first the one, then the other refuses",
        [two(algorithm, **options)],
        [
            check(0, 2, {"allowed": True, "remaining": 0, "limit": 2}),
            check(0, 1, {"allowed": False, "remaining": 0, "limit": 2}),
            check(2 * S, 2, {"allowed": True, "remaining": 0, "limit": 2}),
            check(4 * S, 2),
            check(4 * S, 1),
            peek(6 * S, 2),
            peek(6 * S, 6, {"allowed": False, "retry_after_us": "never"}),
            refund(6 * S, 4),
            peek(9 * S, 2),
            reset(9 * S),
            peek(9 * S, 2, {"allowed": True, "remaining": 2, "limit": 2, "reset_after_us": 0}),
        ],
    )


SCENARIOS = [
    *(same_story(name) for name in ("fixed_window", "sliding_window", "sliding_log", "sliding_buckets", "gcra")),
    same_story("token_bucket"),
    Scenario(
        "several_limits/all-or-nothing",
        "At 3 s the short limit has room for 2, the long one for 1: nothing is charged to either. Then 1 fits both",
        [two("fixed_window")],
        [
            check(0, 2, yes(0, 10 * S, limit=2)),
            check(1 * S, 2, yes(0, 9 * S, limit=2)),
            check(3 * S, 2, no(1, 7 * S, 7 * S, limit=5)),
            check(3 * S, 1, yes(0, 7 * S, limit=5)),
        ],
    ),
    Scenario(
        "several_limits/reported-when-denied",
        "Both refuse: the one with the longest wait is reported, 10 s against 1 s",
        [rule("fixed_window", limits=limits((2, 1), (2, 10)))],
        [
            check(0, 2, yes(0, 10 * S)),
            check(0, 1, no(0, 10 * S, 10 * S, limit=2)),
            check(1 * S, 1, no(0, 9 * S, 9 * S)),
        ],
    ),
    Scenario(
        "several_limits/reported-when-allowed",
        "The limit with the least left is reported; of equal ones the first",
        [rule("fixed_window", limits=limits((6, 10), (4, 1)))],
        [
            check(0, 1, yes(3, 10 * S, limit=4)),
            check(1 * S, 1, yes(3, 9 * S, limit=4)),
            check(2 * S, 1, yes(3, 8 * S, limit=6)),
            check(3 * S, 2, yes(1, 7 * S, limit=6)),
        ],
    ),
    Scenario(
        "several_limits/first-wins-ties",
        "Two limits of 3 and 4 in windows that end together: after 3 the one of 3 is full, a cost of 2 waits for both",
        [rule("fixed_window", limits=limits((4, 10), (3, 5)))],
        [check(5 * S, 3, yes(0, 5 * S, limit=3)), check(5 * S, 2, no(0, 5 * S, 5 * S, limit=4))],
    ),
    Scenario(
        "several_limits/never",
        "A cost the long limit could take but the short one never can",
        [two("sliding_log")],
        [check(0, 3, no(2, "never", 0, limit=2)), check(0, 6, no(2, "never", 0, limit=2))],
    ),
    Scenario(
        "several_limits/refund-gives-back-to-all",
        "2 used at 0 s and 2 at 1 s; at 1 s 3 are given back: the short limit gets its 2, the long one 3 of 4",
        [two("sliding_log")],
        [
            check(0, 2, yes(0, 10 * S)),
            check(1 * S, 2, yes(0, 10 * S)),
            refund(1 * S, 3, no(2, "never", 9 * S)),
            check(1 * S, 2, yes(0, 10 * S)),
        ],
    ),
    Scenario(
        "several_limits/buckets-of-different-resolution",
        "3 per second in slots of 0.1 s and 5 per minute in slots of 10 s; the latter go 60 s after their slot began",
        [
            rule(
                "sliding_buckets",
                limits=[
                    {"limit": 3, "window_size_seconds": 1, "resolution_seconds": 0.1},
                    {"limit": 5, "window_size_seconds": 60, "resolution_seconds": 10},
                ],
            )
        ],
        [
            check(50 * MS, 3, yes(0, 60 * S - 50 * MS)),
            check(999 * MS, 1, no(0, 1 * MS, 59_001 * MS, limit=3)),
            check(1 * S, 2, yes(0, 59 * S, limit=5)),
            check(1 * S, 1, no(0, 59 * S, 59 * S, limit=5)),
        ],
    ),
    Scenario(
        "several_limits/decay",
        "4 with slots of 1 s and 6 with slots of 10 s: 4 and 4 at 0 s, 2 and 4 at 1 s, so 2 more fit both",
        [rule("decay", limits=[{"limit": 4, "resolution_seconds": 1}, {"limit": 6, "resolution_seconds": 10}])],
        [
            check(0, 4, yes(0, 320 * S, limit=4)),
            check(1 * S, 3, no(2, 9 * S, 319 * S, limit=6)),
            check(1 * S, 2, yes(0, 329 * S, limit=4)),
        ],
    ),
]
