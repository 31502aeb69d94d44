"""fixed_window: a count that starts again with every window."""

from dataclasses import dataclass
from typing import NamedTuple

from .algorithm import SUM_MAX, Algorithm


class State(NamedTuple):
    start: int
    count: int


@dataclass(frozen=True)
class FixedWindow(Algorithm):
    most: int
    window: int
    aligned: bool

    def opening(self, now: int) -> int:
        """When a window that is opened now starts: at a multiple of its length, or at this very request."""
        return now - now % self.window if self.aligned else now

    def healed(self, state, now):
        return state._replace(start=self.opening(now)) if state.start > now else state

    def since(self, state):
        return state.start

    def usage(self, state, now):
        return state.count if now < state.start + self.window else 0

    def charged(self, state, now, cost):
        if self.is_untouched(state, now):
            state = State(self.opening(now), 0)
        return state._replace(count=min(state.count + cost, SUM_MAX))

    def refunded(self, state, now, cost):
        return state._replace(count=max(self.usage(state, now) - cost, 0))
