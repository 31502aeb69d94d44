"""The clock steps back, as after a failover: a stored time in the future counts as now."""

from .script import MS, S, Scenario, check, check_all, item, no, peek, refund, rule, yes

DESCRIPTION = "The clock steps back; usage is kept, and never for longer than from now on"

EVERY_ALGORITHM = {
    "fixed_window": rule("fixed_window", 10, 10),
    "first_request": rule("fixed_window", 10, 10, window_start="first_request"),
    "sliding_window": rule("sliding_window", 10, 10),
    "sliding_log": rule("sliding_log", 10, 10),
    "sorted_set": rule("sliding_log", 10, 10, structure="sorted_set"),
    "sliding_buckets": rule("sliding_buckets", 10, 10, resolution_seconds=1),
    "gcra": rule("gcra", 10, 10),
    "token_bucket": rule("token_bucket", 10, 10),
    "leaky_bucket": rule("leaky_bucket", 10, 10),
    "decay": rule("decay", 10, resolution_seconds=1),
}


def story(name: str, title: str, note: str, *steps) -> Scenario:
    return Scenario(f"clock_steps/{name}-{title}", note, [EVERY_ALGORITHM[name]], list(steps))


def everywhere(name: str) -> list[Scenario]:
    """An hour back: 10 used at 3600 s, then it is 3 s."""
    late, early = 3600 * S, 3 * S
    return [
        story(
            name,
            "denied-heals",
            "A denied check an hour earlier writes the healed time: from then on it expires as if used at 3 s",
            check(late, 10, {"allowed": True, "remaining": 0}),
            check(early, 1, {"allowed": False, "remaining": 0}),
            peek(early + 500 * MS, 1),
            peek(early + 5 * S, 1),
            check(early + 60 * S, 10, {"allowed": True, "remaining": 0}),
        ),
        story(
            name,
            "admitted-heals",
            "An admitted check an hour earlier adds to what was used in the future",
            check(late, 6, {"remaining": 4}),
            check(early, 3, {"allowed": True, "remaining": 1}),
            check(early, 2, {"allowed": False, "remaining": 1}),
            peek(early + 7 * S, 10),
            check(early + 60 * S, 10, {"allowed": True, "remaining": 0}),
        ),
        story(
            name,
            "peek-heals-nothing",
            "A peek an hour earlier sees the healed state, but leaves the stored one: at 3601 s all is as it was",
            check(late, 10),
            peek(early, 1, {"allowed": False, "remaining": 0}),
            peek(early + 20 * S, 1, {"allowed": False, "remaining": 0}),
            peek(late + 500 * MS, 1),
            check(late + 2 * S, 1),
        ),
        story(
            name,
            "refund-heals",
            "A refund an hour earlier gives back and writes the healed time",
            check(late, 10),
            refund(early, 4, {"allowed": True, "remaining": 4}),
            check(early, 4, {"allowed": True, "remaining": 0}),
            peek(early + 5 * S, 1),
            check(early + 60 * S, 10, {"allowed": True, "remaining": 0}),
        ),
        story(
            name,
            "one-microsecond",
            "A step of 1 us across the edge of a window or a slot",
            check(20 * S, 4, {"remaining": 6}),
            check(20 * S - 1, 4, {"allowed": True, "remaining": 2}),
            check(20 * S, 2),
            check(20 * S, 1),
        ),
    ]


