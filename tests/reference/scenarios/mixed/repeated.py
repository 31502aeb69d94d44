"""Calls that are repeated with their request id, under rules with blocks and stored limits."""

from ..blocks.blocking import for_a
from ..request_ids.repeat import counter
from ..script import S, Scenario, block, charge, check, clear_limit, out, peek, refund, set_limit, yes

DESCRIPTION = "What a call begins that is repeated it begins once, and its answer is that of the limit of then"

SCENARIOS = [
    Scenario(
        "repeated/denied-begins-one-block",
        "The denial begins a block of 20 s, its repeat after that none",
        [counter(3, 10, block=for_a(20, 2))],
        [
            check(0, 4, out("never", 20 * S), request_id="a"),
            check(19 * S, 4, out("never", 20 * S), request_id="a"),
            peek(19 * S, 1, out(1 * S)),
            check(20 * S, 4, out("never", 20 * S), request_id="a"),
            peek(20 * S, 3, yes(3, 0, blocked=False)),
        ],
    ),
    Scenario(
        "repeated/admitted-before-a-block",
        "What was admitted before a block is admitted when it is repeated during one, and the other way round",
        [counter(3, 10, block={})],
        [
            check(0, 1, yes(2, 10 * S), request_id="a"),
            block(1 * S, 10),
            check(1 * S, 1, out(10 * S), request_id="b"),
            check(2 * S, 1, yes(2, 10 * S), request_id="a"),
            check(11 * S, 1, out(10 * S), request_id="b"),
            check(11 * S, 1, yes(2, 9 * S), request_id="c"),
        ],
    ),
    Scenario(
        "repeated/charge-begins-one-block",
        "So does a charge, and its repeat: an unlocked key stays free",
        [counter(3, 100, block=for_a(5))],
        [
            charge(0, 2, yes(1, 100 * S), request_id="a"),
            charge(0, 1, out(100 * S), request_id="b"),
            charge(6 * S, 1, out(100 * S), request_id="b"),
            refund(6 * S, 1, yes(1, 94 * S, blocked=False)),
            charge(7 * S, 1, out(100 * S), request_id="b"),
            check(7 * S, 1, yes(0, 93 * S)),
        ],
    ),
    Scenario(
        "repeated/stored-limit",
        "The answer is that of the limit in force at the first call",
        [counter(overrides=True)],
        [
            check(0, 4, yes(6, 10 * S, limit=10), request_id="a"),
            set_limit(0, 20),
            check(0, 4, yes(6, 10 * S, limit=10), request_id="a"),
            check(0, 4, yes(12, 10 * S, limit=20), request_id="b"),
            clear_limit(1 * S),
            check(1 * S, 4, yes(12, 10 * S, limit=20), request_id="b"),
            peek(1 * S, 1, yes(2, 9 * S, limit=10)),
        ],
    ),
]
