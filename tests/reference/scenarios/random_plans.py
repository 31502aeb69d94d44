"""Which rules the random histories play with."""

from dataclasses import dataclass

from .script import HOUR, MS, S, rule


@dataclass(frozen=True)
class Plan:
    id: str
    note: str
    rules: list[dict]
    span: int
    """The length of a typical jump, in microseconds: a window, or a few slots."""

    costs: tuple[int, ...] = (1, 2, 3, 5)
    ops: tuple[str, ...] = ("check",) * 22 + ("peek",) * 4 + ("refund",) * 3 + ("reset",)
    keys: tuple[str, ...] = ("alice",)
    overrides: tuple[int, ...] = ()
    used_by_rule: bool = False
    """Whether commits state the cost of one rule, for reservations of several items."""

    beyond: int = 13
    """A cost of a commit that is above the limit."""

    steps_back: bool = False
    seconds: tuple[float, ...] = ()
    """Of blocks by hand."""

    stored: tuple[int, ...] = ()
    expiries: tuple[float, ...] = ()
    """Of stored limits, in seconds."""

    request_ids: bool = False
    waits: tuple[int, ...] = ()
    """How long a wait may take, in microseconds."""

    steps: int = 28
    histories: int = 2


def windowed(file: str, algorithm: str, **options) -> list[Plan]:
    """Limits that do not divide their window, a tiny window and a long one."""
    mixed = "Mixed calls at random times"
    return [
        Plan(f"{file}/random-7-per-second", mixed, [rule(algorithm, 7, 1, **options)], S, costs=(1, 2, 3, 8)),
        Plan(f"{file}/random-3-per-tenth", mixed, [rule(algorithm, 3, 0.1, **options)], 100 * MS, costs=(1, 2, 4)),
        Plan(f"{file}/random-100-per-hour", mixed, [rule(algorithm, 100, 3600, **options)], HOUR, costs=(9, 30, 55)),
    ]


def named(plans: list[Plan], suffix: str) -> list[Plan]:
    return [Plan(**{**vars(plan), "id": plan.id.replace("/random-", f"/random-{suffix}-")}) for plan in plans]


def two_limits(algorithm: str, **options) -> dict:
    limits = [{"limit": 3, "window_size_seconds": 0.1}, {"limit": 10, "window_size_seconds": 1}]
    return rule(algorithm, limits=limits, **options)


def two_scopes(algorithm: str) -> dict:
    return rule(
        algorithm,
        limits=[
            {"limit": 5, "window_size_seconds": 1, "scope": "resource"},
            {"limit": 3, "window_size_seconds": 1, "scope": "key"},
        ],
    )


WINDOWED = ("fixed_window", "sliding_window", "sliding_log", "sliding_buckets", "gcra")
COUNTING = ("fixed_window", "sliding_window", "sliding_buckets")
HALVING = rule("decay", 10, resolution_seconds=1)

SEVERAL = [
    Plan(f"several_limits/random-{name}", "3 per 0.1 s and 10 per 1 s at once", [two_limits(name)], 200 * MS)
    for name in WINDOWED
]
RESOURCES = [
    Plan(
        f"resources/random-{name}",
        "Two keys on two resources: 5 per second for each resource, 3 for each key on it",
        [two_scopes(name)],
        S,
        costs=(1, 2),
        keys=("alice", "bob"),
    )
    for name in WINDOWED
]
COUNT_DENIED = [
    Plan(
        f"count_denied/random-{name}",
        "What is denied is counted too",
        [rule(name, 7, 1, count_denied=True)],
        S,
        costs=(1, 2, 3),
    )
    for name in COUNTING
]
OVERRIDES = [
    Plan(
        f"overrides/random-{name}",
        "The limit changes from call to call, the usage stays",
        [rule(name, 12, 1.2)],
        1200 * MS,
        overrides=(1, 4, 6, 24),
    )
    for name in WINDOWED
]
CLOCK_STEPS = [
    Plan(
        f"clock_steps/random-{made['algorithm']}" + ("-first_request" if "window_start" in made else ""),
        "The clock steps back now and then",
        [made],
        S,
        steps_back=True,
        steps=30,
    )
    for made in [rule(name, 10, 10) for name in WINDOWED]
    + [rule("fixed_window", 10, 10, window_start="first_request"), HALVING]
]
CHECK_ALL = [
    Plan(
        "check_all/random-mixed",
        "Two to four items of four rules, one of them a shadow rule, one counting denied costs",
        [
            rule("fixed_window", 4, 1, rule_id="a", priority=2),
            rule("gcra", 7, 1, rule_id="b", priority=1),
            rule("sliding_window", 5, 1, rule_id="c", count_denied=True, priority=3),
            rule("sliding_log", 2, 1, rule_id="d", shadow=True),
        ],
        200 * MS,
        costs=(1, 2, 3),
        ops=("check_all",) * 9 + ("check", "peek", "refund"),
        keys=("alice", "alice", "bob"),
        histories=4,
    ),
]
DECAY = [
    Plan("decay/random-halving", "Mixed calls, exact in doubles", [HALVING], 3 * S, costs=(1, 2, 3, 11), histories=3),
    Plan(
        "decay/random-factor-3-2",
        "Mixed calls, a factor of 1.5",
        [rule("decay", 10, resolution_seconds=0.1, decay_factor=1.5)],
        300 * MS,
        costs=(1, 2, 3, 11),
    ),
    Plan(
        "decay/random-fractional-limit",
        "Mixed calls, a limit of 7.25 and a factor of 1.1",
        [rule("decay", 7.25, resolution_seconds=0.25, decay_factor=1.1)],
        S,
        costs=(1, 2, 3, 8),
    ),
]