SCENARIOS = [
    *(scenario for name in EVERY_ALGORITHM for scenario in everywhere(name)),
    story(
        "fixed_window",
        "by-hand",
        "Stored window [30, 40), seen at 12 s as [10, 20): full until 20 s",
        check(35 * S, 10, yes(0, 5 * S)),
        check(12 * S, 1, no(0, 8 * S, 8 * S)),
        check(20 * S - 1, 1, no(0, 1, 1)),
        check(20 * S, 1, yes(9, 10 * S)),
    ),
    story(
        "first_request",
        "by-hand",
        "A window that opened at 35 s is one that opens at 12 s",
        check(35 * S, 10, yes(0, 10 * S)),
        check(12 * S, 1, no(0, 10 * S, 10 * S)),
        check(22 * S - 1, 1, no(0, 1, 1)),
        check(22 * S, 1, yes(9, 10 * S)),
    ),
    story(
        "sliding_window",
        "by-hand",
        "previous 4 and current 3 at 35 s; at 12 s they are those of [10, 20): 4 * 8/10 + 3 = 6.2, 3 left;"
        " 4 fit when 4 * x + 3 <= 6, x = 0.75, at 20 s - 7.5 s = 12.5 s",
        check(25 * S, 4, yes(6, 15 * S)),
        check(35 * S, 3, yes(5, 15 * S)),
        check(12 * S, 4, no(3, 500 * MS, 18 * S)),
        check(12_500 * MS, 4, yes(0, 17_500 * MS)),
    ),
    story(
        "sliding_log",
        "by-hand",
        "Entries at 29 s (4) and 35 s (3). At 32 s the later ones count as new; they go at 42 s, the others at 39 s",
        check(29 * S, 4, yes(6, 10 * S)),
        check(35 * S, 3, yes(3, 10 * S)),
        check(32 * S, 4, no(3, 7 * S, 10 * S)),
        check(42 * S - 1, 8, no(7, 1, 1)),
        check(42 * S, 10, yes(0, 10 * S)),
    ),
    story(
        "sliding_buckets",
        "by-hand",
        "Slots 29 (4) and 35 (3), seen at 32.5 s: slot 35 is merged into slot 32, gone at 42 s",
        check(29 * S, 4, yes(6, 10 * S)),
        check(35 * S, 3, yes(3, 10 * S)),
        check(32_500 * MS, 4, no(3, 6_500 * MS, 9_500 * MS)),
        check(42 * S - 1, 8, no(7, 1, 1)),
        check(42 * S, 10, yes(0, 10 * S)),
    ),
    story(
        "gcra",
        "by-hand",
        "A debt of 10 s at 35 s is one of 10 s at 12 s; one more fits at 13 s",
        check(35 * S, 10, yes(0, 10 * S)),
        check(12 * S, 1, no(0, 1 * S, 10 * S)),
        check(13 * S - 1, 1, no(0, 1, 9 * S + 1)),
        check(13 * S, 1, yes(0, 10 * S)),
    ),
    Scenario(
        "clock_steps/uniform-by-hand",
        "One each 2 s. Used at 35 s, seen at 12 s: the next fits at 14 s",
        [rule("uniform", 5, 10)],
        [
            check(35 * S, 1, yes(0, 2 * S)),
            check(12 * S, 1, no(0, 2 * S, 2 * S)),
            check(14 * S - 1, 1, no(0, 1, 1)),
            check(14 * S, 1, yes(0, 2 * S)),
            check(35 * S, 1, yes(0, 2 * S)),
        ],
    ),
    story(
        "decay",
        "by-hand",
        "A level of 8 in slot 35 is one of 8 in slot 12: 4 in slot 13, 2 in slot 14",
        check(35 * S, 8, yes(2, 33 * S)),
        check(12_500 * MS, 8, no(2, 1_500 * MS, 32_500 * MS)),
        check(14 * S - 1, 8, no(6, 1, 31 * S + 1)),
        check(14 * S, 8, yes(0, 34 * S)),
    ),
    Scenario(
        "clock_steps/several-limits",
        "A denial by one limit heals the other, which had room, too",
        [
            rule(
                "fixed_window",
                limits=[{"limit": 2, "window_size_seconds": 1}, {"limit": 9, "window_size_seconds": 100}],
            )
        ],
        [
            check(350 * S, 2, yes(0, 50 * S)),
            check(120 * S, 1, no(0, 1 * S, 80 * S, limit=2)),
            check(121 * S, 2, yes(0, 79 * S, limit=2)),
            peek(122 * S, 2, yes(2, 78 * S, limit=2)),
        ],
    ),
    Scenario(
        "clock_steps/check_all",
        "A denied check_all heals every state it touched, those that had room included",
        [rule("sliding_log", 3, 10, rule_id="log"), rule("uniform", 1, 10, rule_id="uniform")],
        [
            check_all(1000 * S, item("log"), item("uniform"), by_hand=yes(0, 10 * S, rule="uniform")),
            check_all(500 * S, item("log"), item("uniform"), by_hand=no(0, 10 * S, 10 * S, rule="uniform")),
            check_all(510 * S, item("log", cost=3), item("uniform"), by_hand=yes(0, 10 * S, rule="log")),
        ],
    ),
]
