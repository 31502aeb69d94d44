"""Throttle classes of Django REST framework: `throttle_classes = [limits("5/minute")]`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ._routes.needed import needed

with needed("Django REST framework", "rest-framework"):
    from rest_framework.exceptions import APIException  # type: ignore[import-untyped]
    from rest_framework.throttling import BaseThrottle  # type: ignore[import-untyped]

from ._native import RateLimiter
from ._routes.blocking import check_limiter
from ._routes.deciding import Denial, Framework, Route, blocking, shared
from ._routes.django import described, note_denial, signed_in, wait

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._routes.rules import Rule

__all__ = ["RouteLimits"]

# A throttle has no answer of its own.
_FRAMEWORK = Framework(answer_of=lambda _: None, passing=(APIException,))


class RouteLimits:
    """Throttle classes of one site.

    Called with rates (`"5/minute"`), names of rules, or rules as data, it answers a throttle class; several limits of one class
    are decided together, all or nothing. The decision is `request.rate_limit`. A request that is denied raises
    `rest_framework.exceptions.Throttled`, as of any throttle.

    `limiter`: a `RateLimiter`, or a function of the request that returns one. The other options are those of
    `sluicegate.django.RouteLimits`, but for `on_denied` and `count`: a throttle does not see the answer.
    """

    def __init__(self, limiter: RateLimiter | Callable[[Any], RateLimiter], **options: Any) -> None:
        options.setdefault("user_id", signed_in)
        _ensure_possible(options)
        self._shared = shared(limiter, check_limiter, _FRAMEWORK, options)

    def __call__(
        self, *limits: str | Rule, shared: str | None = None, per_method: bool = False, **options: Any
    ) -> type[BaseThrottle]:
        """A throttle class. All methods of a view share its limit unless `per_method`; views with the same `shared`, too."""
        _ensure_possible(options)
        route = Route(self._shared, limits, {**options, "shared": shared, "per_method": per_method})
        return type("RateLimitThrottle", (_Throttle,), {"_route": route})


class _Throttle(BaseThrottle):  # type: ignore[misc]
    _route: Route
    _denial: Denial | None = None

    def allow_request(self, request: Any, view: Any) -> bool:
        verdict = blocking(self._route.steps(described(request)), wait)
        self._denial = verdict.denial
        if verdict.denial is not None:
            note_denial(request)
        if verdict.decision is not None:
            request.rate_limit = verdict.decision
        return verdict.denial is None

    def wait(self) -> float | None:
        decision = self._denial.decision if self._denial is not None else None
        return None if decision is None or math.isinf(decision.retry_after) else decision.retry_after


def _ensure_possible(options: dict[str, Any]) -> None:
    for name in ("on_denied", "count"):
        if name in options:
            raise TypeError(f"a throttle does not see the answer: {name} works with sluicegate.django.RouteLimits")
