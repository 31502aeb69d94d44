"""Calls that are errors, and keys that are none."""

from .script import S, Scenario, check, error, no, peek, refund, reset, rule, yes

DESCRIPTION = "Arguments: what is an error, and what keys may look like"

UNUSUAL_KEYS = {
    "braces": ("{alice}", "alice", "{}", "{", "}", "a{b}c", "a{b", "ab}c"),
    "separators": ("a:b", "a", "b", "a:", ":a", "a::b", "api:a"),
    "escapes": ("a%7Bb", "a{b", "a%257Bb", "a\\x7bb", "%", "%%"),
    "controls": ("a\nb", "a\\nb", "a\tb", "a b", "a", " a", "a ", "\u0001", "\u007f"),
    "unicode": ("\u00e4", "a\u0308", "\u00c4", "\U0001f512", "\u4e2d\u6587"),
    "case": ("Alice", "alice", "ALICE"),
}
LONG = ["k" * 127, "k" * 128, "k" * 129, "k" * 5000, "k" * 4999 + "j", "\u00e4" * 64, "\u00e4" * 65]
ONE = rule("fixed_window", 1, 10)


def all_apart(name: str, keys) -> Scenario:
    """Each key has its own single unit: admitted once, then denied."""
    once = [check(0, 1, yes(0, 10 * S), key=key) for key in keys]
    twice = [check(1, 1, no(0, 10 * S - 1, 10 * S - 1), key=key) for key in keys]
    return Scenario(f"arguments/keys-{name}", "Different keys never share a count, however alike", [ONE], once + twice)


def everything_refused(call, name: str) -> Scenario:
    return Scenario(
        f"arguments/{name}",
        "Refused before anything is decided; nothing is charged",
        [rule("fixed_window", 5, 10)],
        [
            call(0, 1, error("UnknownRule"), rule="nobody"),
            call(0, 1, error("UnknownRule"), rule="API"),
            call(0, 1, error("InvalidArgument"), key=""),
            call(0, 0, error("InvalidArgument")),
            call(0, 1, error("InvalidArgument"), limit=0),
            call(0, 1, error("InvalidArgument"), resource="printer"),
            peek(0, 5, yes(5, 0)),
        ],
    )


SCENARIOS = [
    everything_refused(check, "check"),
    everything_refused(peek, "peek"),
    everything_refused(refund, "refund"),
    Scenario(
        "arguments/reset",
        "Refused, and nothing is forgotten",
        [rule("fixed_window", 5, 10)],
        [
            check(0, 5),
            reset(0, rule="nobody", by_hand=error("UnknownRule")),
            reset(0, key="", by_hand=error("InvalidArgument")),
            reset(0, resource="printer", by_hand=error("InvalidArgument")),
            check(0, 1, no(0, 10 * S, 10 * S)),
        ],
    ),
    Scenario(
        "arguments/largest-numbers",
        "The largest limit and the largest cost: 2^53 - 1",
        [rule("fixed_window", 2**53 - 1, 10)],
        [
            check(0, 2**53 - 2, yes(1, 10 * S, limit=2**53 - 1)),
            check(0, 2, no(1, 10 * S, 10 * S)),
            check(0, 1, yes(0, 10 * S)),
            refund(0, 2**53 - 1, yes(2**53 - 1, 0)),
        ],
    ),
    Scenario(
        "arguments/rules-are-apart",
        "The same key in two rules of the same shape has two counts",
        [rule("fixed_window", 1, 10, rule_id="a"), rule("fixed_window", 1, 10, rule_id="a:b")],
        [
            check(0, 1, yes(0, 10 * S), rule="a"),
            check(0, 1, yes(0, 10 * S), rule="a:b"),
            check(0, 1, yes(0, 10 * S), rule="a", key="b:alice"),
        ],
    ),
    *(all_apart(name, keys) for name, keys in UNUSUAL_KEYS.items()),
    all_apart("long", LONG),
]
