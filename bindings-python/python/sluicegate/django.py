"""Limits at the views of Django: `@limits("100/hour")`, a mixin for classes, and middleware."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ._routes.needed import needed

with needed("Django", "django"):
    from asgiref.sync import iscoroutinefunction, markcoroutinefunction, sync_to_async
    from django.core.exceptions import PermissionDenied  # type: ignore[import-untyped]
    from django.http import Http404, HttpRequest, HttpResponse  # type: ignore[import-untyped]
    from django.http.response import HttpResponseBase  # type: ignore[import-untyped]

from ._django import SluicegateMiddleware
from ._inflight import InFlight
from ._native import RateLimiter
from ._routes.blocking import check_limiter
from ._routes.deciding import Route, Verdict, blocking, shared
from ._routes.django import FRAMEWORK, add_headers, described, end_with, refused, signed_in, told_of, wait

if TYPE_CHECKING:
    from ._routes.rules import Rule

__all__ = ["RateLimitMixin", "RouteLimits", "SluicegateMiddleware"]

_View = Callable[..., Any]
_STATUS = {Http404: 404, PermissionDenied: 403}


class RouteLimits:
    """Limits at the views of one site.

    Called with rates (`"5/minute"`), names of rules, or rules as data, it answers a decorator for views, coroutines too;
    several are decided together, all or nothing. The decision is `request.rate_limit`, and its headers are sent with the
    answer. A request that is denied is answered with status 429.

    `limiter`: a `RateLimiter`, or a function of the request that returns one.

    `name`: begins the names of rules that are stated at views, so that two services on one Redis count apart. Default:
    `routes`.

    `enabled`: False makes every view unlimited.

    `trusted_proxies`, `headers`, `on_error` and `max_lease_seconds` are those of `sluicegate.wsgi.RateLimitMiddleware`.

    The other options are defaults for views, each of which may have its own. Functions get the request, and may be coroutines:

    - `key`: who is counted by rates, and by rules without `identifier_type`. Default: `user_id`, or else the address.
    - `user_id`: the user, or None. Default: the primary key of a user who is signed in, where the site has authentication.
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

    def __init__(self, limiter: RateLimiter | Callable[[HttpRequest], RateLimiter], **options: Any) -> None:
        options.setdefault("user_id", signed_in)
        self._shared = shared(limiter, check_limiter, FRAMEWORK, options)

    def __call__(
        self, *limits: str | Rule, shared: str | None = None, per_method: bool = False, **options: Any
    ) -> Callable[[_View], _View]:
        """A decorator. All methods of a view share its limit unless `per_method`; views with the same `shared`, too."""
        route = Route(self._shared, limits, {**options, "shared": shared, "per_method": per_method})
        return functools.partial(_limited, route, self._shared.policy.max_lease_seconds)


class RateLimitMixin:
    """Limits a class of views: `rate_limit = limits("5/minute")` in the class, and this before `View` among its bases."""

    rate_limit: Callable[[_View], _View]

    @classmethod
    def as_view(cls, **initial: Any) -> _View:
        """The view, limited."""
        view: _View = super().as_view(**initial)  # type: ignore[misc]
        limited = cls.rate_limit(view)
        # Django looks for these at what it routes to.
        limited.__dict__.update(view.__dict__)
        return markcoroutinefunction(limited) if iscoroutinefunction(view) else limited


def _limited(route: Route, most: float, view: _View) -> _View:
    if iscoroutinefunction(view):

        @functools.wraps(view)
        async def coroutine(request: HttpRequest, *arguments: Any, **named: Any) -> HttpResponseBase:
            begun = _Request(route, most, request)
            # Blocks where the limiter is asked: not on the thread of the loop.
            try:
                answer = await sync_to_async(begun.decide, thread_sensitive=False)()
            except asyncio.CancelledError as error:
                begun.abandoned(error)
                raise
            if answer is not None:
                return answer
            try:
                response = await view(request, *arguments, **named)
            except BaseException as error:
                begun.failed(error)
                raise
            return begun.answered(response)

        return coroutine

    @functools.wraps(view)
    def function(request: HttpRequest, *arguments: Any, **named: Any) -> HttpResponseBase:
        begun = _Request(route, most, request)
        answer = begun.decide()
        if answer is not None:
            return answer
        try:
            response = view(request, *arguments, **named)
        except BaseException as error:
            begun.failed(error)
            raise
        return begun.answered(response)

    return function


class _Request:
    """A request at a view."""

    def __init__(self, route: Route, most: float, request: HttpRequest) -> None:
        self._route = route
        self._most = most
        self._request = request
        self._told = told_of(request)
        self._verdict = Verdict()
        self._flight: InFlight | None = None
        self._abandoned: BaseException | None = None

    def decide(self) -> HttpResponseBase | None:
        """The answer to a request that is denied."""
        self._verdict = verdict = blocking(self._route.steps(described(self._request)), wait)
        if verdict.denial is not None:
            return refused(self._request, verdict.denial)
        self._request.rate_limit = verdict.decision
        self._flight = None if verdict.held is None else InFlight(verdict.held, self._most)
        if self._abandoned is not None:
            self.failed(self._abandoned)
        return None

    def answered(self, response: HttpResponseBase) -> HttpResponseBase:
        add_headers(response, self._verdict.headers, self._told)
        if self._flight is not None:
            is_kept = self._route.hooks.is_kept(response, response.status_code)
            end_with(self._request, response, functools.partial(self._flight.end, is_kept=is_kept))
        return response

    def abandoned(self, error: BaseException) -> None:
        """The client has hung up while a thread decides, which may go on."""
        self._abandoned = error
        self.failed(error)

    def failed(self, error: BaseException) -> None:
        status = next((status for kind, status in _STATUS.items() if isinstance(error, kind)), 500)
        if self._flight is not None:
            self._flight.end(is_kept=self._route.hooks.is_kept(HttpResponse(status=status), status))
