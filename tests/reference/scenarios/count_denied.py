"""count_denied: who keeps hammering stays out."""

from .script import S, Scenario, check, check_all, item, no, peek, refund, rule, yes

DESCRIPTION = "count_denied: a denied cost is charged too, to the limits that refused it"

LARGEST = 2**53 - 1


def counting(algorithm: str, limit=3, window=10, **options) -> dict:
    return rule(algorithm, limit, window, count_denied=True, **options)


SCENARIOS = [
    Scenario(
        "count_denied/fixed_window",
        "The count goes on to 5, but a new window starts at 0",
        [counting("fixed_window")],
        [
            check(0, 3, yes(0, 10 * S)),
            check(4 * S, 2, no(0, 6 * S, 6 * S)),
            refund(4 * S, 2, no(0, 6 * S, 6 * S)),
            refund(4 * S, 1, yes(1, 6 * S)),
            check(10 * S, 3, yes(0, 10 * S)),
        ],
    ),
    Scenario(
        "count_denied/first_request",
        "A denied check is counted, so it opens the window",
        [counting("fixed_window", window_start="first_request")],
        [
            check(2 * S, 4, no(0, "never", 10 * S)),
            check(3 * S, 1, no(0, 9 * S, 9 * S)),
            check(12 * S, 1, yes(2, 10 * S)),
        ],
    ),
    Scenario(
        "count_denied/sliding_window",
        "3 admitted and 3 denied make 6 in [0, 10): one more fits when 6 * x <= 2, x = 1/3, rounded up at 16.666667 s."
        " With a denial there, previous 6 and current 1: 6 * x + 1 <= 2 gives x = 1/6, 18.333334 s",
        [counting("sliding_window")],
        [
            check(0, 3, yes(0, 20 * S)),
            check(0, 3, no(0, 20 * S, 20 * S)),
            peek(0, 1, no(0, 16_666_667, 20 * S)),
            check(16_666_666, 1, no(0, 1_666_668, 13_333_334)),
            check(18_333_334, 1, {"allowed": True, "remaining": 0}),
        ],
    ),
    Scenario(
        "count_denied/sliding_buckets",
        "3 in slot 0, a denied one in slot 4. At 10 s slot 0 is gone: the denied one leaves room for 2",
        [counting("sliding_buckets", resolution_seconds=1)],
        [
            check(0, 3, yes(0, 10 * S)),
            check(4 * S, 1, no(0, 6 * S, 10 * S)),
            check(10 * S, 3, no(0, 10 * S, 10 * S)),
            check(14 * S, 1, no(0, 6 * S, 10 * S)),
        ],
    ),
    Scenario(
        "count_denied/decay",
        "4 used; 4 more are denied, but counted: 8, and 4 fit only once the level is nothing, 33 slots later",
        [rule("decay", 4, resolution_seconds=1, count_denied=True)],
        [
            check(0, 4, yes(0, 32 * S)),
            check(0, 4, no(0, 33 * S, 33 * S)),
            peek(1 * S, 1, no(0, 1 * S, 32 * S)),
            check(2 * S, 1, yes(1, 32 * S)),
        ],
    ),
    Scenario(
        "count_denied/peek-counts-nothing",
        "A peek that says no is not counted",
        [counting("sliding_window")],
        [check(0, 2, yes(1, 20 * S)), peek(0, 2, {"allowed": False, "remaining": 1}), check(0, 1, yes(0, 20 * S))],
    ),
    Scenario(
        "count_denied/hammering",
        "Each denied call in a window of the sliding kind pushes the end further away",
        [counting("sliding_window")],
        [check(at * S, 1) for at in range(0, 40, 2)],
    ),
    Scenario(
        "count_denied/only-refusing-limits",
        "2 per second and 9 per 10 s: the denial at 0 s is counted by the first limit; the second had room: 2",
        [
            rule(
                "fixed_window",
                limits=[{"limit": 2, "window_size_seconds": 1}, {"limit": 9, "window_size_seconds": 10}],
                count_denied=True,
            )
        ],
        [
            check(0, 2, yes(0, 10 * S, limit=2)),
            check(0, 2, no(0, 1 * S, 10 * S, limit=2)),
            check(1 * S, 2, yes(0, 9 * S, limit=2)),
            check(2 * S, 2, yes(0, 8 * S, limit=2)),
            check(3 * S, 2, yes(0, 7 * S, limit=2)),
            check(4 * S, 2, no(0, 6 * S, 6 * S, limit=9)),
            check(4 * S, 1, no(0, 6 * S, 6 * S, limit=9)),
        ],
    ),
    Scenario(
        "count_denied/in-check_all",
        "The refusing rule counts the denial; the rule that had room does not, though it too counts denials",
        [counting("fixed_window", 2, rule_id="full"), counting("fixed_window", 5, rule_id="roomy")],
        [
            check(0, 2, rule="full"),
            check_all(0, item("full"), item("roomy", cost=4), by_hand=no(0, 10 * S, 10 * S, rule="full")),
            peek(0, 5, yes(5, 0), rule="roomy"),
            refund(0, 2, no(1, 10 * S, 10 * S), rule="full"),
        ],
    ),
    Scenario(
        "count_denied/largest-cost",
        "Counts stop at 2^53; the next window is not poisoned",
        [counting("fixed_window")],
        [
            check(0, LARGEST, no(0, "never", 10 * S)),
            check(0, LARGEST, no(0, "never", 10 * S)),
            check(0, LARGEST, no(0, "never", 10 * S)),
            check(1 * S, 1, no(0, 9 * S, 9 * S)),
            check(10 * S, 1, yes(2, 10 * S)),
        ],
    ),
]
