"""What is done with answers where a framework or a dependency cannot: those to denials, and what follows from the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .._inflight import AsyncInFlight
from .._middleware import Headers, fields, merged
from .._receiving import LateReceive
from .._told import Told, told
from .deciding import Denial

# What begins an answer to gRPC: all else that is said to its clients ends it.
_LEADING = ("Content-Type", "Cache-Control")
_KEY = "sluicegate.answer"
# Of an answer that never came.
_BROKEN = 500


@dataclass(frozen=True)
class Outcome:
    """What a function that is given as `count` receives of an answer."""

    status_code: int
    # Names in small letters.
    headers: dict[str, str]


# Until it is known.
UNANSWERED = Outcome(_BROKEN, {})


def outcome_of(message: Any) -> Outcome:
    """That of a message which begins an answer."""
    sent = message.get("headers") or ()
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in sent}
    return Outcome(message.get("status", 200), headers)


def encoded(headers: Headers) -> list[tuple[bytes, bytes]]:
    """Headers as servers take them."""
    return [(name.lower().encode(), value.encode()) for name, value in headers]


def with_headers_of(message: Any, added: Headers, limits: Told) -> Any:
    """A message that begins an answer, with headers in place of the application's, unless it has those of a limit further in."""
    sent = message.get("headers") or ()
    decoded = ((name.decode("latin-1"), value.decode("latin-1")) for name, value in sent)
    return {**message, "headers": merged(sent, encoded(added))} if limits.claim(added, decoded) else message


class Reply:
    """The answer to a request that is denied, where the application has none: an application itself."""

    def __init__(self, denial: Denial) -> None:
        self._problem = denial.reply
        self._is_grpc = denial.is_grpc

    async def __call__(self, scope: Any, _: Any, send: Any) -> None:
        response = "websocket.http.response" if scope["type"] == "websocket" else "http.response"
        headers, trailers = self._split(scope)
        start = {"type": f"{response}.start", "status": self._problem.status, "headers": encoded(headers)}
        await send({**start, "trailers": True} if trailers else start)
        await send({"type": f"{response}.body", "body": b"" if scope.get("method") == "HEAD" else self._problem.body})
        if trailers:
            await send({"type": "http.response.trailers", "headers": encoded(trailers), "more_trailers": False})

    def _split(self, scope: Any) -> tuple[Headers, Headers]:
        """What clients of gRPC read at the end of an answer goes there, where a server can send it: in HTTP/2."""
        headers = fields(self._problem)
        if not self._is_grpc or "http.response.trailers" not in (scope.get("extensions") or {}):
            return headers, []
        leading = [header for header in headers if header[0] in _LEADING]
        return leading, [header for header in headers if header[0] not in (*_LEADING, "Content-Length")]


@dataclass(frozen=True)
class Settlement:
    """What a decision leaves to be done when the answer is known."""

    headers: Headers
    flight: AsyncInFlight | None
    # Whether what is reserved is charged, by the answer and its status.
    is_kept: Callable[[Outcome, int], bool]
    # Whether that is known only by the answer, though its client has hung up.
    by_outcome: bool


def answer_of(scope: Any) -> Answer | None:
    """That to a request; None without the middleware."""
    found: Answer | None = scope.get(_KEY)
    return found


class RouteMiddleware:
    """Adds headers of decisions to every answer, and charges or gives back what is reserved when it is known."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] not in ("http", "websocket") or _KEY in scope:
            await self._app(scope, receive, send)
            return
        watched = LateReceive(scope, receive)
        answer = scope[_KEY] = Answer(watched, send, told(scope))
        try:
            await self._app(scope, watched, answer.send)
        finally:
            watched.stop()
            answer.end()
            await answer.ended()


class Answer:
    """The answer to a request, and what is to be done when it is known."""

    def __init__(self, receive: LateReceive, send: Any, limits: Told) -> None:
        self._settlements: list[Settlement] = []
        self._receive = receive
        self._send = send
        self._limits = limits
        self._start: Any = None

    def add(self, settlement: Settlement) -> None:
        """What a limit leaves to be done."""
        self._settlements.append(settlement)
        if settlement.flight is not None:
            self._receive.watch(self._gone)

    async def send(self, message: Any) -> None:
        if message["type"] in ("http.response.start", "websocket.accept"):
            self._start = message
            # The innermost has decided last.
            added = next((each.headers for each in reversed(self._settlements) if each.headers), None)
            message = message if added is None else with_headers_of(message, added, self._limits)
        elif message["type"] == "http.response.body" and not message.get("more_body", False):
            # Before the byte is sent: the client's next request is to find what is given back.
            self.end()
        await self._send(message)

    def end(self) -> None:
        """The answer is over: charges what is held, or gives it back."""
        self._end([each for each in self._settlements if each.flight is not None])

    async def ended(self) -> None:
        """Waits for it."""
        for each in self._settlements:
            if each.flight is not None:
                await each.flight.ended()

    def _gone(self) -> None:
        """The client has hung up. A handler that works on may still find out what is charged by the outcome."""
        self._end([each for each in self._settlements if each.flight is not None and not each.by_outcome])

    def _end(self, held: list[Settlement]) -> None:
        if not held:
            return
        outcome = UNANSWERED if self._start is None else outcome_of(self._start)
        for each in held:
            assert each.flight is not None
            each.flight.end(is_kept=each.is_kept(outcome, outcome.status_code))
