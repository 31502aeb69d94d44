"""Which rules the random histories of reservations play with. Leases are short, so that many expire."""

from ..random_plans import Plan
from ..script import MS, S, rule
from .held import EVERY, budget, drips, holding, in_flight, two_level

NEIGHBOUR = "bob-5580"
"""In the hash slot of alice: a Cluster decides about both at once."""

ALL = (
    ("reserve",) * 10
    + ("commit",) * 7
    + ("check",) * 4
    + ("peek",) * 3
    + ("release", "renew") * 2
    + ("charge", "refund", "reset")
)
PLACES = ("reserve",) * 10 + ("release",) * 6 + ("renew",) * 2 + ("commit", "peek", "peek", "reset")
TOGETHER = ("reserve_all",) * 10 + ("commit",) * 6 + ("check_all",) * 2 + ("release", "renew", "peek", "peek", "refund")


def two_limits(algorithm: str) -> dict:
    limits = [{"limit": 4, "window_size_seconds": 2}, {"limit": 10, "window_size_seconds": 10}]
    return rule(algorithm, limits=limits, reservations=True, lease_seconds=3)


RESERVE = [
    Plan(
        f"reserve/random-{name}",
        "Reservations, commits and checks of one key, some never ended; the clock steps back now and then",
        [holding(name, 3)],
        3 * S,
        costs=(1, 2, 3, 5),
        ops=ALL,
        steps_back=True,
    )
    for name in EVERY
]
COMMIT = [
    Plan(
        f"commit/random-{name}",
        "Commits of less, of as much, and of far more than was reserved",
        [holding(name, 8)],
        4 * S,
        costs=(1, 2, 4, 6),
        ops=("reserve",) * 8 + ("commit",) * 8 + ("peek", "check"),
    )
    for name in EVERY
]
EXPIRED = [
    Plan(
        f"expired/random-{name}",
        "Hardly anything is ended: it expires, and is found by the calls that follow",
        [holding(name, 2)],
        4 * S,
        costs=(1, 2, 3),
        ops=("reserve",) * 10 + ("check",) * 5 + ("peek",) * 4 + ("commit", "renew", "refund"),
    )
    for name in EVERY
] + [
    Plan(
        f"expired/random-two-limits-{name}",
        "4 per 2 s and 10 per 10 s at once, leases of 3 s",
        [two_limits(name)],
        2 * S,
        costs=(1, 2, 3),
        ops=ALL,
        histories=1,
    )
    for name in ("fixed_window", "sliding_window", "sliding_log", "sliding_buckets", "gcra")
]
RELEASE = [
    Plan(
        f"release/random-resource-{name}",
        "Two keys on two resources: 8 for each resource, 5 for each key on it",
        [two_level(name, 5, 8, lease_seconds=3)],
        3 * S,
        costs=(1, 2, 3),
        keys=("alice", "bob"),
        ops=ALL + ("release",) * 5,
        histories=1,
        steps=36,
    )
    for name in ("fixed_window", "sliding_window", "sliding_log", "sliding_buckets", "gcra")
]
RENEW = [
    Plan(
        f"renew/random-limits-{made['algorithm']}",
        "Renewed and ended under limits that change from call to call",
        [made],
        3 * S,
        costs=(1, 2, 4),
        overrides=(5, 20, 40),
        ops=ALL + ("renew",) * 4,
    )
    for made in (budget(lease=4), drips(lease=4), holding("list", 4), holding("sliding_window", 4))
]
CONCURRENCY = [
    Plan(
        "concurrency/random-places",
        "Three places",
        [in_flight(3, 2)],
        2 * S,
        costs=(1, 1, 2, 4),
        ops=PLACES,
        steps_back=True,
        histories=3,
    ),
    Plan(
        "concurrency/random-limits",
        "A limit that changes from call to call",
        [in_flight(10, 2)],
        2 * S,
        costs=(1, 2, 3, 5),
        ops=PLACES,
        overrides=(3, 6, 15),
    ),
    Plan(
        "concurrency/random-resource",
        "Two keys on two resources: 5 places for each resource, 3 for each key on it",
        [two_level("concurrency", 3, 5, None, lease_seconds=2)],
        2 * S,
        costs=(1, 1, 2),
        keys=("alice", "bob"),
        ops=PLACES,
        histories=3,
    ),
    Plan(
        "concurrency/random-shadow",
        "Three places in shadow",
        [in_flight(3, 2, shadow=True)],
        2 * S,
        costs=(1, 1, 2, 4),
        ops=PLACES,
    ),
]
RESERVE_ALL = [
    Plan(
        "reserve_all/random-mixed",
        "Two to four items of five rules: charged at once, held, in flight, in shadow",
        [
            rule("fixed_window", 9, 2, rule_id="plain", priority=2),
            drips(12, 6, 2, rule_id="held", priority=1),
            in_flight(5, 3, rule_id="in_flight"),
            budget(4, 3, 2, rule_id="shadow", shadow=True),
            rule("sliding_window", 9, 2, rule_id="denied", count_denied=True),
        ],
        1 * S,
        costs=(1, 2, 3),
        keys=("alice", "alice", NEIGHBOUR),
        ops=("reserve_all",) * 10 + ("commit",) * 6 + ("release", "renew"),
        used_by_rule=True,
        histories=5,
        steps=36,
    ),
    Plan(
        "reserve_all/random-held",
        "Two to four items of three rules that hold, beside checks",
        [
            rule("sliding_log", 9, 2, rule_id="log", reservations=True, lease_seconds=1),
            drips(12, 6, 2, rule_id="debt"),
            rule("sliding_buckets", 9, 3, rule_id="buckets", resolution_seconds=0.5, reservations=True, lease_seconds=3),
        ],
        500 * MS,
        costs=(1, 2, 3),
        keys=("alice", "alice", NEIGHBOUR),
        ops=TOGETHER,
        used_by_rule=True,
        histories=4,
        steps=36,
    ),
]

BEYOND = [
    Plan(
        f"commit/random-overdrawn-{name}",
        "Charges and commits far beyond the limit, refunds, and a limit that changes from call to call",
        [holding(name, 4)],
        4 * S,
        costs=(1, 3, 7),
        ops=("reserve",) * 8 + ("commit",) * 6 + ("charge",) * 4 + ("refund",) * 3 + ("check", "peek", "renew"),
        overrides=(5, 20),
        histories=1,
    )
    for name in EVERY
    if name != "token_bucket"
]
SHADOW = [
    Plan(
        f"reserve/random-shadow-{name}",
        "A rule in shadow with two limits: what has room is held, of the rest is charged what fits",
        [two_limits(name) | {"shadow": True}],
        2 * S,
        costs=(1, 2, 3, 5),
        ops=ALL,
        steps_back=True,
    )
    for name in ("fixed_window", "sliding_window", "sliding_log", "sliding_buckets", "gcra")
]

PLANS = {
    "reservations/reserve": RESERVE + SHADOW,
    "reservations/commit": COMMIT + BEYOND,
    "reservations/expired": EXPIRED,
    "reservations/release": RELEASE,
    "reservations/renew": RENEW,
    "reservations/concurrency": CONCURRENCY,
    "reservations/reserve_all": RESERVE_ALL,
}
