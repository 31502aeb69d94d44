"""charge: usage that has happened already is counted whatever the limit, and answered as a peek of 1 would be."""

from .script import MS, S, Scenario, charge, check, check_all, error, item, no, peek, refund, reset, rule, yes

DESCRIPTION = "charge counts what was used already, also beyond the limit"

GCRA = ("gcra", "token_bucket", "leaky_bucket")
EVERY = (
    rule("fixed_window", 10, 10),
    rule("fixed_window", 10, 10, window_start="first_request"),
    rule("sliding_window", 10, 10),
    rule("sliding_log", 10, 10),
    rule("sliding_log", 10, 10, structure="sorted_set"),
    rule("sliding_buckets", 10, 10, resolution_seconds=1),
    rule("gcra", 10, 10),
    rule("uniform", 10, 10),
    rule("decay", 10, resolution_seconds=1),
)


def named(made: dict) -> str:
    option = made.get("window_start") or made.get("structure")
    return made["algorithm"] + (f"-{option}" if option else "")


def overdrawn(made: dict) -> Scenario:
    return Scenario(
        f"charge/{named(made)}-overdrawn",
        "12 and 1 of 10: nothing is left, checks are denied and change nothing; a refund of all resets the key",
        [made],
        [
            charge(0, 12, {"allowed": False, "remaining": 0}),
            check(0, 1, {"allowed": False, "remaining": 0}),
            charge(0, None, {"allowed": False, "remaining": 0}),
            check(0, 2, {"allowed": False}),
            refund(0, 13, {"reset_after_us": 0}),
            charge(0, 1),
        ],
    )


def within(algorithm: str) -> Scenario:
    return Scenario(
        f"charge/{algorithm}-within",
        "9 of 10 leave room for 1 more, 10 do not: the answer is about a cost of 1",
        [rule(algorithm, 10, 10)],
        [
            charge(0, 9, yes(1, 9 * S)),
            charge(0, 1, no(0, 1 * S, 10 * S)),
            check(1 * S, 1, yes(0, 10 * S)),
        ],
    )


def exact(algorithm: str) -> Scenario:
    return Scenario(
        f"charge/{algorithm}-exact",
        "13 are a debt of 13 s where 10 are room for: 1 fits after 4 s, and not a microsecond before",
        [rule(algorithm, 10, 10)],
        [
            charge(0, 4, yes(6, 4 * S)),
            charge(0, 9, no(0, 4 * S, 13 * S)),
            check(4 * S - 1, 1, no(0, 1, 9 * S + 1)),
            check(4 * S, 1, yes(0, 10 * S)),
        ],
    )