CHARGES = [
    Plan(
        f"charge/random-{name}",
        "Charges and checks of one key, beyond the limit and back",
        [rule(algorithm, 8, *window, **options)],
        8 * S,
        costs=(1, 2, 5, 13),
        ops=("check",) * 9 + ("charge",) * 6 + ("peek",) * 3 + ("refund",) * 3 + ("reset",),
        steps_back=True,
        histories=1,
    )
    for name, algorithm, window, options in (
        ("fixed_window", "fixed_window", (8,), {}),
        ("first_request", "fixed_window", (8,), {"window_start": "first_request"}),
        ("sliding_window", "sliding_window", (8,), {}),
        ("list", "sliding_log", (8,), {}),
        ("sorted_set", "sliding_log", (8,), {"structure": "sorted_set"}),
        ("sliding_buckets", "sliding_buckets", (8,), {"resolution_seconds": 1}),
        ("count_denied", "sliding_buckets", (8,), {"resolution_seconds": 1, "count_denied": True}),
        ("gcra", "gcra", (8,), {}),
        ("burst", "token_bucket", (8,), {"burst": 3}),
        ("decay", "decay", (), {"resolution_seconds": 1}),
    )
] + [
    Plan(
        f"charge/random-two-limits-{name}",
        "Charges and checks under two limits",
        [two_limits(name)],
        200 * MS,
        ops=("check",) * 9 + ("charge",) * 4 + ("peek",) * 3 + ("refund",) * 2 + ("reset",),
        histories=1,
    )
    for name in WINDOWED
]

CHANGED_LIMITS = [
    Plan(
        f"changed_limits/random-{name}",
        "The limit changes from call to call, and time now and then steps back",
        [rule(algorithm, 16, 16, **options)],
        8 * S,
        costs=(1, 2, 3, 9),
        overrides=(2, 4, 8, 64, 128),
        steps_back=True,
    )
    for name, algorithm, options in (
        ("gcra", "gcra", {}),
        ("burst", "token_bucket", {"burst": 24}),
        ("uniform", "uniform", {}),
    )
]

RATES = [
    Plan("rates/random-by-default", "No algorithm is stated: gcra", [{"rule_id": "api", "rate": "7/s"}], S, histories=6),
    Plan("rates/random-burst", "A burst beside the rate", [{"rule_id": "api", "rate": "3/100ms", "burst": 9}], 100 * MS, histories=4),
]

PLANS = {
    "rates": RATES,
    "fixed_window": windowed("fixed_window", "fixed_window")
    + named(windowed("fixed_window", "fixed_window", window_start="first_request"), "first_request"),
    "sliding_window": windowed("sliding_window", "sliding_window"),
    "sliding_log": windowed("sliding_log", "sliding_log")
    + named(windowed("sliding_log", "sliding_log", structure="sorted_set"), "sorted_set"),
    "sliding_buckets": windowed("sliding_buckets", "sliding_buckets")
    + named(windowed("sliding_buckets", "sliding_buckets", resolution_seconds=0.03)[:2], "coarse"),
    "gcra": windowed("gcra", "gcra") + named(windowed("gcra", "gcra", burst=20), "burst-20"),
    "token_bucket": windowed("token_bucket", "token_bucket")[:2],
    "leaky_bucket": windowed("leaky_bucket", "leaky_bucket")[:2],
    "uniform": windowed("uniform", "uniform")[:2],
    "decay": DECAY,
    "several_limits": SEVERAL,
    "resources": RESOURCES,
    "check_all": CHECK_ALL,
    "count_denied": COUNT_DENIED,
    "clock_steps": CLOCK_STEPS,
    "charge": CHARGES,
    "changed_limits": CHANGED_LIMITS,
    "overrides": OVERRIDES,
}
