"""Limits at the handlers of aiohttp: `@limits("100/hour")`."""

from __future__ import annotations

import asyncio
import functools
import sys
from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from ._routes.needed import needed

with needed("aiohttp", "aiohttp"):
    from aiohttp import web

from ._asynchronous import AsyncRateLimiter
from ._inflight import AsyncInFlight
from ._middleware import Headers, ensure
from ._routes.deciding import Denial, Framework, Route, asynchronous, instance_of, shared
from ._routes.misplaced import Misplaced
from ._routes.request import RouteRequest
from ._told import Told, denied, told

if TYPE_CHECKING:
    from ._routes.rules import Rule

__all__ = ["RATE_LIMIT", "RouteLimits"]


def _request_key(name: str) -> Any:
    """A key of a request. Older versions of aiohttp have texts alone."""
    return web.RequestKey(name, object) if hasattr(web, "RequestKey") else name


# Where the decision is: `request[RATE_LIMIT]`.
RATE_LIMIT: Any = _request_key("rate_limit")
_TOLD = _request_key("sluicegate.told")

_FRAMEWORK = Framework(instance_of(web.StreamResponse), passing=(web.HTTPException,))
# A place comes back so soon after its client has hung up.
_LOOK_SECONDS = 0.2

_MISPLACED = Misplaced()
# Applications that were looked through for handlers that are served without their limits.
_SEEN: WeakSet[web.Application] = WeakSet()

_Handler = Callable[..., Awaitable[web.StreamResponse]]


class RouteLimits:
    """Limits at the handlers of one application.

    Called with rates (`"5/minute"`), names of rules, or rules as data, it answers a decorator for handlers, and for methods of
    a `web.View`; several are decided together, all or nothing. The decision is `request[RATE_LIMIT]`, and its headers are sent
    with the answer. A request that is denied is answered with status 429.

    `limiter`: an `AsyncRateLimiter`, or a function that finds it by the request (a coroutine, too):
    `lambda request: request.app["limiter"]`.

    `name`: begins the names of rules that are stated at handlers, so that two services on one Redis count apart. Default:
    `routes`.

    `enabled`: False makes every handler unlimited.

    `trusted_proxies`, `headers`, `on_error` and `max_lease_seconds` are those of `sluicegate.asgi.RateLimitMiddleware`.

    The other options are defaults for handlers, each of which may have its own. Functions get the request, and may be
    coroutines:

    - `key`: who is counted by rates, and by rules without `identifier_type`. Default: `user_id`, or else the address.
    - `user_id`: the user, or None.
    - `cost`: a number, or a function that answers it. Default: 1.
    - `limit`: a limit in place of the rule's, such as that of a plan; None: the rule's.
    - `skip`: True exempts the request.
    - `on_denied(request, decision)`: the response in place of ours.
    - `on_decision(request, decision)`: is called with every decision.
    - `count`: what is charged: `"all"` requests, `"failures"` (status 400 and above), `"successes"`, or those for whose response
      a function answers True. The cost is reserved before, so that requests at the same time do not pass together.
    - `no_address`: what becomes of a request that is counted by its address and has none: `"shared"` (all such share one
      limit), `"deny"` or `"skip"`.
    """

    def __init__(
        self, limiter: AsyncRateLimiter | Callable[..., AsyncRateLimiter | Awaitable[AsyncRateLimiter]], **options: Any
    ) -> None:
        self._shared = shared(limiter, _check_limiter, _FRAMEWORK, options)

    def __call__(
        self, *limits: str | Rule, shared: str | None = None, per_method: bool = False, **options: Any
    ) -> Callable[[_Handler], _Handler]:
        """A decorator. All methods of a handler share its limit unless `per_method`; handlers with the same `shared`, too."""
        route = Route(self._shared, limits, {**options, "shared": shared, "per_method": per_method})
        most = self._shared.policy.max_lease_seconds

        def decorate(handler: _Handler) -> _Handler:
            @functools.wraps(handler)
            async def limited(given: web.Request | web.View) -> web.StreamResponse:
                # A method of a class is given the view.
                request = given.request if isinstance(given, web.View) else given
                if request.app not in _SEEN:
                    _name_misplaced(request)
                verdict = await asynchronous(route.steps(_described(request)))
                if verdict.denial is not None:
                    denied(request, _TOLD)
                    return _refused(verdict.denial)
                request[RATE_LIMIT] = verdict.decision
                limits = told(request, _TOLD)
                flight = None if verdict.held is None else AsyncInFlight(verdict.held, most)
                response: web.StreamResponse = web.Response(status=500)
                # A handler that works on may still find out what is charged by the outcome.
                watch = None if flight is None or route.hooks.by_outcome else _Watch(request, flight.end)
                try:
                    response = await handler(given)
                    if not response.prepared:
                        _add_headers(response, verdict.headers, limits)
                    return response
                except web.HTTPException as answer:
                    _add_headers(answer, verdict.headers, limits)
                    response = answer
                    raise
                finally:
                    if watch is not None:
                        watch.stop()
                    if flight is not None:
                        await flight.ended(is_kept=route.hooks.is_kept(response, response.status))

            _MISPLACED.name_at_definition(handler, sys._getframe(1), _served_by)
            _MISPLACED.watch(limited)
            return limited

        return decorate


