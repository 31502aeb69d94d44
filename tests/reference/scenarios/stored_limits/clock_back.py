"""The clock steps back while a limit is stored."""

from ..script import S, Scenario, check, clear_limit, peek, rule, set_limit

DESCRIPTION = "After a step of the clock back a stored limit lasts for its own length from then at most"

LATE = 3600 * S
RULE = rule("fixed_window", 10, 10, overrides=True)
BOTH = rule("fixed_window", 10, 10, overrides=True, block={"seconds": 100})


def story(title: str, note: str, *steps) -> Scenario:
    return Scenario(f"clock_back/{title}", note, [RULE], list(steps))


SCENARIOS = [
    story(
        "denied-heals",
        "Stored for 5 s at 3600 s. A denial at 7 s lets it end at 12 s",
        set_limit(LATE, 20, expires_in=5),
        check(7 * S, 21, {"allowed": False, "limit": 20}),
        peek(12 * S - 1, 1, {"limit": 20}),
        peek(12 * S, 1, {"limit": 10}),
    ),
    story(
        "peek-heals-nothing",
        "A look at 7 s leaves it as it was",
        set_limit(LATE, 20, expires_in=5),
        peek(7 * S, 1, {"limit": 20}),
        peek(600 * S, 1, {"limit": 20}),
        peek(LATE + 4 * S, 1, {"limit": 20}),
        check(LATE + 4 * S, 1, {"limit": 20}),
    ),
    story(
        "for-ever",
        "One that does not expire stays",
        set_limit(LATE, 20),
        check(7 * S, 1, {"limit": 20}),
        check(7200 * S, 1, {"limit": 20}),
    ),
    Scenario(
        "clock_back/clear-heals-the-block",
        "A block of 100 s of 3600 s; clear_limit at 7 s finds no limit, and heals the block",
        [BOTH],
        [
            check(LATE, 11, {"blocked": True}),
            clear_limit(7 * S, {"took_effect": False}),
            check(50 * S, 1, {"blocked": True, "retry_after_us": 57 * S}),
            check(107 * S, 1, {"allowed": True}),
        ],
    ),
]
