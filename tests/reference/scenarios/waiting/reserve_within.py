"""reserve with a wait: until there is room for what is reserved."""

from ..reservations.held import budget, drips, holding, in_flight
from ..script import (
    BASE,
    HOUR,
    MS,
    S,
    Scenario,
    block,
    check,
    commit,
    error,
    no,
    out,
    peek,
    release,
    renew,
    reserve,
    reset,
    rule,
    set_limit,
    yes,
)
from .rooms import COMES_BACK_AFTER

DESCRIPTION = "reserve that waits: until there is room, or it is known that there will be none in time"

SCENARIOS = (
    [
        Scenario(
            f"reserve_within/in-time-{name}",
            "All is used, nothing is held: the wait takes to the microsecond as long as it may",
            [holding(name)],
            [
                check(0, 10),
                reserve(0, 1, {"allowed": True, "id": True, "token": BASE + after}, wait=after),
                reserve(after, 10, {"allowed": False, "id": False}, name="b"),
            ],
        )
        for name, after in COMES_BACK_AFTER.items()
    ]
    + [
        Scenario(
            f"reserve_within/too-late-{name}",
            "A microsecond too short: denied at once, and nothing is held",
            [holding(name)],
            [
                check(0, 10),
                reserve(0, 1, {"allowed": False, "id": False, "retry_after_us": after}, wait=after - 1),
                release(0, {"took_effect": False}),
                peek(after, 1, {"allowed": True}),
            ],
        )
        for name, after in COMES_BACK_AFTER.items()
    ]
    + [
        Scenario(
            "reserve_within/place",
            "The one place is taken for 60 s, unless it is released: the wait ends with the lease",
            [in_flight(1)],
            [
                reserve(0, 1, yes(0, 60 * S)),
                reserve(S, 1, no(0, 59 * S, 59 * S, id=False), name="b", wait=58 * S),
                reserve(S, 1, yes(0, 60 * S, id=True, token=BASE + 60 * S), name="b", wait=59 * S),
                release(60 * S, name="b"),
                release(60 * S, {"took_effect": False}),
            ],
        ),
        Scenario(
            "reserve_within/place-that-is-free",
            "With room there is nothing to wait for",
            [in_flight(2)],
            [reserve(0, 1, yes(1, 60 * S), wait=HOUR), reserve(0, 1, yes(0, 60 * S), name="b", wait=0)],
        ),
        Scenario(
            "reserve_within/several-leases",
            "Three places are wanted: the wait goes on until the second lease has ended, at 2.5 s",
            [in_flight(3, 2)],
            [
                reserve(0, 1),
                reserve(500 * MS, 1, name="b"),
                reserve(S, 3, no(1, 1500 * MS, 1500 * MS), name="c", wait=1499 * MS),
                reserve(S, 3, yes(0, 2 * S, token=BASE + 2500 * MS), name="c", wait=1500 * MS),
            ],
        ),
        Scenario(
            "reserve_within/renewed",
            "What was renewed is held for longer",
            [in_flight(1, 5)],
            [reserve(0, 1), renew(3 * S), reserve(4 * S, 1, no(0, 4 * S, 4 * S), name="b", wait=3 * S)],
        ),
        Scenario(
            "reserve_within/never",
            "More than there is can never be held",
            [in_flight(3)],
            [reserve(0, 4, no(3, "never", 0, id=False), wait=HOUR), peek(0, 3, yes(3, 0))],
        ),
        Scenario(
            "reserve_within/expired",
            "What is held is charged in full where it expires, at 3 s, and comes back with the next window",
            [budget(10, 10, 3)],
            [reserve(0, 10), reserve(S, 4, yes(6, 10 * S), name="b", wait=9 * S), peek(10 * S, 1, {"remaining": 6})],
        ),
        Scenario(
            "reserve_within/committed",
            "Less was used than was held: there is room at once",
            [budget()],
            [
                reserve(0, 10),
                reserve(S, 4, {"allowed": False}, name="b", wait=S),
                commit(S, 3),
                reserve(S, 7, {"allowed": True, "remaining": 0}, name="b", wait=S),
            ],
        ),
        Scenario(
            "reserve_within/drips",
            "One comes back each second: 3 s for three",
            [drips()],
            [check(0, 10), reserve(0, 3, no(0, 3 * S, 10 * S), wait=2 * S), reserve(0, 3, {"allowed": True}, wait=3 * S)],
        ),
        Scenario(
            "reserve_within/block",
            "Blocked for 30 s: the wait is over when the block is",
            [budget(block={})],
            [
                block(0, 30),
                reserve(0, 1, out(30 * S, id=False), wait=29 * S),
                reserve(0, 1, {"allowed": True, "token": BASE + 30 * S}, wait=30 * S),
            ],
        ),
        Scenario(
            "reserve_within/block-that-it-begins",
            "Its denial begins a block of 20 s, which it then waits for",
            [budget(10, 10, block={"seconds": 20})],
            [check(0, 10), reserve(0, 1, {"allowed": True, "token": BASE + 20 * S}, wait=20 * S)],
        ),
        Scenario(
            "reserve_within/stored-limit",
            "A stored limit of 1 is what it waits under",
            [in_flight(5, 2, overrides=True)],
            [set_limit(0, 1), reserve(0, 1), reserve(0, 1, yes(0, 2 * S, limit=1), name="b", wait=2 * S)],
        ),
        Scenario(
            "reserve_within/limit-of-the-call",
            "The call's own limit has room, the rule's has none for 10 s",
            [budget(2)],
            [check(0, 2), reserve(0, 1, no(0, 10 * S, 10 * S), wait=S), reserve(0, 1, {"allowed": True}, limit=3, wait=S)],
        ),
        Scenario(
            "reserve_within/shadow",
            "A rule in shadow admits at once, and holds nothing",
            [budget(1, shadow=True)],
            [check(0, 1), reserve(0, 1, {"allowed": True, "shadow_denied": True, "id": True}, wait=HOUR)],
        ),
        Scenario(
            "reserve_within/after-reset",
            "A reset frees the room that the wait needs",
            [in_flight(1)],
            [reserve(0, 1), reset(S), reserve(S, 1, yes(0, 60 * S), name="b", wait=S), release(S, {"took_effect": False})],
        ),
        Scenario(
            "reserve_within/mistakes",
            "What is wrong with a reserve is wrong with one that waits",
            [budget(1), rule("fixed_window", 1, 10, rule_id="plain")],
            [
                reserve(0, 1, error("UnknownRule"), rule="other", wait=S),
                reserve(0, 1, error("InvalidArgument"), rule="plain", wait=S),
                reserve(0, 0, error("InvalidArgument"), wait=S),
                reserve(0, 1, error("InvalidArgument"), key="", wait=S),
                reserve(0, 1, {"allowed": True}, wait=S),
            ],
        ),
    ]
)
