"""rate: limit and window in one; and gcra, where a rule names no algorithm."""

from .script import DAY, HOUR, MINUTE, MS, S, Scenario, check, no, peek, yes

DESCRIPTION = "A rate is a limit and a window; a rule without an algorithm is gcra"


def rated(rate: str, **others) -> dict:
    return {"rule_id": "api", "rate": rate, **others}


def spelled(rate: str, interval: int) -> Scenario:
    name = rate.replace("/", "-per-")
    return Scenario(
        f"rates/{name}",
        "5 at once, then one per fifth of the window",
        [rated(rate)],
        [
            check(0, 4, yes(1, 4 * interval, limit=5)),
            check(0, 2, no(1, interval, 4 * interval)),
            check(interval, 2, yes(0, 5 * interval)),
        ],
    )


SCENARIOS = [
    *(
        spelled(f"5/{unit}", window // 5)
        for units, window in (
            ("s second seconds 1s", S),
            ("m min minute minutes 60s", MINUTE),
            ("h hour hours 60min", HOUR),
            ("d day days 24hours", DAY),
        )
        for unit in units.split()
    ),
    spelled("5/5ms", 1 * MS),
    spelled("5/500ms", 100 * MS),
    Scenario(
        "rates/burst",
        "20 per 30 s are one in 1.5 s; the burst stands beside the rate",
        [rated("20/30s", burst=3)],
        [check(0, 3, yes(0, 4_500 * MS, limit=3)), check(0, 1, no(0, 1_500 * MS, 4_500 * MS))],
    ),
    *(
        Scenario(
            f"rates/{algorithm}",
            "With every algorithm that has a window: 3 per 10 s, the fourth has to wait",
            [rated("3/10s", algorithm=algorithm)],
            [check(0, cost, {"allowed": True, "remaining": 0, "limit": cost}), peek(0, 1, {"allowed": False})],
        )
        for algorithm, cost in (
            ("fixed_window", 3),
            ("sliding_window", 3),
            ("sliding_log", 3),
            ("sliding_buckets", 3),
            ("token_bucket", 3),
            ("leaky_bucket", 3),
            ("uniform", 1),
        )
    ),
    Scenario(
        "rates/in-limits",
        "Rates inside limits, one of them stated the long way",
        [
            {
                "rule_id": "api",
                "algorithm": "fixed_window",
                "limits": [{"rate": "2/s"}, {"limit": 3, "window_size_seconds": 10}],
            }
        ],
        [
            check(0, 2, yes(0, 10 * S, limit=2)),
            check(1 * S, 2, no(1, 9 * S, 9 * S, limit=3)),
            check(1 * S, 1, yes(0, 9 * S, limit=3)),
        ],
    ),
    Scenario(
        "rates/no-algorithm",
        "A rule without an algorithm is gcra: 2 per 10 s, one anew after 5 s",
        [{"rule_id": "api", "limit": 2, "window_size_seconds": 10}],
        [check(0, 2, yes(0, 10 * S)), check(5 * S - 1, 1, no(0, 1, 5 * S + 1)), check(5 * S, 1, yes(0, 10 * S))],
    ),
]
