"""block and unblock."""

from ..script import (
    MS,
    S,
    Scenario,
    block,
    charge,
    check,
    check_all,
    error,
    item,
    no,
    out,
    peek,
    refund,
    reset,
    rule,
    unblock,
    yes,
)
from .blocking import BLOCKED, BY_HAND, FREE, counter, drips, for_a, per_algorithm

DESCRIPTION = "block and unblock by hand"

NONE_RAN = {"took_effect": False}
PLAIN = rule("fixed_window", 3, 10, rule_id="plain")

SCENARIOS = [
    *per_algorithm(
        "by_hand/blocks",
        "A key that was never seen is blocked for 200 s; what is denied meanwhile is not counted",
        [
            block(0, 200),
            peek(0, 1, {**BLOCKED, "retry_after_us": 200 * S, "reset_after_us": 200 * S}),
            check(100 * S, 5, {**BLOCKED, "retry_after_us": 100 * S, "reset_after_us": 100 * S}),
            check(200 * S - 1, 1, {**BLOCKED, "retry_after_us": 1, "reset_after_us": 1}),
            check(200 * S, 10, {**FREE, "remaining": 0}),
        ],
        BY_HAND,
    ),
    *per_algorithm(
        "by_hand/unblocks",
        "unblock gives the key back with what it had used",
        [
            check(0, 4),
            block(0, 3600),
            check(10 * MS, 1, {**BLOCKED, "retry_after_us": 3600 * S - 10 * MS}),
            unblock(20 * MS),
            check(20 * MS, 7, {"allowed": False, "blocked": False, "remaining": 6}),
            check(20 * MS, 6, {**FREE, "remaining": 0}),
            unblock(20 * MS, NONE_RAN),
        ],
        BY_HAND,
    ),
    Scenario(
        "by_hand/unblock-of-nothing",
        "No block, one that has ended, and one that was ended: unblock says that there was none",
        [counter(block=BY_HAND)],
        [
            unblock(0, NONE_RAN),
            block(0, 10),
            unblock(10 * S - 1),
            unblock(10 * S - 1, NONE_RAN),
            block(20 * S, 10),
            unblock(30 * S, NONE_RAN),
            block(40 * S, 10),
            reset(41 * S),
            unblock(41 * S, NONE_RAN),
        ],
    ),
    Scenario(
        "by_hand/again-longer",
        "A second block takes the place of the first",
        [counter(block=BY_HAND)],
        [block(0, 10), block(5 * S, 20), peek(5 * S, 1, out(20 * S)), check(25 * S, 3, yes(0, 5 * S))],
    ),
    Scenario(
        "by_hand/again-shorter",
        "Also when it ends earlier",
        [counter(block=BY_HAND)],
        [block(0, 100), block(5 * S, 10), peek(5 * S, 1, out(10 * S)), check(15 * S, 3, yes(0, 5 * S))],
    ),
    Scenario(
        "by_hand/in-place-of-one-of-the-rule",
        "A block by hand takes the place of one that the rule began, and unblock ends either",
        [counter(block=for_a(60))],
        [
            check(0, 4, out("never", 60 * S)),
            block(1 * S, 4),
            peek(1 * S, 1, out(4 * S)),
            unblock(2 * S),
            check(2 * S, 1, yes(2, 8 * S)),
            check(2 * S, 3, out(60 * S)),
            unblock(3 * S),
            check(3 * S, 2, yes(0, 7 * S)),
        ],
    ),
    Scenario(
        "by_hand/beyond-max_seconds",
        "The longest block of the rule is no bound for one by hand",
        [counter(block=for_a(5, 2, 10))],
        [block(0, 1000), peek(0, 1, out(1000 * S)), check(999 * S, 1, out(1 * S))],
    ),
    Scenario(
        "by_hand/fractions-of-seconds",
        "0.25 s and 1 microsecond",
        [counter(block=BY_HAND)],
        [block(0, 0.25), peek(0, 1, out(250 * MS)), block(1 * S, 0.000001), check(1 * S, 1, out(1)), check(1 * S + 1, 3)],
    ),
    Scenario(
        "by_hand/denied-beside-it",
        "A denial while a block by hand lasts begins none: at 10 s it is over",
        [counter(3, 5, block=for_a(60))],
        [check(0, 3), block(0, 10), check(1 * S, 1, out(9 * S)), charge(2 * S, 9, out(8 * S)), check(10 * S, 3)],
    ),
    Scenario(
        "by_hand/charge-and-refund",
        "Both count during a block, and show it",
        [drips(5, 5, BY_HAND)],
        [
            block(0, 10),
            charge(0, 2, out(10 * S)),
            refund(1 * S, 1, out(9 * S)),
            unblock(1 * S),
            peek(1 * S, 1, yes(5, 0)),
            charge(1 * S, 7, no(0, 3 * S, 7 * S, blocked=False)),
            block(1 * S, 2),
            peek(1 * S, 1, out(3 * S, 7 * S)),
        ],
    ),
    Scenario(
        "by_hand/two-limits",
        "With several limits: the decision names the limit that it would name without the block",
        [
            rule(
                "fixed_window",
                limits=[{"limit": 5, "window_size_seconds": 10}, {"limit": 2, "window_size_seconds": 1}],
                block=BY_HAND,
            )
        ],
        [
            check(0, 1, yes(1, 10 * S, limit=2)),
            block(0, 20),
            peek(0, 1, out(20 * S, limit=2)),
            peek(0, 5, out("never", 20 * S, limit=2)),
            unblock(1 * S),
            peek(1 * S, 1, yes(2, 9 * S, limit=2)),
        ],
    ),
    Scenario(
        "by_hand/shadow",
        "In shadow a block shows in shadow_denied: all are admitted, none is counted, and the figures are those of a denial",
        [counter(3, 10, BY_HAND, shadow=True)],
        [
            check(0, 1, yes(2, 10 * S, shadow_denied=False)),
            block(0, 20),
            check(0, 1, out(20 * S, shadow_denied=True) | {"allowed": True, "blocked": False}),
            peek(5 * S, 3, out(15 * S, shadow_denied=True) | {"allowed": True, "blocked": False}),
            unblock(6 * S),
            check(6 * S, 2, yes(0, 4 * S, shadow_denied=False)),
        ],
    ),
    Scenario(
        "by_hand/composite-key",
        "Keys of several parts can be blocked",
        [counter(block=BY_HAND)],
        [
            block(0, 10, key=["alice", "phone"]),
            peek(0, 1, out(10 * S), key=["alice", "phone"]),
            peek(0, 1, yes(3, 0), key=["alice", "desk"]),
            unblock(0, key=["alice", "phone"]),
        ],
    ),
    Scenario(
        "by_hand/check_all",
        "One item of a blocked key denies all, and none is charged",
        [counter(block=BY_HAND), PLAIN],
        [
            block(0, 15),
            check_all(0, item("plain"), item(), by_hand=out(15 * S, rule="api")),
            peek(0, 3, yes(3, 0), rule="plain"),
            unblock(1 * S),
            check_all(1 * S, item("plain"), item(), by_hand=yes(2, 9 * S, rule="plain", blocked=False)),
        ],
    ),
    Scenario(
        "by_hand/bad-arguments",
        "Nothing, less, far too much, an empty key, a rule that there is not, a rule without blocks: nothing is blocked",
        [counter(block=BY_HAND), PLAIN],
        [
            block(0, 0, error("InvalidArgument")),
            block(0, -1, error("InvalidArgument")),
            block(0, 1_000_000_000_000, error("InvalidArgument")),
            block(0, 10, error("InvalidArgument"), key=""),
            block(0, 10, error("InvalidArgument"), key=[]),
            block(0, 10, error("UnknownRule"), rule="nobody"),
            block(0, 10, error("InvalidArgument"), rule="plain"),
            unblock(0, error("InvalidArgument"), key=""),
            unblock(0, error("UnknownRule"), rule="nobody"),
            unblock(0, error("InvalidArgument"), rule="plain"),
            peek(0, 3, yes(3, 0)),
        ],
    ),
]
