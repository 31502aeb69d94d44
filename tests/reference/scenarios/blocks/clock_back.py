"""The clock steps back while a key is blocked and something is held."""

from ..script import S, Scenario, block, check, commit, release, renew, reserve, rule

DESCRIPTION = "A call that ends a reservation heals a block after a step of the clock back"

LATE = 3600 * S
RULE = rule("fixed_window", 5, 1000, reservations=True, lease_seconds=3000, block={"seconds": 100})


def story(title: str, ending) -> Scenario:
    return Scenario(
        f"clock_back/{title}",
        "Blocked for 100 s at 3600 s; what ends the reservation at 3597 s lets the block end at 3697 s",
        [RULE],
        [
            reserve(LATE, 1, {"remaining": 4}),
            block(LATE, 100),
            ending,
            check(LATE + 17 * S, 1, {"blocked": True, "retry_after_us": 80 * S}),
        ],
    )


SCENARIOS = [
    story("commit", commit(LATE - 3 * S, 1)),
    story("release", release(LATE - 3 * S)),
    story("renew", renew(LATE - 3 * S)),
]
