"""The applications on their servers, and a client that sends bytes."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, BinaryIO
from urllib.parse import unquote

HERE = Path(__file__).parent
TIMEOUT = 20


@dataclass(frozen=True)
class Answer:
    status: int
    # What the handler that ran reported, if one did.
    ran: dict[str, Any] | None


class Client:
    """Keeps its connection as long as the server does."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._socket: socket.socket | None = None
        self._file: Any = None

    def ask(self, request: bytes, has_body: bool = True) -> Answer:
        for fresh in (self._socket is None, True):
            if fresh:
                self._connect()
            try:
                self._socket.sendall(request)  # type: ignore[union-attr]
                answer = self._answer(has_body)
            except ConnectionError:
                answer = None
            if answer or fresh:
                # A server that hangs up without a word has run nothing.
                return answer or Answer(0, None)
        raise AssertionError

    def _connect(self) -> None:
        self.close()
        self._socket = socket.create_connection(("127.0.0.1", self._port), timeout=TIMEOUT)
        self._file = self._socket.makefile("rb")

    def _answer(self, has_body: bool) -> Answer | None:
        status = self._file.readline()
        if not status:
            self.close()
            return None
        headers: dict[str, str] = {}
        while (line := self._file.readline()).strip():
            name, _, value = line.decode("latin-1").partition(":")
            headers[name.lower()] = value.strip()
        code = int(status.split()[1])
        length = headers.get("content-length")
        if not has_body or code in (204, 304):
            pass
        elif length is None:
            self.close()
        else:
            self._file.read(int(length))
        # After an error, servers may or may not go on.
        if code == 400 or headers.get("connection", "").lower() == "close":
            self.close()
        ran = headers.get("x-ran")
        return Answer(code, json.loads(unquote(ran)) if ran else None)

    def close(self) -> None:
        if self._socket:
            self._file.close()
            self._socket.close()
            self._socket = None


@contextmanager
def _python(*command: str) -> Iterator[int]:
    """A server that takes the socket over; `{fd}` in the command is its number."""
    with socket.create_server(("127.0.0.1", 0)) as listener, TemporaryFile() as errors:
        fd = listener.fileno()
        filled = [sys.executable, "-m", *(part.replace("{fd}", str(fd)) for part in command)]
        process = subprocess.Popen(filled, cwd=HERE, pass_fds=[fd], stderr=errors, stdout=subprocess.DEVNULL)
        yield from _running(process, listener.getsockname()[1], errors)


@contextmanager
def _program(*command: str) -> Iterator[int]:
    """A program that says its port, and ends with its input."""
    with TemporaryFile() as errors:
        process = subprocess.Popen(command, cwd=HERE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)
        assert process.stdout
        yield from _running(process, int(process.stdout.readline() or 0), errors)


def _running(process: subprocess.Popen[bytes], port: int, errors: BinaryIO) -> Iterator[int]:
    """What it complains of goes to a file: a pipe that nobody reads would stop it once it is full."""
    try:
        yield port
    except Exception:
        errors.seek(0)
        print(errors.read()[-2000:].decode(errors="replace"), file=sys.stderr)
        raise
    finally:
        process.terminate()
        process.communicate()


def _uvicorn(app: str, http: str) -> Callable[[], Any]:
    options = ["--factory", "--fd", "{fd}", "--http", http, "--log-level", "critical", "--h11-max-incomplete-event-size", "65536"]
    return lambda: _python("uvicorn", f"python_apps:{app}", *options)


def _hypercorn(app: str) -> Callable[[], Any]:
    return lambda: _python("hypercorn", f"python_apps:{app}()", "--bind", "fd://{fd}", "--log-level", "critical")


def _gunicorn(app: str) -> Callable[[], Any]:
    options = ["--bind", "fd://{fd}", "--limit-request-line", "0", "--log-level", "critical", "--keep-alive", "5"]
    return lambda: _python("gunicorn", f"python_apps:{app}()", *options)


def _node(app: str) -> Callable[[], Any]:
    return lambda: _program("node", "node_apps.js", app)


def _axum() -> Any:
    return _program(os.environ["SLUICEGATE_DIFFERENTIAL_AXUM"])


SITES: dict[str, Callable[[], Any]] = {
    "starlette, uvicorn, h11": _uvicorn("starlette", "h11"),
    "starlette, uvicorn, httptools": _uvicorn("starlette", "httptools"),
    "starlette, hypercorn": _hypercorn("starlette"),
    "fastapi, uvicorn, h11": _uvicorn("fastapi", "h11"),
    "fastapi, uvicorn, httptools": _uvicorn("fastapi", "httptools"),
    "fastapi inside, uvicorn, h11": _uvicorn("fastapi_inside", "h11"),
    "quart, hypercorn": _hypercorn("quart"),
    "flask, gunicorn": _gunicorn("flask"),
    "flask by asgi, uvicorn, httptools": _uvicorn("flask_by_asgi", "httptools"),
    "django, gunicorn": _gunicorn("django"),
    "django by asgi, uvicorn, h11": _uvicorn("django_by_asgi", "h11"),
    "django by asgi, hypercorn": _hypercorn("django_by_asgi"),
    "express 4": _node("express4"),
    "express 5": _node("express5"),
    "express 5, mounted": _node("express5-mounted"),
    "fastify 4": _node("fastify4"),
    "fastify 5": _node("fastify5"),
    "fastify 5, loose": _node("fastify5-loose"),
    "axum": _axum,
}
