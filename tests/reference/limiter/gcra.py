"""gcra, token_bucket, leaky_bucket, uniform: a debt of time that leaks one microsecond per microsecond."""

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from .algorithm import Algorithm


class State(NamedTuple):
    at: int
    debt: Fraction
    unit: Fraction
    """The microseconds per unit with which it was counted, and at which it leaks until the next charge."""


@dataclass(frozen=True)
class Gcra(Algorithm):
    most: int
    """The burst."""

    unit: Fraction
    """Microseconds of debt that a unit of cost adds: window / limit."""

    drift: Fraction = Fraction(0)
    """Relative error of units counted at another limit, where doubles do not hold them."""

    def debt(self, state: State | None, now: int) -> Fraction:
        return max(state.debt - (now - state.at), Fraction(0)) if state else Fraction(0)

    def healed(self, state, now):
        return state._replace(at=min(state.at, now))

    def since(self, state):
        return state.at

    def usage(self, state, now):
        if state is None:
            return Fraction(0)
        debt = self.debt(state, now)
        units = debt / state.unit
        exact = state.unit == self.unit or units.denominator == 1 or self.doubles_hold(debt, state.unit)
        return units if exact else units * (1 + self.drift)

    def doubles_hold(self, debt: Fraction, unit: Fraction) -> bool:
        """Whether the rescaled debt comes out exactly in doubles."""
        return Fraction(float(debt) / float(unit) * float(self.unit)) == debt / unit * self.unit

    def charged(self, state, now, cost):
        return State(now, (self.usage(state, now) + cost) * self.unit, self.unit)

    def overdraft(self, state, now, cost):
        return super().overdraft(state, now, cost) * self.unit

    def refunded(self, state, now, cost):
        return State(now, max(self.debt(state, now) - cost * state.unit, Fraction(0)), state.unit)
