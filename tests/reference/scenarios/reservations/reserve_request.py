"""reserve_request: a request reserves under the rules that it matches."""

from ..script import (
    BASE, HAD_ENDED, S, UNRULED, Scenario, block, check, commit, no, out, peek, release, renew, reserve, reserve_request, rule,
    set_limit, yes,
)  # fmt: skip
from .held import EVERY, budget, drips, holding, in_flight

DESCRIPTION = "reserve_request: a request reserves under the rules that match it, and is charged under the others"

USER, ADDRESS, CLIENT = "alice-43693", "10.0.42.174", "app-28248"
"""All of them in the hash slot of `global`: a Cluster decides about them at once."""

CLIENT_OF_USER = "app-14148"
BY_USER = {"identifier_type": "user_id", "match": {}}
BY_ADDRESS = {"identifier_type": "ip_address", "match": {}}
FOR_ALL = {"identifier_type": "global", "match": {}}
NO_ID = UNRULED | {"id": False}


def at(path: str, identifier: str = "user_id", **others) -> dict:
    return {"identifier_type": identifier, "match": {"path_pattern": path, **others}}


def plain(limit: int, rule_id: str = "plain", **others) -> dict:
    return rule("fixed_window", limit, 10, rule_id=rule_id, **others)


def places(limit: int, rule_id: str = "places", **others) -> dict:
    return in_flight(limit, rule_id=rule_id, **others)


def asks(at: int, by_hand: dict | None = None, **others):
    return reserve_request(at, by_hand, **{"user_id": USER} | others)


