"""Limits of single keys that are stored: plans and exceptions that every process obeys.

Where section 13 of the contract leaves a choice:

- A limit is in force while `now < until`, and it is not there at the microsecond at which it expires.
- It takes the place of the rule's as `limit=` of every call would: the burst of the gcra family follows unless the rule
  states one, and what was counted stays.
- Setting it again replaces both the limit and its expiry.
- It is no usage: `reset_after` does not wait for it.
- After the clock has stepped back it lasts for its length from now at most.
- Setting or clearing it neither ends a block nor ends what is held, and changes no answer that a request id has kept.
"""

from typing import NamedTuple


class StoredLimit(NamedTuple):
    limit: int
    until: int | None
    """None: until it is cleared."""

    length: int = 0
    """How long it was stored for."""

    def healed(self, now: int) -> "StoredLimit":
        """Stored now, if it was stored in the future."""
        return self if self.until is None else self._replace(until=min(self.until, now + self.length))

    def is_in_force(self, now: int) -> bool:
        return self.until is None or now < self.until
