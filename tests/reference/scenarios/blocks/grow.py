"""factor and max_seconds: who comes back too soon is blocked for longer."""

from ..script import S, Scenario, block, charge, check, no, out, peek, reset, unblock, yes
from .blocking import BLOCKED, FREE, counter, drips, for_a, per_algorithm

DESCRIPTION = "A block that begins soon after the last one is longer by `factor`, up to `max_seconds`"

EXCESS = 4
"""A cost that the limit of 3 can never admit, and so a denial at any time."""


def denied(at: int, length: int, **others):
    """A check that begins a block of so many seconds."""
    return check(at, EXCESS, {**BLOCKED, "retry_after_us": "never", "reset_after_us": length * S, **others})


def free(at: int):
    return peek(at, 1, {**FREE})


SCENARIOS = [
    *per_algorithm(
        "grow/doubles",
        "20 s, then 40 s, then 50 s at most",
        [
            check(0, 11, {**BLOCKED, "reset_after_us": 20 * S}),
            check(20 * S, 11, {**BLOCKED, "reset_after_us": 40 * S}),
            check(59 * S, 11, {**BLOCKED, "reset_after_us": 1 * S}),
            check(70 * S, 11, {**BLOCKED, "reset_after_us": 50 * S}),
            check(150 * S, 11, {**BLOCKED, "reset_after_us": 50 * S}),
            peek(200 * S - 1, 1, {**BLOCKED, "retry_after_us": 1}),
            peek(200 * S, 10, {**FREE, "remaining": 10, "reset_after_us": 0}),
        ],
        for_a(20, 2, 50),
    ),
    Scenario(
        "grow/just-remembered",
        "The first ends at 10 s; max_seconds later less a microsecond it is remembered",
        [counter(block=for_a(10, 3, 100))],
        [denied(0, 10), denied(110 * S - 1, 30)],
    ),
    Scenario(
        "grow/just-forgotten",
        "The first ends at 10 s; max_seconds later it is forgotten",
        [counter(block=for_a(10, 3, 100))],
        [denied(0, 10), denied(110 * S, 10)],
    ),
    Scenario(
        "grow/forgotten-step-by-step",
        "10 s, 30 s, and after 100 s of peace 10 s again",
        [counter(block=for_a(10, 3, 100))],
        [denied(0, 10), denied(50 * S, 30), free(80 * S), denied(180 * S, 10), denied(190 * S, 30), denied(319 * S, 90)],
    ),
    Scenario(
        "grow/default-max",
        "max_seconds is 10 times seconds: 10 s, 40 s, 100 s",
        [counter(block=for_a(10, 4))],
        [denied(0, 10), denied(10 * S, 40), denied(50 * S, 100), denied(249 * S, 100), denied(449 * S, 10)],
    ),
    Scenario(
        "grow/default-factor",
        "Without a factor every block is as long as the first",
        [counter(block=for_a(10))],
        [denied(0, 10), denied(10 * S, 10), denied(20 * S, 10)],
    ),
    Scenario(
        "grow/fraction",
        "A factor of 1.5: 8 s, 12 s, 18 s, 27 s",
        [counter(block=for_a(8, 1.5))],
        [denied(0, 8), denied(8 * S, 12), denied(20 * S, 18), denied(40 * S, 27)],
    ),
    Scenario(
        "grow/not-at-all",
        "max_seconds as long as seconds: no block is longer",
        [counter(block=for_a(10, 5, 10))],
        [denied(0, 10), denied(10 * S, 10), denied(29 * S, 10)],
    ),
    Scenario(
        "grow/charges",
        "Blocks that charges begin are longer just so, also after those of checks",
        [drips(block=for_a(10, 2))],
        [
            charge(0, 3, out(10 * S)),
            denied(10 * S, 20),
            charge(30 * S, 3, out(40 * S)),
            charge(69 * S, 3, out(1 * S, 3 * S)),
            peek(70 * S, 1, yes(1, 2 * S, blocked=False)),
            peek(72 * S, 3, yes(3, 0)),
        ],
    ),
    Scenario(
        "grow/memory-is-no-usage",
        "reset_after ignores what is remembered",
        [counter(block=for_a(10, 2))],
        [denied(0, 10), peek(10 * S, 3, yes(3, 0)), check(11 * S, 1, yes(2, 9 * S)), denied(12 * S, 20)],
    ),
    Scenario(
        "grow/reset",
        "A reset ends the memory too: the next block is a first one",
        [counter(block=for_a(10, 2))],
        [denied(0, 10), denied(10 * S, 20), reset(15 * S), denied(15 * S, 10), reset(40 * S), denied(40 * S, 10)],
    ),
    Scenario(
        "grow/unblock",
        "unblock ends the block and keeps the memory: the next one is longer",
        [counter(block=for_a(10, 2))],
        [denied(0, 10), unblock(1 * S), free(1 * S), denied(2 * S, 20), unblock(3 * S), denied(3 * S, 40)],
    ),
    Scenario(
        "grow/since-unblock",
        "An unblocked block has ended then and there: at 101 s it is forgotten",
        [counter(block=for_a(10, 2))],
        [denied(0, 10), unblock(1 * S), denied(101 * S - 1, 20), unblock(101 * S), denied(201 * S, 10)],
    ),
    Scenario(
        "grow/by-hand",
        "A block by hand lasts for its seconds and does not make the next one longer, but keeps the memory awake",
        [counter(block=for_a(10, 2))],
        [
            denied(0, 10),
            block(90 * S, 50),
            peek(90 * S, 1, out(50 * S)),
            free(140 * S),
            denied(239 * S, 20),
        ],
    ),
    Scenario(
        "grow/by-hand-first",
        "Where the rule has begun none, there is nothing to grow",
        [counter(block=for_a(10, 2))],
        [block(0, 3), denied(3 * S, 10), block(14 * S, 1), denied(15 * S, 20)],
    ),
    Scenario(
        "grow/by-hand-after-peace",
        "What had been forgotten when a block was made by hand does not come back",
        [counter(block=for_a(10, 2))],
        [denied(0, 10), denied(10 * S, 20), block(130 * S, 5), denied(135 * S, 10)],
    ),
    Scenario(
        "grow/keys-are-apart",
        "Each key has its own memory",
        [counter(block=for_a(10, 2))],
        [
            denied(0, 10),
            denied(10 * S, 20),
            check(10 * S, EXCESS, out("never", 10 * S), key="bob"),
            denied(30 * S, 40),
            check(30 * S, EXCESS, out("never", 20 * S), key="bob"),
        ],
    ),
]
