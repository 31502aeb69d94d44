"""Limits at routes of servers that start several processes, of which some fork when the limiter is connected."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count, islice
from pathlib import Path

import pytest
from web import LONGEST_WAIT, Answer, Site

WORKERS = 3
CLIENTS = 200
GUNICORN = ["gunicorn", "--log-level", "warning", "--workers", str(WORKERS), "--bind", "fd://{socket}"]
COMMANDS = {
    "gunicorn that forks with the limiter": [*GUNICORN, "--preload", "workers_app:flask_app"],
    "gunicorn with threads that forks with the limiter": [*GUNICORN, "--preload", "--threads", "8", "workers_app:flask_app"],
    "gunicorn": [*GUNICORN, "workers_app:flask_app"],
    "uvicorn": ["uvicorn", "--log-level", "warning", "--workers", str(WORKERS), "--fd", "{socket}", "workers_app:fastapi_app"],
}

pytest.importorskip("fastapi", reason="needs Python 3.11")
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@contextmanager
def served(command: list[str], redis_url: str, prefix: str) -> Iterator[Site]:
    """Serves by a program, which gets a socket that listens already: requests wait until a worker takes them."""
    with socket.create_server(("127.0.0.1", 0), backlog=CLIENTS) as listener:
        number = listener.fileno()
        words = [sys.executable, "-m", *(word.format(socket=number) for word in command)]
        environment = {**os.environ, "REDIS_URL": redis_url, "PREFIX": prefix}
        process = subprocess.Popen(words, cwd=Path(__file__).parent, env=environment, pass_fds=[number])
        port = listener.getsockname()[1]
    try:
        yield Site(port)
    finally:
        process.terminate()
        process.wait(LONGEST_WAIT)


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_a_limit_holds_over_all_workers(command: list[str], redis_url: str, prefix: str) -> None:
    with served(command, redis_url, prefix) as site, ThreadPoolExecutor(CLIENTS) as pool:

        def ask(user: str) -> Answer:
            return site.ask("GET", "/", ("X-User", user))

        users = (f"user {number}" for number in count())
        workers: set[bytes] = set()
        end = time.monotonic() + LONGEST_WAIT
        while len(workers) < WORKERS and time.monotonic() < end:
            answers = list(pool.map(ask, islice(users, CLIENTS)))
            assert {answer.status for answer in answers} == {200}
            workers.update(answer.body for answer in answers)
        assert len(workers) == WORKERS
        statuses = sorted(answer.status for answer in pool.map(ask, ["alice"] * CLIENTS))
    assert statuses == [200] * 10 + [429] * (CLIENTS - 10)
