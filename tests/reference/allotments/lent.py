"""Scenarios of lending."""

from .scenario import MS, S, Scenario, lend, rule

RULES = {
    "gcra": rule(limit=50),
    "burst": rule(limit=50, burst=7),
    "uniform": rule("uniform", limit=20),
    "window": rule("fixed_window", limit=30),
    "first-request": rule("fixed_window", limit=30, window_start="first_request"),
}

STEPS = [
    lend(0, 0, own=1), lend(0, 4, own=2), lend(1 * MS, 100), lend(2 * MS, 100), lend(3 * MS, 100, own=5), lend(4 * MS, 100, own=3),
    lend(5 * MS, 1), lend(5 * MS, 1), lend(40 * MS, 3, own=1), lend(340 * MS, 9), lend(900 * MS, 40, own=9), lend(S, 40), lend(3 * S, 0, own=30),
    lend(3 * S, 5, own=1), lend(3_100 * MS, 5, own=1), lend(9 * S, 1_000),
]  # fmt: skip

SCENARIOS = [
    Scenario(
        f"lent/{name}",
        "of what is left after the call half is lent at most, but one unit where there is one",
        STEPS,
        of,
    )
    for name, of in RULES.items()
]
