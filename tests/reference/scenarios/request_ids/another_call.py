"""What an id belongs to, and an id that comes back with another call."""

from ..script import S, Scenario, charge, check, check_all, error, item, no, peek, refund, reset, rule, yes

DESCRIPTION = "A request id belongs to one call of one rule and key; with another one it is an error"

REFUSED = error("InvalidArgument")
NEIGHBOUR = "bob-5580"
"""In the hash slot of alice: a Cluster decides about both at once."""


def counter(limit: int = 10, window: int = 10, **others) -> dict:
    return rule("fixed_window", limit, window, **others)


OTHER = counter(5, rule_id="other")
THREE = [counter(), OTHER, counter(3, rule_id="third")]


def usable(name: str, note: str, request_id: str) -> Scenario:
    return Scenario(
        f"another_call/{name}",
        note,
        [counter()],
        [
            check(0, 1, yes(9, 10 * S), request_id=request_id),
            check(0, 1, yes(9, 10 * S), request_id=request_id),
            check(0, 1, yes(8, 10 * S), request_id="other"),
        ],
    )


def unusable(name: str, note: str, request_id: str) -> Scenario:
    return Scenario(
        f"another_call/{name}",
        note,
        [counter()],
        [
            check(0, 1, REFUSED, request_id=request_id),
            charge(0, 1, REFUSED, request_id=request_id),
            refund(0, 1, REFUSED, request_id=request_id),
            check_all(0, item(), by_hand=REFUSED, request_id=request_id),
            peek(0, 10, yes(10, 0)),
        ],
    )


