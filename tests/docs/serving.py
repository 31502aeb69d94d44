"""Blocks that are servers: started on a port of their own, asked, and ended."""

from __future__ import annotations

import http.client
import re
import socket
import subprocess
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from languages import Place

# What a page leaves to the server that runs the application.
SERVED = {
    "python": """
if __name__ == "__main__":
    import inspect, os
    _port, _app = int(os.environ["PORT"]), globals().get("app") or globals()["application"]
    if hasattr(_app, "wsgi_app") or not (hasattr(_app, "router") or inspect.iscoroutinefunction(_app.__call__)):
        from wsgiref.simple_server import make_server
        make_server("127.0.0.1", _port, _app).serve_forever()
    import uvicorn
    uvicorn.run(_app, port=_port, log_level="warning")
""",
}

_REQUEST = re.compile(r"(?P<method>[A-Z]+) (?P<path>\S+)(?P<headers>(?: [\w-]+=\S+)*)(?P<statuses>(?: \d{3})+)$")
_TIMEOUT = 30


def answers(command: list[Any], place: Place, requests: list[str]) -> str:
    """Makes `METHOD PATH NAME=VALUE... STATUS...` requests of a server, one for each status."""
    from languages import Failed

    port = _free_port()
    environment = {**place.environment, "PORT": str(port)}
    log = place.folder / "server.log"
    with log.open("w") as output:
        server = subprocess.Popen(command, cwd=place.folder, env=environment, stdout=output, stderr=output)
    try:
        _wait_for(port, server)
        for request in requests:
            expected, answered = _ask(port, request)
            if expected != answered:
                raise Failed(f"{request}: answered {answered}\n{log.read_text()}")
    except OSError as error:
        raise Failed(f"{error}\n{log.read_text()}") from error
    finally:
        server.kill()
        server.wait()
    return ""


def _ask(port: int, request: str) -> tuple[list[int], list[int]]:
    parts = _REQUEST.match(request)
    headers = dict(pair.split("=", 1) for pair in parts["headers"].split())
    expected = [int(status) for status in parts["statuses"].split()]
    return expected, [_status(port, parts["method"], parts["path"], headers) for _ in expected]


def _status(port: int, method: str, path: str, headers: dict[str, str]) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_TIMEOUT)
    connection.request(method, path, headers=headers)
    status = connection.getresponse().status
    connection.close()
    return status


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for(port: int, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _TIMEOUT
    while server.poll() is None and time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise OSError(f"the server did not start within {_TIMEOUT} s (exit code {server.poll()})")
