"""Does one fault after the other to servers, while clients of every language use them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Protocol

import clients
from faults import Kind
from history import Fault, History, now
from limits import LANES

# How many seconds clients may take to use servers that are back, on a machine with far more work than processors.
PATIENCE = 60
# Between two faults, in seconds.
QUIET = 1.0


class Servers(Protocol):
    name: str

    @property
    def url(self) -> str: ...

    def settle(self) -> None:
        """Waits until one server is in charge of the keys, and its replicas are beside it."""
        ...

    def close(self) -> None: ...


def played(servers: Servers, kinds: Sequence[Kind], names: list[str], seconds: float, environment: dict[str, str] | None = None) -> History:
    """What the clients were told while each fault lasted for so many seconds."""
    with clients.started(servers.url, names, LANES, environment) as using:
        assert using.wait_until_served(now(), PATIENCE), "the clients did not begin"
        for kind in kinds:
            time.sleep(QUIET)
            began = now()
            healed = kind.do(servers, seconds)
            if not using.wait_until_served(healed, PATIENCE):
                # The checker says so.
                using.history.faults.append(fault(kind, began, healed, now()))
                break
            servers.settle()
            using.history.faults.append(fault(kind, began, healed, now()))
        time.sleep(QUIET)
        return using.stop()


def fault(kind: Kind, began: int, healed: int, settled: int) -> Fault:
    return Fault(kind.name, began, healed, settled, kind.forgets, kind.is_split, kind.is_noticed)
