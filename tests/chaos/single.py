"""One server, and what may happen to it."""

from __future__ import annotations

import time

from faults import Kind
from history import now
from servers import Server


class Single:
    name = "one server"

    def __init__(self) -> None:
        self.server = Server()

    @property
    def url(self) -> str:
        return f"redis://{self.server.address}"

    def settle(self) -> None:
        """There is nothing to wait for."""

    def close(self) -> None:
        self.server.close()


def killed(single: Single, seconds: float) -> int:
    single.server.kill()
    time.sleep(seconds)
    single.server.start()
    return now()


def stopped(single: Single, seconds: float) -> int:
    single.server.pause()
    time.sleep(seconds)
    single.server.resume()
    return now()


KINDS = [
    Kind("kill -9, restart empty", killed, forgets=1),
    Kind("SIGSTOP", stopped),
]
