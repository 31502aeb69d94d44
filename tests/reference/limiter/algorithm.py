"""What an algorithm has to say; every figure of a decision follows from it.

A state is an immutable value, or None for a key that was never seen. Times are whole microseconds.
"""

from abc import ABC, abstractmethod
from fractions import Fraction
from math import floor, inf
from typing import Any

from .search import first_wait

NEVER = "never"

SUM_MAX = 2**53
"""Counts stop growing here, where a double stops counting in ones."""


class Algorithm(ABC):
    most: Fraction | int
    """What an untouched key admits at once; a fraction only for decay."""

    @property
    def most_charged(self) -> float:
        """The most units that one charge adds, whatever its cost."""
        return inf

    @abstractmethod
    def healed(self, state: Any, now: int) -> Any:
        """The state with every time that lies in the future (the clock stepped back) moved to now."""

    @abstractmethod
    def since(self, state: Any) -> int:
        """The time of the latest usage in a state: the instant, or the start of its window or slot."""

    @abstractmethod
    def usage(self, state: Any, now: int) -> Fraction | int:
        """How much of `most` is taken at `now`, for a state with no time after `now`."""

    @abstractmethod
    def charged(self, state: Any, now: int, cost: int) -> Any:
        """The state after `cost` more was used at `now`."""

    @abstractmethod
    def refunded(self, state: Any, now: int, cost: int) -> Any:
        """The state after up to `cost` of what counts at `now` was given back, the newest first."""

    def with_held(self, state: Any, now: int, holds: tuple) -> Any:
        """The state as a decision sees it: what is held counts as if it were charged now."""
        held = sum(hold.weight for hold in holds)
        return self.charged(state, now, held) if held else state

    def overdraft(self, state: Any, now: int, cost: int) -> Fraction | int:
        """What lies beyond the limit when `cost` more was used, in the measure that the algorithm counts in."""
        return (self.usage(state, now) if state is not None else 0) + cost - self.most

    def swept(self, state: Any, now: int) -> Any:
        """The state without the parts that have stopped counting."""
        return None if self.is_untouched(state, now) else state

    def is_untouched(self, state: Any, now: int) -> bool:
        return state is None or self.usage(state, now) == 0

    def capacity(self, state: Any, now: int) -> int:
        """The largest cost that fits at `now`; negative when a limit was lowered below its usage."""
        used = 0 if state is None else self.usage(state, now)
        return floor(self.most - used)

    def retry_after(self, state: Any, now: int, cost: int) -> int | str:
        """The first wait after which `cost` fits. Capacity never falls while nobody comes, so it can be bisected."""
        if cost > floor(self.most):
            return NEVER
        return first_wait(lambda wait: self.capacity(state, now + wait) >= cost)

    def reset_after(self, state: Any, now: int) -> int:
        """The first wait after which the key is as if never seen."""
        return first_wait(lambda wait: self.is_untouched(state, now + wait))
