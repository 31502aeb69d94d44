"""One server, and what may happen to it."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing

from faults import Kind
from history import now
from servers import Server


class Single:
    name = "one server"

    def __init__(self) -> None:
        self.server = Server()

    @property
    def environment(self) -> dict[str, str]:
        return {}

    @property
    def url(self) -> str:
        return f"redis://{self.server.address}"

    def primaries(self) -> int:
        return 1

    def repair(self) -> None:
        """Faults leave the server as it was."""

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


def flushed(single: Single, seconds: float) -> int:
    return over_and_over(seconds, lambda: single.server.ask("SCRIPT", "FLUSH"))


def disconnected(single: Single, seconds: float) -> int:
    return over_and_over(seconds, lambda: single.server.ask("CLIENT", "KILL", "TYPE", "normal"))


def over_and_over(seconds: float, do: Callable[[], object]) -> int:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        do()
        time.sleep(0.1)
    return now()


def out_of_memory(single: Single, seconds: float) -> int:
    single.server.ask("CONFIG", "SET", "maxmemory", "1")
    time.sleep(seconds)
    single.server.ask("CONFIG", "SET", "maxmemory", "0")
    return now()


def out_of_clients(single: Single, seconds: float) -> int:
    """The only connection there may be is this one."""
    with closing(single.server.connection()) as connection:
        [_, most] = connection.ask("CONFIG", "GET", "maxclients")
        connection.ask("CONFIG", "SET", "maxclients", "1")
        connection.ask("CLIENT", "KILL", "TYPE", "normal")
        time.sleep(seconds)
        connection.ask("CONFIG", "SET", "maxclients", most)
    return now()


KINDS = [
    Kind("kill -9, restart empty", killed, forgets=1, is_short=True),
    Kind("SIGSTOP", stopped, is_short=True),
    Kind("`SCRIPT FLUSH`, ten times a second", flushed, is_noticed=False, is_short=True),
    Kind("`CLIENT KILL`, ten times a second", disconnected, is_noticed=False, is_short=True),
    Kind("`maxmemory` reached", out_of_memory),
    Kind("`maxclients` reached", out_of_clients),
]
