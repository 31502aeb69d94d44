"""Sockets with nothing around them: what is left to any client that sleeps until its answer comes.

Commands are packed before they are measured, answers are not taken apart.
"""

from __future__ import annotations

import asyncio
import functools
import socket
from collections import deque
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

# What the script answers is `*2`, `:1` and `:n`.
LINES_PER_ANSWER = 3

Packed = Callable[[str], bytes]


def evalsha(sha: str, *arguments: object) -> Packed:
    """The bytes of a script's call for a key."""
    return functools.cache(lambda key: pack("EVALSHA", sha, 1, f"g:{key}", *arguments))


def pack(*words: object) -> bytes:
    texts = [str(word).encode() for word in words]
    return b"*%d\r\n" % len(texts) + b"".join(b"$%d\r\n%s\r\n" % (len(text), text) for text in texts)


def connect(url: str) -> socket.socket:
    address = urlsplit(url)
    connection = socket.create_connection((address.hostname, address.port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def blocking(url: str, packed: Packed) -> Callable[[str], bytes]:
    """As many connections as there are calls at a time."""
    idle: list[socket.socket] = []

    def check(key: str) -> bytes:
        try:
            connection = idle.pop()
        except IndexError:
            connection = connect(url)
        connection.sendall(packed(key))
        answer = connection.recv(4096)
        idle.append(connection)
        return answer

    return check


def asynchronous(url: str, packed: Packed) -> Callable[[str], Awaitable[None]]:
    """One connection, which answers in the order of the commands, and a future per call."""
    loop = asyncio.get_running_loop()
    connection = connect(url)
    connection.setblocking(False)
    waiting: deque[asyncio.Future[None]] = deque()
    lines = 0

    def readable() -> None:
        nonlocal lines
        lines += connection.recv(65536).count(b"\n")
        while lines >= LINES_PER_ANSWER:
            lines -= LINES_PER_ANSWER
            waiting.popleft().set_result(None)

    def check(key: str) -> asyncio.Future[None]:
        future = loop.create_future()
        waiting.append(future)
        connection.send(packed(key))
        return future

    loop.add_reader(connection, readable)
    return check
