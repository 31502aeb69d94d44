"""Stored limits that change while something is held, or while a block lasts."""

from ..blocks.blocking import BLOCKED, for_a
from ..reservations.held import in_flight
from ..script import (
    S,
    Scenario,
    block,
    charge,
    check,
    clear_limit,
    commit,
    item,
    no,
    out,
    peek,
    release,
    renew,
    reserve,
    reserve_all,
    reset,
    set_limit,
    unblock,
    yes,
)
from .overriding import counter, drips, overriding, per_algorithm

DESCRIPTION = "Stored limits across reservations and blocks"

HELD = {"allowed": True, "id": True}
DENIED = {"allowed": False, "id": False}

SCENARIOS = [
    *per_algorithm(
        "change/held",
        "6 of 10 are held, 12 of 20 too; with 10 again nothing is left beside the 6",
        [
            reserve(0, 6, {**HELD, "remaining": 4, "limit": 10}),
            set_limit(0, 20),
            reserve(0, 12, {**HELD, "remaining": 2, "limit": 20}, name="b"),
            clear_limit(0),
            reserve(0, 1, {**DENIED, "remaining": 0, "limit": 10}, name="c"),
            release(0, name="b"),
            peek(0, 4, {"allowed": True, "remaining": 4}),
            commit(0, 1),
            peek(0, 9, {"allowed": True, "remaining": 9}),
        ],
        reservations=True,
    ),
    Scenario(
        "change/committed-under-another",
        "Reserved at one a second, committed at one in half a second, which is the limit in force then",
        [drips(10, 10, reservations=True)],
        [
            reserve(0, 6, {**HELD, "limit": 10}),
            set_limit(1 * S, 20),
            commit(2 * S, 6),
            peek(2 * S, 1, yes(14, 3 * S, limit=20)),
        ],
    ),
    Scenario(
        "change/committed-after-clearing",
        "The other way round: reserved under the stored limit, committed under the rule's",
        [drips(10, 10, reservations=True)],
        [
            set_limit(0, 20),
            reserve(0, 12, {**HELD, "remaining": 8, "limit": 20}),
            clear_limit(1 * S),
            commit(2 * S, 12),
            peek(2 * S, 1, no(0, 3 * S, 12 * S, limit=10)),
        ],
    ),
    Scenario(
        "change/limit-of-the-call-stays",
        "A reservation with a limit of its own is charged under that one, whatever is stored",
        [drips(10, 10, reservations=True)],
        [
            reserve(0, 12, {**HELD, "remaining": 8, "limit": 20}, limit=20),
            set_limit(0, 5),
            commit(0, 12),
            peek(0, 1, no(0, 4 * S, 6 * S, limit=5)),
        ],
    ),
    Scenario(
        "change/expires-under-the-stored-limit",
        "A reservation that expires is charged under the limit in force: 6 at one in half a second",
        [drips(10, 10, reservations=True, lease_seconds=5)],
        [
            set_limit(0, 20),
            reserve(0, 6, HELD),
            peek(5 * S, 1, yes(14, 3 * S, limit=20)),
            check(6 * S, 1, yes(15, 2_500_000, limit=20)),
            renew(7 * S, {"took_effect": False}),
        ],
    ),
    Scenario(
        "change/expired-in-a-window",
        "The window does not ask for the limit: 6 expired count 6 before and after the change",
        [counter(reservations=True, lease_seconds=2)],
        [
            reserve(0, 6, HELD),
            set_limit(3 * S, 7),
            peek(3 * S, 1, yes(1, 7 * S, limit=7)),
            clear_limit(4 * S),
            check(4 * S, 4, yes(0, 6 * S, limit=10)),
        ],
    ),
    Scenario(
        "change/at-the-end-of-a-window",
        "1 expires at 5 s, in a window that ends at 10 s, when the limit is changed: the window is not forgotten before",
        [overriding("first_request", reservations=True, lease_seconds=5)],
        [
            reserve(0, 1, HELD),
            check(0, 2, yes(7, 10 * S)),
            set_limit(10 * S, 8),
            check(10 * S, 1, yes(7, 10 * S, limit=8)),
        ],
    ),
    Scenario(
        "change/log-charges-what-fits-in-it",
        "A commit adds twice the limit in force to a log at most",
        [overriding("list", reservations=True)],
        [
            set_limit(0, 3),
            reserve(0, 2, HELD),
            commit(0, 50),
            clear_limit(0),
            peek(0, 4, yes(4, 10 * S, limit=10)),
        ],
    ),
    Scenario(
        "change/places",
        "Places: 3, with a stored limit 5, and with 2 none is free until two have ended",
        [in_flight(3, 30, overrides=True)],
        [
            reserve(0, 3, {**HELD, "remaining": 0, "limit": 3}),
            set_limit(0, 5),
            reserve(0, 2, {**HELD, "remaining": 0, "limit": 5}, name="b"),
            set_limit(0, 2),
            reserve(0, 1, {**DENIED, "remaining": 0, "limit": 2, "retry_after_us": 30 * S}, name="c"),
            release(1 * S),
            reserve(1 * S, 1, {**DENIED, "remaining": 0, "limit": 2}, name="c"),
            reserve(1 * S, 3, {**DENIED, "retry_after_us": "never", "limit": 2}, name="c"),
            release(2 * S, name="b"),
            reserve(2 * S, 2, {**HELD, "remaining": 0, "limit": 2}, name="c"),
        ],
    ),
    Scenario(
        "change/places-expire",
        "A stored limit of places expires at its microsecond",
        [in_flight(1, 30, overrides=True)],
        [
            set_limit(0, 2, expires_in=5),
            reserve(0, 1, {**HELD, "remaining": 1, "limit": 2}),
            reserve(5 * S, 1, {**DENIED, "remaining": 0, "limit": 1, "retry_after_us": 25 * S}, name="b"),
            reserve(30 * S, 1, {**HELD, "remaining": 0, "limit": 1}, name="b"),
        ],
    ),
    Scenario(
        "change/reset",
        "A reset ends what is held and keeps the limit",
        [counter(reservations=True)],
        [
            set_limit(0, 20),
            reserve(0, 15, {**HELD, "remaining": 5}),
            reset(0),
            commit(0, 15, {"took_effect": False}),
            peek(0, 20, yes(20, 0, limit=20)),
        ],
    ),
    Scenario(
        "change/reserve_all",
        "Two items, one under a stored limit",
        [counter(reservations=True), counter(3, rule_id="b", reservations=True)],
        [
            set_limit(0, 9, rule="b"),
            reserve_all(0, item(cost=4), item("b", cost=5), by_hand={**HELD, "remaining": 4, "rule": "b", "limit": 9}),
            clear_limit(0, rule="b"),
            commit(0),
            peek(0, 1, no(0, 10 * S, 10 * S, limit=3), rule="b"),
            peek(0, 1, yes(6, 10 * S, limit=10)),
        ],
    ),
    Scenario(
        "change/denied-by-a-stored-limit",
        "A stored limit is one of the rule: its denial begins a block. A higher one ends none",
        [counter(block=for_a(60))],
        [
            check(0, 5, yes(5, 10 * S)),
            set_limit(0, 5),
            check(0, 1, out(60 * S, limit=5)),
            set_limit(1 * S, 100),
            check(1 * S, 1, out(59 * S, limit=100)),
            clear_limit(2 * S),
            check(59 * S, 1, {**BLOCKED}),
            check(60 * S, 10, yes(0, 10 * S)),
        ],
    ),
    Scenario(
        "change/charged-under-a-stored-limit",
        "A charge leaves room under 20, but none under 10",
        [counter(block=for_a(60))],
        [
            set_limit(0, 20),
            charge(0, 12, yes(8, 10 * S, limit=20, blocked=False)),
            clear_limit(0),
            peek(0, 1, no(0, 10 * S, 10 * S, blocked=False)),
            charge(0, 1, out(60 * S, limit=10)),
        ],
    ),
    Scenario(
        "change/unblock-keeps-the-limit",
        "A block and a stored limit have nothing to do with each other",
        [counter(block={})],
        [
            set_limit(0, 4, expires_in=30),
            block(0, 20),
            peek(0, 1, out(20 * S, limit=4)),
            unblock(1 * S),
            peek(1 * S, 1, yes(4, 0, limit=4)),
            block(1 * S, 60),
            reset(2 * S),
            peek(2 * S, 1, yes(4, 0, limit=4)),
            peek(30 * S, 1, yes(10, 0, limit=10)),
        ],
    ),
]
