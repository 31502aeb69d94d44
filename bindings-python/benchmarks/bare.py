"""Sockets with nothing around them: what is left to any client.

Commands are packed before they are measured, answers are not taken apart.
"""

from __future__ import annotations

import asyncio
import functools
import os
import socket
import ssl
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


def spinning(url: str, tls_ca: str = "", tls_cert: str = "", tls_key: str = "") -> Callable[[str], bytes]:
    """A connection of one's own, which looks for its answer without sleeping: the least that any client takes."""
    connection = connect(url)
    if tls_ca:
        context = ssl.create_default_context(cafile=tls_ca)
        context.load_cert_chain(tls_cert, tls_key)
        connection = context.wrap_socket(connection, server_hostname=urlsplit(url).hostname)
    connection.setblocking(False)

    def check(key: str) -> bytes:
        connection.send(pack("SET", key, 1))
        while True:
            try:
                return connection.recv(4096)
            except (BlockingIOError, ssl.SSLWantReadError):
                os.sched_yield()

    return check


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
