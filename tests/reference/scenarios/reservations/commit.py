"""commit: ends a reservation and charges what was used."""

from ..script import (
    HAD_ENDED,
    HOUR,
    MINUTE,
    MS,
    S,
    Scenario,
    charge,
    check,
    commit,
    error,
    no,
    peek,
    refund,
    release,
    reserve,
    reset,
    rule,
    yes,
)
from .held import EVERY, budget, drips, holding, per_algorithm, two_level

DESCRIPTION = "commit ends a reservation and charges what was used, now"


def like_a_charge(name: str) -> Scenario:
    return Scenario(
        f"commit/like-a-charge-{name}",
        "alice's commit of 4 at 3 s leaves what bob's charge of 4 at 3 s leaves, whatever was held before",
        [holding(name)],
        [
            check(0, 2),
            check(0, 2, key="bob"),
            reserve(1 * S, 6),
            commit(3 * S, 4),
            charge(3 * S, 4, key="bob"),
            *(peek(at * S, 7, key=key) for at in (3, 9, 14) for key in ("alice", "bob")),
        ],
    )


SCENARIOS = [
    *per_algorithm(
        "commit/less",
        "8 held, 3 used: the other 5 are free at once",
        [
            reserve(0, 8, {"allowed": True, "remaining": 2}),
            commit(0, 3),
            peek(0, 8, {"allowed": False, "remaining": 7}),
            check(0, 7, {"allowed": True, "remaining": 0}),
        ],
    ),
    *per_algorithm(
        "commit/as-reserved",
        "Without a cost all that was reserved is charged, once: a second commit finds it ended",
        [
            reserve(0, 8),
            commit(500 * MS),
            peek(500 * MS, 3, {"allowed": False, "remaining": 2}),
            commit(500 * MS, 5, HAD_ENDED),
            release(500 * MS, HAD_ENDED),
            peek(600 * MS, 3, {"allowed": False, "remaining": 2}),
        ],
    ),
    *per_algorithm(
        "commit/more",
        "2 held, 13 used: charged beyond the limit of 10; nothing fits until that has passed",
        [
            reserve(0, 2),
            check(0, 5, {"allowed": True, "remaining": 3}),
            commit(100 * MS, 13),
            check(100 * MS, 1, {"allowed": False, "remaining": 0}),
            refund(100 * MS, 9, {"allowed": False, "remaining": 1}),
        ],
    ),
    *map(like_a_charge, EVERY),
    Scenario(
        "commit/uniform",
        "One at a time, each 2 s: the wait begins with the commit",
        [holding("uniform")],
        [
            reserve(0, 1),
            commit(9 * S),
            check(9 * S, 1, no(0, 2 * S, 2 * S)),
            check(11 * S, 1, yes(0, 2 * S)),
        ],
    ),
    Scenario(
        "commit/gcra-by-hand",
        "4 used at 0 s, 5 held; 2 of them used at 3 s: a debt of 1 s and 2 s, so 7 fit",
        [drips()],
        [
            check(0, 4, yes(6, 4 * S)),
            reserve(0, 5, yes(1, 9 * S)),
            commit(3 * S, 2),
            peek(3 * S, 8, no(7, 1 * S, 3 * S)),
            peek(4 * S, 8, yes(8, 2 * S)),
        ],
    ),
    Scenario(
        "commit/overdraft-by-hand",
        "12 used where 1 was held and 10 are the limit: a debt of 12 s, 1 fits after 3 s",
        [drips()],
        [
            reserve(0, 1, yes(9, 1 * S)),
            commit(0, 12),
            check(0, 1, no(0, 3 * S, 12 * S)),
            check(3 * S, 1, yes(0, 10 * S)),
        ],
    ),
    Scenario(
        "commit/next-window",
        "Held in one window and charged in the next, to which the work belongs when it ends",
        [budget()],
        [
            reserve(9 * S, 7, yes(3, 1 * S)),
            check(9 * S, 3, yes(0, 1 * S)),
            peek(10 * S, 4, no(3, 10 * S, 10 * S)),
            commit(11 * S, 5),
            peek(11 * S, 6, no(5, 9 * S, 9 * S)),
        ],
    ),
    Scenario(
        "commit/zero",
        "A commit of nothing releases",
        [budget()],
        [reserve(0, 10, yes(0, 10 * S)), commit(0, 0), peek(0, 10, yes(10, 0)), commit(0, 3, HAD_ENDED)],
    ),
    Scenario(
        "commit/at-the-end",
        "A microsecond before the end it takes effect; at the end the reservation is charged in full",
        [budget(lease=5)],
        [
            reserve(0, 6),
            reserve(0, 4, name="b"),
            commit(5 * S - 1, 1),
            commit(5 * S, 1, HAD_ENDED, name="b"),
            peek(5 * S, 6, no(5, 5 * S, 5 * S)),
        ],
    ),
    Scenario(
        "commit/late",
        "Nothing is revived: a commit after the end changes neither that it is charged nor when",
        [drips(lease=5)],
        [
            reserve(0, 6),
            commit(8 * S, 1, HAD_ENDED),
            peek(8 * S, 8, no(7, 1 * S, 3 * S)),
            commit(8 * S, 9, HAD_ENDED),
            peek(11 * S, 10, yes(10, 0)),
        ],
    ),
    Scenario(
        "commit/denied",
        "A reservation that was denied has nothing to commit, release or renew",
        [budget()],
        [
            check(0, 10),
            reserve(0, 1, {"allowed": False, "id": False}),
            commit(0, 1, HAD_ENDED),
            release(0, HAD_ENDED),
            refund(0, 10, yes(10, 0)),
        ],
    ),
    Scenario(
        "commit/two-limits",
        "Charged to every limit of the rule, those that are full too",
        [
            rule(
                "fixed_window",
                limits=[{"limit": 2, "window_size_seconds": 1}, {"limit": 5, "window_size_seconds": 10}],
                reservations=True,
            )
        ],
        [
            reserve(0, 1, yes(1, 10 * S, limit=2)),
            commit(0, 4),
            peek(0, 1, no(0, 1 * S, 10 * S, limit=2)),
            peek(1 * S, 2, no(1, 9 * S, 9 * S, limit=5)),
        ],
    ),
    *(
        Scenario(
            f"commit/resource-{name}",
            "Charged to the key and to the resource: 2 of 3 for alice, and 2 of 5 for all",
            [two_level(name, 3, 5)],
            [
                reserve(0, 3, resource="printer"),
                commit(0, 2),
                peek(0, 2, {"allowed": False, "remaining": 1, "limit": 3}, resource="printer"),
                check(0, 3, {"allowed": True, "remaining": 0, "limit": 5}, key="bob", resource="printer"),
                check(0, 1, {"allowed": False, "limit": 5}, key="carol", resource="printer"),
            ],
        )
        for name in ("fixed_window", "sliding_window", "sliding_log", "sliding_buckets", "gcra")
    ),
    Scenario(
        "commit/resource-after-reset",
        "The key was reset: nothing is charged to it and the commit says so, but the resource gets its 2, not the 3 held",
        [two_level("fixed_window", 3, 5)],
        [
            reserve(0, 3, resource="printer"),
            reset(0, resource="printer"),
            commit(0, 2, HAD_ENDED),
            peek(0, 3, yes(3, 10 * S, limit=5), resource="printer"),
            check(0, 3, yes(0, 10 * S), resource="printer"),
            peek(0, 1, no(0, 10 * S, 10 * S, limit=5), key="bob", resource="printer"),
        ],
    ),
    Scenario(
        "commit/limit",
        "Charged with the limit of the reserve: 8 units at 2 per second are 4 s of debt; of 10 at one per second, 8",
        [drips()],
        [
            reserve(0, 8, yes(12, 4 * S, limit=20), limit=20),
            commit(0),
            peek(0, 3, no(2, 500 * MS, 4 * S, limit=10)),
            peek(4 * S, 10, yes(10, 0)),
        ],
    ),
    Scenario(
        "commit/limit-in-force",
        "Reserved without a limit of its own: charged with the rule's, whatever other calls asked for",
        [drips()],
        [
            reserve(0, 4, yes(6, 4 * S)),
            check(0, 4, yes(12, 4 * S, limit=20), limit=20),
            commit(0),
            peek(0, 1, yes(2, 8 * S)),
        ],
    ),
    Scenario(
        "commit/limit-of-others",
        "Held without a limit of its own, and charged at the pace of the rule: 90 and 3, of which one leaks in 12 minutes",
        [drips(5, 3600)],
        [
            reserve(0, 5, yes(0, HOUR)),
            check(0, 90, yes(5, 57 * MINUTE, limit=100), limit=100),
            commit(0, 3),
            peek(0, 96, no(7, 89 * 12 * MINUTE, 93 * 12 * MINUTE, limit=100), limit=100),
        ],
    ),
    Scenario(
        "commit/sliding_log-at-most-twice-the-limit",
        "Of 100 a log of 3 takes 6 entries; after 4 were given back there are 2, so 1 more fits",
        [rule("sliding_log", 3, 10, reservations=True)],
        [
            reserve(0, 2),
            commit(0, 100),
            refund(0, 3, no(0, 10 * S, 10 * S)),
            refund(0, 1, yes(1, 10 * S)),
        ],
    ),
    Scenario(
        "commit/beyond-counting",
        "An overdraft of more than 2^53 is refused: nothing is charged, and nothing ended",
        [budget(), drips(rule_id="drips")],
        [
            reserve(0, 4),
            charge(0, 2**52),
            commit(0, 2**52 + 2048, error("InvalidArgument")),
            refund(0, 2**52, {"remaining": 6}),
            commit(0, 1),
            reserve(0, 4, name="b", rule="drips"),
            commit(0, 9_007_199_265, error("InvalidArgument"), name="b"),
            peek(0, 7, no(6, 1 * S, 4 * S), rule="drips"),
            commit(0, 3, name="b"),
        ],
    ),
    Scenario(
        "commit/beyond-counting-one-of-two",
        "When one limit cannot be overdrawn so far, none of the rule is charged and the reservation goes on",
        [
            rule(
                "gcra",
                limits=[{"limit": 1, "window_size_seconds": 1}, {"limit": 10, "window_size_seconds": 100_000}],
                reservations=True,
            )
        ],
        [
            reserve(0, 1),
            commit(0, 1_000_000, error("InvalidArgument")),
            peek(0, 1, {"allowed": False, "remaining": 0}),
            release(0),
            peek(0, 1, yes(1, 0)),
        ],
    ),
    Scenario(
        "commit/arguments",
        "A cost of 2^53, or of a rule that was not reserved: refused, and the reservation goes on",
        [budget(), budget(rule_id="other")],
        [
            reserve(0, 4),
            commit(0, 9_007_199_254_740_992, error("InvalidArgument")),
            commit(0, costs={"other": 1}, by_hand=error("InvalidArgument")),
            commit(0, costs={"api": 1, "aip": 1}, by_hand=error("InvalidArgument")),
            peek(0, 7, no(6, 10 * S, 10 * S)),
            commit(0, costs={"api": 3}),
            peek(0, 7, yes(7, 10 * S)),
        ],
    ),
    Scenario(
        "commit/no-costs",
        "A commit that names no rule charges what was reserved",
        [budget()],
        [reserve(0, 4), commit(0, costs={}), peek(0, 7, no(6, 10 * S, 10 * S))],
    ),
    Scenario(
        "commit/shadow",
        "In shadow the part that fitted is charged in full; of what held nothing only as much as fits at its commit",
        [budget(shadow=True)],
        [
            reserve(0, 7, {"shadow_denied": False}),
            reserve(0, 5, {"allowed": True, "shadow_denied": True}, name="b"),
            reserve(0, 5, {"allowed": True, "shadow_denied": True}, name="c"),
            commit(0, 5, name="b"),
            peek(0, 1, {"shadow_denied": True, "remaining": 0}),
            commit(0, 9, name="a"),
            refund(0, 9, {"shadow_denied": True, "remaining": 7}),
            commit(0, 4, name="c"),
            peek(0, 4, {"shadow_denied": True, "remaining": 3}),
            commit(0, 4, HAD_ENDED, name="c"),
        ],
    ),
    Scenario(
        "commit/shadow-several-limits",
        "What fits is what fits all limits of the rule: 1 of the 4",
        [
            rule(
                "fixed_window",
                limits=[{"limit": 3, "window_size_seconds": 1}, {"limit": 5, "window_size_seconds": 10}],
                reservations=True,
                shadow=True,
            )
        ],
        [
            check(0, 2),
            reserve(0, 4, {"allowed": True, "shadow_denied": True}),
            commit(0, 4),
            peek(0, 1, {"shadow_denied": True, "remaining": 0}),
            peek(1 * S, 3, {"shadow_denied": True, "remaining": 2, "limit": 5}),
        ],
    ),
    Scenario(
        "commit/clock-steps-back",
        "Reserved in the future, charged now",
        [drips()],
        [
            check(60 * S, 2),
            reserve(60 * S, 6, yes(2, 8 * S)),
            commit(50 * S, 3),
            check(50 * S, 6, no(5, 1 * S, 5 * S)),
            check(51 * S, 6, yes(0, 10 * S)),
        ],
    ),
]