SCENARIOS = (
    [
        Scenario(
            f"reserve_request/budget-{name}",
            "4 are held of 10 by a request beside its place; 1 was used, and the place is free again",
            [holding(name, cost=4, **BY_USER), places(1, **FOR_ALL)],
            [
                asks(0, {"allowed": True, "rule": "places", "remaining": 0, "id": True, "token": BASE}),
                asks(0, {"allowed": False, "rule": "places", "id": False}, name="b"),
                peek(0, 7, {"allowed": False, "remaining": 6}, key=USER),
                commit(S, costs={"api": 1}),
                commit(S, 0, HAD_ENDED),
                peek(S, 1, yes(1, 0), rule="places", key="global"),
                asks(S, {"allowed": True, "id": True}, name="b"),
            ],
        )
        for name in EVERY
    ]
    + [
        Scenario(
            f"reserve_request/charged-{name}",
            "A rule without reservations is charged what a request costs as it begins, and keeps it when the place is given back",
            [
                rule(EVERY[name][0], EVERY[name][1], EVERY[name][2], **EVERY[name][3], **BY_USER, cost=3),
                places(2, **BY_ADDRESS),
            ],
            [
                asks(0, {"allowed": True, "rule": "places", "remaining": 1}, ip=ADDRESS),
                release(0),
                peek(0, 8, {"allowed": False, "remaining": 7}, key=USER),
                peek(0, 2, yes(2, 0), rule="places", key=ADDRESS),
            ],
        )
        for name in EVERY
    ]
    + [
        Scenario(
            f"reserve_request/two-costs-{name}",
            "3 of one rule and 7 of another: the second request has room in one alone; committed as reserved",
            [holding(name, cost=3, **BY_USER), budget(10, rule_id="other", cost=7, **BY_USER)],
            [
                asks(0, {"allowed": True, "rule": "other", "remaining": 3}),
                asks(0, {"allowed": False, "rule": "other", "remaining": 3}, name="b"),
                commit(0),
                peek(0, 8, {"allowed": False, "remaining": 7}, key=USER),
                peek(0, 4, {"allowed": False, "remaining": 3}, rule="other", key=USER),
            ],
        )
        for name in EVERY
    ]
    + [
        Scenario(
            "reserve_request/no-rule",
            "A request that no rule matches is admitted, and has no id",
            [places(1, **at("/slow/*"))],
            [
                asks(0, NO_ID, path="/fast"),
                release(0, HAD_ENDED),
                asks(0, yes(0, 60 * S, id=True), path="/slow/a"),
                asks(0, NO_ID, path="/fast", name="b"),
                asks(0, no(0, 60 * S, 60 * S, id=False), path="/slow/b", name="b"),
            ],
        ),
        Scenario(
            "reserve_request/nothing-held",
            "Where no rule that matches has reservations it is checked, and ending it has no effect",
            [plain(2, **BY_USER), places(1, **at("/slow/*"))],
            [
                asks(0, yes(1, 10 * S, id=False)),
                commit(0, 0, HAD_ENDED),
                renew(0, HAD_ENDED),
                asks(0, yes(0, 10 * S, id=False)),
                asks(0, no(0, 10 * S, 10 * S, id=False)),
            ],
        ),
        Scenario(
            "reserve_request/rule-by-name-only",
            "A rule without match applies to no request",
            [places(1), places(2, "matched", **BY_USER)],
            [asks(0, yes(1, 60 * S, rule="matched")), peek(0, 1, yes(1, 0), rule="places", key=USER)],
        ),
        Scenario(
            "reserve_request/nobody",
            "Who is not known is not counted",
            [places(1, **BY_USER)],
            [reserve_request(0, NO_ID), asks(0, yes(0, 60 * S), name="b"), reserve_request(0, NO_ID)],
        ),
        Scenario(
            "reserve_request/each-user",
            "Each user has places of its own",
            [places(1, **BY_USER)],
            [
                asks(0, yes(0, 60 * S)),
                asks(0, yes(0, 60 * S), user_id="bob", name="b"),
                asks(S, no(0, 59 * S, 59 * S), name="c"),
                release(S, name="b"),
                asks(S, no(0, 59 * S, 59 * S), name="c"),
            ],
        ),
        Scenario(
            "reserve_request/method",
            "Only what changes something takes a place",
            [places(1, **at("/a", methods=["POST", "PUT"]))],
            [
                asks(0, yes(0, 60 * S), method="POST", path="/a"),
                asks(0, NO_ID, path="/a", name="b"),
                asks(0, no(0, 60 * S, 60 * S), method="PUT", path="/a", name="c"),
            ],
        ),
        Scenario(
            "reserve_request/header",
            "Who is counted stands in a header, whatever its case",
            [places(1, **at("*", "header:X-Client"))],
            [
                asks(0, yes(0, 60 * S), headers=[["x-client", CLIENT]]),
                asks(0, NO_ID, name="b"),
                asks(0, no(0, 60 * S, 60 * S), headers=[["X-CLIENT", CLIENT]], name="c"),
            ],
        ),
        Scenario(
            "reserve_request/composite",
            "A place for each client of each user",
            [places(1, **at("*", ["user_id", "header:x-client"]))],
            [
                asks(0, yes(0, 60 * S), headers=[["x-client", CLIENT_OF_USER]]),
                asks(0, yes(0, 60 * S), headers=[["x-client", "other"]], name="b"),
                peek(0, 1, no(0, 60 * S, 60 * S), rule="places", key=[USER, CLIENT_OF_USER]),
                asks(0, NO_ID, name="c"),
            ],
        ),
        Scenario(
            "reserve_request/unless",
            "Health checks take no place",
            [places(1, **BY_USER, unless=[{"path_pattern": "/health"}, {"methods": ["OPTIONS"]}])],
            [
                asks(0, yes(0, 60 * S)),
                asks(0, NO_ID, path="/health", name="b"),
                asks(0, NO_ID, method="OPTIONS", name="b"),
                asks(0, no(0, 60 * S, 60 * S), name="b"),
            ],
        ),
        Scenario(
            "reserve_request/cost",
            "A request takes three places of seven",
            [places(7, cost=3, **BY_USER)],
            [
                asks(0, yes(4, 60 * S)),
                asks(0, yes(1, 60 * S), name="b"),
                asks(0, no(1, 60 * S, 60 * S), name="c"),
                release(0),
                asks(0, yes(1, 60 * S), name="c"),
            ],
        ),
        Scenario(
            "reserve_request/priority",
            "Parts in the order of priority; the first that denies speaks",
            [places(1, "last", priority=9, **BY_USER), plain(5, "first", priority=-1, **BY_USER)],
            [
                asks(0, yes(0, 60 * S, rule="last")),
                asks(0, no(0, 60 * S, 60 * S, rule="last"), name="b"),
                peek(0, 5, {"allowed": False, "remaining": 4}, rule="first", key=USER),
            ],
        ),
        Scenario(
            "reserve_request/denied-by-the-other",
            "The place is free, the quota is used up: nothing is held",
            [plain(1, **BY_USER), places(1, **BY_USER)],
            [
                check(0, 1, rule="plain", key=USER),
                asks(0, no(0, 10 * S, 10 * S, rule="plain", id=False)),
                reserve(0, 1, yes(0, 60 * S), rule="places", key=USER),
            ],
        ),
        Scenario(
            "reserve_request/expired",
            "Never ended: the place is free after its lease, the budget is charged in full",
            [places(1, lease=2, **BY_USER), budget(9, 10, 2, cost=4, **BY_USER)],
            [
                asks(0, yes(0, 10 * S, rule="places")),
                asks(2 * S - 1, {"allowed": False, "rule": "places", "retry_after_us": 1}, name="b"),
                asks(2 * S, {"allowed": True}, name="b"),
                release(2 * S, HAD_ENDED),
                release(2 * S, name="b"),
                peek(2 * S, 6, no(5, 8 * S, 8 * S), key=USER),
            ],
        ),
        Scenario(
            "reserve_request/renewed",
            "A long answer keeps its place",
            [places(1, lease=2, **BY_USER)],
            [
                asks(0, yes(0, 2 * S)),
                renew(S),
                asks(2 * S, no(0, S, S), name="b"),
                renew(3 * S - 1),
                asks(3 * S, no(0, 2 * S - 1, 2 * S - 1), name="b"),
                release(4 * S),
                asks(4 * S, yes(0, 2 * S), name="b"),
            ],
        ),
        Scenario(
            "reserve_request/block",
            "Blocked by hand: no request gets in",
            [places(5, block={}, **BY_USER)],
            [block(0, 30, rule="places", key=USER), asks(0, out(30 * S, id=False)), asks(30 * S, yes(4, 60 * S))],
        ),
        Scenario(
            "reserve_request/block-that-it-begins",
            "A request too many, and the user is out for 20 s",
            [drips(2, 2, block={"seconds": 20}, **BY_USER)],
            [
                asks(0, {"allowed": True}),
                commit(0),
                asks(0, {"allowed": True}),
                commit(0),
                asks(0, out(20 * S, id=False)),
                asks(20 * S, {"allowed": True}),
            ],
        ),
        Scenario(
            "reserve_request/stored-limit",
            "One user has three places for a while",
            [places(1, overrides=True, **BY_USER)],
            [
                set_limit(0, 3, rule="places", key=USER, expires_in=5),
                asks(0, yes(2, 60 * S, limit=3)),
                asks(0, yes(1, 60 * S, limit=3), name="b"),
                asks(5 * S, no(0, 55 * S, 55 * S, limit=1), name="c"),
            ],
        ),
        Scenario(
            "reserve_request/shadow",
            "A rule in shadow that is full lets everybody in",
            [places(1, shadow=True, **BY_USER)],
            [asks(0, {"allowed": True, "id": True}), asks(0, {"allowed": True, "shadow_denied": True, "id": True}, name="b")],
        ),
        Scenario(
            "reserve_request/resource",
            "Two places of a resource that all share, one for each user",
            [
                rule("concurrency", rule_id="pool", identifier_type="user_id", resource_identifier_type="global", match={},
                     limits=[{"limit": 2, "scope": "resource"}, {"limit": 1}]),
            ],
            [
                asks(0, yes(0, 60 * S)),
                asks(S, no(0, 59 * S, 59 * S), name="b"),
                asks(S, yes(0, 60 * S), user_id="bob", name="b"),
                asks(S, no(0, 59 * S, 60 * S), user_id="carol", name="c"),
                release(S),
                asks(S, yes(0, 60 * S), user_id="carol", name="c"),
            ],
        ),
        Scenario(
            "reserve_request/required-header",
            "Only requests of the mobile client",
            [places(1, **at("*", required_headers={"x-client": "mobile"}))],
            [
                asks(0, yes(0, 60 * S), headers=[["X-Client", "mobile"]]),
                asks(0, NO_ID, headers=[["X-Client", "desktop"]], name="b"),
                asks(0, no(0, 60 * S, 60 * S), headers=[["a", "b"], ["x-client", "mobile"]], name="b"),
            ],
        ),
        Scenario(
            "reserve_request/authentication",
            "Only those who have said who they are",
            [places(1, **at("*", "ip_address", requires_authentication=True))],
            [
                reserve_request(0, NO_ID, ip=ADDRESS),
                asks(0, yes(0, 60 * S), ip=ADDRESS, name="b"),
                asks(0, no(0, 60 * S, 60 * S), ip=ADDRESS, name="c"),
            ],
        ),
    ]
)  # fmt: skip
