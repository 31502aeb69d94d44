"""The gcra family under changing limits: the count of units stays, and leaks at the pace it was counted with."""

from .script import HOUR, MINUTE, MS, S, Scenario, check, check_all, item, no, peek, refund, reset, rule, yes

DESCRIPTION = "A changed limit keeps the count of the gcra family; the next charge gives it the new pace"

FAMILY = ("gcra", "token_bucket", "leaky_bucket")


def upgraded(algorithm: str) -> Scenario:
    return Scenario(
        f"changed_limits/{algorithm}-upgraded",
        "5 of 5 per hour are used, one leaks in 12 minutes. With 100 an hour 95 are left; then one leaks in 36 s",
        [rule(algorithm, 5, 3600)],
        [
            check(0, 5, yes(0, HOUR, limit=5)),
            check(0, 1, no(0, 12 * MINUTE, HOUR, limit=5)),
            check(0, 96, no(95, 12 * MINUTE, HOUR, limit=100), limit=100),
            check(0, 95, yes(0, HOUR, limit=100), limit=100),
            check(36 * S - 1, 1, no(0, 1, HOUR - 36 * S + 1, limit=100), limit=100),
            check(36 * S, 1, yes(0, HOUR, limit=100), limit=100),
        ],
    )


def lowered(algorithm: str) -> Scenario:
    return Scenario(
        f"changed_limits/{algorithm}-lowered",
        "50 of 100 are used; of 5 none are left until 46 have leaked, one in 36 s, and then one leaks in 12 minutes",
        [rule(algorithm, 100, 3600)],
        [
            check(0, 50, yes(50, 30 * MINUTE, limit=100)),
            peek(0, 1, no(0, 46 * 36 * S, 30 * MINUTE, limit=5), limit=5),
            check(46 * 36 * S - 1, 1, no(0, 1, 4 * 36 * S + 1, limit=5), limit=5),
            check(46 * 36 * S, 1, yes(0, HOUR, limit=5), limit=5),
            peek(46 * 36 * S, 96, no(95, 12 * MINUTE, HOUR, limit=100)),
        ],
    )


def charged_in_units(algorithm: str) -> Scenario:
    return Scenario(
        f"changed_limits/{algorithm}-large-limit",
        "A large limit for one call does not make its cost small: 3,000 of 4,096 stay 3,000 of 2,048, too many by 952",
        [rule(algorithm, 2048, 2048)],
        [
            check(0, 3000, yes(1096, 1500 * S, limit=4096), limit=4096),
            check(0, 1, no(0, 953 * 500 * MS, 1500 * S, limit=2048)),
            check(953 * 500 * MS, 1, yes(0, 2048 * S, limit=2048)),
        ],
    )


def given_back(algorithm: str) -> Scenario:
    return Scenario(
        f"changed_limits/{algorithm}-refund",
        "A refund gives back units, by any limit, and leaves their pace: 8 of 10, less 3, are 5 of one second each",
        [rule(algorithm, 10, 10)],
        [
            check(0, 8, yes(2, 8 * S)),
            refund(0, 3, yes(15, 5 * S, limit=20), limit=20),
            peek(0, 1, no(0, 1 * S, 5 * S, limit=5), limit=5),
            refund(1 * S, 1, yes(2, 3 * S, limit=5), limit=5),
            check(1 * S, 1, yes(1, 8 * S, limit=5), limit=5),
            refund(1 * S, 9, yes(10, 0)),
        ],
    )


SCENARIOS = [
    *(scenario(name) for scenario in (upgraded, lowered, charged_in_units, given_back) for name in FAMILY),
    Scenario(
        "changed_limits/uniform",
        "One at a time: 4 per 10 s wait 2.5 s for each other. With 10 the one that was counted at 4 is still in the way",
        [rule("uniform", 4, 10)],
        [
            check(0, 1, yes(0, 2_500 * MS, limit=1)),
            check(2_500 * MS - 1, 1, no(0, 1, 1), limit=10),
            check(2_500 * MS, 1, yes(0, 1 * S), limit=10),
            check(3 * S, 1, no(0, 500 * MS, 500 * MS)),
            check(3_500 * MS, 1, yes(0, 2_500 * MS)),
        ],
    ),
    Scenario(
        "changed_limits/denials-change-nothing",
        "A denial by another limit leaves the pace: 10 per 10 s are gone after 10 s, whatever was asked in between",
        [rule("gcra", 10, 10)],
        [
            check(0, 10, yes(0, 10 * S)),
            check(5 * S, 1, no(0, 4 * S, 5 * S, limit=2), limit=2),
            check(9 * S, 2, no(1, 1 * S, 1 * S, limit=2), limit=2),
            check(10 * S, 2, yes(0, 10 * S, limit=2), limit=2),
        ],
    ),
    Scenario(
        "changed_limits/back-and-forth",
        "Each charge rescales: 4 units of 1 s, then 5 of 0.5 s, then 6 of 2 s, then 7 of 1 s",
        [rule("gcra", 10, 10)],
        [
            check(0, 4, yes(6, 4 * S)),
            check(0, 1, yes(15, 2_500 * MS, limit=20), limit=20),
            check(0, 1, no(0, 500 * MS, 2_500 * MS, limit=5), limit=5),
            check(500 * MS, 1, yes(0, 10 * S, limit=5), limit=5),
            check(500 * MS, 2, yes(3, 7 * S)),
        ],
    ),
    Scenario(
        "changed_limits/reset",
        "A reset forgets the pace too",
        [rule("gcra", 10, 10)],
        [check(0, 10, yes(10, 5 * S, limit=20), limit=20), reset(0), check(0, 10, yes(0, 10 * S))],
    ),
    Scenario(
        "changed_limits/clock-steps-back",
        "Time that is taken back: nothing leaks, and the pace stays until the next charge",
        [rule("gcra", 10, 10)],
        [
            check(60 * S, 10, yes(0, 10 * S)),
            check(50 * S, 10, no(10, 0, 10 * S, limit=20) | {"allowed": True, "remaining": 0}, limit=20),
            check(50 * S, 1, no(0, 500 * MS + 10 * 500 * MS, 10 * S)),
        ],
    ),
    Scenario(
        "changed_limits/check_all",
        "Several rules together, one with another limit: charged all or none, the pace with it",
        [rule("gcra", 10, 10), rule("gcra", 4, 10, rule_id="other")],
        [
            check_all(0, item(cost=10), item("other", cost=4)),
            check_all(0, item(cost=5, limit=20), item("other")),
            peek(0, 1, no(0, 1 * S, 10 * S)),
            check_all(5 * S, item(cost=5, limit=20), item("other", cost=2)),
            peek(5 * S, 1, no(0, 500 * MS, 5 * S)),
        ],
    ),
]
