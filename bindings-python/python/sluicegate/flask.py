"""Limits at the routes of Flask: `@limits("100/hour")`."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING, Any

from ._routes.needed import needed

with needed("Flask", "flask"):
    from flask import Response, after_this_request, current_app, g, request
    from werkzeug.exceptions import HTTPException, TooManyRequests

from ._inflight import InFlight
from ._native import RateLimiter
from ._routes.blocking import check_limiter
from ._routes.deciding import Denial, Framework, Route, Verdict, blocking, shared
from ._routes.flask import MISPLACED
from ._routes.request import RouteRequest, in_environ
from ._told import Told, denied, told

if TYPE_CHECKING:
    from ._routes.rules import Rule

__all__ = ["RateLimited", "RouteLimits"]


class RateLimited(TooManyRequests):
    """A request is denied: status 429, or 503 or 400 if it could not be decided. `errorhandler` may answer it."""

    def __init__(self, denial: Denial) -> None:
        self.code = denial.problem.status
        self.decision = denial.decision
        super().__init__(denial.detail)


class RouteLimits:
    """Limits at the routes of one application.

    Called with rates (`"5/minute"`), names of rules, or rules as data, it answers a decorator for views, below `@app.route`;
    several are decided together, all or nothing. The decision is `g.rate_limit`, and its headers are sent with the answer.
    A request that is denied raises `RateLimited`, which `@app.errorhandler(429)` may answer.

    `limiter`: a `RateLimiter`, or a function that returns one.

    `name`: begins the names of rules that are stated at routes, so that two services on one Redis count apart. Default: the
    name of the application.

    `enabled`: False makes every route unlimited.

    `trusted_proxies`, `headers`, `on_error` and `max_lease_seconds` are those of `sluicegate.wsgi.RateLimitMiddleware`.

    The other options are defaults for routes, each of which may have its own. Functions have no argument, as there is
    `flask.request`, and may be coroutines with `flask[async]`:

    - `key`: who is counted by rates, and by rules without `identifier_type`. Default: `user_id`, or else the address.
    - `user_id`: the user, or None.
    - `cost`: a number, or a function that answers it. Default: 1.
    - `limit`: a limit in place of the rule's, such as that of a plan; None: the rule's.
    - `skip`: True exempts the request.
    - `on_denied(decision)`: the response in place of the exception.
    - `on_decision(decision)`: is called with every decision.
    - `count`: what is charged: `"all"` requests, `"failures"` (status 400 and above), `"successes"`, or those for whose response
      a function answers True. The cost is reserved before, so that requests at the same time do not pass together.
    - `no_address`: what becomes of a request that is counted by its address and has none: `"shared"` (all such share one
      limit), `"deny"` or `"skip"`.
    """

    def __init__(self, limiter: RateLimiter | Callable[[], RateLimiter], **options: Any) -> None:
        self._shared = shared(limiter, check_limiter, _FRAMEWORK, options)

    def __call__(
        self, *limits: str | Rule, shared: str | None = None, per_method: bool = False, **options: Any
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """A decorator. All methods of a view share its limit unless `per_method`; views with the same `shared`, too."""
        route = Route(self._shared, limits, {**options, "shared": shared, "per_method": per_method})
        most = self._shared.policy.max_lease_seconds

        def decorate(view: Callable[..., Any]) -> Callable[..., Any]:
            @functools.wraps(view)
            def limited(*arguments: Any, **named: Any) -> Any:
                verdict = blocking(route.steps(_request()), _wait)
                if verdict.denial is not None:
                    return _refused(verdict.denial)
                g.rate_limit = verdict.decision
                limits = told(request.environ)
                flight = None if verdict.held is None else InFlight(verdict.held, most)
                try:
                    answer = current_app.ensure_sync(view)(*arguments, **named)
                except BaseException as error:
                    _settle(flight, route, error)
                    raise
                _answer_with(verdict, flight, route, limits)
                return answer

            MISPLACED.watch(limited)
            return limited

        return decorate


def _response_of(value: Any) -> Response | None:
    """That which Flask makes of what a view may return."""
    try:
        return current_app.make_response(value)
    except TypeError:
        return None


_FRAMEWORK = Framework(_response_of, passing=(HTTPException,))


def _wait(awaitable: Awaitable[Any]) -> Any:
    """What a coroutine of the application returns; needs `flask[async]`, as views that are coroutines do."""

    async def awaited() -> Any:
        return await awaitable

    return current_app.async_to_sync(awaited)()


def _request() -> RouteRequest:
    rule = request.url_rule
    return RouteRequest(
        arguments=(),
        method="GET" if request.method == "HEAD" else request.method,
        template=rule.rule if rule is not None else str(request.endpoint),
        name=current_app.name,
        peer=request.environ.get("REMOTE_ADDR"),
        values=in_environ(request.environ),
        path=request.view_args or {},
    )


def _refused(denial: Denial) -> Any:
    """What `on_denied` answers, or an exception. The headers are those of either answer, unless it has its own."""
    denied(request.environ)

    @after_this_request
    def with_headers(response: Response) -> Response:
        for name, value in denial.headers:
            response.headers.setdefault(name, value)
        return response

    if denial.is_grpc:
        return Response(denial.reply.body, denial.reply.status, content_type=denial.content_type)
    if denial.answer is None:
        raise RateLimited(denial)
    return denial.answer


def _answer_with(verdict: Verdict, flight: InFlight | None, route: Route, limits: Told) -> None:
    @after_this_request
    def settled(response: Response) -> Response:
        if limits.claim(verdict.headers, response.headers.items()):
            response.headers.update(verdict.headers)
        if flight is not None:
            is_kept = route.hooks.is_kept(response, response.status_code)
            _end_with(response, functools.partial(flight.end, is_kept=is_kept))
        return response


def _end_with(response: Response, end: Callable[[], None]) -> None:
    """Calls `end` when the response is over: what is streamed is so with its last part, or when the server closes it."""
    if not response.is_streamed:
        return end()
    response.call_on_close(end)
    if not response.direct_passthrough:
        response.response = _Streamed(response.response, end)


class _Streamed:
    """The parts of a response. The end is reported before it is sent: the client's next request is to find the place free."""

    def __init__(self, parts: Any, end: Callable[[], None]) -> None:
        self._parts = parts
        self._end = end

    def __iter__(self) -> Iterator[Any]:
        yield from self._parts
        self._end()

    def close(self) -> None:
        close = getattr(self._parts, "close", None)
        if close is not None:
            close()


def _settle(flight: InFlight | None, route: Route, error: BaseException) -> None:
    """What is not answered by the view is answered with the status of its exception."""
    if flight is None:
        return
    status = error.code or 500 if isinstance(error, HTTPException) else 500
    response = Response(status=status)
    flight.end(is_kept=route.hooks.is_kept(response, status))
