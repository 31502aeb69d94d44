"""One server, and what may happen on the machines of the clients: to their clocks, and to their name servers."""

from __future__ import annotations

import os
import struct
import tempfile
import time
from pathlib import Path

from faults import Kind
from history import now
from single import Single

HOUR = 3600
# What becomes of names; as in shim.c.
WELL, FAILS, HANGS = range(3)


class Surroundings(Single):
    name = "machines of clients"

    def __init__(self) -> None:
        super().__init__()
        self.control = Path(tempfile.mkstemp(prefix="sluicegate-chaos-")[1])
        self.set(0, WELL)

    @property
    def url(self) -> str:
        return f"redis://redis.chaos:{self.server.port}"

    @property
    def environment(self) -> dict[str, str]:
        return {"LD_PRELOAD": os.environ["SLUICEGATE_CHAOS_SHIM"], "CHAOS_CONTROL": str(self.control)}

    def set(self, wrong_by: int, names: int) -> None:
        # In place: the clients have the file mapped.
        with self.control.open("r+b") as file:
            file.write(struct.pack("=qq", wrong_by, names))

    def close(self) -> None:
        super().close()
        self.control.unlink()


def clock(wrong_by: int):
    """Steps to another time, and back."""

    def do(surroundings: Surroundings, seconds: float) -> int:
        surroundings.set(wrong_by, WELL)
        time.sleep(seconds)
        surroundings.set(0, WELL)
        return now()

    return do


def names(what: int):
    """While clients need new connections."""

    def do(surroundings: Surroundings, seconds: float) -> int:
        surroundings.set(0, what)
        surroundings.server.ask("CLIENT", "KILL", "TYPE", "normal")
        time.sleep(seconds)
        surroundings.set(0, WELL)
        return now()

    return do


KINDS = [
    Kind("clients' clocks an hour ahead", clock(HOUR), is_noticed=False),
    Kind("clients' clocks an hour behind", clock(-HOUR), is_noticed=False),
    Kind("DNS that fails", names(FAILS)),
    Kind("DNS that does not answer", names(HANGS)),
]
