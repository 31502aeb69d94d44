"""decay: a level that every slot passed divides by the decay factor."""

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from .algorithm import SUM_MAX, Algorithm

NOTHING = Fraction(1, 10**9)
"""A level this low, or lower, is zero."""


class State(NamedTuple):
    slot: int
    level: Fraction


@dataclass(frozen=True)
class Decay(Algorithm):
    most: Fraction
    resolution: int
    factor: Fraction

    def healed(self, state, now):
        return state._replace(slot=min(state.slot, now // self.resolution))

    def since(self, state):
        return state.slot * self.resolution

    def usage(self, state, now):
        slots_passed = now // self.resolution - state.slot
        level = state.level / self.factor**slots_passed
        return level if level > NOTHING else Fraction(0)

    def charged(self, state, now, cost):
        level = self.usage(state, now) if state else Fraction(0)
        return State(now // self.resolution, min(level + cost, Fraction(SUM_MAX)))

    def refunded(self, state, now, cost):
        level = max(self.usage(state, now) - cost, Fraction(0))
        return State(now // self.resolution, level)
