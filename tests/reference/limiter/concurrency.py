"""concurrency: the weight of what is in flight. Nothing is counted but what is held."""

from dataclasses import dataclass

from .algorithm import Algorithm


@dataclass(frozen=True)
class Concurrency(Algorithm):
    """A state is what is held, and is never stored: reservations are charged to nothing when they end."""

    most: int

    def healed(self, state, now):
        return state

    def since(self, state):
        return 0

    def usage(self, state, now):
        return sum(hold.weight for hold in state if hold.expiry > now)

    def charged(self, state, now, cost):
        return None

    def refunded(self, state, now, cost):
        return None

    def with_held(self, state, now, holds):
        return tuple(holds)
