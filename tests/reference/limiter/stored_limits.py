"""set_limit and clear_limit."""

from fractions import Fraction
from math import ceil

from .algorithm import SUM_MAX
from .errors import InvalidArgument
from .items import Item, Scope
from .stored_limit import StoredLimit


class StoredLimits:
    """The part of a limiter that stores limits."""

    def set_limit(self, now: int, item: Item, expires_in: Fraction | None = None) -> None:
        """Stores the limit of the item, for `expires_in` seconds or for ever."""
        scope = self._scope_of_stored(now, item)
        if item.limit is None or not 1 <= item.limit < SUM_MAX:
            raise InvalidArgument("limit below 1, or too high")
        if expires_in is not None and expires_in <= 0:
            raise InvalidArgument("a limit that has expired")
        length = 0 if expires_in is None else ceil(expires_in * 1_000_000)
        until = None if expires_in is None else now + length
        self.store.limits[scope] = StoredLimit(item.limit, until, length)

    def clear_limit(self, now: int, item: Item) -> bool:
        """Whether there was one."""
        scope = self._scope_of_stored(now, item)
        stored = self.store.limits.pop(scope, None)
        return stored is not None and stored.healed(now).is_in_force(now)

    def _scope_of_stored(self, now: int, item: Item) -> Scope:
        charge = self._charge(now, item)
        if not charge.rule.overrides:
            raise InvalidArgument("a rule without limits of single keys")
        if self.latitude.limit_at_expiry:
            # What expired before is charged under the limit that was in force.
            self.store.write(self._look(now, [charge]))
        (scope,) = charge.scopes
        # A block that stands beside it is healed with it.
        if self.store.blocks.get(scope) is not None:
            self.store.blocks[scope] = self.store.blocks[scope].healed(now)
        return scope
