"""The clock steps back while an answer is kept."""

from ..script import S, Scenario, check, rule

DESCRIPTION = "After a step of the clock back an answer is kept for request_id_seconds from then at most"

LATE = 3600 * S

SCENARIOS = [
    Scenario(
        "clock_back/heals",
        "Answered at 3600 s. The repeat at 7 s is answered until 67 s",
        [rule("fixed_window", 10, 1000)],
        [
            check(LATE, 4, {"remaining": 6}, request_id="x"),
            check(7 * S, 4, {"remaining": 6}, request_id="x"),
            check(67 * S - 1, 4, {"remaining": 6}, request_id="x"),
            check(67 * S, 4, {"remaining": 2}, request_id="x"),
        ],
    ),
]
