"""sliding_buckets: a count per slot of time; a slot stops counting when all of it has left the window."""

from dataclasses import dataclass
from types import MappingProxyType

from .algorithm import SUM_MAX, Algorithm


@dataclass(frozen=True)
class SlidingBuckets(Algorithm):
    """A state maps slot numbers to counts."""

    most: int
    window: int
    resolution: int

    def is_live(self, slot: int, now: int) -> bool:
        return slot > (now - self.window) // self.resolution

    def healed(self, state, now):
        current = now // self.resolution
        counts: dict[int, int] = {}
        for slot, count in state.items():
            seen = min(slot, current)
            counts[seen] = counts.get(seen, 0) + count
        return MappingProxyType(counts)

    def since(self, state):
        return max(state) * self.resolution

    def usage(self, state, now):
        return sum(count for slot, count in state.items() if self.is_live(slot, now))

    def charged(self, state, now, cost):
        counts = dict(state or {})
        slot = now // self.resolution
        counts[slot] = min(counts.get(slot, 0) + cost, SUM_MAX)
        return MappingProxyType(counts)

    def refunded(self, state, now, cost):
        counts = dict(state)
        for slot in sorted(counts, reverse=True):
            if self.is_live(slot, now):
                given_back = min(counts[slot], cost)
                counts[slot] -= given_back
                cost -= given_back
        return MappingProxyType(counts)

    def swept(self, state, now):
        live = {slot: count for slot, count in state.items() if self.is_live(slot, now)}
        return MappingProxyType(live) if live else None
