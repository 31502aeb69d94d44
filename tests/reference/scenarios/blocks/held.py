"""Blocks of rules with reservations, and of work in flight."""

from ..reservations.held import in_flight
from ..script import (
    BASE,
    HAD_ENDED,
    S,
    Scenario,
    block,
    charge,
    check,
    commit,
    no,
    out,
    peek,
    release,
    renew,
    reserve,
    unblock,
    yes,
)
from .blocking import BLOCKED, BY_HAND, FREE, counter, drips, for_a, per_algorithm

DESCRIPTION = "Blocks and reservations: what is held begins none, and what is held can be ended during one"

DENIED = {"allowed": False, "id": False}
HELD = {"allowed": True, "id": True}


def holding(limit: int = 4, block: dict | None = None, **others) -> dict:
    return counter(limit, block=block, reservations=True, **others)


SCENARIOS = [
    *per_algorithm(
        "held/reserve-denied",
        "A reserve that is denied by the limit itself begins a block, and is denied during one",
        [
            check(0, 8),
            reserve(0, 3, {**DENIED, **BLOCKED}),
            reserve(10 * S, 1, {**DENIED, **BLOCKED}, name="b"),
            check(199 * S, 1, {**BLOCKED, "retry_after_us": 1 * S}),
            reserve(200 * S, 10, {**HELD, **FREE, "remaining": 0}, name="c"),
        ],
        for_a(200),
        reservations=True,
    ),
    *per_algorithm(
        "held/denied-by-what-is-held",
        "8 are held: 3 more do not fit, and no block begins; after a release they do",
        [
            reserve(0, 8, {**HELD, "remaining": 2}),
            reserve(0, 3, {**DENIED, "blocked": False, "remaining": 2}, name="b"),
            check(0, 3, {"allowed": False, "blocked": False, "remaining": 2}),
            release(0),
            check(0, 10, {**FREE, "remaining": 0}),
        ],
        for_a(200),
        reservations=True,
    ),
    Scenario(
        "held/charge-beside-what-is-held",
        "2 of 4 are held: a charge of 2 leaves no room beside them, but the limit has some. The next 2 fill it up",
        [holding()],
        [
            reserve(0, 2, {**HELD, "remaining": 2}),
            charge(0, 2, no(0, 10 * S, 10 * S, blocked=False)),
            release(0),
            charge(1 * S, 2, out(60 * S)),
        ],
    ),
    Scenario(
        "held/commit-during-a-block",
        "A commit works and charges during a block, which it neither ends nor prolongs",
        [drips(4, 40, for_a(12), reservations=True)],
        [
            reserve(0, 2, HELD),
            check(0, 5, {**BLOCKED, "retry_after_us": "never"}),
            commit(2 * S, 3),
            peek(2 * S, 1, out(10 * S, 30 * S)),
            commit(3 * S, 3, HAD_ENDED),
            peek(12 * S, 1, yes(2, 20 * S, blocked=False)),
        ],
    ),
    Scenario(
        "held/commit-begins-none",
        "A commit that leaves no room is no charge: no block begins",
        [holding()],
        [
            reserve(0, 3, HELD),
            commit(1 * S, 4),
            peek(1 * S, 1, no(0, 9 * S, 9 * S, blocked=False)),
            check(2 * S, 1, out(60 * S)),
        ],
    ),
    Scenario(
        "held/commit-beyond-begins-none",
        "Nor does one beyond the limit",
        [holding()],
        [reserve(0, 3, HELD), commit(1 * S, 9), peek(1 * S, 1, no(0, 9 * S, 9 * S, blocked=False))],
    ),
    Scenario(
        "held/release-and-renew-during-a-block",
        "Both work while the key is blocked",
        [holding(block=BY_HAND, lease_seconds=10)],
        [
            reserve(0, 1, HELD),
            reserve(0, 2, HELD, name="b"),
            block(5 * S, 100),
            renew(5 * S),
            release(6 * S, name="b"),
            renew(14 * S),
            unblock(15 * S),
            peek(15 * S, 1, yes(3, 5 * S)),
            release(23 * S),
            check(23 * S, 4, yes(0, 7 * S)),
        ],
    ),
    Scenario(
        "held/expires-during-a-block",
        "What expires during a block is charged at its expiry: 3 units leak at one in 10 s",
        [drips(4, 40, BY_HAND, reservations=True, lease_seconds=10)],
        [
            reserve(0, 3, HELD),
            block(5 * S, 15),
            peek(12 * S, 1, out(8 * S, 28 * S)),
            check(19 * S, 1, out(1 * S, 21 * S)),
            check(20 * S, 2, yes(0, 40 * S)),
        ],
    ),
    Scenario(
        "held/late-charge-begins-none",
        "A reservation expires and fills the limit up: no block begins, until somebody is denied",
        [holding(lease_seconds=11)],
        [
            reserve(0, 4, HELD),
            peek(11 * S, 1, no(0, 9 * S, 9 * S, blocked=False)),
            renew(12 * S, HAD_ENDED),
            peek(12 * S, 1, no(0, 8 * S, 8 * S, blocked=False)),
            check(13 * S, 1, out(60 * S)),
        ],
    ),
    Scenario(
        "held/denied-by-what-expired",
        "The limit is full of what has expired: that is the limit itself",
        [holding(lease_seconds=11)],
        [reserve(0, 4, HELD), reserve(12 * S, 1, out(60 * S, id=False), name="b")],
    ),
    Scenario(
        "held/shadow",
        "A reserve during a block in shadow has an id and holds nothing; at its commit it is charged what fits",
        [holding(4, shadow=True)],
        [
            check(0, 5, {"allowed": True, "shadow_denied": True, "blocked": False}),
            reserve(0, 2, {**HELD, "shadow_denied": True, "blocked": False, "remaining": 0, "token": BASE}),
            commit(1 * S, 6),
            peek(1 * S, 1, {"allowed": True, "shadow_denied": True, "blocked": False, "retry_after_us": 59 * S}),
            check(60 * S, 4, yes(0, 10 * S, shadow_denied=False)),
        ],
    ),
    Scenario(
        "held/concurrency",
        "Places that are taken are held: to be denied one begins no block, to ask for more than there are does",
        [in_flight(2, 30, block=for_a())],
        [
            reserve(0, 2, HELD),
            reserve(0, 1, {**DENIED, "blocked": False, "remaining": 0, "retry_after_us": 30 * S}, name="b"),
            release(1 * S),
            reserve(1 * S, 3, out("never", 60 * S, id=False), name="b"),
            reserve(2 * S, 1, out(59 * S, id=False), name="b"),
            reserve(61 * S, 2, {**HELD, "remaining": 0, "token": BASE + 61 * S}, name="b"),
        ],
    ),
    Scenario(
        "held/concurrency-by-hand",
        "A key that is blocked takes no place; those that it has it keeps",
        [in_flight(2, 30, block=BY_HAND)],
        [
            reserve(0, 1, HELD),
            block(0, 10),
            reserve(1 * S, 1, out(9 * S, 29 * S, id=False), name="b"),
            peek(1 * S, 1, out(9 * S, 29 * S)),
            renew(2 * S),
            reserve(10 * S, 1, {**HELD, "remaining": 0}, name="b"),
            release(10 * S),
            peek(10 * S, 1, {"allowed": True, "remaining": 1}),
        ],
    ),
    Scenario(
        "held/full-wait-beside-the-block",
        "The wait is the longer one of the block's and of the estimate with what is held",
        [drips(4, 40, BY_HAND, reservations=True)],
        [
            reserve(0, 4, HELD),
            block(0, 15),
            peek(0, 1, out(15 * S, 40 * S)),
            peek(0, 3, out(30 * S, 40 * S)),
            release(1 * S),
            peek(1 * S, 3, out(14 * S)),
        ],
    ),
]
