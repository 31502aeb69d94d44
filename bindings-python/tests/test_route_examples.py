"""The applications in examples/routes, each started as its users would, do what the pages of their frameworks say."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from web import LONGEST_WAIT, Answer, Site

FOLDER = Path(__file__).parents[2] / "examples/routes"
LONGEST_START = 120

# How each is served.
UVICORN = ["-m", "uvicorn", "--app-dir", str(FOLDER), "--port", "{port}"]
RUNSERVER = ["runserver", "--noreload", "{port}"]
COMMANDS = {
    "fastapi": [*UVICORN, "fastapi_routes:app"],
    "flask": ["-m", "flask", "--app", str(FOLDER / "flask_routes.py"), "run", "--port", "{port}"],
    "django": [str(FOLDER / "django_routes.py"), *RUNSERVER],
    "rest_framework": [str(FOLDER / "rest_framework_routes.py"), *RUNSERVER],
    "aiohttp": [str(FOLDER / "aiohttp_routes.py")],
    "batches": [*UVICORN, "fastapi_batches:app"],
}
FRAMEWORKS = ["fastapi", "flask", "django", "rest_framework", "aiohttp"]


@pytest.fixture(scope="module")
def serve(servers: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Site]]:
    """Serves an application. All of them name their rules alike, so each has a database of its own."""
    with ExitStack() as opened:

        def start(name: str) -> Site:
            database = list(COMMANDS).index(name) + 1
            environment = {**os.environ, "LIMITER_URL": f"{servers['redis'].rstrip('/')}/{database}", "PROXIES": "1"}
            return Site(opened.enter_context(served(COMMANDS[name], environment, tmp_path_factory.mktemp(name) / "log")))

        yield start


@contextmanager
def served(command: list[str], environment: dict[str, str], log: Path) -> Iterator[int]:
    """Starts a server, and ends it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    program = [sys.executable, *(part.format(port=port) for part in command)]
    with log.open("w") as output:
        server = subprocess.Popen(program, env={**environment, "PORT": str(port)}, stdout=output, stderr=output)
    try:
        wait_for(port, server, log)
        yield port
    finally:
        server.terminate()
        server.wait()


def wait_for(port: int, server: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + LONGEST_START
    while server.poll() is None and time.monotonic() < end:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError(f"the server did not start\n{log.read_text()}")


def bearer(user: str) -> tuple[str, str]:
    return ("Authorization", f"Bearer {user}")


def from_(address: str) -> tuple[str, str]:
    return ("X-Forwarded-For", address)


def statuses(times: int, ask: Callable[[], Answer]) -> list[int]:
    return [ask().status for _ in range(times)]


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_page_of_a_framework(framework: str, serve: Callable[[str], Site]) -> None:
    pytest.importorskip(framework, reason="needs Python 3.11")
    site = serve(framework)
    # By the address, which the proxy tells.
    assert statuses(4, lambda: site.ask("POST", "/signup", from_("192.0.2.1"))) == [200, 200, 200, 429]
    assert site.ask("POST", "/signup", from_("192.0.2.2")).status == 200

    # An answer of its own, with the headers of a denial.
    denied = site.ask("POST", "/signup", from_("192.0.2.1"))
    assert list(denied.json()) == ["error"]
    assert 0 < int(denied.header("Retry-After") or 0) <= 1200
    # Those of the limit at the route, also within one of the whole application. Throttle classes send none.
    if framework != "rest_framework":
        assert '3/hour";r=0' in str(denied.header("RateLimit"))

    # By the user, wherever they come from and whatever the path holds.
    def report(number: int, user: str) -> Answer:
        return site.ask("GET", f"/reports/{number}", bearer(user), from_(f"198.51.100.{number}"))

    assert [report(number, "alice").status for number in range(5)] == [200] * 4 + [429]
    assert report(7, "bob").json() == {"report": 7, "left": 3}
    # Django sends them to its login.
    assert site.ask("GET", "/reports/7").status in (401, 403, 302)

    # By the plan.
    assert statuses(3, lambda: site.ask("GET", "/exports", bearer("bob"))) == [200, 200, 429]
    assert statuses(5, lambda: site.ask("GET", "/exports", bearer("alice"))) == [200] * 4 + [429]

    # The health check is not limited, and its answer has no headers of a limit.
    health = site.ask("GET", "/health", from_("192.0.2.1"))
    assert (health.status, health.header("RateLimit")) == (200, None)


class Talk:
    """A client of a WebSocket."""

    def __init__(self, site: Site, path: str) -> None:
        from wsproto import ConnectionType, WSConnection
        from wsproto.events import Request

        self._protocol = WSConnection(ConnectionType.CLIENT)
        self._connection = socket.create_connection(("127.0.0.1", site.port), LONGEST_WAIT)
        self._events: Iterator[Any] = self._received()
        self._send(Request(host="localhost", target=path))
        next(self._events)

    def say(self, text: str) -> Any:
        """What is answered to a message."""
        from wsproto.events import TextMessage

        self._send(TextMessage(data=text))
        return json.loads(next(self._events).data)

    def close(self) -> None:
        self._connection.close()

    def _send(self, event: Any) -> None:
        self._connection.sendall(self._protocol.send(event))

    def _received(self) -> Iterator[Any]:
        while part := self._connection.recv(65_536):
            self._protocol.receive_data(part)
            yield from self._protocol.events()


@pytest.fixture(scope="module")
def batches(serve: Callable[[str], Site]) -> Site:
    pytest.importorskip("fastapi", reason="needs Python 3.11")
    return serve("batches")


def test_messages_of_a_websocket_are_charged_one_by_one(batches: Site) -> None:
    with closing(Talk(batches, "/chat?user=alice")) as first, closing(Talk(batches, "/chat?user=alice")) as second:
        assert [first.say("a"), second.say("b")] == [{"said": "a"}, {"said": "b"}]
        denied = first.say("c")
    assert denied["error"] == "too many messages" and 0 < denied["retry_after"] <= 1800
    with closing(Talk(batches, "/chat?user=bob")) as other:
        assert other.say("d") == {"said": "d"}


def test_a_batch_costs_as_many_as_it_holds(batches: Site) -> None:
    def post(path: str, content: Any) -> Answer:
        return batches.ask("POST", path, ("Content-Type", "application/json"), body=json.dumps(content).encode())

    call = {"jsonrpc": "2.0", "id": 1, "method": "order"}
    assert post("/rpc", [call] * 3).json() == {"left": 2}
    # All of it or none.
    assert post("/rpc", [call] * 3).status == 429
    assert post("/rpc", call).json() == {"left": 1}
    assert [post("/graphql", {"query": "{ a b c }"}).status for _ in range(2)] == [200, 429]
    assert post("/graphql", [{"query": "{ a }"}, {"query": "query more { b }"}]).status == 200
    assert batches.ask("POST", "/rpc", body=b"[").status == 400
    assert [post("/graphql", wrong).status for wrong in ({}, {"query": "{"}, "a", [1])] == [400] * 4
