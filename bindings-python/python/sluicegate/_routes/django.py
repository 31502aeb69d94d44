"""What views of Django and throttles of its REST framework tell of a request."""

from __future__ import annotations

import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

from asgiref.sync import async_to_sync, sync_to_async
from django.core.exceptions import PermissionDenied  # type: ignore[import-untyped]
from django.http import Http404, HttpResponse  # type: ignore[import-untyped]
from django.http.response import HttpResponseBase  # type: ignore[import-untyped]

from .._middleware import Headers
from .._told import Told, denied, told
from .deciding import Denial, Framework, instance_of
from .request import RouteRequest, in_environ

FRAMEWORK = Framework(instance_of(HttpResponseBase), passing=(Http404, PermissionDenied))


def described(request: Any) -> RouteRequest:
    """A request, of either."""
    match = request.resolver_match
    return RouteRequest(
        arguments=(request,),
        method="GET" if request.method == "HEAD" else request.method or "",
        # The root is an empty text.
        template="/" + match.route if match is not None else "/",
        name=None,
        peer=request.META.get("REMOTE_ADDR") or None,
        values=in_environ(request.META),
        path=match.kwargs if match is not None else {},
    )


def wait(awaitable: Awaitable[Any]) -> Any:
    """What a coroutine of the application returns."""

    async def awaited() -> Any:
        return await awaitable

    return async_to_sync(awaited)()


def signed_in(request: Any) -> Any:
    """The user, where the site has authentication; None for one who is not signed in."""
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return None
    # Others, such as a UUID, have a text.
    return user.pk if isinstance(user.pk, (int, str)) else str(user.pk)


def _place(request: Any) -> Any:
    """What servers, middleware and the site share of a request."""
    if hasattr(request, "environ"):
        return request.environ
    # Where there is no server, as in a test of one view, there is neither.
    return getattr(request, "scope", request.META)


def told_of(request: Any) -> Told:
    """What limits of a request have told its client."""
    return told(_place(request))


def note_denial(request: Any) -> None:
    """Notes a denial for the limits further out."""
    denied(_place(request))


def add_headers(response: HttpResponseBase, headers: Headers, limits: Told) -> None:
    """Adds headers in place of the site's, unless the response has those of a limit further in."""
    if limits.claim(headers, response.items()):
        for name, value in headers:
            response.headers[name] = value


def refused(request: Any, denial: Denial) -> HttpResponseBase:
    """The answer to a request that is denied: the application's own, or ours."""
    note_denial(request)
    response: HttpResponseBase = denial.answer or HttpResponse(
        denial.reply.body, status=denial.reply.status, content_type=denial.content_type
    )
    for name, value in denial.headers:
        response.headers.setdefault(name, value)
    return response


def end_with(request: Any, response: HttpResponseBase, end: Callable[[], None]) -> None:
    """Calls `end` when the response is over. Of one that is streamed, that is reported before its end is sent: the client's next
    request is to find the place free.

    Django under ASGI drops what a function answers whose client has hung up meanwhile, and never closes it.
    """
    if not response.streaming:
        return end()
    response._resource_closers.append(end)
    weakref.finalize(response, end).atexit = False
    # A server of WSGI may send a file by itself.
    if hasattr(request, "environ") and getattr(response, "file_to_stream", None) is not None:
        return
    wrapped = _until_sent if response.is_async else _until_taken
    # Not `streaming_content`, which refers to the response: in a circle it would not be gone at once.
    response.streaming_content = wrapped(response._iterator, end)


def _until_taken(parts: Iterator[Any], end: Callable[[], None]) -> Iterator[Any]:
    yield from parts
    end()


async def _until_sent(parts: AsyncIterator[Any], end: Callable[[], None]) -> AsyncIterator[Any]:
    async for part in parts:
        yield part
    await sync_to_async(end, thread_sensitive=False)()
