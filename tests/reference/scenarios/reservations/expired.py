"""Reservations that nobody ended: charged in full at their end, before anything else that happens."""

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
from .held import EVERY, budget, drips, holding, per_algorithm, two_level

DESCRIPTION = "A reservation that expires is charged in full at its end"


def like_a_charge(name: str) -> Scenario:
    return Scenario(
        f"expired/like-a-charge-{name}",
        "Nobody looks for 4 s after alice's reservation of 4 ended at 5 s: it counts like bob's charge of 4 at 5 s",
        [holding(name, 5)],
        [
            check(0, 2),
            check(0, 2, key="bob"),
            reserve(0, 4),
            charge(5 * S, 4, key="bob"),
            *(peek(at, 7, key=key) for at in (9 * S, 12_500 * MS) for key in ("alice", "bob")),
            *(check(13 * S, 1, key=key) for key in ("alice", "bob")),
            *(peek(14 * S, 7, key=key) for key in ("alice", "bob")),
        ],
    )


SCENARIOS = [
    *map(like_a_charge, EVERY),
    *per_algorithm(
        "expired/at-the-microsecond",
        "Held until a microsecond before 5 s, charged at 5 s: all the same to who asks for room",
        [
            reserve(0, 6, {"remaining": 4}),
            peek(5 * S - 1, 5, {"allowed": False, "remaining": 4}),
            peek(5 * S, 5, {"allowed": False, "remaining": 4}),
            check(5 * S, 4, {"allowed": True, "remaining": 0}),
            commit(5 * S, 1, HAD_ENDED),
        ],
        lease=5,
    ),
    *per_algorithm(
        "expired/in-order",
        "Three end at 5 s, 6 s and 7 s, nobody looks before 8 s. A peek stores nothing, so the next one says the same",
        [
            reserve(0, 2),
            reserve(1 * S, 3, name="b"),
            reserve(2 * S, 1, name="c"),
            peek(8 * S, 5),
            peek(8 * S, 5),
            check(8 * S, 1),
            peek(15_500 * MS, 10),
        ],
        lease=5,
    ),
    *per_algorithm(
        "expired/long-ago",
        "A day later the charge has stopped counting too",
        [
            check(0, 3),
            reserve(0, 6),
            peek(86_400 * S, 10, {"allowed": True, "remaining": 10, "reset_after_us": 0}),
            release(86_400 * S, HAD_ENDED),
            check(86_400 * S, 10, {"allowed": True, "remaining": 0}),
        ],
        lease=5,
    ),
    *per_algorithm(
        "expired/denied-writes-it",
        "A denial charges what expired and nothing else: afterwards the key is as if the work had been charged at 5 s",
        [
            reserve(0, 6),
            check(6 * S, 11, {"allowed": False, "retry_after_us": "never"}),
            peek(6 * S, 5),
            check(7 * S, 11, {"allowed": False}),
            peek(13 * S, 10),
        ],
        lease=5,
    ),
    Scenario(
        "expired/uniform",
        "One at a time, each 2 s: charged at 5 s, so the next fits at 7 s",
        [holding("uniform", 5)],
        [
            reserve(0, 1),
            check(6 * S, 1, no(0, 1 * S, 1 * S)),
            check(7 * S - 1, 1, no(0, 1, 1)),
            check(7 * S, 1, yes(0, 2 * S)),
        ],
    ),
    Scenario(
        "expired/gcra-what-leaked-before",
        "A debt of 5 s at 0 s is one of 2 s at 3 s, when 2 expire: 4 s, of which 1 s is left at 6 s. Nobody looked before",
        [drips(lease=3)],
        [
            check(0, 5),
            reserve(0, 2),
            peek(6 * S, 10, no(9, 1 * S, 1 * S)),
            check(6 * S, 9, yes(0, 10 * S)),
        ],
    ),
    Scenario(
        "expired/gcra-empty-in-between",
        "A debt of 2 s is gone at 2 s; 4 are charged at 5 s: nothing of the 3 s between is saved",
        [drips(lease=5)],
        [check(0, 2), reserve(0, 4), peek(7 * S, 9, no(8, 1 * S, 2 * S)), check(7 * S, 8, yes(0, 10 * S))],
    ),
    Scenario(
        "expired/fixed_window-in-its-window",
        "It ends at 8 s, in the window before: at 11 s nothing counts",
        [budget(lease=8)],
        [
            reserve(0, 6),
            peek(9 * S, 5, no(4, 1 * S, 1 * S)),
            peek(11 * S, 10, yes(10, 0)),
            check(11 * S, 10, yes(0, 9 * S)),
        ],
    ),
    Scenario(
        "expired/fixed_window-in-the-next-window",
        "Reserved at 9 s, it ends at 14 s and counts until 20 s",
        [budget(lease=5)],
        [
            check(9 * S, 4, yes(6, 1 * S)),
            reserve(9 * S, 6, yes(0, 1 * S)),
            peek(15 * S, 5, no(4, 5 * S, 5 * S)),
            check(20 * S, 10, yes(0, 10 * S)),
        ],
    ),
    Scenario(
        "expired/first_request-opens-the-window",
        "A window opens at 5 s, when what expired is charged, and ends at 15 s",
        [holding("first_request", 5)],
        [
            reserve(0, 6),
            peek(8 * S, 5, no(4, 7 * S, 7 * S)),
            check(8 * S, 4, yes(0, 7 * S)),
            check(15 * S, 10, yes(0, 10 * S)),
        ],
    ),
    Scenario(
        "expired/sliding_window-by-hand",
        "6 at 5 s, in the window before: at 13 s 6 * 7/10 = 4.2 count",
        [holding("sliding_window", 5)],
        [
            reserve(0, 6),
            peek(13 * S, 6, no(5, 333_334, 7 * S)),
            check(13 * S, 5, yes(0, 17 * S)),
        ],
    ),
    *(
        Scenario(
            f"expired/sliding_log-{structure}-by-hand",
            "Entries at 0 s (2), 5 s (3, expired) and 6 s (4): they go at 10 s, 15 s and 16 s",
            [holding(structure, 5)],
            [
                check(0, 2),
                reserve(0, 3),
                check(6 * S, 4, yes(1, 10 * S)),
                peek(6 * S, 3, no(1, 4 * S, 10 * S)),
                peek(10 * S, 4, no(3, 5 * S, 6 * S)),
                peek(15 * S, 7, no(6, 1 * S, 1 * S)),
            ],
        )
        for structure in ("list", "sorted_set")
    ),
    Scenario(
        "expired/sliding_buckets-by-hand",
        "Charged in the slot of 5 s, gone with it at 15 s",
        [holding("sliding_buckets", 5)],
        [
            reserve(500 * MS, 6),
            peek(6 * S, 5, no(4, 9 * S, 9 * S)),
            check(6 * S, 4, yes(0, 10 * S)),
            peek(15 * S, 6, yes(6, 1 * S)),
        ],
    ),
    Scenario(
        "expired/decay-by-hand",
        "8 in the slot of 4 s: 4 in that of 6 s, 2 in that of 8 s",
        [holding("decay", 5)],
        [
            reserve(0, 8),
            peek(5 * S, 3, {"allowed": False, "remaining": 2, "retry_after_us": 1 * S}),
            peek(6 * S, 7, {"allowed": False, "remaining": 6, "retry_after_us": 2 * S}),
            check(8 * S, 8, {"allowed": True, "remaining": 0}),
        ],
    ),
    Scenario(
        "expired/same-end",
        "Two that end together are both charged",
        [drips(lease=5)],
        [reserve(0, 2), reserve(0, 3, name="b"), peek(7 * S, 8, no(7, 1 * S, 3 * S)), check(7 * S, 7, yes(0, 10 * S))],
    ),
    Scenario(
        "expired/some",
        "Of three one was committed, one expired and one is still held",
        [drips(lease=5)],
        [
            reserve(0, 2),
            reserve(0, 3, name="b"),
            reserve(3 * S, 4, name="c"),
            commit(4 * S, 1),
            peek(6 * S, 5, no(4, 1 * S, 6 * S)),
            release(7 * S, name="c"),
            peek(7 * S, 10, no(9, 1 * S, 1 * S)),
        ],
    ),
    Scenario(
        "expired/before-a-refund",
        "A refund gives back what expired as well: it has been charged",
        [drips(lease=5)],
        [reserve(0, 6), refund(6 * S, 3, yes(8, 2 * S)), peek(6 * S, 9, no(8, 1 * S, 2 * S))],
    ),
    Scenario(
        "expired/before-a-charge",
        "A charge comes after what expired",
        [drips(lease=5)],
        [reserve(0, 6), charge(7 * S, 8, no(0, 3 * S, 12 * S)), peek(10 * S, 1, yes(1, 9 * S))],
    ),
    Scenario(
        "expired/before-a-commit",
        "A commit ends one; the other had expired and is charged as of then",
        [drips(lease=5)],
        [
            reserve(0, 6),
            reserve(4 * S, 4, name="b"),
            commit(7 * S, 2, name="b"),
            peek(7 * S, 5, no(4, 1 * S, 6 * S)),
        ],
    ),
    Scenario(
        "expired/before-a-reserve",
        "The next reservation finds it charged",
        [drips(lease=5)],
        [
            reserve(0, 10),
            reserve(6 * S, 2, no(1, 1 * S, 9 * S, id=False), name="b"),
            reserve(7 * S, 2, yes(0, 10 * S, id=True, token=BASE + 7 * S), name="b"),
        ],
    ),
    Scenario(
        "expired/reset",
        "A reset forgets what expired with all else",
        [drips(lease=5)],
        [reserve(0, 10), reset(6 * S), peek(6 * S, 10, yes(10, 0)), commit(6 * S, 3, HAD_ENDED)],
    ),
    Scenario(
        "expired/reset-of-the-key",
        "The resource keeps what is yet to be charged to it: at 4 s, in a window that is over when the key is reset at 10 s",
        [two_level("fixed_window", key=3, resource=4, window_start="first_request", lease_seconds=4)],
        [
            check(0, 1, resource="printer"),
            reserve(0, 2, resource="printer"),
            reset(10 * S, resource="printer"),
            check(10 * S, 1, yes(2, 10 * S, limit=3), resource="printer"),
            check(10 * S, 3, yes(0, 10 * S), key="bob", resource="printer"),
        ],
    ),
    Scenario(
        "expired/check_all",
        "Charged to its own rule alone, before the items are decided; the denial changes nothing else",
        [drips(lease=5), rule("fixed_window", 5, 10, rule_id="other")],
        [
            reserve(0, 10),
            check_all(6 * S, item(cost=2), item("other"), by_hand=no(1, 1 * S, 9 * S, rule="api")),
            check_all(7 * S, item(cost=2), item("other"), by_hand=yes(0, 10 * S, rule="api")),
            peek(7 * S, 1, yes(4, 3 * S), rule="other"),
        ],
    ),
    Scenario(
        "expired/limit",
        "Charged with the limit of the reserve, whatever the limit of the call that finds it: 8 units at 2 per second",
        [drips(lease=5)],
        [
            reserve(0, 8, limit=20),
            peek(6 * S, 5, no(4, 500 * MS, 3 * S)),
            check(6 * S, 14, yes(0, 10 * S, limit=20), limit=20),
        ],
    ),
    Scenario(
        "expired/limit-in-force",
        "Without a limit of its own it is charged with the rule's, whatever the limit of the call that finds it",
        [drips(lease=5)],
        [
            reserve(0, 8),
            peek(7 * S, 1, yes(14, 6 * S, limit=20), limit=20),
            check(7 * S, 1, yes(13, 3_500 * MS, limit=20), limit=20),
        ],
    ),
    Scenario(
        "expired/two-limits",
        "Charged to every limit of the rule",
        [
            rule(
                "fixed_window",
                limits=[{"limit": 2, "window_size_seconds": 1}, {"limit": 5, "window_size_seconds": 10}],
                reservations=True,
                lease_seconds=5,
            )
        ],
        [
            reserve(0, 2),
            check(5_500 * MS, 1, no(0, 500 * MS, 4_500 * MS, limit=2)),
            check(6 * S, 2, yes(0, 4 * S, limit=2)),
            check(7 * S, 2, no(1, 3 * S, 3 * S, limit=5)),
        ],
    ),
    *(
        Scenario(
            f"expired/resource-{name}",
            "Alice's 3 are charged to the resource when bob comes, and to her own key when she does",
            [two_level(name, 3, 5, lease_seconds=5)],
            [
                reserve(0, 3, resource="printer"),
                check(6 * S, 3, {"allowed": False, "limit": 5}, key="bob", resource="printer"),
                peek(6 * S, 1, resource="printer"),
                peek(9 * S, 3, resource="printer"),
                peek(9 * S, 5, key="carol", resource="printer"),
            ],
        )
        for name in ("fixed_window", "sliding_window", "sliding_log", "sliding_buckets", "gcra")
    ),
    Scenario(
        "expired/shadow",
        "Of a rule in shadow what was held is charged; what held nothing charges nothing",
        [drips(shadow=True, lease=5)],
        [
            reserve(0, 8, {"shadow_denied": False}),
            reserve(0, 5, {"shadow_denied": True}, name="b"),
            peek(6 * S, 3, yes(3, 7 * S)),
            commit(6 * S, 5, HAD_ENDED, name="b"),
            peek(6 * S, 3, yes(3, 7 * S)),
        ],
    ),
    Scenario(
        "expired/clock-steps-back",
        "What was used is healed to now, and what is held ends a lease from now: charged at 55 s, one of it is left at 60 s",
        [drips(lease=5)],
        [
            check(60 * S, 3),
            reserve(60 * S, 6),
            check(50 * S, 1, yes(0, 10 * S)),
            peek(55 * S, 5, no(4, 1 * S, 6 * S)),
            peek(60 * S, 10, no(9, 1 * S, 1 * S)),
        ],
    ),
]
