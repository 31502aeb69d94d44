"""decay. BASE is the start of a slot of 1 s."""

from . import everywhere
from .script import DAY, MS, S, Scenario, check, no, peek, refund, rule, yes

DESCRIPTION = "decay: a level that each slot passed divides by the decay factor"

TEN = rule("decay", 10, resolution_seconds=1)

SCENARIOS = [
    *everywhere.scenarios("decay/", TEN),
    Scenario(
        "decay/halving",
        "8 at 0 s: 4 at 1 s, 2 at 2 s, 1 at 3 s; 8 / 2^33 = 9.3e-10 is the first level of 1e-9 or less, at"
        " 33 s. 9 more fit when 1 is left",
        [TEN],
        [
            check(0, 8, yes(2, 33 * S)),
            check(0, 9, no(2, 3 * S, 33 * S)),
            peek(1 * S, 6, yes(6, 32 * S)),
            peek(3 * S - 1, 9, no(8, 1, 30 * S + 1)),
            peek(3 * S, 9, yes(9, 30 * S)),
            check(3 * S, 9, yes(0, 34 * S)),
        ],
    ),
    Scenario(
        "decay/within-a-slot",
        "Nothing decays until the slot ends: at 0.2 s and at 0.999999 s the level is 10, at 1 s it is 5. 10 / 2^34 is"
        " 5.8e-10: nothing at 34 s",
        [TEN],
        [
            check(200 * MS, 10, yes(0, 34 * S - 200 * MS)),
            check(S - 1, 1, no(0, 1, 33 * S + 1)),
            check(S, 5, yes(0, 34 * S)),
        ],
    ),
    Scenario(
        "decay/level-is-nothing",
        "1 / 2^29 = 1.9e-9 still counts, so 10 do not fit; 1 / 2^30 = 9.3e-10 does not count any more",
        [TEN],
        [
            check(0, 1, yes(9, 30 * S)),
            check(29 * S, 10, no(9, 1 * S, 1 * S)),
            check(30 * S - 1, 10, no(9, 1, 1)),
            check(30 * S, 10, yes(0, 34 * S)),
        ],
    ),
    Scenario(
        "decay/fractional-limit",
        "2.5 is reported as 2, but counts as 2.5: at a level of 1.5 one more fits. A cost of 3 never does",
        [rule("decay", 2.5, resolution_seconds=10)],
        [
            check(0, 3, no(2, "never", 0, limit=2)),
            check(0, 2, yes(0, 310 * S, limit=2)),
            check(10 * S, 1, yes(0, 310 * S)),
            check(20 * S, 2, no(1, 10 * S, 300 * S)),
            check(30 * S, 2, yes(0, 320 * S)),
        ],
    ),
    Scenario(
        "decay/factor-4",
        "8 at 0 s, 2 at 1 s, 0.5 at 2 s. 8 / 4^17 = 4.7e-10 is nothing, as is 9.5 / 4^17",
        [rule("decay", 10, resolution_seconds=1, decay_factor=4)],
        [
            check(0, 8, yes(2, 17 * S)),
            check(0, 8, no(2, 1 * S, 17 * S)),
            check(1 * S, 9, no(8, 1 * S, 16 * S)),
            check(2 * S, 9, yes(0, 17 * S)),
        ],
    ),
    Scenario(
        "decay/factor-1-5",
        "10 at 0 s is 6.67 at 0.5 s, 4.44 at 1 s, 2.96 at 1.5 s. 6 fit once the level is at most 4, at 1.5 s",
        [rule("decay", 10, resolution_seconds=0.5, decay_factor=1.5)],
        [
            check(0, 10, {"allowed": True, "remaining": 0}),
            check(0, 6, {"allowed": False, "remaining": 0, "retry_after_us": 1_500 * MS}),
            peek(500 * MS, 3, {"allowed": True, "remaining": 3}),
            check(1_500 * MS - 1, 6, {"allowed": False, "remaining": 5, "retry_after_us": 1}),
            check(1_500 * MS, 6, {"allowed": True, "remaining": 1}),
        ],
    ),
    Scenario(
        "decay/factor-1-01-long-memory",
        "A factor of 1.01 and slots of a minute: 100 needs 2,546 slots to fade to 1e-9",
        [rule("decay", 100, resolution_seconds=60, decay_factor=1.01)],
        [
            check(0, 100, {"allowed": True, "remaining": 0, "reset_after_us": (2546 * 60 - 20) * S}),
            check(3600 * S, 50, {"allowed": False}),
            check(2 * DAY, 100, {"allowed": True}),
        ],
    ),
    Scenario(
        "decay/refund-by-hand",
        "8 is 4 at 1 s; 3 given back leave 1, which is nothing 30 slots later. 2 more leave nothing, not less",
        [TEN],
        [
            check(0, 8, yes(2, 33 * S)),
            refund(1 * S, 3, yes(9, 30 * S)),
            refund(1 * S, 2, yes(10, 0)),
            check(1 * S, 10, yes(0, 34 * S)),
        ],
    ),
    Scenario(
        "decay/one-per-millisecond",
        "Slots of 1 ms, limit 1: free again only when the level is nothing, 30 slots later",
        [rule("decay", 1, resolution_seconds=0.001)],
        [check(0, 1, yes(0, 30 * MS)), check(30 * MS - 1, 1, no(0, 1, 1)), check(30 * MS, 1, yes(0, 30 * MS))],
    ),
]