def _name_misplaced(request: web.Request) -> None:
    """Names the handlers whose limits stand above `@routes.get`, once an application serves one that is limited."""
    outermost = request.match_info.apps[0]
    is_new = outermost not in _SEEN
    _SEEN.update((outermost, request.app))
    if is_new:
        _MISPLACED.name((_template_of(route), route.handler) for route in outermost.router.routes())


def _served_by(value: Any) -> Iterator[tuple[str, Any]]:
    """The templates and handlers of a table of routes."""
    # Not by `isinstance`, which asks some objects for their class, such as proxies that have none before the first request.
    if issubclass(type(value), web.RouteTableDef):
        yield from ((route.path, route.handler) for route in value if isinstance(route, web.RouteDef))


def _template_of(route: web.AbstractRoute) -> str:
    return route.resource.canonical if route.resource is not None else "/"


class _Watch:
    """Looks whether the client of a request has hung up, which a handler of aiohttp that sends nothing is not told."""

    __slots__ = ("_gone", "_request", "_timer")

    def __init__(self, request: web.Request, gone: Callable[[], None]) -> None:
        self._request = request
        self._gone = gone
        self._timer = self._look_later()

    def stop(self) -> None:
        self._timer.cancel()

    def _look_later(self) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_later(_LOOK_SECONDS, self._look)

    def _look(self) -> None:
        transport = self._request.transport
        if transport is None or transport.is_closing():
            self._gone()
        else:
            self._timer = self._look_later()


def _check_limiter(limiter: object) -> None:
    ensure("limiter", "an AsyncRateLimiter, or a function that finds one", limiter, isinstance(limiter, AsyncRateLimiter))


def _described(request: web.Request) -> RouteRequest:
    return RouteRequest(
        arguments=(request,),
        method="GET" if request.method == "HEAD" else request.method,
        template=_template_of(request.match_info.route),
        name=None,
        peer=request.remote,
        values=lambda name: request.headers.getall(name, []),
        path=request.match_info,
    )


def _add_headers(response: web.StreamResponse, headers: Headers, limits: Told) -> None:
    """Adds headers in place of the handler's, unless the response has those of a limit further in."""
    if limits.claim(headers, response.headers.items()):
        response.headers.update(headers)


def _refused(denial: Denial) -> web.StreamResponse:
    response: web.StreamResponse = denial.answer or web.Response(
        body=denial.reply.body, status=denial.reply.status, content_type=denial.content_type
    )
    for name, value in denial.headers:
        response.headers.setdefault(name, value)
    return response
