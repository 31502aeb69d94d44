"""Servers that have replicas, of which one takes over when the primary is silent for long enough."""

from __future__ import annotations

from abc import ABC, abstractmethod

from servers import Server

# In milliseconds: how long a primary is silent before it is taken for dead, while the machine is only busy.
BUSY = "60000"


class Replicated(ABC):
    # The same while a primary is dead.
    dead: str
    environment: dict[str, str] = {}

    @abstractmethod
    def suspect_after(self, milliseconds: str) -> None: ...

    @abstractmethod
    def wait_for_failover(self, old: Server) -> int:
        """When a server has taken over that all name."""

    def wait_for_takeover(self, old: Server) -> int:
        """As `wait_for_failover`, when the old primary is silent."""
        self.suspect_after(self.dead)
        healed = self.wait_for_failover(old)
        self.suspect_after(BUSY)
        return healed