SCENARIOS = [
    *map(overdrawn, EVERY),
    *map(within, GCRA),
    *map(exact, GCRA),
    Scenario(
        "charge/fixed_window-by-hand",
        "13 of 10: nothing until the window ends, and then all of it",
        [rule("fixed_window", 10, 10)],
        [
            charge(4 * S, 13, no(0, 6 * S, 6 * S)),
            refund(4 * S, 5, no(2, 6 * S, 6 * S)),
            check(10 * S, 10, yes(0, 10 * S)),
        ],
    ),
    Scenario(
        "charge/sliding_window-by-hand",
        "25 of 10: in the next window 25 * (10 - x) / 10 <= 9 from x = 6.4 on",
        [rule("sliding_window", 10, 10)],
        [
            charge(0, 25, no(0, 16_400 * MS, 20 * S)),
            check(16_400 * MS - 1, 1, no(0, 1, 3_600 * MS + 1)),
            check(16_400 * MS, 1, yes(0, 13_600 * MS)),
        ],
    ),
    *(
        Scenario(
            f"charge/sliding_log-{structure}-by-hand",
            "3 at 0 s and 9 at 4 s: 1 fits when 3 are gone, at 10 s. Then 8 more: 1 fits when the 9 are gone, at 14 s",
            [rule("sliding_log", 10, 10, structure=structure)],
            [
                charge(0, 3, yes(7, 10 * S)),
                charge(4 * S, 9, no(0, 6 * S, 10 * S)),
                charge(10 * S, 8, no(0, 4 * S, 10 * S)),
                check(14 * S, 2, yes(0, 10 * S)),
            ],
        )
        for structure in ("list", "sorted_set")
    ),
    *(
        Scenario(
            f"charge/sliding_log-{structure}-at-most-twice-the-limit",
            "Of 100 a log of 3 takes 6 entries; after 4 were given back there are 2, so 1 more fits",
            [rule("sliding_log", 3, 10, structure=structure)],
            [
                charge(0, 100, no(0, 10 * S, 10 * S)),
                refund(0, 3, no(0, 10 * S, 10 * S)),
                refund(0, 1, yes(1, 10 * S)),
                charge(5 * S, 9_007_199_254_740_991, no(0, 10 * S, 10 * S)),
            ],
        )
        for structure in ("list", "sorted_set")
    ),
    Scenario(
        "charge/sliding_buckets-by-hand",
        "4 in the slot of 0 s, 12 in that of 3 s: 1 fits when both are gone, at 13 s",
        [rule("sliding_buckets", 10, 10, resolution_seconds=1)],
        [
            charge(0, 4, yes(6, 10 * S)),
            charge(3 * S, 12, no(0, 10 * S, 10 * S)),
            check(13 * S - 1, 1, no(0, 1, 1)),
            check(13 * S, 10, yes(0, 10 * S)),
        ],
    ),
    Scenario(
        "charge/decay-by-hand",
        "A level of 32 halves every second: 8 after 2 s leave room for 2",
        [rule("decay", 10, resolution_seconds=1)],
        [
            charge(0, 32, {"allowed": False, "remaining": 0, "retry_after_us": 2 * S}),
            check(2 * S - 1, 1, {"allowed": False, "retry_after_us": 1}),
            check(2 * S, 2, {"allowed": True, "remaining": 0}),
        ],
    ),
    Scenario(
        "charge/uniform-by-hand",
        "3 at once take 3 s, one after the other",
        [rule("uniform", 10, 10)],
        [charge(0, 3, no(0, 3 * S, 3 * S, limit=1)), check(3 * S, 1, yes(0, 1 * S))],
    ),
    Scenario(
        "charge/burst",
        "A burst of 3 at one per second: 8 are overdrawn by 5",
        [rule("gcra", 10, 10, burst=3)],
        [charge(0, 8, no(0, 6 * S, 8 * S, limit=3)), check(6 * S, 1, yes(0, 3 * S))],
    ),
    *(
        Scenario(
            f"charge/{made['algorithm']}-count_denied",
            "Counted once, also where denied costs count; those of checks count beside it",
            [made | {"count_denied": True}],
            [
                charge(0, 10, {"allowed": False, "remaining": 0}),
                refund(0, 1, {"allowed": True, "remaining": 1}),
                charge(0, 3),
                check(0, 2, {"allowed": False}),
                refund(0, 5, {"allowed": False, "remaining": 1}),
            ],
        )
        for made in (EVERY[0], EVERY[2], EVERY[5], EVERY[8])
    ),
    *(
        Scenario(
            f"charge/{name}-two-limits",
            "Every limit of the rule is charged, those that are full too",
            [rule(name, limits=[{"limit": 2, "window_size_seconds": 1}, {"limit": 5, "window_size_seconds": 10}])],
            [
                charge(0, 3, {"allowed": False, "limit": 2, "remaining": 0}),
                charge(0, 1, {"allowed": False, "limit": 2, "remaining": 0}),
                peek(10 * S, 1, {"allowed": True, "remaining": 2, "limit": 2} if name != "sliding_window" else None),
            ],
        )
        for name in ("fixed_window", "sliding_window", "sliding_log", "sliding_buckets", "gcra")
    ),
    Scenario(
        "charge/resource",
        "The key and the resource are charged: 3 of 2 for alice, and of 5 for all",
        [
            rule(
                "gcra",
                limits=[
                    {"limit": 2, "window_size_seconds": 2},
                    {"limit": 5, "window_size_seconds": 5, "scope": "resource"},
                ],
            )
        ],
        [
            charge(0, 3, no(0, 2 * S, 3 * S, limit=2), resource="printer"),
            peek(0, 1, yes(2, 3 * S, limit=2), key="bob", resource="printer"),
            charge(0, 1, error("InvalidArgument")),
        ],
    ),
    Scenario(
        "charge/limit",
        "Another limit for the call: the answer is about that one, and the debt takes its pace",
        [rule("gcra", 10, 10)],
        [
            charge(0, 15, yes(5, 7_500 * MS, limit=20), limit=20),
            peek(0, 1, no(0, 3 * S, 7_500 * MS, limit=10)),
            charge(0, 1, no(0, 7 * S, 16 * S, limit=10)),
        ],
    ),
    Scenario(
        "charge/shadow",
        "A rule in shadow is charged and admits all the same",
        [rule("gcra", 2, 2, shadow=True)],
        [charge(0, 3, yes(0, 3 * S) | {"shadow_denied": True, "retry_after_us": 2 * S}), peek(2 * S, 1, yes(1, 1 * S))],
    ),
    Scenario(
        "charge/check_all",
        "What was charged keeps items that are decided together out",
        [rule("gcra", 2, 2), rule("fixed_window", 5, 10, rule_id="other")],
        [
            charge(0, 4, no(0, 3 * S, 4 * S)),
            check_all(0, item(), item("other"), by_hand={"allowed": False, "rule": "api", "retry_after_us": 3 * S}),
            peek(0, 5, yes(5, 0), rule="other"),
        ],
    ),
    Scenario(
        "charge/reset",
        "A reset forgets an overdraft",
        [rule("gcra", 10, 10)],
        [charge(0, 30, no(0, 21 * S, 30 * S)), reset(0), check(0, 10, yes(0, 10 * S))],
    ),
    Scenario(
        "charge/clock-steps-back",
        "A charge heals what lies in the future, and adds to it",
        [rule("gcra", 10, 10)],
        [charge(60 * S, 10, no(0, 1 * S, 10 * S)), charge(50 * S, 2, no(0, 3 * S, 12 * S)), check(53 * S, 1, yes(0, 10 * S))],
    ),
    Scenario(
        "charge/bad-arguments",
        "A cost of nothing, an empty key, a rule that there is not",
        [rule("gcra", 10, 10)],
        [
            charge(0, 0, error("InvalidArgument")),
            charge(0, 1, error("InvalidArgument"), key=""),
            charge(0, 1, error("UnknownRule"), rule="aip"),
            charge(0, 1, error("InvalidArgument"), resource="printer"),
            charge(0, 1, error("InvalidArgument"), limit=0),
            peek(0, 1, yes(10, 0)),
        ],
    ),
    Scenario(
        "charge/gcra-beyond-counting",
        "An overdraft of more than 2^53 microseconds is refused, and nothing is charged",
        [rule("gcra", 10, 10)],
        [
            charge(0, 9_007_199_265, error("InvalidArgument")),
            charge(0, 9_007_199_254_740_991, error("InvalidArgument")),
            peek(0, 10, yes(10, 0)),
            charge(0, 1, yes(9, 1 * S)),
        ],
    ),
    *(
        Scenario(
            f"charge/{named(made)}-beyond-counting",
            "An overdraft of more than 2^53 units is refused, and nothing is charged",
            [made],
            [
                charge(0, 2**52, {"allowed": False, "remaining": 0}),
                charge(0, 2**52 + 2048, error("InvalidArgument")),
                charge(0, 9_007_199_254_740_991, error("InvalidArgument")),
                refund(0, 2**52, {"allowed": False, "remaining": 10}),
            ],
        )
        for made in (EVERY[0], EVERY[1], EVERY[5], EVERY[8])
    ),
    Scenario(
        "charge/beyond-counting-one-of-two",
        "When one limit cannot be overdrawn so far, none of the rule is charged",
        [rule("gcra", limits=[{"limit": 1, "window_size_seconds": 1}, {"limit": 10, "window_size_seconds": 100_000}])],
        [
            charge(0, 1_000_000, error("InvalidArgument")),
            peek(0, 1, yes(1, 0)),
            charge(0, 20, {"allowed": False, "remaining": 0}),
        ],
    ),
]
