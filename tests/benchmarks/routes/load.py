"""Requests over HTTP, so cheap to make that the application is what takes the time."""

from __future__ import annotations

import select
import socket
import time

TARGET = "/items/7"
# Of an application that hangs, in seconds.
LONGEST_WAIT = 120
_LONGEST_RESPONSE = 65536
# With several requests in flight, so long between two looks at what was answered, in seconds: a client that waits for every response
# would have the application wake it for each, which takes longer than many a limit.
_PAUSE = 0.0005


class Load:
    """So many connections to an application, each with one request in flight."""

    def __init__(self, port: int, in_flight: int) -> None:
        self._request = f"GET {TARGET} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAccept: */*\r\n\r\n".encode()
        self._connections = {}
        self._poll = select.epoll()
        self._pause = _PAUSE if in_flight > 1 else 0.0
        for _ in range(in_flight):
            connection = socket.create_connection(("127.0.0.1", port), LONGEST_WAIT)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._connections[connection.fileno()] = connection
            self._poll.register(connection, select.EPOLLIN)

    def run(self, seconds: float) -> tuple[int, float]:
        """Sends requests for so long; how many were answered, and in what time."""
        connections, request = self._connections, self._request
        parts = dict.fromkeys(connections, b"")
        began = time.perf_counter()
        end = began + seconds
        for connection in connections.values():
            connection.sendall(request)
        answered, pending = 0, len(connections)
        while pending:
            if self._pause:
                time.sleep(self._pause)
            ready = self._poll.poll(LONGEST_WAIT)
            if not ready:
                raise TimeoutError(f"the application did not answer within {LONGEST_WAIT} s")
            more = time.perf_counter() < end
            for number, _ in ready:
                received = parts[number] + connections[number].recv(_LONGEST_RESPONSE)
                if not _is_whole(received):
                    parts[number] = received
                    continue
                parts[number] = b""
                answered += 1
                if more:
                    connections[number].sendall(request)
                else:
                    pending -= 1
        return answered, time.perf_counter() - began

    def close(self) -> None:
        """Closes the connections."""
        for connection in self._connections.values():
            connection.close()
        self._poll.close()


def _is_whole(response: bytes) -> bool:
    """Whether a response is complete: all are of one JSON object. Raises RuntimeError if it is not of status 200."""
    if not response.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(f"the application answered {response[:200]!r}")
    return response.rstrip().endswith(b"}")
