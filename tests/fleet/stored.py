"""What the limiters left on a Cluster: every key of a prefix, how much it counts, how long it lives."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import BinaryIO


@dataclass(frozen=True)
class Stored:
    """One key. `count` is in units of cost, or for the gcra family in microseconds of debt."""

    rule: str
    key: str
    count: float
    ttl_ms: int


class Server:
    """A connection that speaks just enough of the protocol."""

    def __init__(self, address: str) -> None:
        host, port = address.split(":")
        self._socket = socket.create_connection((host, int(port)), timeout=10)
        self._answers: BinaryIO = self._socket.makefile("rb")

    def close(self) -> None:
        self._answers.close()
        self._socket.close()

    def ask(self, *words: str | bytes) -> object:
        encoded = [word.encode() if isinstance(word, str) else word for word in words]
        parts = [b"$%d\r\n%s\r\n" % (len(word), word) for word in encoded]
        self._socket.sendall(b"*%d\r\n%s" % (len(parts), b"".join(parts)))
        return self._answer()

    def _answer(self) -> object:
        line = self._answers.readline()
        kind, rest = line[:1], line[1:-2]
        if kind == b"+":
            return rest
        if kind == b":":
            return int(rest)
        if kind == b"*":
            return [self._answer() for _ in range(int(rest))]
        if kind == b"$" and int(rest) >= 0:
            return self._answers.read(int(rest) + 2)[:-2]
        raise RuntimeError(f"the server answered {line!r}")


def nodes(url: str) -> list[str]:
    """The addresses of all nodes, also of those that the URL does not name."""
    first = url.split("//")[1].split(",")[0]
    with closing(Server(first)) as server:
        lines = server.ask("CLUSTER", "NODES").decode().splitlines()
    # The second word of a line: host:port@port, and in later releases a name.
    return [line.split()[1].split("@")[0] for line in lines]


def states(url: str, prefix: str) -> list[Stored]:
    """The keys of a prefix on all primaries that the URL names."""
    return [state for address in url.split("//")[1].split(",") for state in of_server(address, prefix)]


def of_server(address: str, prefix: str) -> Iterator[Stored]:
    with closing(Server(address)) as server:
        for name in server.ask("KEYS", f"{prefix}:*"):
            _, rule, key, shape = name.decode().split(":")
            yield Stored(rule, key.strip("{}"), count(server, name, shape), server.ask("PTTL", name))


def count(server: Server, name: bytes, shape: str) -> float:
    """The shape, the last part of a name, begins with the letter of the algorithm; lua/src has the layouts."""
    match shape[0]:
        case "l":
            return server.ask("LLEN", name)
        case "z":
            return server.ask("ZCARD", name)
    numbers = [number for (number,) in struct.iter_unpack("<d", server.ask("GET", name))]
    match shape[0]:
        # Start, count; slot, level.
        case "f" | "d":
            return numbers[1]
        # Start, count of the window before, count.
        case "s":
            return numbers[2]
        # Slot, its count, the count of the others.
        case "b":
            return numbers[1] + numbers[2]
        # Debt, its time.
        case "g":
            return numbers[0]
    raise RuntimeError(f"the shape {shape} is not known")
