"""The clock steps back while something is held."""

from ..script import HAD_ENDED, S, Scenario, check, commit, no, peek, release, renew, reserve, yes
from .held import in_flight, per_algorithm

DESCRIPTION = "After a step of the clock back a lease lasts for its own length from then at most"

LATE = 3600 * S
EARLY = 7 * S

SCENARIOS = [
    *per_algorithm(
        "clock_back/denied-heals",
        "Held for 5 s at 3600 s; a denial at 7 s lets it end at 12 s, when it is charged",
        [
            reserve(LATE, 6, {"remaining": 4}),
            check(EARLY, 5, {"allowed": False, "remaining": 4}),
            peek(12 * S - 1, 5, {"allowed": False, "remaining": 4}),
            commit(12 * S, 1, HAD_ENDED),
            check(100 * S, 10, {"allowed": True, "remaining": 0}),
        ],
        lease=5,
    ),
    *per_algorithm(
        "clock_back/peek-heals-nothing",
        "A look at 7 s sees the lease, and leaves it as it was: a commit at 3604 s is in time",
        [
            reserve(LATE, 6, {"remaining": 4}),
            peek(EARLY, 5, {"allowed": False, "remaining": 4}),
            peek(100 * S, 5, {"allowed": False, "remaining": 4}),
            commit(LATE + 4 * S, 1),
        ],
        lease=5,
    ),
    *per_algorithm(
        "clock_back/ends",
        "A commit at 7 s is in time, and heals what else is held",
        [
            reserve(LATE, 2, name="a"),
            reserve(LATE, 2, name="b"),
            commit(EARLY, 1, name="a"),
            renew(12 * S, HAD_ENDED, name="b"),
            check(100 * S, 10, {"allowed": True, "remaining": 0}),
        ],
        lease=5,
    ),
    Scenario(
        "clock_back/in-flight",
        "Two of 2 in flight for 5 s; an hour back the wait is 5 s, and then both places are free",
        [in_flight(2, lease=5)],
        [
            reserve(LATE, name="a"),
            reserve(LATE, name="b"),
            peek(EARLY - 2 * S, 1, no(0, 5 * S, 5 * S)),
            reserve(EARLY, 1, no(0, 5 * S, 5 * S), name="c"),
            reserve(12 * S - 1, 1, no(0, 1, 1), name="c"),
            reserve(12 * S, 2, yes(0, 5 * S), name="d"),
            release(12 * S, HAD_ENDED, name="a"),
        ],
    ),
    Scenario(
        "clock_back/renewed",
        "A lease that is renewed an hour earlier ends 5 s later, and so does the other",
        [in_flight(2, lease=5)],
        [
            reserve(LATE, name="a"),
            reserve(LATE + 1 * S, name="b"),
            renew(EARLY, name="a"),
            reserve(12 * S, 2, yes(0, 5 * S), name="c"),
        ],
    ),
]
