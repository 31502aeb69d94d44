"""Blocks in calls about several rules: check_all, reserve_all."""

from ..script import S, Scenario, check, check_all, commit, item, no, out, peek, refund, release, reserve_all, rule, yes
from .blocking import BLOCKED, counter, for_a

DESCRIPTION = "Blocks of rules that are decided together with others"


def plain(limit: int = 3, rule_id: str = "plain", **others) -> dict:
    return rule("fixed_window", limit, 10, rule_id=rule_id, **others)


def seen(at: int, rule_id: str, by_hand: dict):
    return peek(at, 1, by_hand, rule=rule_id)


SCENARIOS = [
    Scenario(
        "together/own-denial",
        "The rule itself denies: it begins its block, and the other is not charged",
        [counter(2), plain()],
        [
            check(0, 2),
            check_all(0, item(), item("plain"), by_hand=out(60 * S, rule="api")),
            seen(0, "plain", yes(3, 0)),
            check_all(30 * S, item("plain"), item(), by_hand=out(30 * S, rule="api")),
            check_all(60 * S, item("plain"), item(), by_hand=yes(1, 10 * S, rule="api", blocked=False)),
        ],
    ),
    Scenario(
        "together/denied-costs-count",
        "The rule, whose denied costs count, denies beside another: the wait is that of the cost after this one",
        [rule("sliding_buckets", 3, 6, resolution_seconds=1, count_denied=True, block={}), plain()],
        [
            check(200_000, 2),
            check(1_400_000, 2, no(0, 5_600_000, 5_600_000)),
            check_all(4_400_000, item("plain"), item(), by_hand=no(0, 2_600_000, 5_600_000, rule="api")),
            peek(6_999_999, 1, no(0, 1, 3_000_001)),
            check(7_000_000, 1, yes(1, 6 * S)),
        ],
    ),
    Scenario(
        "together/another-denial",
        "The other denies: the rule, which had room, begins no block",
        [counter(2), plain()],
        [
            check(0, 3, rule="plain"),
            check_all(0, item(), item("plain"), by_hand=no(0, 10 * S, 10 * S, rule="plain", blocked=False)),
            check(0, 2, yes(0, 10 * S)),
        ],
    ),
    Scenario(
        "together/both-deny",
        "Both deny: the rule begins its block. The one with the longest wait decides",
        [counter(2, 10, for_a(5)), plain()],
        [
            check(0, 2),
            check(0, 3, rule="plain"),
            check_all(6 * S, item("plain"), item(), by_hand=out(5 * S, rule="api")),
            check_all(9 * S, item("plain"), item(cost=3), by_hand={"rule": "api", "blocked": True}),
            seen(9 * S, "plain", no(0, 1 * S, 1 * S, blocked=False)),
            seen(9 * S, "api", out(2 * S)),
        ],
    ),
    Scenario(
        "together/the-other-decides",
        "The block ends before the other rule has room: that one decides, and it is not blocked",
        [counter(2, 10, for_a(1, 1, 1)), plain()],
        [
            check(0, 3, rule="plain"),
            check(0, 3, {**BLOCKED}),
            check_all(0, item(), item("plain"), by_hand=no(0, 10 * S, 10 * S, rule="plain", blocked=False)),
        ],
    ),
    Scenario(
        "together/one-blocked-one-full",
        "While one rule is blocked the other denies for itself and begins its own block",
        [counter(2, 10, for_a(15)), counter(2, 10, for_a(30), rule_id="other")],
        [
            check(0, 3, {**BLOCKED}),
            check(0, 2, rule="other"),
            check_all(1 * S, item(), item("other"), by_hand=out(30 * S, rule="other")),
            seen(1 * S, "other", out(30 * S)),
            seen(1 * S, "api", out(14 * S)),
        ],
    ),
    Scenario(
        "together/sum-of-costs",
        "Two items of one key do not fit together, each would alone: that is a denial by the rule's own limit",
        [counter(3)],
        [
            check_all(0, item(cost=2), item(cost=2), by_hand={**BLOCKED, "reset_after_us": 60 * S}),
            seen(0, "api", out(60 * S)),
        ],
    ),
    Scenario(
        "together/one-block-for-two-items",
        "Two items of one key begin one block, not one and a longer one",
        [counter(3, 10, for_a(10, 2))],
        [
            check_all(0, item(cost=2), item(cost=2), by_hand={**BLOCKED, "reset_after_us": 10 * S}),
            check_all(10 * S, item(cost=4), item(cost=4), by_hand={**BLOCKED, "reset_after_us": 20 * S}),
        ],
    ),
    Scenario(
        "together/two-keys",
        "One key is blocked: a call about both is denied and leaves the other as it is",
        [counter(3)],
        [
            check(0, 4, {**BLOCKED}),
            check_all(0, item(key="bob-5580"), item(), by_hand=out(60 * S)),
            peek(0, 3, yes(3, 0), key="bob-5580"),
        ],
    ),
    Scenario(
        "together/two-keys-one-denied",
        "Only the key that is denied is blocked",
        [counter(3)],
        [
            check(0, 3),
            check_all(0, item(key="bob-5580"), item(), by_hand=out(60 * S)),
            check(0, 3, yes(0, 10 * S), key="bob-5580"),
            peek(0, 1, out(60 * S)),
        ],
    ),
    Scenario(
        "together/count_denied",
        "A blocked rule that counts denials counts none; the other one, which is full, does",
        [counter(2, count_denied=True), plain(2, rule_id="hammered", count_denied=True)],
        [
            check(0, 3, {**BLOCKED}),
            check(0, 2, rule="hammered"),
            check_all(0, item(), item("hammered"), by_hand={"allowed": False}),
            peek(0, 1, no(0, 10 * S, 10 * S), rule="hammered"),
            check_all(20 * S, item(), item("hammered"), by_hand=out(40 * S, rule="api")),
            seen(20 * S, "hammered", yes(2, 0)),
        ],
    ),
    Scenario(
        "together/count_denied-beside",
        "A rule without blocks counts denials also beside one that has them, in check_all and in reserve_all: 2 of 3, 4 more",
        [counter(9), plain(3, rule_id="hammered", count_denied=True), plain(9, rule_id="held", reservations=True)],
        [
            check(0, 2, rule="hammered"),
            check_all(0, item(), item("hammered", cost=2), by_hand={"allowed": False, "rule": "hammered"}),
            reserve_all(0, item("held"), item(), item("hammered", cost=2), by_hand={"allowed": False, "id": False}),
            refund(0, 4, {"remaining": 1}, rule="hammered"),
            seen(0, "api", yes(9, 0)),
            seen(0, "held", yes(9, 0)),
        ],
    ),
    Scenario(
        "together/count_denied-in-reserve_all",
        "The denial that begins a block is counted in a reserve_all too, those by the block are not",
        [counter(3, 20, for_a(2), count_denied=True), plain(9, rule_id="held", reservations=True)],
        [
            check(0, 2),
            reserve_all(0, item("held"), item(cost=2), by_hand={"id": False, "rule": "api", "blocked": True}),
            reserve_all(1 * S, item("held"), item(cost=2), by_hand={"id": False, "rule": "api", "blocked": True}),
            refund(3 * S, 2, {"remaining": 1, "blocked": False}),
        ],
    ),
    Scenario(
        "together/shadow-blocked",
        "A block in shadow denies nothing: the others are charged, the blocked rule is not",
        [counter(2, shadow=True), plain()],
        [
            check(0, 3, {"allowed": True, "shadow_denied": True, "blocked": False, "remaining": 0}),
            check_all(0, item(), item("plain"), by_hand=yes(2, 10 * S, rule="plain", shadow_denied=True, blocked=False)),
            seen(0, "api", out(60 * S, shadow_denied=True) | {"allowed": True, "blocked": False}),
            check_all(60 * S, item(), item("plain"), by_hand=yes(2, 10 * S, rule="plain", shadow_denied=False)),
            seen(60 * S, "api", yes(1, 10 * S, shadow_denied=False)),
        ],
    ),
    Scenario(
        "together/shadow-begins",
        "A rule in shadow without room begins its block although the call is admitted",
        [counter(2, shadow=True), plain()],
        [
            check(0, 2),
            check_all(0, item("plain"), item(), by_hand=yes(2, 10 * S, rule="plain", shadow_denied=True, blocked=False)),
            peek(30 * S, 1, {"allowed": True, "shadow_denied": True, "blocked": False, "retry_after_us": 30 * S}),
        ],
    ),
    Scenario(
        "together/beside-shadow",
        "A rule in shadow without room begins none for the rule beside it",
        [counter(2), plain(2, rule_id="watched", shadow=True)],
        [
            check(0, 2, rule="watched"),
            check_all(0, item(), item("watched"), by_hand=yes(1, 10 * S, rule="api", shadow_denied=True, blocked=False)),
            check(0, 1, yes(0, 10 * S)),
        ],
    ),
    Scenario(
        "together/priority",
        "Of two that are blocked for equally long the one of lower priority number decides",
        [counter(2, priority=2), counter(2, rule_id="first", priority=1)],
        [
            check(0, 3, {**BLOCKED}),
            check(0, 3, {**BLOCKED}, rule="first"),
            check_all(1 * S, item(), item("first"), by_hand=out(59 * S, rule="first")),
        ],
    ),
    Scenario(
        "together/limit-of-an-item",
        "An item brings a limit under which it is denied: its block begins",
        [counter(5), plain()],
        [
            check(0, 2),
            check_all(0, item("plain"), item(limit=2), by_hand=out(60 * S, rule="api", limit=2)),
            seen(0, "api", out(60 * S, limit=5)),
        ],
    ),
    Scenario(
        "together/reserve_all",
        "A blocked item denies the reservation; another's denial begins no block; its own does",
        [counter(4, reservations=True), plain(4, rule_id="held", reservations=True), plain()],
        [
            check(0, 3, rule="plain"),
            reserve_all(0, item(cost=2), item("held"), item("plain"), by_hand={"allowed": False, "rule": "plain", "id": False}),
            seen(0, "api", yes(4, 0, blocked=False)),
            reserve_all(10 * S, item(cost=2), item("held"), item("plain"), by_hand={"allowed": True, "id": True}),
            reserve_all(10 * S, item(cost=5), item("held"), name="b", by_hand={"allowed": False, "id": False, "rule": "api"}),
            seen(10 * S, "api", out(60 * S)),
            seen(10 * S, "held", yes(3, 10 * S)),
            reserve_all(11 * S, item("held"), item(), name="c", by_hand=out(59 * S, rule="api", id=False)),
            commit(12 * S, costs={"held": 2}),
            seen(12 * S, "held", yes(2, 8 * S)),
        ],
    ),
    Scenario(
        "together/released-during-a-block",
        "A reservation of two is released while one of its rules is blocked",
        [counter(4, reservations=True), plain(4, rule_id="held", reservations=True)],
        [
            reserve_all(0, item(cost=2), item("held", cost=3), by_hand={"allowed": True, "id": True}),
            check(0, 5, {**BLOCKED}),
            release(1 * S),
            seen(1 * S, "held", yes(4, 0)),
            seen(1 * S, "api", out(59 * S)),
        ],
    ),
]
