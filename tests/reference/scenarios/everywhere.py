"""What every algorithm must do alike: 10 units, and time standing nearly still."""

from .script import S, Scenario, check, peek, refund, reset


def scenarios(prefix: str, rule: dict) -> list[Scenario]:
    """`prefix` is where the ids start; the rule admits 10 at once and frees nothing within 30 us."""

    def scenario(name: str, note: str, *steps) -> Scenario:
        return Scenario(prefix + name, note, [rule], list(steps))

    return [
        scenario("first", "One check of a key that was never seen", check(0)),
        scenario(
            "untouched",
            "Peek, refund and reset of a key that was never seen leave it so",
            peek(0, 10, {"allowed": True, "remaining": 10, "retry_after_us": 0, "reset_after_us": 0}),
            refund(1, 3, {"allowed": True, "remaining": 10, "retry_after_us": 0, "reset_after_us": 0}),
            reset(2),
            peek(3, None, {"allowed": True, "remaining": 10, "retry_after_us": 0, "reset_after_us": 0}),
        ),
        scenario(
            "never",
            "A cost above the limit can never fit, not even for an untouched key; the limit itself fits",
            peek(0, 11, {"allowed": False, "remaining": 10, "retry_after_us": "never", "reset_after_us": 0}),
            check(0, 11, {"allowed": False, "remaining": 10, "retry_after_us": "never", "reset_after_us": 0}),
            check(0, 10, {"allowed": True, "remaining": 0}),
            check(0, 11, {"allowed": False, "remaining": 0, "retry_after_us": "never"}),
        ),
        scenario(
            "exactly-the-rest",
            "A denied cost charges nothing, so what remained still fits; nothing fits then",
            check(0, 8, {"remaining": 2}),
            check(10, 3, {"allowed": False, "remaining": 2}),
            check(20, 3, {"allowed": False, "remaining": 2}),
            check(20, 2, {"allowed": True, "remaining": 0}),
            check(30, 1, {"allowed": False, "remaining": 0}),
        ),
        scenario(
            "peek",
            "Peeks answer what a check would and change nothing",
            check(0, 7),
            peek(5, 3, {"allowed": True, "remaining": 3}),
            peek(5, 4, {"allowed": False, "remaining": 3}),
            peek(9, 3, {"allowed": True, "remaining": 3}),
            check(9, 3, {"allowed": True, "remaining": 0}),
            peek(10, 1, {"allowed": False, "remaining": 0}),
        ),
        scenario(
            "refund",
            "6 used, 2 given back: 6 more fit. Giving back more than was used leaves nothing, not less",
            check(0, 6, {"remaining": 4}),
            refund(5, 2, {"allowed": True, "remaining": 6}),
            check(9, 6, {"allowed": True, "remaining": 0}),
            refund(10, 100, {"allowed": False, "remaining": 10, "retry_after_us": "never", "reset_after_us": 0}),
            check(11, 10, {"allowed": True, "remaining": 0}),
        ),
        scenario(
            "reset",
            "A reset forgets one key and only that",
            check(0, 10),
            check(0, 9, key="bob"),
            reset(5),
            peek(5, 10, {"allowed": True, "remaining": 10, "reset_after_us": 0}),
            check(6, 10, {"allowed": True, "remaining": 0}),
            check(7, 1, {"allowed": True, "remaining": 0}, key="bob"),
        ),
        scenario(
            "forgotten",
            "A day later nothing is left of a key",
            check(0, 10),
            peek(86_400 * S, 10, {"allowed": True, "remaining": 10, "retry_after_us": 0, "reset_after_us": 0}),
            check(86_400 * S, 10, {"allowed": True, "remaining": 0}),
        ),
    ]
