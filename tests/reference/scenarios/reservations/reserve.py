"""reserve: decided like a check, held in place of charged."""

from ..script import (
    BASE,
    HAD_ENDED,
    MS,
    S,
    Scenario,
    charge,
    check,
    check_all,
    commit,
    error,
    item,
    no,
    peek,
    refund,
    release,
    reserve,
    reset,
    rule,
    yes,
)
from .held import budget, drips, holding, per_algorithm, two_level

DESCRIPTION = "reserve holds its cost: nothing is charged yet, and nobody else can have it"

HELD = {"id": True, "token": BASE}
DENIED = {"allowed": False, "id": False}

SCENARIOS = [
    *per_algorithm(
        "reserve/holds",
        "6 of 10 are held: 4 more fit and 5 do not, and remaining is what is left without it",
        [
            reserve(0, 6, {"allowed": True, "remaining": 4, "retry_after_us": 0, **HELD}),
            peek(0, 5, {"allowed": False, "remaining": 4}),
            check(0, 4, {"allowed": True, "remaining": 0, "retry_after_us": 0}),
            check(0, 1, {"allowed": False, "remaining": 0}),
            reserve(0, 1, {**DENIED, "remaining": 0}, name="b"),
        ],
    ),
    *per_algorithm(
        "reserve/denied",
        "A reserve that is denied holds nothing: 8 are used, 3 do not fit, and then 2 do",
        [
            check(0, 8),
            reserve(0, 3, {**DENIED, "remaining": 2}),
            peek(0, 2, {"allowed": True, "remaining": 2}),
            reserve(0, 2, {"allowed": True, "remaining": 0, **HELD}, name="b"),
            commit(0, 1, HAD_ENDED, name="a"),
            reserve(0, 1, {**DENIED, "remaining": 0}, name="c"),
        ],
    ),
    *per_algorithm(
        "reserve/estimate",
        "Waits while 4 are held, with 3 used at 0 s, are those of a key to which 4 more were charged now",
        [
            check(0, 3),
            reserve(500 * MS, 4, {"allowed": True, "remaining": 3}),
            peek(500 * MS, 5, {"allowed": False}),
            check(1 * S, 8, {"allowed": False}),
            peek(4 * S, 10, {"allowed": False}),
            release(4 * S),
            peek(4 * S, 10),
        ],
    ),
    *per_algorithm(
        "reserve/never",
        "More than the limit can never be held; the limit can, and then nothing is left",
        [
            reserve(0, 11, {**DENIED, "remaining": 10, "retry_after_us": "never", "reset_after_us": 0}),
            reserve(0, 10, {"allowed": True, "remaining": 0, **HELD}, name="b"),
            peek(0, 11, {"allowed": False, "retry_after_us": "never"}),
            peek(0, 1, {"allowed": False, "remaining": 0}),
        ],
    ),
    Scenario(
        "reserve/uniform",
        "One at a time, each 2 s: while one is held none fits, and the wait is estimated as if it were charged now",
        [holding("uniform")],
        [
            reserve(0, 1, yes(0, 2 * S, limit=1, **HELD)),
            check(1 * S, 1, no(0, 2 * S, 2 * S)),
            reserve(5 * S, 1, no(0, 2 * S, 2 * S, id=False), name="b"),
            commit(5 * S, 1),
            reserve(7 * S - 1, 1, no(0, 1, 1, id=False), name="b"),
            reserve(7 * S, 1, yes(0, 2 * S, id=True, token=BASE + 7 * S), name="b"),
        ],
    ),
    Scenario(
        "reserve/fixed_window-by-hand",
        "3 used, 5 held: 2 are left. Denied until the window ends: an estimate, for what is held stays held",
        [budget()],
        [
            check(0, 3, yes(7, 10 * S)),
            reserve(4 * S, 5, yes(2, 6 * S, id=True, token=BASE + 4 * S)),
            check(4 * S, 3, no(2, 6 * S, 6 * S)),
            check(10 * S, 6, no(5, 10 * S, 10 * S)),
            check(10 * S, 5, yes(0, 10 * S)),
        ],
    ),
    Scenario(
        "reserve/gcra-by-hand",
        "A unit leaks each second, but not what is held: after 10 s the 6 that were used are gone, the 4 held are not",
        [drips()],
        [
            check(0, 6, yes(4, 6 * S)),
            reserve(0, 4, yes(0, 10 * S, **HELD)),
            check(0, 1, no(0, 1 * S, 10 * S)),
            check(1 * S, 1, yes(0, 10 * S)),
            peek(10 * S, 7, no(6, 1 * S, 4 * S)),
            peek(11 * S, 7, no(6, 1 * S, 4 * S)),
        ],
    ),
    Scenario(
        "reserve/fractions",
        "Held weight is whole and goes off after the floor: 2.5 units of room less 1 held leave 1",
        [drips(4, 4)],
        [
            check(0, 2, yes(2, 2 * S)),
            reserve(500 * MS, 1, yes(1, 2_500 * MS, id=True)),
            check(500 * MS, 2, no(1, 500 * MS, 2_500 * MS)),
            check(500 * MS, 1, yes(0, 3_500 * MS)),
        ],
    ),
    Scenario(
        "reserve/several",
        "Reservations add up, each ends alone",
        [budget()],
        [
            reserve(0, 2, yes(8, 10 * S)),
            reserve(0, 3, yes(5, 10 * S), name="b"),
            reserve(0, 4, yes(1, 10 * S), name="c"),
            release(0, name="b"),
            peek(0, 5, no(4, 10 * S, 10 * S)),
            commit(0, 1, name="c"),
            peek(0, 7, yes(7, 10 * S)),
        ],
    ),
    Scenario(
        "reserve/keys-are-apart",
        "What is held for one key is not held for another",
        [budget()],
        [
            reserve(0, 10, yes(0, 10 * S)),
            check(0, 10, yes(0, 10 * S), key="bob"),
            reserve(0, 1, no(0, 10 * S, 10 * S, id=False), name="b", key="bob"),
            release(0),
            check(0, 10, yes(0, 10 * S)),
        ],
    ),
    Scenario(
        "reserve/composite-key",
        "A key of several parts holds what its parts together ask for",
        [budget()],
        [
            reserve(0, 7, yes(3, 10 * S), key=["acme", "alice"]),
            check(0, 4, no(3, 10 * S, 10 * S), key=["acme", "alice"]),
            check(0, 10, yes(0, 10 * S), key=["acme", "bob"]),
            commit(0, 2),
            peek(0, 8, yes(8, 10 * S), key=["acme", "alice"]),
        ],
    ),
    Scenario(
        "reserve/charge",
        "A charge counts beside what is held, and beyond the limit: it answers whether 1 would still fit",
        [budget()],
        [
            reserve(0, 6, yes(4, 10 * S)),
            charge(0, 3, yes(1, 10 * S)),
            charge(0, 1, no(0, 10 * S, 10 * S)),
            charge(0, 5, no(0, 10 * S, 10 * S)),
            release(0),
            peek(0, 1, yes(1, 10 * S)),
        ],
    ),
    Scenario(
        "reserve/refund",
        "A refund gives back what was used, never what is held",
        [budget()],
        [
            check(0, 3, yes(7, 10 * S)),
            reserve(0, 6, yes(1, 10 * S)),
            refund(0, 5, no(4, 10 * S, 10 * S)),
            check(0, 5, no(4, 10 * S, 10 * S)),
            commit(0),
            peek(0, 4, yes(4, 10 * S)),
        ],
    ),
    Scenario(
        "reserve/two-limits",
        "What is held counts in every limit of the rule: 2 per second and 5 per 10 s",
        [
            rule(
                "fixed_window",
                limits=[{"limit": 2, "window_size_seconds": 1}, {"limit": 5, "window_size_seconds": 10}],
                reservations=True,
            )
        ],
        [
            reserve(0, 2, yes(0, 10 * S, limit=2, **HELD)),
            check(0, 1, no(0, 1 * S, 10 * S, limit=2)),
            check(1 * S, 1, no(0, 1 * S, 9 * S, limit=2)),
            commit(1 * S, 2),
            check(2 * S, 2, yes(1, 8 * S, limit=5) | {"remaining": 0, "limit": 2}),
            reserve(3 * S, 2, no(1, 7 * S, 7 * S, limit=5, id=False), name="b"),
            reserve(3 * S, 1, yes(0, 7 * S, limit=5, id=True), name="b"),
        ],
    ),
    *(
        Scenario(
            f"reserve/two-limits-{name}",
            "3 per second and 10 per 10 s: held units count in both, and leave neither",
            [
                rule(
                    name,
                    limits=[{"limit": 3, "window_size_seconds": 1}, {"limit": 10, "window_size_seconds": 10}],
                    reservations=True,
                )
            ],
            [
                check(0, 2, {"allowed": True, "remaining": 1, "limit": 3}),
                reserve(0, 1, {"allowed": True, "remaining": 0, "limit": 3, **HELD}),
                check(0, 1, {"allowed": False, "limit": 3}),
                peek(4 * S, 2, {"allowed": True, "remaining": 2, "limit": 3}),
                peek(4 * S, 3, {"allowed": False, "remaining": 2, "limit": 3}),
            ],
        )
        for name in ("sliding_window", "sliding_log", "sliding_buckets", "gcra")
    ),
    *(
        Scenario(
            f"reserve/resource-{name}",
            "A resource of 5 and 3 for each key on it: held at both, so bob finds 2 left",
            [two_level(name, 3, 5)],
            [
                reserve(0, 3, {"allowed": True, "remaining": 0, "limit": 3, **HELD}, resource="printer"),
                check(0, 1, {"allowed": False, "remaining": 0, "limit": 3}, resource="printer"),
                reserve(0, 3, {**DENIED, "remaining": 2, "limit": 5}, name="b", key="bob", resource="printer"),
                check(0, 2, {"allowed": True, "remaining": 0, "limit": 5}, key="bob", resource="printer"),
                check(0, 3, {"allowed": True, "remaining": 0, "limit": 3}, resource="scanner"),
                commit(0, 1),
                peek(0, 3, {"allowed": False, "remaining": 2}, resource="printer"),
            ],
        )
        for name in ("fixed_window", "sliding_window", "sliding_log", "sliding_buckets", "gcra")
    ),
    Scenario(
        "reserve/limit",
        "Another limit for the call: of 20, 15 can be held; of the rule's own 10 nothing is left then",
        [budget()],
        [
            reserve(0, 15, yes(5, 10 * S, limit=20, **HELD), limit=20),
            peek(0, 1, no(0, 10 * S, 10 * S, limit=10)),
            check(0, 5, yes(0, 10 * S, limit=20), limit=20),
            reserve(0, 16, no(0, "never", 10 * S, limit=15, id=False), name="b", limit=15),
            release(0),
            peek(0, 5, yes(5, 10 * S, limit=10)),
        ],
    ),
    Scenario(
        "reserve/shadow",
        "A rule in shadow holds what fits. What does not fit is admitted too, answers an id, and holds nothing",
        [budget(shadow=True)],
        [
            reserve(0, 8, yes(2, 10 * S, shadow_denied=False, **HELD)),
            reserve(0, 3, yes(2, 10 * S, id=True) | {"shadow_denied": True, "retry_after_us": 10 * S}, name="b"),
            peek(0, 2, yes(2, 10 * S, shadow_denied=False)),
            peek(0, 3, {"allowed": True, "shadow_denied": True, "remaining": 2}),
            reserve(0, 11, {"allowed": True, "shadow_denied": True, "retry_after_us": "never", "id": True}, name="c"),
            peek(0, 2, yes(2, 10 * S)),
        ],
    ),
    Scenario(
        "reserve/check_all",
        "Items that are decided together find what is held in the way",
        [budget(5), budget(9, rule_id="other", priority=1)],
        [
            reserve(0, 4, yes(1, 10 * S)),
            check_all(0, item(cost=2), item("other"), by_hand=no(1, 10 * S, 10 * S, rule="api")),
            peek(0, 9, yes(9, 0), rule="other"),
            check_all(0, item(), item("other"), by_hand=yes(0, 10 * S, rule="api")),
            release(0),
            peek(0, 4, yes(4, 10 * S)),
        ],
    ),
    Scenario(
        "reserve/reset",
        "A reset ends what the key holds, and no other: all 10 are free, and the commit comes too late",
        [budget()],
        [
            reserve(0, 4),
            reserve(0, 5, name="b", key="bob"),
            check(0, 2),
            reset(1 * S),
            peek(1 * S, 10, yes(10, 0)),
            commit(1 * S, 3, HAD_ENDED),
            peek(1 * S, 10, yes(10, 0)),
            peek(1 * S, 6, no(5, 9 * S, 9 * S), key="bob"),
            commit(1 * S, name="b"),
        ],
    ),
    Scenario(
        "reserve/reset-resource",
        "A reset of a key leaves what all keys hold of the resource",
        [two_level("fixed_window", 3, 5)],
        [
            reserve(0, 3, resource="printer"),
            reset(0, resource="printer"),
            peek(0, 3, no(2, 10 * S, 10 * S, limit=5), resource="printer"),
            check(0, 2, yes(0, 10 * S, limit=5), resource="printer"),
            release(0, HAD_ENDED),
        ],
    ),
    Scenario(
        "reserve/reset-resource-alone",
        "A rule that counts only the resource: a reset forgets what was used of it, not what is held",
        [rule("fixed_window", limits=[{"limit": 5, "window_size_seconds": 10, "scope": "resource"}], reservations=True)],
        [
            check(0, 2, resource="printer"),
            reserve(0, 2, yes(1, 10 * S), resource="printer"),
            reset(0, resource="printer"),
            peek(0, 4, no(3, 10 * S, 10 * S), key="bob", resource="printer"),
            commit(0, 1),
            peek(0, 4, yes(4, 10 * S), key="bob", resource="printer"),
        ],
    ),
    Scenario(
        "reserve/clock-steps-back",
        "An hour back: 3 used in the future count as used now, 4 stay held",
        [budget()],
        [
            check(3600 * S, 3),
            reserve(3600 * S, 4),
            peek(3 * S, 4, no(3, 7 * S, 7 * S)),
            check(3 * S, 3, yes(0, 7 * S)),
            commit(3 * S, 1),
            peek(3 * S, 4, no(3, 7 * S, 7 * S)),
        ],
    ),
    Scenario(
        "reserve/priority",
        "The rule with the lower number speaks where two refuse alike, held or used",
        [budget(2, rule_id="a", priority=5), budget(2, rule_id="b", priority=1)],
        [
            reserve(0, 2, yes(0, 10 * S), rule="a"),
            reserve(0, 2, yes(0, 10 * S), name="b", rule="b"),
            check_all(0, item("a"), item("b"), by_hand=no(0, 10 * S, 10 * S, rule="b")),
        ],
    ),
    Scenario(
        "reserve/arguments",
        "Mistakes hold nothing: no reservations, a cost of nothing, an empty key, a rule or resource that there is not",
        [budget(), rule("fixed_window", 10, 10, rule_id="plain")],
        [
            reserve(0, 1, error("InvalidArgument"), rule="plain"),
            reserve(0, 0, error("InvalidArgument")),
            reserve(0, 1, error("InvalidArgument"), key=""),
            reserve(0, 1, error("UnknownRule"), rule="aip"),
            reserve(0, 1, error("InvalidArgument"), resource="printer"),
            reserve(0, 1, error("InvalidArgument"), limit=0),
            peek(0, 10, yes(10, 0)),
        ],
    ),
]
