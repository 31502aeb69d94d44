"""Several rules decided together."""

from .script import S, Scenario, check, check_all, error, item, no, peek, rule, yes

DESCRIPTION = "check_all: several rules decided together, all or nothing"


def window(rule_id: str, limit: int, seconds: int = 10, **others) -> dict:
    return rule("fixed_window", limit, seconds, rule_id=rule_id, **others)


BESIDE_RESERVATIONS = [
    rule("sliding_log", 9, 10, rule_id="held", reservations=True),
    rule("sliding_buckets", 3, 10, rule_id="hammered", resolution_seconds=1, count_denied=True),
]

SCENARIOS = [
    Scenario(
        "check_all/count_denied-beside-reservations",
        "2 and 2 of 3 are denied and counted beside a rule that may hold: 4 in slots 0 and 4, of which 2 go at 10 s",
        BESIDE_RESERVATIONS,
        [
            check_all(0, item("held"), item("hammered", cost=2)),
            check_all(4 * S, item("held"), item("hammered", cost=2), by_hand=no(0, 10 * S, 10 * S, rule="hammered")),
            peek(10 * S, 1, yes(1, 4 * S), rule="hammered"),
            peek(10 * S, 9, yes(9, 0), rule="held"),
        ],
    ),
    Scenario(
        "check_all/one-item",
        "A list of one answers as a check would",
        [window("a", 3)],
        [check_all(0, item("a", cost=2), by_hand=yes(1, 10 * S, rule="a")), check(0, 1, yes(0, 10 * S), rule="a")],
    ),
    Scenario(
        "check_all/least-left-is-reported",
        "All admitted: the part with the least left speaks, the wait until all is forgotten is the longest",
        [window("a", 9, 100), window("b", 4)],
        [check_all(0, item("a"), item("b"), by_hand=yes(3, 100 * S, rule="b", limit=4))],
    ),
    Scenario(
        "check_all/all-or-nothing",
        "b is full, so nothing is charged to a or c; the parts of a and c say that they would have fitted",
        [window("a", 5), window("b", 1), window("c", 7)],
        [
            check(0, 1, rule="b"),
            check_all(0, item("a"), item("b"), item("c", cost=2), by_hand=no(0, 10 * S, 10 * S, rule="b", limit=1)),
            peek(0, 5, yes(5, 0), rule="a"),
            peek(0, 7, yes(7, 0), rule="c"),
            check_all(10 * S, item("a"), item("b"), item("c", cost=2), by_hand=yes(0, 10 * S, rule="b")),
            peek(10 * S, 5, no(4, 10 * S, 10 * S), rule="a"),
        ],
    ),
    Scenario(
        "check_all/longest-wait-is-reported",
        "a and b both refuse; b for longer",
        [window("a", 1, 10), window("b", 1, 100)],
        [
            check_all(0, item("a"), item("b"), by_hand=yes(0, 100 * S, rule="a")),
            check_all(0, item("a"), item("b"), by_hand=no(0, 100 * S, 100 * S, rule="b")),
        ],
    ),
    Scenario(
        "check_all/never-is-longest",
        "b can never take 2",
        [window("a", 1, 100), window("b", 1, 10)],
        [check(0, rule="a"), check_all(0, item("a"), item("b", cost=2), by_hand=no(0, "never", 100 * S, rule="b"))],
    ),
    Scenario(
        "check_all/priority-breaks-ties",
        "Both refuse for 10 s; the lower priority number speaks though it comes last. Also when both admit",
        [window("a", 2, priority=5), window("b", 2, priority=1)],
        [
            check_all(0, item("a"), item("b"), by_hand=yes(1, 10 * S, rule="b")),
            check_all(0, item("a"), item("b"), by_hand=yes(0, 10 * S, rule="b")),
            check_all(0, item("a"), item("b"), by_hand=no(0, 10 * S, 10 * S, rule="b")),
        ],
    ),
    Scenario(
        "check_all/first-breaks-ties",
        "Same wait, same priority: the first item speaks",
        [window("a", 1), window("b", 1)],
        [
            check_all(0, item("b"), item("a"), by_hand=yes(0, 10 * S, rule="b")),
            check_all(0, item("a"), item("b"), by_hand=no(0, 10 * S, 10 * S, rule="a")),
            check_all(0, item("b"), item("a"), by_hand=no(0, 10 * S, 10 * S, rule="b")),
        ],
    ),
    Scenario(
        "check_all/same-rule-other-key",
        "Two keys of one rule have two counts",
        [window("a", 2)],
        [
            check_all(0, item("a", "alice"), item("a", "bob", cost=2), by_hand=yes(0, 10 * S)),
            check_all(0, item("a", "alice"), item("a", "bob"), by_hand=no(0, 10 * S, 10 * S)),
            check(0, 1, yes(0, 10 * S), rule="a"),
        ],
    ),
    Scenario(
        "check_all/same-key-twice",
        "Two items of one key need room for the sum: 3 + 3 never fit into 5, 2 + 3 do. Both parts speak of the sum",
        [window("a", 5)],
        [
            check_all(0, item("a", cost=3), item("a", cost=3), by_hand=no(5, "never", 0)),
            check_all(0, item("a", cost=2), item("a", cost=2), by_hand=yes(1, 10 * S)),
            check_all(1 * S, item("a"), item("a"), by_hand=no(1, 9 * S, 9 * S)),
            check(1 * S, 1, yes(0, 9 * S), rule="a"),
        ],
    ),
    Scenario(
        "check_all/mixed-algorithms",
        "One item of each algorithm; the uniform one refuses the second round",
        [
            window("fixed", 10),
            rule("sliding_window", 9, 10, rule_id="sliding"),
            rule("sliding_log", 8, 10, rule_id="log"),
            rule("sliding_buckets", 7, 10, rule_id="buckets"),
            rule("gcra", 6, 10, rule_id="gcra"),
            rule("uniform", 5, 10, rule_id="uniform"),
            rule("decay", 4, resolution_seconds=1, rule_id="decay"),
        ],
        [
            step
            for at in (0, 1_999_999, 2_000_000)
            for step in [
                check_all(
                    at, *(item(name) for name in ("fixed", "sliding", "log", "buckets", "gcra", "uniform", "decay"))
                )
            ]
        ],
    ),
    Scenario(
        "check_all/limit-override",
        "Items of different keys may have different limits",
        [window("a", 5)],
        [
            check_all(
                0,
                item("a", "alice", cost=2, limit=2),
                item("a", "bob", cost=9, limit=10),
                by_hand=yes(0, 10 * S, limit=2),
            ),
            check_all(0, item("a", "alice", limit=3), item("a", "bob"), by_hand=no(0, 10 * S, 10 * S, limit=5)),
        ],
    ),
    Scenario(
        "check_all/arguments",
        "Nothing to check, an unknown rule, two limits for one count: errors, and nothing is charged",
        [window("a", 5), window("b", 5)],
        [
            check_all(0, by_hand=error("InvalidArgument")),
            check_all(0, item("a"), item("nobody"), by_hand=error("UnknownRule")),
            check_all(0, item("a"), item("b", cost=0), by_hand=error("InvalidArgument")),
            check_all(0, item("a"), item("b", key=""), by_hand=error("InvalidArgument")),
            check_all(0, item("a", limit=3), item("a", limit=4), by_hand=error("InvalidArgument")),
            peek(0, 5, yes(5, 0), rule="a"),
            peek(0, 5, yes(5, 0), rule="b"),
            check_all(0, item("a", limit=3), item("a", limit=3), by_hand=yes(1, 10 * S, limit=3)),
        ],
    ),
]
