"""sliding_window: the current count plus the part of the previous one that the window still covers."""

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from .algorithm import SUM_MAX, Algorithm


class State(NamedTuple):
    index: int
    previous: int
    current: int


@dataclass(frozen=True)
class SlidingWindow(Algorithm):
    most: int
    window: int

    def at(self, state: State | None, now: int) -> State:
        """The same counts, named as seen from the window of `now`."""
        index = now // self.window
        if state is None or index - state.index >= 2:
            return State(index, 0, 0)
        if index - state.index == 1:
            return State(index, state.current, 0)
        return state

    def healed(self, state, now):
        return state._replace(index=min(state.index, now // self.window))

    def since(self, state):
        return state.index * self.window

    def usage(self, state, now):
        seen = self.at(state, now)
        covered = Fraction(self.window - now % self.window, self.window)
        return seen.previous * covered + seen.current

    def charged(self, state, now, cost):
        seen = self.at(state, now)
        return seen._replace(current=min(seen.current + cost, SUM_MAX))

    def refunded(self, state, now, cost):
        seen = self.at(state, now)
        from_current = min(seen.current, cost)
        from_previous = min(seen.previous, cost - from_current)
        return State(seen.index, seen.previous - from_previous, seen.current - from_current)
