"""Which rules the random histories of waits play with."""

from ..random_plans import Plan
from ..reservations.held import EVERY, holding, in_flight
from ..reservations.random_plans import NEIGHBOUR
from ..script import MS, S, rule
from .rooms import room

WAITS = (0, 5 * S, 60 * S)
SEVERAL = [
    rule("fixed_window", 6, 2, rule_id="a", priority=2),
    rule("gcra", 7, 4, rule_id="b", priority=1),
    rule("sliding_log", 5, 2, rule_id="c", shadow=True),
    rule("token_bucket", 5, 3, rule_id="d", block={"seconds": 1}),
]
TOGETHER = [
    *SEVERAL[:2],
    rule("sliding_buckets", 6, 2, rule_id="held", resolution_seconds=0.5, reservations=True, lease_seconds=2),
    in_flight(4, 3, rule_id="in_flight"),
]

PLANS = {
    "waiting/wait": [
        Plan(
            f"wait/random-{name}",
            "Waits and checks; many wait exactly as long as they may, or a microsecond longer",
            [room(name)],
            3 * S,
            ops=("wait",) * 12 + ("check",) * 8 + ("peek", "charge", "refund", "reset"),
            waits=WAITS,
            histories=1,
        )
        for name in EVERY
    ],
    "waiting/wait_all": [
        Plan(
            "wait_all/random",
            "Two to four items of four rules",
            SEVERAL,
            600 * MS,
            keys=("alice", "alice", NEIGHBOUR),
            ops=("wait_all",) * 10 + ("check_all",) * 4 + ("check",) * 4 + ("peek", "reset"),
            waits=(0, S, 9 * S),
            histories=6,
        )
    ],
    "waiting/reserve_within": [
        Plan(
            f"reserve_within/random-{name}",
            "Reservations that wait, some ended and some not",
            [holding(name, 3)],
            3 * S,
            ops=("reserve",) * 12 + ("commit",) * 5 + ("release",) * 3 + ("renew", "check", "peek"),
            waits=WAITS,
            histories=1,
        )
        for name in EVERY
    ]
    + [
        Plan(
            "reserve_within/random-places",
            "Work in flight",
            [in_flight(4, 3)],
            S,
            costs=(1, 2, 3, 5),
            ops=("reserve",) * 12 + ("release",) * 4 + ("renew", "peek"),
            waits=(0, S, 4 * S),
            histories=3,
        )
    ],
    "waiting/reserve_all_within": [
        Plan(
            "reserve_all_within/random",
            "Two to four items of rules with and without reservations",
            TOGETHER,
            600 * MS,
            costs=(1, 2, 3),
            keys=("alice", "alice", NEIGHBOUR),
            ops=("reserve_all",) * 12 + ("commit",) * 5 + ("release",) * 3 + ("renew", "peek"),
            waits=(0, S, 9 * S),
            histories=8,
        )
    ],
}
