"""What limits at routes of FastAPI hold for a request comes back when its client has hung up, though the handler works on."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest
from places import PLACES, RULES, left, until
from test_hang_ups import HANG_UP, SERVERS, head
from web import Site

from sluicegate import AsyncRateLimiter

SENT = {
    "a coroutine": head("GET", "/coroutine"),
    "a function": head("GET", "/function"),
    "a stream": head("GET", "/stream"),
    "a body that is read": head("POST", "/body", "Content-Type: application/json", "Content-Length: 7") + b'{"a":1}',
    "a body that is not sent whole": head("POST", "/raw", "Content-Length: 100000") + b"part",
}


class Work:
    """What handlers do until the test lets them end."""

    def __init__(self) -> None:
        self.may_end = threading.Event()
        self.ended = 0

    async def do(self) -> None:
        try:
            while not self.may_end.is_set():
                await asyncio.sleep(0.01)
        finally:
            self.ended += 1

    def block(self) -> None:
        self.may_end.wait()
        self.ended += 1


@contextmanager
def opened(serve: Any, url: str, prefix: str, work: Work) -> Iterator[Site]:
    module = pytest.importorskip("fastapi", reason="needs Python 3.11")
    from sluicegate.fastapi import RouteLimits

    @asynccontextmanager
    async def lifespan(app: Any) -> Any:
        async with AsyncRateLimiter.connect(url, rules=RULES, prefix=prefix) as app.state.limiter:
            yield

    app = module.FastAPI(lifespan=lifespan)
    limits = RouteLimits(lambda request: request.app.state.limiter, key=lambda _: "global")
    app.add_middleware(limits.middleware)
    place = [module.Depends(limits("places"))]

    async def parts() -> Any:
        while not work.may_end.is_set():
            yield b"x" * 65536
            await asyncio.sleep(0.005)

    async def coroutine() -> None:
        await work.do()

    async def body(sent: dict[str, int]) -> None:
        await work.do()

    async def stream() -> Any:
        return module.responses.StreamingResponse(parts())

    async def fails() -> None:
        await work.do()
        raise module.HTTPException(500)

    app.get("/coroutine", dependencies=place)(coroutine)
    app.get("/function", dependencies=place)(work.block)
    app.get("/stream", dependencies=place)(stream)
    body.__annotations__["sent"] = dict[str, int]
    app.post("/body", dependencies=place)(body)
    app.post("/raw", dependencies=place)(coroutine)
    tokens = [module.Depends(limits("tokens", count="successes"))]
    app.get("/succeeds", dependencies=tokens)(coroutine)
    app.get("/fails", dependencies=tokens)(fails)
    with serve(app) as site:
        try:
            yield site
        finally:
            work.may_end.set()


@pytest.mark.parametrize("how", HANG_UP)
@pytest.mark.parametrize("serve", SERVERS)
def test_a_place_comes_back_while_the_handler_works_on(serve: Any, how: str, redis_url: str, prefix: str) -> None:
    work = Work()
    with opened(serve, redis_url, prefix, work) as site:
        for what, sent in SENT.items():
            connection = socket.create_connection(("127.0.0.1", site.port))
            connection.sendall(sent)
            until(lambda: left(redis_url, prefix) == PLACES - 1)
            HANG_UP[how](connection)
            try:
                until(lambda: left(redis_url, prefix) == PLACES)
            except AssertionError:
                pytest.fail(what)


def test_what_is_charged_by_the_outcome_waits_for_it(redis_url: str, prefix: str) -> None:
    work = Work()
    with opened(SERVERS[0].values[0], redis_url, prefix, work) as site:
        connections = [socket.create_connection(("127.0.0.1", site.port)) for _ in range(2)]
        for connection, path in zip(connections, ("/succeeds", "/fails")):
            connection.sendall(head("GET", path))
        until(lambda: left(redis_url, prefix, "tokens") == 998)
        for connection in connections:
            connection.close()
        work.may_end.set()
        until(lambda: work.ended == 2)
        # What succeeded is charged, and what failed is given back.
        until(lambda: left(redis_url, prefix, "tokens") == 999)
