"""reserve_all: several rules decided together; those with reservations hold, the others charge."""

from ..script import (
    BASE,
    HAD_ENDED,
    HOUR,
    MINUTE,
    S,
    Scenario,
    check,
    check_all,
    commit,
    error,
    item,
    no,
    peek,
    release,
    renew,
    reserve_all,
    reset,
    rule,
    yes,
)
from .held import budget, drips, in_flight, two_level

DESCRIPTION = "reserve_all: several rules decided together, all or nothing"


def denied(rule_id: str, **others) -> dict:
    return {"allowed": False, "id": False, "rule": rule_id, **others}


TWO = [budget(rule_id="a", lease=30), budget(rule_id="b", lease=5)]

SCENARIOS = [
    Scenario(
        "reserve_all/one-item",
        "A list of one answers as a reserve would",
        [budget()],
        [
            reserve_all(0, item(cost=4), by_hand=yes(6, 10 * S, id=True, token=BASE)),
            commit(0, 3),
            peek(0, 8, no(7, 10 * S, 10 * S)),
        ],
    ),
    Scenario(
        "reserve_all/all-held",
        "All items hold; commit names what one of them used, the other is charged as reserved",
        TWO,
        [
            reserve_all(0, item("a", cost=4), item("b", cost=6), by_hand=yes(4, 10 * S, rule="b", id=True)),
            commit(0, costs={"b": 1}),
            peek(0, 1, yes(6, 10 * S), rule="a"),
            peek(0, 1, yes(9, 10 * S), rule="b"),
        ],
    ),
    Scenario(
        "reserve_all/as-reserved",
        "A commit without costs charges each item what it reserved",
        TWO,
        [
            reserve_all(0, item("a", cost=4), item("b", cost=6)),
            commit(0),
            peek(0, 1, yes(6, 10 * S), rule="a"),
            peek(0, 1, yes(4, 10 * S), rule="b"),
        ],
    ),
    Scenario(
        "reserve_all/zero-of-one",
        "Nothing was used of one rule, more than reserved of the other",
        TWO,
        [
            reserve_all(0, item("a", cost=4), item("b", cost=6)),
            commit(0, costs={"a": 0, "b": 12}),
            peek(0, 10, yes(10, 0), rule="a"),
            peek(0, 1, no(0, 10 * S, 10 * S), rule="b"),
        ],
    ),
    Scenario(
        "reserve_all/all-or-nothing",
        "b is full: nothing is held of a, and the part of a says that it would have fitted",
        TWO,
        [
            check(0, 10, rule="b"),
            reserve_all(0, item("a", cost=4), item("b"), by_hand=no(0, 10 * S, 10 * S, rule="b", id=False)),
            peek(0, 10, yes(10, 0), rule="a"),
        ],
    ),
    Scenario(
        "reserve_all/charged-together",
        "An item that is charged and denied holds nothing of the others",
        [budget(rule_id="a"), rule("fixed_window", 1, 10, rule_id="plain")],
        [
            check(0, rule="plain"),
            reserve_all(0, item("a", cost=4), item("plain"), by_hand=denied("plain")),
            peek(0, 10, yes(10, 0), rule="a"),
        ],
    ),
    Scenario(
        "reserve_all/same-key-twice",
        "Two items of one rule and key are one reservation of 5; both parts speak of the sum",
        [budget()],
        [
            reserve_all(0, item(cost=2), item(cost=3), by_hand=yes(5, 10 * S, id=True, token=BASE)),
            peek(0, 6, no(5, 10 * S, 10 * S)),
            commit(0),
            peek(0, 6, no(5, 10 * S, 10 * S)),
        ],
    ),
    Scenario(
        "reserve_all/same-key-twice-commit",
        "What was used is stated once for both",
        [budget()],
        [
            reserve_all(0, item(cost=2), item(cost=3), by_hand=yes(5, 10 * S)),
            commit(0, costs={"api": 4}),
            peek(0, 7, no(6, 10 * S, 10 * S)),
        ],
    ),
    Scenario(
        "reserve_all/same-key-twice-denied",
        "6 and 6 never fit into 10, though either would",
        [budget()],
        [reserve_all(0, item(cost=6), item(cost=6), by_hand=no(10, "never", 0, id=False)), peek(0, 10, yes(10, 0))],
    ),
    Scenario(
        "reserve_all/same-rule-two-keys",
        "The cost of a rule in a commit applies to every item of that rule",
        [budget()],
        [
            reserve_all(0, item(key="alice", cost=2), item(key="bob", cost=5), by_hand=yes(5, 10 * S)),
            commit(0, costs={"api": 1}),
            peek(0, 10, no(9, 10 * S, 10 * S)),
            peek(0, 10, no(9, 10 * S, 10 * S), key="bob"),
        ],
    ),
    Scenario(
        "reserve_all/same-resource-two-keys",
        "Two keys on one resource hold 5 of it together",
        [two_level("fixed_window", 3, 8)],
        [
            reserve_all(
                0, item(cost=2, resource="printer"), item(key="bob", cost=3, resource="printer"), by_hand={"id": True}
            ),
            peek(0, 3, yes(3, 10 * S, limit=8), key="carol", resource="printer"),
            check(0, 3, yes(0, 10 * S, limit=8), key="carol", resource="printer"),
            commit(0, costs={"api": 1}),
            peek(0, 3, {"allowed": False, "remaining": 2, "limit": 3}, resource="printer"),
            peek(0, 3, {"allowed": True, "remaining": 3, "limit": 8}, key="dave", resource="printer"),
        ],
    ),
    Scenario(
        "reserve_all/two-leases",
        "Rules with leases of 30 s and 5 s: at 6 s one has ended and is charged in full, the other is charged what was used",
        TWO,
        [
            reserve_all(0, item("a", cost=4), item("b", cost=6)),
            commit(6 * S, costs={"a": 1, "b": 1}, by_hand=HAD_ENDED),
            peek(6 * S, 1, yes(9, 4 * S), rule="a"),
            peek(6 * S, 1, yes(4, 4 * S), rule="b"),
        ],
    ),
    Scenario(
        "reserve_all/renew",
        "Each item is renewed by the lease of its rule",
        TWO,
        [
            reserve_all(0, item("a", cost=4), item("b", cost=6)),
            renew(4 * S),
            peek(8 * S, 1, yes(4, 2 * S), rule="b"),
            commit(8 * S, costs={"a": 0, "b": 0}),
            peek(8 * S, 10, yes(10, 0), rule="a"),
            peek(8 * S, 10, yes(10, 0), rule="b"),
        ],
    ),
    Scenario(
        "reserve_all/reset-of-one",
        "One key was reset: its item has ended, the other goes on until it is committed",
        TWO,
        [
            reserve_all(0, item("a", cost=4), item("b", cost=6)),
            reset(0, rule="a"),
            peek(0, 10, yes(10, 0), rule="a"),
            peek(0, 5, no(4, 10 * S, 10 * S), rule="b"),
            commit(0, costs={"a": 4, "b": 2}, by_hand=HAD_ENDED),
            peek(0, 10, yes(10, 0), rule="a"),
            peek(0, 9, no(8, 10 * S, 10 * S), rule="b"),
        ],
    ),
    Scenario(
        "reserve_all/limit",
        "Limits for single items: charged with them at the commit",
        [drips(rule_id="a"), drips(rule_id="b")],
        [
            reserve_all(0, item("a", cost=8, limit=20), item("b", cost=8), by_hand=yes(2, 8 * S, rule="b")),
            commit(0),
            peek(0, 1, yes(2, 4 * S), rule="a"),
            peek(0, 1, yes(2, 8 * S), rule="b"),
        ],
    ),
    Scenario(
        "reserve_all/shadow-full",
        "The rule in shadow has no room: the call is admitted, holds nothing of it, and charges it what fits",
        [budget(4, rule_id="tight", shadow=True), budget(rule_id="wide")],
        [
            check(0, 3, rule="tight"),
            reserve_all(0, item("tight", cost=2), item("wide", cost=5), by_hand={"allowed": True, "shadow_denied": True}),
            peek(0, 1, yes(1, 10 * S), rule="tight"),
            commit(0),
            peek(0, 1, {"shadow_denied": True, "remaining": 0}, rule="tight"),
            peek(0, 1, yes(5, 10 * S), rule="wide"),
        ],
    ),
    Scenario(
        "reserve_all/shadow-denied-by-other",
        "The rule that counts denies: nothing is held of the one in shadow",
        [budget(4, rule_id="shadow", shadow=True), budget(rule_id="counts")],
        [
            reserve_all(0, item("shadow", cost=2), item("counts", cost=11), by_hand=denied("counts", shadow_denied=False)),
            peek(0, 4, yes(4, 0), rule="shadow"),
            commit(0, None, HAD_ENDED),
        ],
    ),
    Scenario(
        "reserve_all/shadow-charged-at-once",
        "A rule in shadow without reservations: what does not fit is not charged, what fits is",
        [rule("fixed_window", 3, 10, rule_id="plain", shadow=True), budget(rule_id="a")],
        [
            reserve_all(0, item("plain", cost=2), item("a", cost=2), by_hand={"shadow_denied": False}),
            reserve_all(0, item("plain", cost=2), item("a", cost=2), name="b", by_hand={"shadow_denied": True}),
            peek(0, 1, yes(1, 10 * S), rule="plain"),
            peek(0, 1, yes(6, 10 * S), rule="a"),
        ],
    ),
    Scenario(
        "reserve_all/priority",
        "Both refuse alike: the rule with the lower number speaks though it comes last; so when both admit",
        [budget(2, rule_id="a", priority=5), budget(2, rule_id="b", priority=1)],
        [
            reserve_all(0, item("a"), item("b"), by_hand=yes(1, 10 * S, rule="b")),
            reserve_all(0, item("a"), item("b"), name="b", by_hand=yes(0, 10 * S, rule="b")),
            reserve_all(0, item("a"), item("b"), name="c", by_hand=no(0, 10 * S, 10 * S, rule="b", id=False)),
        ],
    ),
    Scenario(
        "reserve_all/longest-wait",
        "A place is free in 60 s, a request in an hour: the request speaks",
        [in_flight(1, rule_id="in_flight"), rule("fixed_window", 1, 3600, rule_id="requests")],
        [
            reserve_all(40 * MINUTE, item("in_flight"), item("requests")),
            reserve_all(
                40 * MINUTE,
                item("in_flight"),
                item("requests"),
                name="b",
                by_hand=denied("requests", retry_after_us=26 * MINUTE + 40 * S),
            ),
            release(40 * MINUTE),
            reserve_all(HOUR + 6 * MINUTE + 40 * S, item("in_flight"), item("requests"), name="c", by_hand={"id": True}),
        ],
    ),
    Scenario(
        "reserve_all/every-algorithm",
        "One item of each algorithm: held, and charged what was used",
        [
            rule("fixed_window", 10, 10, rule_id="fixed", reservations=True),
            rule("sliding_window", 9, 10, rule_id="sliding", reservations=True),
            rule("sliding_log", 8, 10, rule_id="log", reservations=True),
            rule("sliding_buckets", 7, 10, rule_id="buckets", reservations=True),
            rule("gcra", 6, 12, rule_id="gcra", reservations=True),
            rule("uniform", 5, 10, rule_id="uniform", reservations=True),
            rule("decay", 4, resolution_seconds=2, rule_id="decay", reservations=True),
            rule("concurrency", 3, rule_id="places"),
        ],
        [
            reserve_all(
                0,
                *(
                    item(name, cost=1 if name == "uniform" else 2)
                    for name in ("fixed", "sliding", "log", "buckets", "gcra", "uniform", "decay", "places")
                ),
                by_hand={"allowed": True, "rule": "uniform", "remaining": 0},
            ),
            commit(1 * S, costs={"fixed": 1, "sliding": 3, "log": 0, "gcra": 4}),
            *(
                peek(3 * S, 4, rule=name)
                for name in ("fixed", "sliding", "log", "buckets", "gcra", "uniform", "decay", "places")
            ),
        ],
    ),
    Scenario(
        "reserve_all/check_all-beside",
        "check_all finds what reserve_all holds in the way",
        TWO,
        [
            reserve_all(0, item("a", cost=8), item("b", cost=1)),
            check_all(0, item("a", cost=3), item("b"), by_hand=no(2, 10 * S, 10 * S, rule="a")),
            check_all(0, item("a", cost=2), item("b"), by_hand=yes(0, 10 * S, rule="a")),
        ],
    ),
    Scenario(
        "reserve_all/expired-before",
        "What expired is charged before the items are decided",
        [drips(rule_id="a", lease=5), drips(rule_id="b", lease=5)],
        [
            reserve_all(0, item("a", cost=10), item("b", cost=2)),
            reserve_all(6 * S, item("a", cost=2), item("b"), name="b", by_hand=no(1, 1 * S, 9 * S, rule="a", id=False)),
            reserve_all(7 * S, item("a", cost=2), item("b"), name="b", by_hand=yes(0, 10 * S, rule="a", id=True)),
        ],
    ),
    Scenario(
        "reserve_all/arguments",
        "Mistakes hold nothing and charge nothing",
        [budget(rule_id="a"), rule("fixed_window", 10, 10, rule_id="plain")],
        [
            reserve_all(0, by_hand=error("InvalidArgument")),
            reserve_all(0, item("plain"), by_hand=error("InvalidArgument")),
            reserve_all(0, item("a"), item("nobody"), by_hand=error("UnknownRule")),
            reserve_all(0, item("a"), item("plain", cost=0), by_hand=error("InvalidArgument")),
            reserve_all(0, item("a", limit=3), item("a", limit=4), by_hand=error("InvalidArgument")),
            peek(0, 10, yes(10, 0), rule="a"),
            peek(0, 10, yes(10, 0), rule="plain"),
            reserve_all(0, item("a", cost=4), item("plain"), by_hand={"id": True}),
            commit(0, costs={"plain": 1}, by_hand=error("InvalidArgument")),
            peek(0, 7, no(6, 10 * S, 10 * S), rule="a"),
        ],
    ),
]
