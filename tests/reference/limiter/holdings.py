"""What is held by reservations that have not ended."""

from typing import NamedTuple

MOST_HOLDS = 10_000
"""Reservations of one key, or of one resource."""


class Hold(NamedTuple):
    """One reservation in one scope of a rule."""

    expiry: int
    id: tuple
    weight: int
    """0 for a rule in shadow that had no room."""

    limit: int | None
    """The limit that the call gave, if it gave one."""

    length: int = 0
    """Of its lease."""

    def healed(self, now: int) -> "Hold":
        """Begun now, if it began in the future."""
        return self._replace(expiry=min(self.expiry, now + self.length))

    def has_ended(self, now: int) -> bool:
        return self.expiry <= now


class Holdings(NamedTuple):
    """What a key, or a resource, has in flight under one rule."""

    holds: tuple[Hold, ...] = ()
    token: int | None = None
    """The last one that was given out."""

    changed_at: int = 0
    """From here on the token is remembered for `lease_seconds`."""

    def healed(self, now: int) -> "Holdings":
        return self._replace(holds=tuple(hold.healed(now) for hold in self.holds), changed_at=min(self.changed_at, now))

    def live(self, now: int) -> tuple[Hold, ...]:
        return tuple(hold for hold in self.holds if not hold.has_ended(now))

    def expired(self, now: int) -> list[Hold]:
        return sorted(hold for hold in self.holds if hold.has_ended(now))

    def find(self, id: tuple) -> Hold | None:
        return next((hold for hold in self.holds if hold.id == id), None)

    def without(self, id: tuple, now: int) -> "Holdings":
        return self._replace(holds=tuple(hold for hold in self.holds if hold.id != id), changed_at=now)

    def adding(self, hold: Hold, token: int, now: int) -> "Holdings":
        return Holdings((*self.holds, hold), token, now)

    def without_expired(self, now: int) -> "Holdings":
        expired = self.expired(now)
        return self._replace(holds=self.live(now), changed_at=expired[-1].expiry) if expired else self

    def first_expiry(self) -> int:
        return min(hold.expiry for hold in self.holds)


NONE_HELD = Holdings()
