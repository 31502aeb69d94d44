"""wait: a check that waits for room."""

from ..script import DAY, HOUR, S, Scenario, block, charge, check, error, no, out, peek, reserve, rule, set_limit, wait, yes
from .rooms import COMES_BACK_AFTER, per_algorithm, room

DESCRIPTION = "wait: until a cost is admitted, or it is known that it would take too long"
MONTH_ENDS = 22 * DAY + 54_400 * S
"""From BASE on, 2025-10-09 08:53:20 UTC."""

SCENARIOS = (
    [
        per_algorithm(
            "wait/in-time",
            "All is used: the wait takes to the microsecond as long as it may, and is charged at its end",
            [check(0, 10), wait(0, after, 1, {"allowed": True, "retry_after_us": 0}), peek(after, 10, {"allowed": False})],
            name,
        )
        for name, after in COMES_BACK_AFTER.items()
    ]
    + [
        per_algorithm(
            "wait/too-late",
            "A microsecond too short: denied at once, and nothing is charged",
            [
                check(0, 10),
                wait(0, after - 1, 1, {"allowed": False, "retry_after_us": after}),
                peek(after, 1, {"allowed": True}),
            ],
            name,
        )
        for name, after in COMES_BACK_AFTER.items()
    ]
    + [
        Scenario(
            "wait/uniform",
            "One every 2 s: three in a row",
            [rule("uniform", 5, 10)],
            [
                wait(0, 0, 1, yes(0, 2 * S)),
                wait(0, 2 * S, 1, yes(0, 2 * S)),
                wait(2 * S, S, 1, no(0, 2 * S, 2 * S)),
                wait(2 * S, HOUR, 1, yes(0, 2 * S)),
            ],
        ),
        Scenario(
            "wait/no-time",
            "Without time it is a check: admitted, then denied",
            [rule("fixed_window", 1, 10)],
            [wait(0, 0, 1, yes(0, 10 * S)), wait(0, 0, 1, no(0, 10 * S, 10 * S)), wait(9 * S, 0, None, no(0, S, S))],
        ),
        Scenario(
            "wait/never",
            "More than the limit is denied at once, however long it might wait",
            [room("gcra")],
            [wait(0, 365 * DAY, 11, no(10, "never", 0)), peek(0, 10, yes(10, 0))],
        ),
        Scenario(
            "wait/larger-cost",
            "10 of 10 are used at 10 s each: 4 come back after 40 s, and the bucket is full again",
            [room("gcra")],
            [check(0, 10), wait(0, 40 * S, 4, yes(0, 100 * S)), peek(40 * S, 1, no(0, 10 * S, 100 * S))],
        ),
        Scenario(
            "wait/shadow",
            "A rule in shadow admits always, so nothing waits",
            [rule("fixed_window", 1, 10, shadow=True)],
            [check(0, 1), wait(0, HOUR, 1, {"allowed": True, "shadow_denied": True})],
        ),
        Scenario(
            "wait/block-that-lasts",
            "Blocked by hand for 30 s: the wait is over when the block is",
            [rule("fixed_window", 3, 10, block={})],
            [block(0, 30), wait(0, 29 * S, 1, out(30 * S)), wait(0, 30 * S, 1, yes(2, 10 * S))],
        ),
        Scenario(
            "wait/block-that-it-begins",
            "Its denial begins a block of 60 s, which it then waits for",
            [rule("fixed_window", 1, 10, block={"seconds": 60})],
            [check(0, 1), wait(0, 59 * S, 1, out(60 * S)), wait(5 * S, 55 * S, 1, yes(0, 10 * S))],
        ),
        Scenario(
            "wait/denied-costs-count",
            "The denied cost counts in slot 0 too: 1 of 3 fits when that slot is gone, at 10 s",
            [rule("sliding_buckets", 3, 10, resolution_seconds=1, count_denied=True)],
            [check(0, 3), wait(0, 9 * S, 1, no(0, 10 * S, 10 * S)), wait(2 * S, 10 * S, 1, {"allowed": True})],
        ),
        Scenario(
            "wait/limit-of-the-call",
            "12 of the 10 of the rule, or of the 20 of the call",
            [rule("fixed_window", 10, 10)],
            [
                check(0, 10),
                wait(0, S, 2, yes(8, 10 * S, limit=20), limit=20),
                wait(0, S, 1, no(0, 10 * S, 10 * S)),
                wait(0, 10 * S, 20, yes(0, 10 * S, limit=20), limit=20),
            ],
        ),
        Scenario(
            "wait/stored-limit",
            "A stored limit of 1 is what it waits under",
            [rule("fixed_window", 10, 10, overrides=True)],
            [set_limit(0, 1), wait(0, 0, 1, yes(0, 10 * S, limit=1)), wait(0, 10 * S, 1, yes(0, 10 * S, limit=1))],
        ),
        Scenario(
            "wait/stored-limit-that-ends",
            "The stored limit has ended when the wait is over: the rule's 10 count",
            [rule("fixed_window", 10, 10, overrides=True)],
            [
                set_limit(0, 1, expires_in=5),
                check(0, 1),
                wait(0, 10 * S, 1, yes(9, 10 * S, limit=10)),
            ],
        ),
        Scenario(
            "wait/resource",
            "alice and bob have used the printer up: carol waits for it, and not for the scanner",
            [
                rule(
                    "fixed_window",
                    limits=[
                        {"limit": 2, "window_size_seconds": 10, "scope": "resource"},
                        {"limit": 1, "window_size_seconds": 10},
                    ],
                )
            ],
            [
                check(0, resource="printer"),
                check(0, resource="printer", key="bob"),
                wait(0, 0, 1, yes(0, 10 * S), resource="scanner", key="carol"),
                wait(0, 9 * S, 1, no(0, 10 * S, 10 * S), resource="printer", key="carol"),
                wait(0, 10 * S, 1, yes(0, 10 * S), resource="printer", key="carol"),
            ],
        ),
        Scenario(
            "wait/longest-of-two-limits",
            "2 in a second and 3 in a minute: the fourth waits for the minute, 40 s on",
            [
                rule(
                    "fixed_window",
                    limits=[{"limit": 2, "window_size_seconds": 1}, {"limit": 3, "window_size_seconds": 60}],
                )
            ],
            [
                wait(0, 0, 2, {"allowed": True}),
                wait(0, S, 1, {"allowed": True}),
                wait(S, 38 * S, 1, no(0, 39 * S, 39 * S)),
                wait(S, 39 * S, 1, yes(1, 60 * S)),
            ],
        ),
        Scenario(
            "wait/calendar",
            "A quota of a month: until the month ends",
            [rule("fixed_window", 1) | {"window": "month"}],
            [
                check(0, 1, yes(0, MONTH_ENDS)),
                wait(0, MONTH_ENDS - 1, 1, no(0, MONTH_ENDS, MONTH_ENDS)),
                wait(0, MONTH_ENDS, 1, yes(0, 30 * DAY)),
            ],
        ),
        Scenario(
            "wait/overdraft",
            "25 of 10 were charged: 16 have to come back, one in 10 s",
            [room("gcra")],
            [charge(0, 25), wait(0, 159 * S, 1, no(0, 160 * S, 250 * S)), wait(0, 160 * S, 1, yes(0, 100 * S))],
        ),
        Scenario(
            "wait/what-is-held",
            "Held for 60 s, then charged where it expired: the wait goes on as often as it is denied",
            [rule("fixed_window", 10, 10, reservations=True)],
            [
                reserve(0, 10, yes(0, 10 * S)),
                wait(0, 9 * S, 1, no(0, 10 * S, 10 * S)),
                wait(0, 70 * S, 1, yes(9, 10 * S)),
            ],
        ),
        Scenario(
            "wait/composite-key",
            "Parts of a key wait as one key",
            [rule("fixed_window", 1, 10)],
            [wait(0, 0, 1, yes(0, 10 * S), key=["a", "b"]), wait(0, 10 * S, 1, yes(0, 10 * S), key="a,b")],
        ),
        Scenario(
            "wait/in-flight",
            "Work in flight is reserved, not checked, however long one waits",
            [rule("concurrency", 1)],
            [wait(0, S, 1, error("InvalidArgument")), peek(0, 1, {"allowed": True})],
        ),
        Scenario(
            "wait/mistakes",
            "What is wrong with a check is wrong with a wait",
            [rule("fixed_window", 1, 10)],
            [
                wait(0, S, 1, error("UnknownRule"), rule="other"),
                wait(0, S, 0, error("InvalidArgument")),
                wait(0, S, 1, error("InvalidArgument"), key=""),
                wait(0, S, 1, error("InvalidArgument"), resource="printer"),
                wait(0, S, 1, error("InvalidArgument"), limit=0),
                wait(0, S, 1, yes(0, 10 * S)),
            ],
        ),
    ]
)
