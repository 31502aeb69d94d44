"""block and unblock, and which calls begin a block."""

from fractions import Fraction
from math import ceil

from .errors import InvalidArgument
from .items import Charge, Item, Place
from .view import View

MOST_SECONDS = 2**53 // 1_000_000
"""Microseconds are exact up to 2^53."""


def offending(view: View, charges: list[Charge], costs: dict[Place, int]) -> list[Charge]:
    """The items whose own limits, without what is held, have no room for what is asked of them; not those that are
    blocked already."""
    return [
        charge
        for charge in charges
        if charge.rule.block and charge.rule.block.seconds and not view.is_blocked(charge)
        and any(
            algorithm.capacity(view.states[place], view.now) < costs[place]
            for place, algorithm in charge.algorithms.items()
        )
    ]  # fmt: skip


def begin_blocks(view: View, offenders: list[Charge]) -> None:
    for charge in offenders:
        (scope,) = charge.scopes
        # Two items of one key begin one block.
        if not view.is_blocked(charge):
            view.blocks[scope] = charge.rule.block.begun(view.blocks[scope], view.now)


class Blocks:
    """The part of a limiter that blocks by hand."""

    def block(self, now: int, item: Item, seconds: Fraction) -> None:
        charge, view = self._look_at_block(now, item)
        if not 0 < seconds <= MOST_SECONDS:
            raise InvalidArgument("a block of nothing, or too long")
        (scope,) = charge.scopes
        view.blocks[scope] = charge.rule.block.by_hand(view.blocks[scope], now, ceil(seconds * 1_000_000))
        self.store.write(view)

    def unblock(self, now: int, item: Item) -> bool:
        """Whether there was a block. How long it would have been is kept for the next one."""
        charge, view = self._look_at_block(now, item)
        if not view.is_blocked(charge):
            return False
        (scope,) = charge.scopes
        view.blocks[scope] = view.blocks[scope]._replace(end=now)
        self.store.write(view)
        return True

    def _look_at_block(self, now: int, item: Item) -> tuple[Charge, View]:
        charge = self._charge(now, item)
        if charge.rule.block is None:
            raise InvalidArgument("a rule without blocks")
        return charge, self._look(now, [charge])
