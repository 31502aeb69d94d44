"""By how much more was admitted than a bound, in any interval of time."""

from __future__ import annotations

from collections.abc import Sequence

from history import Call
from limits import SECOND, Bound


class Starts:
    """For each start of an interval the calls since, and what the bound has let through by then; knows the highest sum.

    A tree: a node has the sum of the calls below it, and the highest sum of one start and of all calls to the right of it.
    """

    def __init__(self, count: int) -> None:
        self.size = 1 << max(count - 1, 1).bit_length()
        self.calls = [0] * (2 * self.size)
        self.highest = [float("-inf")] * (2 * self.size)

    def add(self, place: int, due: float) -> float:
        """A call that began at this start; returns the highest sum of all."""
        at = place + self.size
        self.calls[at] += 1
        self.highest[at] = due + self.calls[at]
        while at > 1:
            at //= 2
            left, right = 2 * at, 2 * at + 1
            self.calls[at] = self.calls[left] + self.calls[right]
            self.highest[at] = max(self.highest[right], self.highest[left] + self.calls[right])
        return self.highest[1]


def excess(calls: Sequence[Call], bound: Bound) -> float:
    """By how many units more than the bound were admitted, in the worst interval; below 0 where it was never reached.

    Only calls that surely were decided within an interval count there, so a slow machine makes it smaller.
    """
    admitted = [call for call in calls if call.allowed]
    if not admitted:
        return -bound.burst
    places = {at: place for place, at in enumerate(sorted({call.before for call in admitted}))}
    starts = Starts(len(places))
    worst = float("-inf")
    for call in sorted(admitted, key=lambda call: call.after):
        highest = starts.add(places[call.before], bound.rate * call.before / SECOND)
        worst = max(worst, highest - bound.burst - bound.rate * call.after / SECOND)
    return worst
