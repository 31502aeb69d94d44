"""wait_all: a check_all that waits for room."""

from ..script import HOUR, S, Scenario, block, check, error, item, no, out, peek, reserve, rule, set_limit, wait_all, yes
from .rooms import COMES_BACK_AFTER, room

DESCRIPTION = "wait_all: until several checks are admitted together, or it is known that it would take too long"


def window(rule_id: str, limit: int, seconds: int = 10, **others) -> dict:
    return rule("fixed_window", limit, seconds, rule_id=rule_id, **others)


def beside(name: str) -> list[dict]:
    """Two rules: one that is full, and one with room."""
    return [room(name), window("b", 5)]


SCENARIOS = (
    [
        Scenario(
            f"wait_all/in-time-{name}",
            "The first rule is full: both are charged when it has room again, at the last microsecond",
            beside(name),
            [
                check(0, 10),
                wait_all(0, after, item(), item("b", cost=2), by_hand={"allowed": True, "retry_after_us": 0}),
                peek(after, 1, {"remaining": 3}, rule="b"),
            ],
        )
        for name, after in COMES_BACK_AFTER.items()
    ]
    + [
        Scenario(
            f"wait_all/too-late-{name}",
            "The first rule is full for a microsecond too long: neither is charged",
            beside(name),
            [
                check(0, 10),
                wait_all(0, after - 1, item(), item("b", cost=2), by_hand={"allowed": False, "retry_after_us": after}),
                peek(0, 5, yes(5, 0), rule="b"),
            ],
        )
        for name, after in COMES_BACK_AFTER.items()
    ]
    + [
        Scenario(
            "wait_all/longest",
            "Both are full, one for 10 s and the other for 40: it waits once, for the longer",
            [window("a", 1), window("b", 1, 60)],
            [
                wait_all(0, 0, item("a"), item("b"), by_hand=yes(0, 40 * S)),
                wait_all(0, 39 * S, item("a"), item("b"), by_hand=no(0, 40 * S, 40 * S, rule="b")),
                wait_all(0, 40 * S, item("a"), item("b"), by_hand=yes(0, 60 * S)),
            ],
        ),
        Scenario(
            "wait_all/one-item",
            "A list of one waits as a wait does",
            [window("a", 1)],
            [wait_all(0, 0, item("a"), by_hand=yes(0, 10 * S)), wait_all(0, 10 * S, item("a"), by_hand=yes(0, 10 * S))],
        ),
        Scenario(
            "wait_all/never",
            "One of them never fits: denied at once",
            [window("a", 1), window("b", 9)],
            [
                wait_all(0, HOUR, item("a", cost=2), item("b"), by_hand=no(1, "never", 0, rule="a")),
                peek(0, 9, yes(9, 0), rule="b"),
            ],
        ),
        Scenario(
            "wait_all/same-rule-twice",
            "2 and 2 of 3 do not fit together, not ever; 1 and 2 do, in the next window",
            [window("a", 3)],
            [
                check(0, 1, rule="a"),
                wait_all(0, HOUR, item("a", cost=2), item("a", cost=2), by_hand=no(2, "never", 10 * S)),
                wait_all(0, 10 * S, item("a", cost=1), item("a", cost=2), by_hand=yes(0, 10 * S)),
            ],
        ),
        Scenario(
            "wait_all/priority",
            "Both deny for 10 s: the lower number speaks, though it comes last",
            [window("a", 1, priority=5), window("b", 1, priority=1)],
            [
                wait_all(0, 0, item("a"), item("b"), by_hand=yes(0, 10 * S, rule="b")),
                wait_all(0, 9 * S, item("a"), item("b"), by_hand=no(0, 10 * S, 10 * S, rule="b")),
            ],
        ),
        Scenario(
            "wait_all/shadow",
            "The rule in shadow is full, and does not hold up the other",
            [window("a", 1, shadow=True), window("b", 2)],
            [
                check(0, 1, rule="a"),
                wait_all(0, HOUR, item("a"), item("b"), by_hand=yes(1, 10 * S, rule="b", shadow_denied=True)),
                wait_all(0, HOUR, item("a"), by_hand={"allowed": True, "shadow_denied": True}),
            ],
        ),
        Scenario(
            "wait_all/block",
            "One is blocked for 30 s: both wait for the end of the block",
            [window("a", 3, block={}), window("b", 3)],
            [
                block(0, 30, rule="a"),
                wait_all(0, 29 * S, item("a"), item("b"), by_hand=out(30 * S, rule="a")),
                wait_all(0, 30 * S, item("a"), item("b"), by_hand=yes(2, 10 * S)),
            ],
        ),
        Scenario(
            "wait_all/stored-limit",
            "The second is full under its stored limit",
            [window("a", 3), window("b", 3, overrides=True)],
            [
                set_limit(0, 1, rule="b"),
                check(0, 1, rule="b"),
                wait_all(0, S, item("a"), item("b"), by_hand=no(0, 10 * S, 10 * S, rule="b", limit=1)),
                wait_all(0, 10 * S, item("a"), item("b"), by_hand=yes(0, 10 * S, rule="b", limit=1)),
            ],
        ),
        Scenario(
            "wait_all/what-is-held",
            "A reservation of 60 s is charged where it expires, and comes back 10 s later",
            [window("a", 3, reservations=True), window("b", 3)],
            [
                reserve(0, 3, rule="a"),
                wait_all(0, 9 * S, item("a"), item("b"), by_hand=no(0, 10 * S, 10 * S, rule="a")),
                wait_all(0, 70 * S, item("a"), item("b"), by_hand=yes(2, 10 * S)),
            ],
        ),
        Scenario(
            "wait_all/limit-of-an-item",
            "The limit of one item is its own",
            [window("a", 1), window("b", 1)],
            [
                check(0, 1, rule="a"),
                check(0, 1, rule="b"),
                wait_all(0, S, item("a", limit=5), item("b"), by_hand=no(0, 10 * S, 10 * S, rule="b")),
                wait_all(0, S, item("a", limit=5), by_hand=yes(3, 10 * S, rule="a", limit=5)),
            ],
        ),
        Scenario(
            "wait_all/mistakes",
            "What is wrong with a check_all is wrong with a wait_all",
            [window("a", 1), rule("concurrency", 1, rule_id="in_flight")],
            [
                wait_all(0, S, by_hand=error("InvalidArgument")),
                wait_all(0, S, item("a"), item("other"), by_hand=error("UnknownRule")),
                wait_all(0, S, item("a"), item("a", cost=0), by_hand=error("InvalidArgument")),
                wait_all(0, S, item("a"), item("in_flight"), by_hand=error("InvalidArgument")),
                wait_all(0, S, item("a", limit=2), item("a", limit=3), by_hand=error("InvalidArgument")),
                wait_all(0, S, item("a"), by_hand=yes(0, 10 * S)),
            ],
        ),
    ]
)
