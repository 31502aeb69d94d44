"""Does one fault after the other to servers, while clients of every language use them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Protocol

import clients
import stalls
from faults import Kind
from history import Fault, History, now
from limits import LANES
from servers import wait_until

# How many seconds clients may take to use servers that are back, on a machine with far more work than processors.
PATIENCE = 60
# Between two faults, in seconds.
QUIET = 1.0


class Servers(Protocol):
    name: str

    @property
    def url(self) -> str: ...

    @property
    def environment(self) -> dict[str, str]:
        """Of the clients."""
        ...

    def primaries(self) -> int:
        """How many running servers take themselves for the one in charge of the keys."""
        ...

    def repair(self) -> None:
        """Starts what was killed, and waits until all servers have their parts."""
        ...

    def close(self) -> None: ...


def played(servers: Servers, kinds: Sequence[Kind], names: list[str], seconds: float) -> History:
    """What the clients were told while each fault lasted for so many seconds."""
    with clients.started(servers.url, names, LANES, servers.environment) as using, stalls.noted(using.history.stalls):
        assert using.wait_until_served(now(), PATIENCE), "the clients did not begin"
        for kind in kinds:
            servers.repair()
            time.sleep(QUIET)
            began = now()
            healed = kind.do(servers, seconds)
            is_back = using.wait_until_served(healed, PATIENCE)
            wait_until("one primary", lambda: servers.primaries() == 1)
            using.history.faults.append(fault(kind, began, healed, now()))
            if not is_back:
                # The checker says so.
                break
        time.sleep(QUIET)
        return using.stop()


def fault(kind: Kind, began: int, healed: int, settled: int) -> Fault:
    return Fault(kind.name, began, healed, settled, kind.forgets, kind.is_split, kind.is_noticed)
