"""What begins a block, how long it lasts, and what calls answer meanwhile."""

from ..script import (
    MS,
    S,
    Scenario,
    charge,
    check,
    clear_limit,
    error,
    no,
    out,
    peek,
    refund,
    reset,
    rule,
    set_limit,
    yes,
)
from .blocking import BLOCKED, BY_HAND, FREE, counter, drips, for_a, per_algorithm

DESCRIPTION = "A denied check or a charge that leaves nothing begins a block; while it lasts every check is denied"

SCENARIOS = [
    *per_algorithm(
        "begin/denied",
        "11 of 10: the denial begins a block of 200 s, which ends at its microsecond; checks do not prolong it",
        [
            check(0, 10, {"allowed": True, "blocked": False, "remaining": 0}),
            check(0, 1, {**BLOCKED, "retry_after_us": 200 * S, "reset_after_us": 200 * S}),
            peek(50 * S, 1, {**BLOCKED, "retry_after_us": 150 * S, "reset_after_us": 150 * S}),
            check(199 * S, 2, {**BLOCKED, "retry_after_us": 1 * S, "reset_after_us": 1 * S}),
            check(200 * S - 1, 10, {**BLOCKED, "retry_after_us": 1, "reset_after_us": 1}),
            peek(200 * S, 10, {**FREE, "remaining": 10, "reset_after_us": 0}),
            check(200 * S, 10, {**FREE, "remaining": 0}),
        ],
        for_a(200),
    ),
    *per_algorithm(
        "begin/charged",
        "A charge that leaves no room for 1 begins a block, one that leaves some does not; all of it counts",
        [
            charge(0, 9, {**FREE, "remaining": 1}),
            charge(0, 1, {**BLOCKED, "retry_after_us": 200 * S, "reset_after_us": 200 * S}),
            charge(10 * MS, 1, {**BLOCKED, "retry_after_us": 200 * S - 10 * MS}),
            check(200 * S - 1, 1, {**BLOCKED, "retry_after_us": 1}),
            check(200 * S, 10, {**FREE, "remaining": 0}),
        ],
        for_a(200),
    ),
    Scenario(
        "begin/counts-nothing",
        "What is denied by the block is not counted: after it there is all that the one of 12 s ago leaves",
        [drips(4, 40, for_a(12))],
        [
            check(0, 4, yes(0, 40 * S, blocked=False)),
            check(0, 1, out(12 * S, 40 * S)),
            *(check(at * S, 4, out(28 * S, 40 * S - at * S) | {"retry_after_us": 40 * S - at * S}) for at in (1, 5, 11)),
            peek(12 * S, 1, yes(1, 28 * S)),
            check(12 * S, 1, yes(0, 38 * S)),
        ],
    ),
    Scenario(
        "begin/own-wait-is-longer",
        "A block of 2 s while the window goes on for 10 s: waits are those of the window, also after the block",
        [counter(3, 10, for_a(2, 1, 2))],
        [
            check(0, 3, yes(0, 10 * S)),
            check(1 * S, 1, out(9 * S)),
            peek(2 * S, 1, out(8 * S)),
            peek(3 * S, 1, no(0, 7 * S, 7 * S, blocked=False)),
            check(4 * S, 1, out(6 * S)),
            check(10 * S, 3, yes(0, 10 * S)),
        ],
    ),
    Scenario(
        "begin/block-is-longer",
        "2 of 3 are used, 2 more do not fit: the 1 that is left, and the new window, are of no use until the block ends",
        [counter(3, 10, for_a(15))],
        [
            check(0, 2, yes(1, 10 * S)),
            check(4 * S, 2, out(15 * S)),
            peek(4 * S, 1, out(15 * S)),
            check(10 * S, 1, out(9 * S)),
            peek(19 * S - 1, 1, out(1)),
            check(19 * S, 3, yes(0, 1 * S)),
        ],
    ),
    Scenario(
        "begin/never",
        "A cost above the limit is denied by the limit: it begins a block, and its own wait has no end",
        [counter()],
        [
            check(0, 4, out("never", 60 * S)),
            peek(0, 1, out(60 * S)),
            peek(0, 4, out("never", 60 * S)),
            check(60 * S, 3, yes(0, 10 * S)),
        ],
    ),
    Scenario(
        "begin/peek",
        "A peek begins none, whatever it asks for",
        [counter()],
        [
            peek(0, 4, no(3, "never", 0, blocked=False)),
            check(0, 3, yes(0, 10 * S)),
            peek(0, 1, no(0, 10 * S, 10 * S, blocked=False)),
            check(10 * S, 3, yes(0, 10 * S)),
        ],
    ),
    Scenario(
        "begin/last-unit",
        "The check that takes the last unit is admitted and begins none",
        [counter()],
        [check(0, 3, yes(0, 10 * S, blocked=False)), check(10 * S, 1, yes(2, 10 * S))],
    ),
    Scenario(
        "begin/by-hand-only",
        "A rule whose blocks are made by hand denies and is charged like any other",
        [counter(block=BY_HAND)],
        [
            check(0, 3, yes(0, 10 * S)),
            check(0, 1, no(0, 10 * S, 10 * S, blocked=False)),
            charge(0, 5, no(0, 10 * S, 10 * S, blocked=False)),
            check(10 * S, 3, yes(0, 10 * S)),
        ],
    ),
    Scenario(
        "begin/keys-are-apart",
        "The block of one key is none of another, nor that of the same key under another rule",
        [counter(), counter(rule_id="other")],
        [
            check(0, 4, out("never", 60 * S)),
            check(0, 1, yes(2, 10 * S), key="bob"),
            check(0, 1, yes(2, 10 * S), rule="other"),
            peek(0, 1, out(60 * S)),
        ],
    ),
    Scenario(
        "begin/composite-key",
        "A key of two parts is blocked as a whole",
        [counter()],
        [
            check(0, 4, out("never", 60 * S), key=["alice", "phone"]),
            check(0, 1, yes(2, 10 * S), key=["alice", "desk"]),
            peek(1 * S, 1, out(59 * S), key=["alice", "phone"]),
        ],
    ),
    Scenario(
        "begin/limit",
        "The limit of a call may deny and so begin a block, and no limit of a call gets past it",
        [counter()],
        [
            check(0, 2, yes(0, 10 * S), limit=2),
            check(0, 1, out(60 * S, limit=2), limit=2),
            check(1 * S, 1, out(59 * S, limit=100), limit=100),
            check(60 * S, 5, yes(0, 10 * S), limit=5),
        ],
    ),
    Scenario(
        "begin/charge-under-a-limit",
        "The charge leaves room under the limit of the call, but not under that of the next",
        [counter()],
        [
            charge(0, 3, yes(1, 10 * S, blocked=False), limit=4),
            charge(0, 1, out(60 * S, limit=3)),
        ],
    ),
    Scenario(
        "begin/charge-goes-on",
        "A charge during a block counts and does not prolong it: 3 + 2 leak at one a second",
        [drips(3, 3, for_a(2))],
        [
            charge(0, 3, out(2 * S, 3 * S)),
            charge(1 * S, 2, out(2 * S, 4 * S)),
            peek(2 * S - 1, 1, out(1 * S + 1, 3 * S + 1)),
            peek(2 * S, 1, no(0, 1 * S, 3 * S, blocked=False)),
            check(3 * S, 1, yes(0, 3 * S)),
        ],
    ),
    Scenario(
        "begin/charge-refused",
        "A charge of more than can be counted is refused and begins none",
        [drips(10, 10)],
        [
            charge(0, 9_007_199_265, error("InvalidArgument")),
            charge(0, 0, error("InvalidArgument")),
            peek(0, 10, yes(10, 0, blocked=False)),
        ],
    ),
    Scenario(
        "begin/refund",
        "A refund gives back and answers as a peek does: it does not end the block",
        [counter()],
        [
            check(0, 3, yes(0, 10 * S)),
            check(0, 1, out(60 * S)),
            refund(1 * S, 2, out(59 * S)),
            check(2 * S, 1, out(58 * S)),
            check(60 * S, 3, yes(0, 10 * S)),
        ],
    ),
    Scenario(
        "begin/refund-below-the-block",
        "What was given back during the block is there when it has ended",
        [counter(3, 100, for_a(5))],
        [
            check(0, 3, yes(0, 100 * S)),
            check(0, 1, out(100 * S)),
            refund(1 * S, 2, out(4 * S, 99 * S)),
            check(5 * S, 2, yes(0, 95 * S)),
        ],
    ),
    Scenario(
        "begin/reset",
        "A reset ends the block too",
        [counter()],
        [check(0, 4, out("never", 60 * S)), reset(1 * S), check(1 * S, 3, yes(0, 9 * S))],
    ),
    Scenario(
        "begin/lockout",
        "Peek before the password is looked at, charge when it was wrong, reset when it was right",
        [drips(3, 900, for_a(600), rule_id="login")],
        [
            peek(0, 1, yes(3, 0), rule="login"),
            charge(0, 1, yes(2, 300 * S), rule="login"),
            peek(5 * S, 1, {"allowed": True, "remaining": 2}, rule="login"),
            charge(5 * S, 1, {"allowed": True, "remaining": 1}, rule="login"),
            peek(10 * S, 1, {"allowed": True, "remaining": 1}, rule="login"),
            charge(10 * S, 1, out(600 * S, 890 * S), rule="login"),
            peek(300 * S, 1, out(310 * S, 600 * S), rule="login"),
            peek(610 * S, 1, yes(2, 290 * S), rule="login"),
            reset(611 * S, rule="login"),
            peek(611 * S, 1, yes(3, 0), rule="login"),
        ],
    ),
    *(
        Scenario(
            f"begin/count_denied-{made['algorithm']}",
            "The denial that begins a block is counted, as it was a limit that denied; those by the block are not",
            [made],
            [
                check(0, 10, {"allowed": True, "remaining": 0}),
                check(0, 3, {**BLOCKED}),
                check(1 * S, 5, {**BLOCKED}),
                check(1 * S, 1, {**BLOCKED}),
                peek(3 * S, 1, {"blocked": False, "allowed": False}),
                refund(3 * S, 3, {"allowed": False, "remaining": 0}),
                refund(3 * S, 1, {"allowed": True, "remaining": 1}),
            ],
        )
        for made in (
            rule("fixed_window", 10, 10, block=for_a(2), count_denied=True),
            rule("sliding_buckets", 10, 10, resolution_seconds=5, block=for_a(2), count_denied=True),
        )
    ),
    Scenario(
        "begin/count_denied-by-hand",
        "9 of 3 in the window of 0 s: 3 admitted, 3 and 3 denied before and after the block, none by it",
        [counter(3, 10, for_a(2, 1, 2), count_denied=True)],
        [
            check(0, 3, yes(0, 10 * S)),
            check(0, 3, out(10 * S)),
            check(1 * S, 2, out(9 * S)),
            check(2 * S, 3, out(8 * S)),
            refund(4 * S, 7, no(1, "never", 6 * S, blocked=False)),
        ],
    ),
    Scenario(
        "begin/two-limits",
        "Any limit of the rule begins it; the one that denied is reported",
        [
            rule(
                "fixed_window",
                limits=[{"limit": 2, "window_size_seconds": 1}, {"limit": 5, "window_size_seconds": 10}],
                block=for_a(3, 1, 3),
            )
        ],
        [
            check(0, 2, yes(0, 10 * S, limit=2)),
            check(0, 1, out(3 * S, 10 * S, limit=2)),
            check(3 * S, 2, yes(0, 7 * S, limit=2)),
            check(4 * S, 2, out(6 * S, limit=5)),
            peek(4 * S, 1, out(3 * S, 6 * S, limit=5)),
            check(7 * S, 1, yes(0, 3 * S, limit=5)),
        ],
    ),
    Scenario(
        "begin/decay",
        "A level that takes longer to be forgotten than the block lasts: the block shows both, and touches no stored limit",
        [rule("decay", 4, resolution_seconds=1, block=for_a(2, 1, 2), overrides=True)],
        [
            check(0, 4, yes(0, 32 * S)),
            check(0, 1, out(2 * S, 32 * S)),
            set_limit(2 * S, 3),
            check(2 * S, 3, out(30 * S, limit=3)),
            peek(4 * S, 1, {"allowed": True, "blocked": False, "remaining": 2, "limit": 3}),
            clear_limit(4 * S),
            peek(4 * S, 1, {"allowed": True, "blocked": False, "remaining": 3, "limit": 4}),
        ],
    ),
    Scenario(
        "begin/fractions-of-seconds",
        "A block of 1.5 ms",
        [drips(3, 0.003, for_a(0.0015))],
        [
            check(0, 3, yes(0, 3 * MS)),
            check(0, 1, out(1_500, 3 * MS)),
            check(1_499, 1, out(1, 1_501)),
            check(1_500, 1, yes(0, 2_500)),
        ],
    ),
    Scenario(
        "begin/clock-steps-back",
        "An hour back: the block lasts 60 s from now at most, and a denied check writes that",
        [counter()],
        [
            check(3600 * S, 4, out("never", 60 * S)),
            check(10 * S, 1, out(60 * S)),
            peek(70 * S - 1, 1, out(1)),
            check(70 * S, 1, yes(2, 10 * S)),
        ],
    ),
    Scenario(
        "begin/clock-steps-back-a-little",
        "20 s back within a block: it ends when it would have",
        [counter()],
        [check(0, 4, out("never", 60 * S)), check(30 * S, 1, out(30 * S)), check(10 * S, 1, out(50 * S))],
    ),
]
