"""reserve_all with a wait: until there is room for all that is reserved."""

from ..reservations.held import EVERY, budget, holding, in_flight
from ..script import (
    BASE, HOUR, S, Scenario, block, check, commit, error, item, no, out, peek, release, reserve, reserve_all, yes,
)  # fmt: skip
from .rooms import COMES_BACK_AFTER

DESCRIPTION = "reserve_all that waits: until there is room for all, or it is known that there will be none in time"

PLACE = in_flight(1, 20, rule_id="place")

SCENARIOS = (
    [
        Scenario(
            f"reserve_all_within/in-time-{name}",
            "Units are used up, the place is free: both are held when a unit is back, at the last microsecond",
            [holding(name), PLACE],
            [
                check(0, 10),
                reserve_all(0, item(), item("place"), by_hand={"allowed": True, "token": BASE + after}, wait=after),
                reserve(after, 1, {"allowed": False}, name="b", rule="place"),
            ],
        )
        for name, after in COMES_BACK_AFTER.items()
    ]
    + [
        Scenario(
            f"reserve_all_within/place-{name}",
            "The place is taken for 20 s: nothing of the other is held until then",
            [holding(name), PLACE],
            [
                reserve(0, 1, rule="place"),
                reserve_all(0, item(), item("place"), name="b", by_hand={"allowed": False, "id": False}, wait=19 * S),
                peek(0, 10, {"allowed": True, "remaining": 10}),
                reserve_all(0, item(), item("place"), name="b", by_hand={"allowed": True, "token": BASE + 20 * S}, wait=20 * S),
                commit(21 * S, name="b", costs={"api": 4, "place": 0}),
                peek(21 * S, 7, {"allowed": False, "remaining": 6}),
            ],
        )
        for name in EVERY
    ]
    + [
        Scenario(
            "reserve_all_within/charged-at-once",
            "A rule without reservations is charged when the other has room",
            [budget(2, lease=5), budget(9, rule_id="plain") | {"reservations": False}],
            [
                check(0, 2),
                reserve_all(0, item(), item("plain", cost=4), by_hand=no(0, 10 * S, 10 * S, id=False), wait=9 * S),
                peek(0, 9, yes(9, 0), rule="plain"),
                reserve_all(0, item(), item("plain", cost=4), by_hand={"allowed": True, "id": True}, wait=10 * S),
                peek(10 * S, 9, no(5, 10 * S, 10 * S), rule="plain"),
                release(10 * S),
                peek(10 * S, 9, no(5, 10 * S, 10 * S), rule="plain"),
            ],
        ),
        Scenario(
            "reserve_all_within/never",
            "One of them never fits: denied at once",
            [budget(2), PLACE],
            [
                reserve_all(0, item(cost=3), item("place"), by_hand=no(1, "never", 0, id=False, rule="api"), wait=HOUR),
                reserve(0, 1, {"allowed": True}, rule="place"),
            ],
        ),
        Scenario(
            "reserve_all_within/block",
            "One is blocked for 30 s",
            [budget(2, block={}), PLACE],
            [
                block(0, 30),
                reserve_all(0, item(), item("place"), by_hand=out(30 * S, id=False), wait=29 * S),
                reserve_all(0, item(), item("place"), by_hand={"allowed": True, "token": BASE + 30 * S}, wait=30 * S),
            ],
        ),
        Scenario(
            "reserve_all_within/same-key-twice",
            "2 and 3 of one budget are held together, when there are five",
            [budget(5)],
            [
                check(0, 1),
                reserve_all(0, item(cost=2), item(cost=3), by_hand={"allowed": False, "id": False}, wait=9 * S),
                reserve_all(0, item(cost=2), item(cost=3), by_hand={"allowed": True, "remaining": 0}, wait=10 * S),
            ],
        ),
        Scenario(
            "reserve_all_within/mistakes",
            "What is wrong with a reserve_all is wrong with one that waits",
            [budget(2), budget(9, rule_id="plain") | {"reservations": False}],
            [
                reserve_all(0, by_hand=error("InvalidArgument"), wait=S),
                reserve_all(0, item("plain"), by_hand=error("InvalidArgument"), wait=S),
                reserve_all(0, item(), item("other"), by_hand=error("UnknownRule"), wait=S),
                reserve_all(0, item(), item("plain", cost=0), by_hand=error("InvalidArgument"), wait=S),
                reserve_all(0, item(), item("plain"), by_hand={"allowed": True}, wait=S),
            ],
        ),
    ]
)
