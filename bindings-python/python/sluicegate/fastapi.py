"""Limits at the routes of FastAPI and Starlette.

`Depends(limits("5/minute"))` limits a route of FastAPI, `@limits.endpoint("5/minute")` one of Starlette.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any

from ._routes.needed import needed

with needed("Starlette", "fastapi"):
    from starlette.exceptions import HTTPException
    from starlette.requests import HTTPConnection
    from starlette.responses import Response

from ._asynchronous import AsyncRateLimiter
from ._inflight import AsyncInFlight
from ._middleware import ensure, merged
from ._native import Decision
from ._routes.asgi import Reply, RouteMiddleware, Settlement, answer_of, encoded
from ._routes.deciding import Denial, Framework, Route, Verdict, asynchronous, instance_of, shared
from ._routes.endpoint import Handed
from ._routes.request import RouteRequest
from ._routes.starlette import MISPLACED, name_misplaced, served_by
from ._routes.templates import template_of
from ._told import denied, note, told

if TYPE_CHECKING:
    from ._routes.rules import Rule

__all__ = ["RateLimited", "RouteLimits"]

_FRAMEWORK = Framework(instance_of(Response), passing=(HTTPException,))


class RateLimited(HTTPException):
    """A request is denied, or could not be decided: status 429, 503 or 400. An exception handler may answer it."""

    def __init__(self, denial: Denial) -> None:
        super().__init__(denial.problem.status, denial.detail, dict(denial.headers))
        self.decision = denial.decision


class _Answered(Exception):
    """What `on_denied` answers, a WebSocket that is refused, or a call of gRPC."""

    def __init__(self, response: Response | Reply) -> None:
        self.response = response


class _Middleware(RouteMiddleware):
    """That of `RouteLimits`, which also meets requests that no limit does."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "lifespan":
            name_misplaced(scope)
        await super().__call__(scope, receive, send)


class RouteLimits:
    """Limits at the routes of one application.

    Called with rates (`"5/minute"`), names of rules, or rules as data, it answers a dependency; several are decided together,
    all or nothing. The decision is the value of the dependency, and `request.state.rate_limit`. A request that is denied
    raises `RateLimited`, an `HTTPException` of status 429; a WebSocket is refused before it is accepted.

    `limiter`: an `AsyncRateLimiter`, or a function that finds it by the request (a coroutine, too), as it can be connected
    only once the loop runs: `lambda request: request.app.state.limiter`.

    `name`: begins the names of rules that are stated at routes, so that two services on one Redis count apart. Default: the
    title of the application, or `routes`.

    `enabled`: False makes every route unlimited.

    `trusted_proxies`, `headers`, `on_error` and `max_lease_seconds` are those of `sluicegate.asgi.RateLimitMiddleware`.

    The other options are defaults for routes, each of which may have its own. Functions get the request, or the WebSocket, and
    may be coroutines:

    - `key`: who is counted by rates, and by rules without `identifier_type`. Default: `user_id`, or else the address.
    - `user_id`: the user, or None.
    - `cost`: a number, or a function that answers it. Default: 1.
    - `limit`: a limit in place of the rule's, such as that of a plan; None: the rule's.
    - `skip`: True exempts the request.
    - `on_denied(request, decision)`: the response in place of the exception.
    - `on_decision(request, decision)`: is called with every decision.
    - `count`: what is charged: `"all"` requests, `"failures"` (status 400 and above), `"successes"`, or those for whose response
      a function answers True (the response has `status_code` and `headers`). The cost is reserved before, so that requests at
      the same time do not pass together. Needs `app.add_middleware(limits.middleware)`.
    - `no_address`: what becomes of a request that is counted by its address and has none: `"shared"` (all such share one
      limit), `"deny"` or `"skip"`.

    Headers of the decision are sent with every answer if the application has the middleware of this object, else with those
    for which FastAPI makes the response.
    """

    middleware = _Middleware

    def __init__(
        self, limiter: AsyncRateLimiter | Callable[..., AsyncRateLimiter | Awaitable[AsyncRateLimiter]], **options: Any
    ) -> None:
        self._shared = shared(limiter, _check_limiter, _FRAMEWORK, options)

    def __call__(
        self, *limits: str | Rule, shared: str | None = None, per_method: bool = False, **options: Any
    ) -> Callable[..., Awaitable[Decision | None]]:
        """A dependency. All methods of a function share its limit unless `per_method`; routes with the same `shared`, too."""
        limit = self._limit(limits, shared, per_method, options)

        async def limited(connection: HTTPConnection, response: Response) -> Decision | None:
            verdict = await limit.decide(connection)
            if answer_of(connection.scope) is None:
                _add_headers(response, connection, verdict)
            return verdict.decision

        return limited

    def endpoint(
        self, *limits: str | Rule, shared: str | None = None, per_method: bool = False, **options: Any
    ) -> Callable[[Callable[..., Awaitable[Any]]], Callable[..., Awaitable[Any]]]:
        """A decorator for endpoints that are coroutine functions: of Starlette, and below `@app.get` of FastAPI, where it comes after
        all dependencies and costs less than one.
        """
        limit = self._limit(limits, shared, per_method, options)

        def decorate(function: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
            is_coroutine = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))
            fits = is_coroutine and not isinstance(function, type)
            ensure("the endpoint", "a coroutine function", function, fits)

            handed = Handed(function)

            @functools.wraps(function)
            async def limited(*arguments: Any, **named: Any) -> Any:
                connection, of_fastapi = handed.taken(arguments, named)
                verdict = await limit.decide(connection)
                if answer_of(connection.scope) is not None:
                    return await function(*arguments, **named)
                limits = told(connection.scope)
                if of_fastapi is not None:
                    _add_headers(of_fastapi, connection, verdict)
                response = await function(*arguments, **named)
                if isinstance(response, Response) and limits.claim(verdict.headers, response.headers.items()):
                    response.headers.update(dict(verdict.headers))
                return response

            limited.__signature__ = handed.signature  # type: ignore[attr-defined]
            MISPLACED.name_at_definition(function, sys._getframe(1), served_by)
            MISPLACED.watch(limited)
            return limited

        return decorate

    def _limit(self, limits: tuple[Any, ...], shared: str | None, per_method: bool, options: dict[str, Any]) -> _Limit:
        route_options = {**options, "shared": shared, "per_method": per_method}
        return _Limit(self._shared, limits, route_options)


