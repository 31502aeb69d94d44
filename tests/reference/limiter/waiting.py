"""What waits for room: it asks again when the last denial said, as long as that is not beyond the time it has."""

from collections.abc import Callable

from .algorithm import NEVER
from .decision import Decision


def in_time(now: int, longest: int, ask: Callable[[int], tuple]) -> tuple:
    """The last answer, which begins with its decision. Nobody else comes meanwhile."""
    end = now + longest
    while True:
        answered = ask(now)
        decision: Decision = answered[0]
        if decision.allowed or decision.retry_after == NEVER or now + decision.retry_after > end:
            return answered
        assert decision.retry_after > 0, "a denial without a wait"
        now += decision.retry_after
