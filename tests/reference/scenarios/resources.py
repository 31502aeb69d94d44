"""Rules with a resource scope: the resource as a whole, and each key on it."""

from .script import S, Scenario, check, check_all, error, item, no, peek, refund, reset, rule, yes

DESCRIPTION = "A resource that many keys share has a limit of its own"


def two_level(algorithm: str, **options) -> dict:
    """5 per 10 s for the resource, 3 per 10 s for each key on it."""
    resource = {"limit": 5, "window_size_seconds": 10, "scope": "resource"}
    key = {"limit": 3, "window_size_seconds": 10, "scope": "key"}
    return rule(algorithm, limits=[resource, key], **options)


def resource_only(algorithm: str) -> dict:
    return rule(algorithm, limits=[{"limit": 2, "window_size_seconds": 10, "scope": "resource"}])


def two_consumers(algorithm: str) -> Scenario:
    return Scenario(
        f"resources/{algorithm}-two-consumers",
        "alice may use 3, then bob finds only 2 of the resource's 5 left",
        [two_level(algorithm)],
        [
            check(0, 3, {"allowed": True, "remaining": 0, "limit": 3}, resource="printer"),
            check(0, 1, {"allowed": False, "remaining": 0, "limit": 3}, resource="printer"),
            check(0, 3, {"allowed": False, "remaining": 2, "limit": 5}, key="bob", resource="printer"),
            check(0, 2, {"allowed": True, "remaining": 0, "limit": 5}, key="bob", resource="printer"),
            check(0, 1, {"allowed": False, "remaining": 0, "limit": 5}, key="carol", resource="printer"),
        ],
    )


SCENARIOS = [
    *(two_consumers(name) for name in ("fixed_window", "sliding_window", "sliding_log", "sliding_buckets", "gcra")),
    Scenario(
        "resources/resources-are-apart",
        "What is used of one resource takes nothing from another, of the resource or of the key on it",
        [two_level("fixed_window")],
        [
            check(0, 3, yes(0, 10 * S, limit=3), resource="printer"),
            check(0, 3, yes(0, 10 * S, limit=3), resource="scanner"),
            check(0, 1, no(0, 10 * S, 10 * S, limit=3), resource="printer"),
        ],
    ),
    Scenario(
        "resources/all-or-nothing",
        "bob's denial by the resource charges nothing to bob: once it has room again, all 3 of his are free",
        [two_level("sliding_log")],
        [
            check(0, 3, yes(0, 10 * S, limit=3), resource="printer"),
            check(1 * S, 3, no(2, 9 * S, 9 * S, limit=5), key="bob", resource="printer"),
            check(10 * S, 3, yes(0, 10 * S, limit=3), key="bob", resource="printer"),
        ],
    ),
    Scenario(
        "resources/key-and-resource-of-one-name",
        "A key that is called like a resource is not the resource",
        [two_level("fixed_window")],
        [
            check(0, 3, yes(0, 10 * S, limit=3), key="printer", resource="printer"),
            check(0, 2, yes(0, 10 * S, limit=5), key="alice", resource="printer"),
            check(0, 3, yes(0, 10 * S, limit=3), key="printer", resource="alice"),
        ],
    ),
    Scenario(
        "resources/resource-only",
        "One limit, for the resource alone: it does not matter who asks",
        [resource_only("sliding_window")],
        [
            check(0, 1, yes(1, 20 * S), resource="printer"),
            check(0, 1, yes(0, 20 * S), key="bob", resource="printer"),
            check(0, 1, no(0, 15 * S, 20 * S), key="carol", resource="printer"),
        ],
    ),
    Scenario(
        "resources/resource-only-override",
        "A single limit can be overridden, be it the resource's",
        [resource_only("fixed_window")],
        [
            check(0, 4, yes(1, 10 * S, limit=5), resource="printer", limit=5),
            check(0, 1, no(0, 10 * S, 10 * S, limit=2), key="bob", resource="printer"),
        ],
    ),
    Scenario(
        "resources/refund",
        "A refund gives back to the key and to the resource",
        [two_level("sliding_buckets", resolution_seconds=1)],
        [
            check(0, 3, yes(0, 10 * S), resource="printer"),
            check(0, 2, yes(0, 10 * S), key="bob", resource="printer"),
            refund(1 * S, 2, yes(2, 9 * S, limit=5), resource="printer"),
            check(1 * S, 1, yes(0, 10 * S, limit=3), key="bob", resource="printer"),
            peek(1 * S, 1, yes(1, 9 * S + S, limit=5), resource="printer"),
        ],
    ),
    Scenario(
        "resources/reset",
        "Resetting alice on the printer forgets what alice used there. The printer itself stays used, and so does bob",
        [two_level("fixed_window")],
        [
            check(0, 3, yes(0, 10 * S, limit=3), resource="printer"),
            check(0, 1, yes(1, 10 * S, limit=5), key="bob", resource="printer"),
            reset(1 * S, resource="printer"),
            check(1 * S, 1, yes(0, 9 * S, limit=5), resource="printer"),
            check(1 * S, 1, no(0, 9 * S, 9 * S, limit=5), key="bob", resource="printer"),
        ],
    ),
    Scenario(
        "resources/in-check_all",
        "Two keys on one resource are charged together: 3 + 3 do not fit into 5, 3 + 2 do",
        [two_level("fixed_window")],
        [
            check_all(
                0,
                item(cost=3, resource="printer"),
                item(key="bob", cost=3, resource="printer"),
                by_hand=no(3, "never", 0, limit=5),
            ),
            check_all(
                0,
                item(cost=3, resource="printer"),
                item(key="bob", cost=2, resource="printer"),
                by_hand=yes(0, 10 * S, limit=5),
            ),
        ],
    ),
    Scenario(
        "resources/arguments",
        "A rule with a resource limit needs a resource, other rules refuse one",
        [two_level("fixed_window"), rule("fixed_window", 3, 10, rule_id="plain")],
        [
            check(0, 1, error("InvalidArgument")),
            peek(0, 1, error("InvalidArgument")),
            refund(0, 1, error("InvalidArgument")),
            reset(0, by_hand=error("InvalidArgument")),
            check(0, 1, error("InvalidArgument"), resource=""),
            check(0, 1, error("InvalidArgument"), rule="plain", resource="printer"),
            reset(0, rule="plain", resource="printer", by_hand=error("InvalidArgument")),
            check(0, 1, yes(2, 10 * S, limit=3), resource="printer"),
        ],
    ),
]
