"""Keys of several parts, which are joined."""

from .script import S, Scenario, charge, check, check_all, error, item, no, peek, refund, reset, rule, yes

DESCRIPTION = "Keys of several parts: different parts are different keys, and a joined key is that of its parts"

ONE = rule("fixed_window", 1, 10)
TEN = rule("gcra", 10, 10)
APART = {
    "order": (["a", "b"], ["b", "a"]),
    "boundary": (["ab", "c"], ["a", "bc"], ["a", "b", "c"], ["abc"]),
    "comma": (["a,b", "c"], ["a", "b,c"], ["a", "b", "c"], ["a,b,c"]),
    "comma-at-the-end": (["a,", "b"], ["a", ",b"], ["a", "b"]),
    "only-commas": ([",", ","], [",,"], [",,,"], [",", ",", ","]),
    "backslash": (["a\\", "b"], ["a", "\\b"], ["a\\,b"], ["a", "b"]),
    "backslash-and-comma": (["a\\,b"], ["a\\", "b"], ["a,b"], ["a\\\\", "b"]),
    "escapes": (["a%2Cb"], ["a,b"], ["a", "b"], ["a%252Cb"]),
    "braces": (["{a}", "b"], ["{a", "}b"], ["a", "b"]),
    "controls": (["a\n", "b"], ["a", "\nb"], ["a\0", "b"], ["a", "b"]),
    "unicode": (["\u00e4", "b"], ["a\u0308", "b"], ["\u4e2d", "\u6587"]),
    "addresses": (["alice", "10.0.0.1"], ["alice", "10.0.0.11"], ["alice", "::1"]),
    "spaces": (["a ", "b"], ["a", " b"], ["a", "b"]),
    "long": (["k" * 127, "a"], ["k" * 126, "ka"], ["k" * 128, "a"], ["k" * 5000, "a"], ["k" * 5000, "b"]),
}
SAME = {
    "two-parts": (["alice", "10.0.0.1"], "alice,10.0.0.1"),
    "one-part": (["alice"], "alice"),
    "comma": (["a,b", "c"], "a\\,b,c"),
    "backslash": (["a\\", "c"], "a\\\\,c"),
    "three-parts": (["a", "b", "c"], "a,b,c"),
}


def apart(name: str) -> Scenario:
    """Each key has its own single unit: admitted once, then denied."""
    once = [check(0, 1, yes(0, 10 * S), key=key) for key in APART[name]]
    twice = [check(1, 1, no(0, 10 * S - 1, 10 * S - 1), key=key) for key in APART[name]]
    return Scenario(f"composite/apart-{name}", "Different parts never share a count", [ONE], once + twice)


def same(name: str) -> Scenario:
    parts, text = SAME[name]
    steps = [check(0, 1, yes(0, 10 * S), key=parts), check(1, 1, no(0, 10 * S - 1, 10 * S - 1), key=text)]
    return Scenario(f"composite/same-{name}", "The joined key is that of its parts", [ONE], steps)


def refused(call, name: str) -> Scenario:
    wrong = [call(0, key=key, by_hand=error("InvalidArgument")) for key in ([], [""], ["a", ""], ["", "a"])]
    note = "No part, or an empty one, is refused, and nothing is charged"
    return Scenario(f"composite/refused-{name}", note, [TEN], [*wrong, peek(0, 10, yes(10, 0))])


PAIR = ["alice", "10.0.0.1"]
SCENARIOS = [
    *map(apart, APART),
    *map(same, SAME),
    refused(check, "check"),
    refused(peek, "peek"),
    refused(refund, "refund"),
    refused(charge, "charge"),
    refused(reset, "reset"),
    Scenario(
        "composite/every-call",
        "Every call takes the parts",
        [TEN],
        [
            check(0, 4, yes(6, 4 * S), key=PAIR),
            charge(0, 5, yes(1, 9 * S), key=PAIR),
            peek(0, 1, yes(1, 9 * S), key=PAIR),
            refund(0, 2, yes(3, 7 * S), key=PAIR),
            check(0, 1, yes(9, 1 * S), key="alice"),
            reset(0, key=PAIR),
            peek(0, 1, yes(10, 0), key=PAIR),
            peek(0, 1, yes(9, 1 * S), key="alice"),
        ],
    ),
    Scenario(
        "composite/check-all",
        "Items of the same parts share a count",
        [ONE | {"limit": 3}],
        [
            check_all(0, item(key=PAIR), item(key="alice,10.0.0.1"), item(key=["10.0.0.1", "alice"])),
            peek(0, 1, yes(1, 10 * S), key=PAIR),
            check_all(0, item(key=PAIR), item(key=["alice", ""]), by_hand=error("InvalidArgument")),
            peek(0, 1, yes(1, 10 * S), key=PAIR),
        ],
    ),
    Scenario(
        "composite/resource",
        "The parts name the key, not the resource",
        [rule("fixed_window", limits=[{"limit": 2, "window_size_seconds": 10, "scope": "resource"}])],
        [
            check(0, 1, yes(1, 10 * S), key=PAIR, resource="printer"),
            check(0, 1, yes(0, 10 * S), key=["bob", "10.0.0.2"], resource="printer"),
            check(0, 1, no(0, 10 * S, 10 * S), key=["bob", "10.0.0.2"], resource="printer"),
        ],
    ),
]
