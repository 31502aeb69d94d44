"""Requests, tokens and calls in flight of a language model, decided together by reserve_all."""

from ..script import BASE, HAD_ENDED, S, Scenario, check, commit, item, no, peek, release, reserve_all, rule, yes

DESCRIPTION = "A call of a language model: a request, tokens whose number is known later, and a place in flight"

MODEL = [
    rule("fixed_window", 3, 60, rule_id="requests"),
    rule("gcra", 1000, 60, rule_id="tokens", reservations=True, lease_seconds=30),
    rule("concurrency", 2, rule_id="in_flight", lease_seconds=30),
]
"""The limits of a language model: requests, tokens and calls at once."""


def call_of_model(tokens: int) -> list[dict]:
    return [item("requests"), item("tokens", cost=tokens), item("in_flight")]


def denied(rule_id: str, **others) -> dict:
    return {"allowed": False, "id": False, "rule": rule_id, **others}


SCENARIOS = [
    Scenario(
        "language_model/call",
        "A request is charged at once, 400 tokens and a place are held. 250 of the tokens were used",
        MODEL,
        [
            reserve_all(0, *call_of_model(400), by_hand={"allowed": True, "id": True, "token": BASE}),
            peek(0, 1, {"remaining": 2}, rule="requests"),
            peek(0, 601, {"allowed": False, "remaining": 600}, rule="tokens"),
            peek(0, 1, {"remaining": 1}, rule="in_flight"),
            commit(0, costs={"tokens": 250}),
            peek(0, 1, {"remaining": 2}, rule="requests"),
            peek(0, 1, yes(750, 15 * S), rule="tokens"),
            peek(0, 1, yes(2, 0), rule="in_flight"),
        ],
    ),
    Scenario(
        "language_model/denied",
        "Too many tokens: no request is charged and no place is taken",
        MODEL,
        [
            check(0, 700, rule="tokens"),
            reserve_all(0, *call_of_model(400), by_hand=denied("tokens", retry_after_us=6 * S)),
            peek(0, 1, yes(3, 0), rule="requests"),
            peek(0, 1, yes(2, 0), rule="in_flight"),
            commit(0, None, HAD_ENDED),
            reserve_all(6 * S, *call_of_model(400), by_hand={"allowed": True, "id": True}, name="b"),
        ],
    ),
    Scenario(
        "language_model/full",
        "Two calls at once, the third waits for a lease; after a release it goes",
        MODEL,
        [
            reserve_all(0, *call_of_model(10)),
            reserve_all(0, *call_of_model(10), name="b", by_hand={"allowed": True, "remaining": 0, "token": BASE + 1}),
            reserve_all(0, *call_of_model(10), name="c", by_hand=denied("in_flight", retry_after_us=30 * S)),
            release(1 * S),
            reserve_all(1 * S, *call_of_model(10), name="d", by_hand={"allowed": True, "id": True}),
            reserve_all(1 * S, *call_of_model(10), name="e", by_hand=denied("requests")),
        ],
    ),
    Scenario(
        "language_model/release",
        "The call failed: tokens and place are free again, the request stays charged",
        MODEL,
        [
            reserve_all(0, *call_of_model(400)),
            release(1 * S),
            peek(1 * S, 1, yes(1000, 0), rule="tokens"),
            peek(1 * S, 1, yes(2, 0), rule="in_flight"),
            peek(1 * S, 1, {"remaining": 2}, rule="requests"),
            commit(1 * S, None, HAD_ENDED),
        ],
    ),
    Scenario(
        "language_model/crash",
        "Nobody ends it: at 30 s the tokens are charged in full and the place is free",
        MODEL,
        [
            reserve_all(0, *call_of_model(500)),
            peek(30 * S, 501, no(500, 60_000, 30 * S), rule="tokens"),
            peek(30 * S, 2, yes(2, 0), rule="in_flight"),
            commit(30 * S, None, HAD_ENDED),
        ],
    ),
]
