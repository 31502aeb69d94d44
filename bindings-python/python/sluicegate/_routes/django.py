"""What views of Django and throttles of its REST framework tell of a request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import HttpResponse  # type: ignore[import-untyped]
from django.http.response import HttpResponseBase  # type: ignore[import-untyped]

from .deciding import Denial
from .request import RouteRequest


def described(request: Any) -> RouteRequest:
    """A request, of either."""
    match = request.resolver_match
    headers = [(name.lower(), value) for name, value in request.headers.items()]
    return RouteRequest(
        arguments=(request,),
        method="GET" if request.method == "HEAD" else request.method or "",
        # The root is an empty text.
        template="/" + match.route if match is not None else "/",
        name=None,
        peer=request.META.get("REMOTE_ADDR") or None,
        headers=headers,
        path=match.kwargs if match is not None else {},
    )


def signed_in(request: Any) -> Any:
    """The user, where the site has authentication; None for one who is not signed in."""
    user = getattr(request, "user", None)
    return user.pk if user is not None and user.is_authenticated else None


def refused(denial: Denial) -> HttpResponseBase:
    """The answer to a request that is denied: the application's own, or ours."""
    response: HttpResponseBase = denial.answer or HttpResponse(
        denial.reply.body, status=denial.reply.status, content_type=denial.content_type
    )
    for name, value in denial.headers:
        response.headers.setdefault(name, value)
    return response


def end_with(response: HttpResponseBase, end: Callable[[], None]) -> None:
    """Calls `end` when the response is over: what is streamed is so when the server closes it."""
    if not response.streaming:
        return end()
    close = response.close

    def close_and_end() -> None:
        try:
            close()
        finally:
            end()

    response.close = close_and_end
