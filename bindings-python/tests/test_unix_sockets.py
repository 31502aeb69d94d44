"""Requests without an address, from a Unix socket: what becomes of them is a stated choice."""

from __future__ import annotations

import logging
import socket
import threading
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from sluicegate import AsyncRateLimiter
from sluicegate._routes import keys


def status(path: Path, target: str) -> int:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
        client.sendall(f"GET {target} HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n".encode())
        answer = b""
        while part := client.recv(65_536):
            answer += part
    return int(answer.split()[1])


def test_a_client_without_an_address_is_a_stated_choice(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    fastapi, uvicorn = pytest.importorskip("fastapi"), pytest.importorskip("uvicorn")
    from sluicegate.fastapi import RouteLimits

    monkeypatch.setattr(keys._NO_ADDRESS, "_is_said", False)

    @asynccontextmanager
    async def lifespan(app: Any) -> Any:
        async with AsyncRateLimiter.connect("memory://", rules=[]) as app.state.limiter:
            yield

    app = fastapi.FastAPI(lifespan=lifespan)
    limits = RouteLimits(lambda request: request.app.state.limiter)
    choices: dict[str, dict[str, Any]] = {name: {"no_address": name} for name in ("shared", "deny", "skip")}
    for name, options in {**choices, "default": {}}.items():
        app.get(f"/{name}", dependencies=[fastapi.Depends(limits("1/day", **options))])(lambda: "reached")
    path = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        server = uvicorn.Server(uvicorn.Config(app, log_level="critical"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            with caplog.at_level(logging.WARNING, "sluicegate"):
                seen = {name: [status(path, f"/{name}") for _ in range(2)] for name in (*choices, "default")}
        finally:
            server.should_exit = True
            thread.join()
    assert seen == {"shared": [200, 429], "deny": [400, 400], "skip": [200, 200], "default": [200, 429]}
    (warning,) = [record.message for record in caplog.records if record.name == "sluicegate"]
    assert "Unix socket" in warning
