"""gcra, token_bucket, leaky_bucket, uniform: a debt of time that leaks one microsecond per microsecond."""

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from .algorithm import Algorithm


class State(NamedTuple):
    at: int
    debt: Fraction


@dataclass(frozen=True)
class Gcra(Algorithm):
    most: int
    """The burst."""

    unit: Fraction
    """Microseconds of debt that a unit of cost adds: window / limit."""

    def debt(self, state: State | None, now: int) -> Fraction:
        return max(state.debt - (now - state.at), Fraction(0)) if state else Fraction(0)

    def healed(self, state, now):
        return state._replace(at=min(state.at, now))

    def usage(self, state, now):
        return self.debt(state, now) / self.unit

    def charged(self, state, now, cost):
        return State(now, self.debt(state, now) + cost * self.unit)

    def refunded(self, state, now, cost):
        return State(now, max(self.debt(state, now) - cost * self.unit, Fraction(0)))
