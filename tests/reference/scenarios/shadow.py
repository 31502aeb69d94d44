"""shadow: decided and counted, never denied."""

from .script import S, Scenario, check, check_all, item, no, peek, refund, rule, yes

DESCRIPTION = "shadow: always admitted; the decision says what it would have been"


def shadow(limit: int = 3, rule_id: str = "shadow", **others) -> dict:
    return rule("fixed_window", limit, 10, rule_id=rule_id, shadow=True, **others)


def enforced(limit: int = 3, rule_id: str = "enforced", **others) -> dict:
    return rule("fixed_window", limit, 10, rule_id=rule_id, **others)


def would_deny(left: int, retry: int | str, reset: int, **others) -> dict:
    """Admitted although the limits had no room."""
    return no(left, retry, reset, shadow_denied=True, **others) | {"allowed": True}


SCENARIOS = [
    Scenario(
        "shadow/check",
        "The fourth is admitted, with shadow_denied; it is not charged, so after a refund of 1 exactly 1 is free",
        [shadow()],
        [
            check(0, 3, yes(0, 10 * S, shadow_denied=False), rule="shadow"),
            check(1 * S, 1, would_deny(0, 9 * S, 9 * S, limit=3), rule="shadow"),
            peek(1 * S, 2, would_deny(0, 9 * S, 9 * S), rule="shadow"),
            refund(1 * S, 1, yes(1, 9 * S, shadow_denied=False), rule="shadow"),
            check(1 * S, 1, yes(0, 9 * S, shadow_denied=False), rule="shadow"),
            check(10 * S, 4, would_deny(3, "never", 0), rule="shadow"),
        ],
    ),
    *(
        Scenario(
            f"shadow/{algorithm}",
            "The same figures as an enforced rule would give, and allowed",
            [rule(algorithm, 4, 10, shadow=True)],
            [
                check(0, 3, {"allowed": True, "shadow_denied": False, "remaining": 1}),
                check(1 * S - 1, 3, {"allowed": True, "shadow_denied": True}),
                check(1 * S, 1, {"allowed": True, "shadow_denied": False}),
                check(1 * S, 5, {"allowed": True, "shadow_denied": True, "retry_after_us": "never"}),
                refund(1 * S, 5, {"allowed": True, "shadow_denied": True, "remaining": 4}),
            ],
        )
        for algorithm in ("sliding_window", "sliding_log", "sliding_buckets", "gcra")
    ),
    Scenario(
        "shadow/several-limits",
        "The limit that would have refused is reported",
        [
            rule(
                "sliding_log",
                limits=[{"limit": 2, "window_size_seconds": 1}, {"limit": 3, "window_size_seconds": 10}],
                shadow=True,
            )
        ],
        [
            check(0, 2, yes(0, 10 * S, limit=2)),
            check(0, 1, would_deny(0, 1 * S, 10 * S, limit=2)),
            check(1 * S, 2, would_deny(1, 9 * S, 9 * S, limit=3)),
            check(1 * S, 1, yes(0, 10 * S, limit=3)),
        ],
    ),
    Scenario(
        "shadow/check_all-full-shadow",
        "The shadow rule is full. The enforced one admits and is charged, its figures are the overall ones",
        [shadow(1), enforced(5)],
        [
            check(0, 1, rule="shadow"),
            check_all(0, item("shadow"), item("enforced"), by_hand=yes(4, 10 * S, rule="enforced", shadow_denied=True)),
            check(0, 4, yes(0, 10 * S), rule="enforced"),
        ],
    ),
    Scenario(
        "shadow/check_all-enforced-denies",
        "The enforced rule denies: the shadow rule, which had room, is not charged and is not said to have denied",
        [shadow(5), enforced(1)],
        [
            check(0, 1, rule="enforced"),
            check_all(
                0,
                item("shadow", cost=2),
                item("enforced"),
                by_hand=no(0, 10 * S, 10 * S, rule="enforced", shadow_denied=False),
            ),
            peek(0, 5, yes(5, 0), rule="shadow"),
        ],
    ),
    Scenario(
        "shadow/check_all-both-charged",
        "Both have room, both are charged. The shadow rule has less left, yet the enforced one is reported",
        [shadow(2), enforced(5)],
        [
            check_all(
                0, item("shadow"), item("enforced"), by_hand=yes(4, 10 * S, rule="enforced", shadow_denied=False)
            ),
            peek(0, 1, yes(1, 10 * S), rule="shadow"),
        ],
    ),
    Scenario(
        "shadow/check_all-only-shadow",
        "Only shadow rules: they give the overall figures. The full one is not charged, the other is",
        [shadow(1, "tight"), shadow(9, "wide")],
        [
            check_all(0, item("tight"), item("wide"), by_hand=yes(0, 10 * S, rule="tight", shadow_denied=False)),
            check_all(0, item("tight"), item("wide"), by_hand=would_deny(0, 10 * S, 10 * S, rule="tight", limit=1)),
            peek(0, 7, yes(7, 10 * S), rule="wide"),
        ],
    ),
]