SCENARIOS = [
    Scenario(
        "another_call/cost",
        "Another cost is an error and charges nothing; the first answer stays. No cost is a cost of 1",
        [counter()],
        [
            check(0, 2, yes(8, 10 * S), request_id="a"),
            check(0, 3, REFUSED, request_id="a"),
            check(0, None, REFUSED, request_id="a"),
            check(0, 2, yes(8, 10 * S), request_id="a"),
            check(0, None, yes(7, 10 * S), request_id="b"),
            check(0, 1, yes(7, 10 * S), request_id="b"),
            peek(0, 1, yes(7, 10 * S)),
        ],
    ),
    Scenario(
        "another_call/cost-after-a-denial",
        "Also where the first was denied, and the other cost would fit",
        [counter()],
        [
            check(0, 11, no(10, "never", 0), request_id="a"),
            check(0, 10, REFUSED, request_id="a"),
            check(0, 11, no(10, "never", 0), request_id="a"),
            check(0, 10, yes(0, 10 * S), request_id="b"),
        ],
    ),
    Scenario(
        "another_call/limit",
        "Another limit, or none, or one where there was none",
        [counter()],
        [
            check(0, 2, yes(18, 10 * S, limit=20), limit=20, request_id="a"),
            check(0, 2, REFUSED, limit=21, request_id="a"),
            check(0, 2, REFUSED, request_id="a"),
            check(0, 2, yes(6, 10 * S, limit=10), request_id="b"),
            check(0, 2, REFUSED, limit=10, request_id="b"),
            peek(0, 1, yes(6, 10 * S)),
        ],
    ),
    Scenario(
        "another_call/operation",
        "check, charge, refund and check_all are four operations, whatever else is the same",
        [counter()],
        [
            check(0, 2, yes(8, 10 * S), request_id="check"),
            charge(0, 2, yes(6, 10 * S), request_id="charge"),
            refund(0, 2, yes(8, 10 * S), request_id="refund"),
            check_all(0, item(cost=2), by_hand=yes(6, 10 * S), request_id="check_all"),
            *(check(1 * S, 2, REFUSED, request_id=other) for other in ("charge", "refund", "check_all")),
            *(charge(1 * S, 2, REFUSED, request_id=other) for other in ("check", "refund", "check_all")),
            *(refund(1 * S, 2, REFUSED, request_id=other) for other in ("check", "charge", "check_all")),
            *(
                check_all(1 * S, item(cost=2), by_hand=REFUSED, request_id=other)
                for other in ("check", "charge", "refund")
            ),
            peek(1 * S, 1, yes(6, 9 * S)),
        ],
    ),
    Scenario(
        "another_call/after-a-minute",
        "When the answer is kept no longer the id may be that of any call",
        [counter()],
        [
            check(0, 2, yes(8, 10 * S), request_id="a"),
            charge(60 * S - 1, 3, REFUSED, request_id="a"),
            charge(60 * S, 3, yes(7, 10 * S), request_id="a"),
            check(61 * S, 2, REFUSED, request_id="a"),
            charge(62 * S, 3, yes(7, 10 * S), request_id="a"),
        ],
    ),
    Scenario(
        "another_call/key",
        "The same id under another key, or another rule, has nothing to do with the first",
        [counter(), OTHER],
        [
            check(0, 2, yes(8, 10 * S), request_id="a"),
            check(0, 3, yes(7, 10 * S), key="bob", request_id="a"),
            charge(0, 1, yes(4, 10 * S), rule="other", request_id="a"),
            check(0, 2, yes(8, 10 * S), request_id="a"),
            check(0, 3, yes(7, 10 * S), key="bob", request_id="a"),
            charge(0, 1, yes(4, 10 * S), rule="other", request_id="a"),
        ],
    ),
    Scenario(
        "another_call/composite-key",
        "The parts of a key are one key",
        [counter()],
        [
            check(0, 2, yes(8, 10 * S), key=["a", "b"], request_id="a"),
            check(0, 3, yes(7, 10 * S), key=["a", "c"], request_id="a"),
            check(0, 2, yes(8, 10 * S), key=["a", "b"], request_id="a"),
        ],
    ),
    Scenario(
        "another_call/resource",
        "The same id and key on another resource is another call: the resource is charged where it is",
        [
            rule(
                "fixed_window",
                limits=[
                    {"limit": 5, "window_size_seconds": 10, "scope": "resource"},
                    {"limit": 3, "window_size_seconds": 10},
                ],
            )
        ],
        [
            check(0, 2, yes(1, 10 * S), resource="printer", request_id="a"),
            check(0, 1, yes(2, 10 * S), resource="scanner", request_id="a"),
            check(0, 2, yes(1, 10 * S), resource="printer", request_id="a"),
            check(0, 2, REFUSED, resource="scanner", request_id="a"),
        ],
    ),
    Scenario(
        "another_call/errors-are-not-kept",
        "A call that is wrong is no first call: the id is free for the next one",
        [counter()],
        [
            check(0, 0, REFUSED, request_id="a"),
            check(0, 1, REFUSED, limit=0, request_id="a"),
            check(0, 1, error("UnknownRule"), rule="nobody", request_id="a"),
            charge(0, 2, yes(8, 10 * S), request_id="a"),
            charge(0, 2, yes(8, 10 * S), request_id="a"),
        ],
    ),
    Scenario(
        "another_call/refused-charge",
        "A charge of more than can be counted is refused, now and again, until there is room for it",
        [rule("gcra", 10, 10)],
        [
            charge(0, 9_007_199_265, REFUSED, request_id="a"),
            charge(0, 9_007_199_265, REFUSED, request_id="a"),
            charge(0, 1, yes(9, 1 * S), request_id="a"),
            charge(0, 9_007_199_265, REFUSED, request_id="a"),
        ],
    ),
    usable("one-byte", "The shortest id", "x"),
    usable("sixty-four-bytes", "The longest id", "0123456789abcdef" * 4),
    usable("sixty-four-bytes-of-unicode", "32 letters of two bytes", "\u00e4" * 32),
    usable("strange-characters", "Braces, colons, line feeds and controls are bytes like any other", "{a}:%\n\u0001\u007f\U0001f512"),
    usable("digits", "An id that looks like a number", "9007199254740993"),
    unusable("empty", "An empty id is none", ""),
    unusable("sixty-five-bytes", "One byte too many", "0123456789abcdef" * 4 + "0"),
    unusable("sixty-six-bytes-of-unicode", "33 letters of two bytes", "\u00e4" * 33),
    Scenario(
        "another_call/nearly-the-same",
        "Ids are compared byte by byte",
        [counter()],
        [
            check(0, 1, yes(9, 10 * S), request_id="a"),
            check(0, 1, yes(8, 10 * S), request_id="A"),
            check(0, 1, yes(7, 10 * S), request_id="a "),
            check(0, 1, yes(6, 10 * S), request_id="a\u0001"),
            check(0, 1, yes(5, 10 * S), request_id="\u00e4"),
            check(0, 1, yes(4, 10 * S), request_id="a\u0308"),
            check(0, 1, yes(9, 10 * S), request_id="a"),
        ],
    ),
    Scenario(
        "another_call/check_all",
        "All items are charged once and the answer has all parts again",
        THREE,
        [
            check_all(0, item(cost=2), item("other", cost=3), by_hand=yes(2, 10 * S, rule="other"), request_id="a"),
            check_all(5 * S, item(cost=2), item("other", cost=3), by_hand=yes(2, 10 * S, rule="other"), request_id="a"),
            peek(5 * S, 1, yes(8, 5 * S)),
            peek(5 * S, 1, yes(2, 5 * S), rule="other"),
        ],
    ),
    Scenario(
        "another_call/check_all-denied",
        "A denial of several is kept too",
        THREE,
        [
            check(0, 4, rule="other"),
            check_all(0, item(), item("other", cost=2), by_hand=no(1, 10 * S, 10 * S, rule="other"), request_id="a"),
            reset(0, rule="other"),
            check_all(1 * S, item(), item("other", cost=2), by_hand=no(1, 10 * S, 10 * S, rule="other"), request_id="a"),
            check_all(1 * S, item(), item("other", cost=2), by_hand=yes(3, 9 * S, rule="other"), request_id="b"),
        ],
    ),
    Scenario(
        "another_call/check_all-first-item",
        "The id is one of the first item: free for calls about the others, taken for calls about the first",
        THREE,
        [
            check_all(0, item(), item("other"), by_hand={"allowed": True}, request_id="a"),
            check(0, 1, REFUSED, request_id="a"),
            check(0, 1, yes(3, 10 * S), rule="other", request_id="a"),
            check_all(0, item("third"), item(), by_hand=yes(2, 10 * S, rule="third"), request_id="a"),
            peek(0, 1, yes(8, 10 * S)),
        ],
    ),
    Scenario(
        "another_call/check_all-of-one",
        "A list of one is not the check of that one",
        THREE,
        [
            check(0, 2, yes(8, 10 * S), request_id="a"),
            check_all(0, item(cost=2), by_hand=REFUSED, request_id="a"),
            check_all(0, item(cost=2), by_hand=yes(6, 10 * S), request_id="b"),
            check(0, 2, REFUSED, request_id="b"),
        ],
    ),
    Scenario(
        "another_call/check_all-other-items",
        "Another cost, limit, rule or key of any item, one more or one less: each is another call",
        THREE,
        [
            check_all(0, item(), item("other"), by_hand={"allowed": True}, request_id="a"),
            check_all(0, item(cost=2), item("other"), by_hand=REFUSED, request_id="a"),
            check_all(0, item(), item("other", cost=2), by_hand=REFUSED, request_id="a"),
            check_all(0, item(), item("other", limit=9), by_hand=REFUSED, request_id="a"),
            check_all(0, item(), item("third"), by_hand=REFUSED, request_id="a"),
            check_all(0, item(), item("other", key=NEIGHBOUR), by_hand=REFUSED, request_id="a"),
            check_all(0, item(), by_hand=REFUSED, request_id="a"),
            check_all(0, item(), item("other"), item("third"), by_hand=REFUSED, request_id="a"),
            check_all(0, item(), item("other"), by_hand={"allowed": True, "remaining": 4}, request_id="a"),
            peek(0, 1, yes(9, 10 * S)),
            peek(0, 1, yes(4, 10 * S), rule="other"),
        ],
    ),
    Scenario(
        "another_call/check_all-two-keys",
        "Two keys of one slot",
        THREE,
        [
            check_all(0, item(), item(key=NEIGHBOUR, cost=4), by_hand={"allowed": True, "remaining": 6}, request_id="a"),
            check_all(9 * S, item(), item(key=NEIGHBOUR, cost=4), by_hand={"allowed": True, "remaining": 6}, request_id="a"),
            peek(9 * S, 1, yes(6, 1 * S), key=NEIGHBOUR),
        ],
    ),
    Scenario(
        "another_call/check_all-equal-items",
        "Two equal items are charged twice, and not again",
        THREE,
        [
            check_all(0, item(cost=2), item(cost=2), by_hand=yes(6, 10 * S), request_id="a"),
            check_all(1 * S, item(cost=2), item(cost=2), by_hand=yes(6, 10 * S), request_id="a"),
            peek(1 * S, 1, yes(6, 9 * S)),
        ],
    ),
    Scenario(
        "another_call/check_all-priority",
        "The first item is the first in the list, not the first to be decided",
        [counter(priority=5), counter(5, rule_id="other", priority=1)],
        [
            check_all(0, item(), item("other"), by_hand={"allowed": True}, request_id="a"),
            check(0, 1, yes(3, 10 * S), rule="other", request_id="a"),
            check(0, 1, REFUSED, request_id="a"),
        ],
    ),
    Scenario(
        "another_call/check_all-nothing",
        "An empty list is an error with an id too",
        THREE,
        [check_all(0, by_hand=REFUSED, request_id="a")],
    ),
]
