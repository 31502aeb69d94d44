"""Middleware for Django, with the user that the site knows."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from django.conf import settings  # type: ignore[import-untyped]
from django.core.exceptions import ImproperlyConfigured, MiddlewareNotUsed  # type: ignore[import-untyped]
from django.http import HttpRequest, HttpResponse  # type: ignore[import-untyped]
from django.http.response import HttpResponseBase  # type: ignore[import-untyped]
from django.utils.module_loading import import_string  # type: ignore[import-untyped]

from ._inflight import InFlight
from ._middleware import Policy, header_name, text
from ._paths import environ_paths, own_root_path, raw_bytes, scope_paths
from ._routes.blocking import check_limiter
from ._routes.deciding import blocking
from ._routes.django import FRAMEWORK, add_headers, end_with, refused, signed_in, told_of, wait
from ._routes.hooks import name_of
from ._routes.matching import MatchedRequest, Matching
from ._routes.request import among

_POLICY: dict[str, Any] = {
    "trusted_proxies": 0,
    "forwarded_header": "x-forwarded-for",
    "headers": "ietf",
    "on_error": "admit",
    "ignore_case": False,
    "max_lease_seconds": 3600,
}
_HOOKS = ("skip", "key", "cost", "limit", "rules", "on_denied", "on_decision")
_OTHERS = ("limiter", "enabled", "user_id", "api_key", "count")
# What may be a function, which settings name by its path.
_FUNCTIONS = ("limiter", "user_id", *(name for name in _HOOKS if name != "rules"))


class SluicegateMiddleware:
    """Decides every request of a site by the rules that match it: a class for the setting `MIDDLEWARE`.

    Behind `AuthenticationMiddleware` it knows the user. A request that is denied is answered with 429; other answers get the
    headers of the decision, which is `request.rate_limit`. What is reserved is held until the answer is over.

    The setting `SLUICEGATE` is a dict of options. `limiter` is a `RateLimiter`, or a function of the request that returns one.
    `user_id` is a function of the request; by default the primary key of a user who is signed in. The others are those of
    `sluicegate.wsgi.RateLimitMiddleware`, whose functions get the request; `on_denied(request, decision)` answers a response.
    `enabled`: False decides nothing. Functions, and the limiter, may be given by their path: `"shop.limits.limiter"`.
    """

    sync_capable = True
    # Django runs it on a thread where the site is asynchronous: the limiter blocks.
    async_capable = False

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        options = _options()
        self._get_response = get_response
        self._limiter = options["limiter"]
        self._user_id = options.get("user_id", signed_in)
        api_key = options.get("api_key")
        self._api_key = None if isinstance(api_key, str) else api_key
        self._api_key_header = header_name(api_key) if isinstance(api_key, str) else None
        self._policy = Policy(**{name: options.get(name, default) for name, default in _POLICY.items()})
        hooks = {name: options.get(name) for name in _HOOKS}
        self._matching = Matching(self._policy, FRAMEWORK, **hooks, count=options.get("count", "all"))
        if not callable(self._limiter):
            check_limiter(self._limiter)
            self._matching.ensure_known(self._limiter)

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        steps = self._matching.steps(request, lambda: self._found(request), lambda: self._described(request))
        verdict = blocking(steps, wait)
        if verdict.denial is not None:
            return refused(request, verdict.denial)
        request.rate_limit = verdict.decision
        limits = told_of(request)
        flight = None if verdict.held is None else InFlight(verdict.held, self._policy.max_lease_seconds)
        try:
            response = self._get_response(request)
        except BaseException:
            if flight is not None:
                flight.end(is_kept=self._is_kept(HttpResponse(status=500)))
            raise
        add_headers(response, verdict.headers, limits)
        if flight is not None:
            end_with(request, response, functools.partial(flight.end, is_kept=self._is_kept(response)))
        return response

    def _is_kept(self, response: HttpResponseBase) -> bool:
        return self._matching.hooks.is_kept(response, response.status_code)

    def _found(self, request: HttpRequest) -> Any:
        if not callable(self._limiter):
            return self._limiter
        limiter = self._limiter(request)
        check_limiter(limiter)
        return limiter

    def _described(self, request: HttpRequest) -> MatchedRequest:
        headers = [(name.lower(), text(raw_bytes(value))) for name, value in request.headers.items()]
        forwarded_for = (value for name, value in headers if name == self._policy.forwarded_header)
        peer = request.META.get("REMOTE_ADDR") or None
        path, other_paths = _paths(request)
        user = self._user_id(request)
        line = {
            "method": request.method,
            "path": path,
            "user_id": None if user is None else name_of("middleware", "user_id", user),
            "ip": self._policy.ip(peer, forwarded_for),
            "api_key": self._api_key(request) if self._api_key else None,
            "headers": headers,
            "api_key_header": self._api_key_header,
            "other_paths": other_paths,
            "ignore_case": self._policy.ignore_case,
        }
        return MatchedRequest((request,), request.method or "", path, None, peer, among(headers), {}, line)


def _paths(request: HttpRequest) -> tuple[str, list[str]]:
    if hasattr(request, "environ"):
        return environ_paths(request.environ)
    return scope_paths(request.scope, own_root_path(None))


def _options() -> dict[str, Any]:
    options = getattr(settings, "SLUICEGATE", None)
    if not isinstance(options, dict):
        raise ImproperlyConfigured('the setting SLUICEGATE is missing: a dict such as {"limiter": "shop.limits.limiter"}')
    unknown = set(options) - {*_POLICY, *_HOOKS, *_OTHERS}
    if unknown:
        raise ImproperlyConfigured(f"the setting SLUICEGATE has no option {', '.join(sorted(unknown))}")
    if not options.get("enabled", True):
        raise MiddlewareNotUsed("SLUICEGATE: enabled is False")
    if "limiter" not in options:
        raise ImproperlyConfigured("the setting SLUICEGATE needs a limiter")
    by_path = (name for name in _FUNCTIONS if isinstance(options.get(name), str))
    imported = {name: import_string(options[name]) for name in by_path}
    rules = options.get("rules")
    return {**options, **imported, "rules": import_string(rules) if isinstance(rules, str) else rules}
