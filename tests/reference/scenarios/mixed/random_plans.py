"""Which rules the random histories of blocks, stored limits and request ids play with."""

from ..blocks.blocking import BY_HAND, blocking, for_a
from ..random_plans import Plan
from ..reservations.held import EVERY, drips, holding, in_flight
from ..reservations.random_plans import NEIGHBOUR
from ..script import MS, S, rule
from ..stored_limits.overriding import ALL, overriding

DECIDING = ("check",) * 10 + ("charge",) * 2 + ("peek",) * 3 + ("refund", "reset")
HELD = ("reserve",) * 4 + ("commit",) * 3 + ("release", "renew")
BLOCKING = ("block", "unblock")
STORING = ("set_limit",) * 3 + ("clear_limit",)
REPEATING = ("repeat",) * 8

GROWING = for_a(1, 2, 5)
STORED = {"stored": (3, 6, 20, 40), "expiries": (0.5, 2, 7)}
WINDOWED = ("fixed_window", "sliding_window", "sliding_log", "sliding_buckets", "gcra")


def counting_denied(name: str, algorithm: str, window: int | None, options: dict) -> Plan:
    return Plan(
        f"begin/random-count_denied-{name}",
        "Blocks of a rule that counts denials",
        [rule(algorithm, 8, window, **options, block=GROWING, count_denied=True)],
        2 * S,
        costs=(1, 2, 3),
        ops=DECIDING + BLOCKING,
        seconds=(1, 4),
        histories=1,
    )


