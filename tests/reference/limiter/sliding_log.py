"""sliding_log: the time of every unit that was admitted. The two stored structures decide alike."""

from dataclasses import dataclass

from .algorithm import Algorithm


@dataclass(frozen=True)
class SlidingLog(Algorithm):
    """A state is a tuple of times, oldest first, one per unit of cost."""

    most: int
    window: int

    @property
    def most_charged(self):
        return 2 * self.most

    def is_live(self, entry: int, now: int) -> bool:
        """An entry of exactly the age of the window is gone."""
        return now - entry < self.window

    def healed(self, state, now):
        return tuple(min(entry, now) for entry in state)

    def since(self, state):
        return state[-1]

    def usage(self, state, now):
        return sum(self.is_live(entry, now) for entry in state)

    def charged(self, state, now, cost):
        return (state or ()) + (now,) * cost

    def refunded(self, state, now, cost):
        live = self.usage(state, now)
        return state[: len(state) - min(live, cost)]

    def swept(self, state, now):
        return tuple(entry for entry in state if self.is_live(entry, now)) or None