class _Limit:
    """The limits of one route."""

    def __init__(self, shared: Any, limits: tuple[Any, ...], options: dict[str, Any]) -> None:
        self._route = Route(shared, limits, options)
        self._most = shared.policy.max_lease_seconds

    async def decide(self, connection: HTTPConnection) -> Verdict:
        scope = connection.scope
        name_misplaced(scope)
        answer = answer_of(scope)
        if answer is None and self._route.hooks.by_outcome:
            raise RuntimeError("count by outcome needs the middleware of RouteLimits: app.add_middleware(limits.middleware)")
        verdict = await asynchronous(self._route.steps(_request(connection)))
        if verdict.denial is not None:
            denied(scope)
            raise _refused(verdict.denial, connection)
        if verdict.decision is not None:
            scope.setdefault("state", {})["rate_limit"] = verdict.decision
        if answer is not None:
            flight = None if verdict.held is None else AsyncInFlight(verdict.held, self._most)
            answer.add(Settlement(verdict.headers, flight, self._route.hooks.is_kept, self._route.hooks.by_outcome))
        elif verdict.held is not None:
            await verdict.held.release()
            raise RuntimeError("rules with reservations need the middleware of RouteLimits: app.add_middleware(limits.middleware)")
        return verdict


def _add_headers(response: Response, connection: HTTPConnection, verdict: Verdict) -> None:
    """Adds headers to those of which FastAPI makes a response."""
    note(connection.scope, verdict.headers)
    known, added = response.raw_headers, encoded(verdict.headers)
    # Those of a limit before are replaced: it is further out.
    known[:] = merged(known, added) if known else added


def _check_limiter(limiter: object) -> None:
    ensure("limiter", "an AsyncRateLimiter, or a function that finds one", limiter, isinstance(limiter, AsyncRateLimiter))


def _request(connection: HTTPConnection) -> RouteRequest:
    scope = connection.scope
    client = scope.get("client")
    return RouteRequest(
        (connection,),
        # A WebSocket begins as a request of this method.
        _counted(scope.get("method", "GET")),
        template_of(scope),
        getattr(scope.get("app"), "title", None),
        client[0] if client else None,
        functools.partial(_values, scope["headers"]),
        scope.get("path_params", {}),
    )


def _values(headers: Iterable[tuple[bytes, bytes]], name: str) -> list[str]:
    """The values of a header."""
    sought = name.encode("latin-1")
    return [value.decode("latin-1") for other, value in headers if other == sought]


def _counted(method: str) -> str:
    """HEAD is GET without the body."""
    return "GET" if method == "HEAD" else method


def _refused(denial: Denial, connection: HTTPConnection) -> Exception:
    handlers = connection.scope.get("starlette.exception_handlers")
    is_raised = denial.answer is None and connection.scope["type"] == "http" and not denial.is_grpc
    if is_raised or handlers is None:
        return RateLimited(denial)
    # Of a class that nobody else has, in what the application knows of exceptions.
    handlers[0].setdefault(_Answered, _answer)
    return _Answered(Reply(denial) if denial.is_grpc else _response(denial))


def _response(denial: Denial) -> Response:
    """The application's own answer, or ours to a WebSocket."""
    response: Response = denial.answer or Response(
        denial.problem.body, denial.problem.status, media_type="application/problem+json"
    )
    for name, value in denial.headers:
        response.headers.setdefault(name, value)
    return response


async def _answer(connection: Any, answered: _Answered) -> Response | Reply | None:
    if connection.scope["type"] != "websocket":
        return answered.response
    if "websocket.http.response" in connection.scope.get("extensions", {}):
        await connection.send_denial_response(answered.response)
    else:
        await connection.close(1008)
    return None