BEGIN = [
    Plan(
        f"begin/random-{name}",
        "Checks and charges of two keys that are blocked for 1 to 5 s, now and then by hand",
        [blocking(name, GROWING)],
        2 * S,
        costs=(1, 2, 4, 11),
        keys=("alice", "alice", "bob"),
        ops=DECIDING + BLOCKING,
        seconds=(0.5, 1, 4, 9),
        overrides=(5, 20),
        steps=36,
    )
    for name in EVERY
] + [
    counting_denied("fixed_window", "fixed_window", 8, {}),
    counting_denied("sliding_window", "sliding_window", 8, {}),
    counting_denied("sliding_buckets", "sliding_buckets", 8, {"resolution_seconds": 1}),
    counting_denied("decay", "decay", None, {"resolution_seconds": 2}),
    *(
        Plan(
            f"begin/random-two-limits-{name}",
            "3 per 0.5 s and 10 per 5 s at once",
            [
                rule(
                    name,
                    limits=[{"limit": 3, "window_size_seconds": 0.5}, {"limit": 10, "window_size_seconds": 5}],
                    block=for_a(0.5, 1.5, 2),
                )
            ],
            500 * MS,
            costs=(1, 2, 3),
            ops=DECIDING,
            histories=1,
        )
        for name in WINDOWED
    ),
]
HELD_BLOCKS = [
    Plan(
        f"held/random-{name}",
        "Reservations of a key that is blocked now and then; some are never ended",
        [holding(name, 3, block=GROWING)],
        2 * S,
        costs=(1, 2, 4, 11),
        ops=DECIDING + HELD * 2 + BLOCKING,
        seconds=(1, 4),
        histories=1,
        steps=40,
    )
    for name in EVERY
] + [
    Plan(
        "held/random-places",
        "Three places of a key that is blocked by hand, and by asking for four",
        [in_flight(3, 3, block=GROWING, overrides=True)],
        2 * S,
        costs=(1, 1, 2, 4),
        ops=("reserve",) * 8 + ("release",) * 4 + ("renew", "peek", "peek", "reset", "commit") + BLOCKING + STORING,
        seconds=(1, 4),
        stored=(2, 5),
        expiries=(1, 5),
        histories=3,
        steps=36,
    ),
]
TOGETHER = [
    Plan(
        "together/random-mixed",
        "Two to four items of rules with blocks, without, in shadow, counting denials, and with reservations",
        [
            rule("fixed_window", 5, 2, rule_id="plain", priority=2),
            rule("gcra", 6, 4, rule_id="blocking", priority=1, block=for_a(1, 2, 4)),
            rule("sliding_window", 6, 2, rule_id="counting", count_denied=True, block=for_a(0.5)),
            rule("sliding_log", 5, 2, rule_id="shadow", shadow=True, block=for_a(2)),
            drips(6, 6, 2, rule_id="held", block=for_a(1, 1.5)),
        ],
        800 * MS,
        costs=(1, 2, 3, 4),
        keys=("alice", "alice", NEIGHBOUR),
        ops=("check_all",) * 8 + ("reserve_all",) * 4 + ("commit",) * 3 + ("check", "charge", "peek") + BLOCKING,
        seconds=(1, 2),
        used_by_rule=True,
        histories=5,
        steps=36,
    ),
]
CHANGE = [
    Plan(
        f"change/random-{name}",
        "Reservations, checks and charges under a limit that is stored, changed, cleared, and expires",
        [overriding(name, reservations=True, lease_seconds=3)],
        3 * S,
        costs=(1, 2, 4, 7),
        ops=DECIDING + HELD * 2 + STORING * 2,
        overrides=(5, 10),
        **STORED,
        steps=36,
    )
    for name in ALL
]
SET_LIMIT = [
    Plan(
        f"set_limit/random-{name}",
        "Two keys whose limit is stored, changed and cleared, and expires",
        [overriding(name)],
        3 * S,
        costs=(1, 2, 4, 7),
        keys=("alice", "alice", "bob"),
        ops=DECIDING + STORING,
        **STORED,
    )
    for name in ALL
]
REPEAT = [
    Plan(
        f"repeat/random-{name}",
        "Half of the calls have an id, and many are repeated; now and then with another cost",
        [rule(algorithm, limit, window, **options)],
        3 * S,
        costs=(1, 2, 3, 5),
        ops=DECIDING + REPEATING,
        overrides=(5, 20),
        request_ids=True,
    )
    for name, (algorithm, limit, window, options) in EVERY.items()
] + [
    Plan(
        "repeat/random-slow",
        "Answers that are kept no longer",
        [rule("gcra", 8, 80)],
        40 * S,
        costs=(1, 2, 5),
        ops=DECIDING + REPEATING * 2,
        request_ids=True,
    ),
    Plan(
        "repeat/random-check_all",
        "Two to four items of three rules, repeated as a whole",
        [
            rule("fixed_window", 6, 2, rule_id="a", priority=2),
            rule("gcra", 7, 2, rule_id="b", priority=1),
            rule("sliding_log", 5, 2, rule_id="c", shadow=True),
        ],
        1 * S,
        costs=(1, 2, 3),
        keys=("alice", "alice", NEIGHBOUR),
        ops=("check_all",) * 8 + ("check", "charge", "refund", "peek") + REPEATING,
        request_ids=True,
        histories=5,
    ),
]
EVERYTHING = [
    Plan(
        f"everything/random-{name}",
        "Two keys: reservations, blocks, stored limits and repeated calls",
        [holding(name, 3, block=GROWING, overrides=True)],
        2 * S,
        costs=(1, 1, 2, 4, 11),
        keys=("alice", "alice", "alice", "bob"),
        ops=DECIDING + HELD * 2 + BLOCKING * 2 + STORING + REPEATING,
        seconds=(1, 4),
        **STORED,
        request_ids=True,
        histories=3,
        steps=44,
    )
    for name in (*EVERY, "uniform")
] + [
    Plan(
        "everything/random-together",
        "Items of rules of all kinds: reservations, blocks, stored limits and repeated calls",
        [
            rule("fixed_window", 6, 2, rule_id="plain", priority=2),
            rule("gcra", 6, 4, rule_id="blocking", priority=1, block=for_a(1, 2, 4), overrides=True),
            rule("sliding_buckets", 6, 2, rule_id="counting", resolution_seconds=0.5, count_denied=True, block=for_a(0.5)),
            rule("token_bucket", 5, 2, rule_id="shadow", shadow=True, block=for_a(2), overrides=True),
            rule("sliding_log", 6, 4, rule_id="held", reservations=True, lease_seconds=2, block=for_a(1), overrides=True),
            in_flight(4, 2, rule_id="in_flight", block=BY_HAND, overrides=True),
        ],
        800 * MS,
        costs=(1, 2, 3),
        keys=("alice", "alice", NEIGHBOUR),
        ops=("check_all",) * 6
        + ("reserve_all",) * 6
        + ("commit",) * 4
        + ("release", "renew", "charge", "peek", "refund")
        + BLOCKING
        + STORING
        + REPEATING,
        seconds=(1, 2),
        stored=(3, 9),
        expiries=(0.5, 2),
        request_ids=True,
        used_by_rule=True,
        histories=6,
        steps=44,
    ),
]

PLANS = {
    "blocks/begin": BEGIN,
    "blocks/held": HELD_BLOCKS,
    "blocks/together": TOGETHER,
    "stored_limits/change": CHANGE,
    "stored_limits/set_limit": SET_LIMIT,
    "request_ids/repeat": REPEAT,
    "mixed/everything": EVERYTHING,
}
