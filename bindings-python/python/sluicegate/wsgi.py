"""Middleware for WSGI: Flask, Django and others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ._asynchronous import AsyncRateLimiter
from ._inflight import InFlight
from ._middleware import Headers, Policy, ensure, fields, header_name, merged, text
from ._native import Decision, RateLimiter
from ._paths import environ_paths, raw_bytes
from ._routes.asgi import UNANSWERED, Outcome
from ._routes.deciding import Denial, Framework, blocking
from ._routes.hooks import Count, Hooks
from ._routes.matching import MatchedRequest, Matching, user_named
from ._routes.request import among
from ._told import Told, denied, told

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

    from ._middleware import Trusted, _Forwarded, _OnError, _Style

__all__ = ["RateLimitMiddleware"]

# An answer of the application is an application.
_FRAMEWORK = Framework(answer_of=lambda returned: returned if callable(returned) else None)


class RateLimitMiddleware:
    """Decides every request by `reserve_request`; one that is denied is answered with 429.

    Its options are those of `sluicegate.asgi.RateLimitMiddleware`, but for `root_path`, which the server says. `limiter` is a
    `RateLimiter`. Functions get the environ, and are no coroutines; `on_denied(environ, decision)` answers with an application for
    WSGI, such as a response of Werkzeug.

    The decision is `environ["sluicegate.decision"]`, and what is reserved for a request `environ["sluicegate.reservation"]`, until
    the response is over.

    `trusted_proxies`: where a server takes `X_Forwarded_For` for `X-Forwarded-For`, clients choose their addresses themselves
    (gunicorn, uWSGI, nginx and Werkzeug do not).
    """

    def __init__(
        self,
        app: WSGIApplication,
        limiter: RateLimiter,
        *,
        user_id: Callable[[WSGIEnvironment], str | int | None] | None = None,
        api_key: Callable[[WSGIEnvironment], str | None] | str | None = None,
        trusted_proxies: Trusted = 0,
        forwarded_header: _Forwarded = "x-forwarded-for",
        headers: _Style = "ietf",
        on_error: _OnError = "admit",
        ignore_case: bool = False,
        max_lease_seconds: float = 3600,
        skip: Callable[[WSGIEnvironment], bool] | None = None,
        key: Callable[[WSGIEnvironment], Any] | None = None,
        cost: int | Callable[[WSGIEnvironment], int] | None = None,
        limit: int | Callable[[WSGIEnvironment], int | None] | None = None,
        rules: list[str] | tuple[str, ...] | Callable[[WSGIEnvironment], Any] | None = None,
        on_denied: Callable[[WSGIEnvironment, Decision], Any] | None = None,
        on_decision: Callable[[WSGIEnvironment, Decision], Any] | None = None,
        count: Count = "all",
    ) -> None:
        is_blocking = hasattr(limiter, "reserve_request") and not isinstance(limiter, AsyncRateLimiter)
        ensure("limiter", "a RateLimiter", limiter, is_blocking)
        ensure("user_id", "a function", user_id, user_id is None or callable(user_id))
        is_key = api_key is None or isinstance(api_key, str) or callable(api_key)
        ensure("api_key", "a function or the name of a header", api_key, is_key)
        self._app = app
        self._limiter = limiter
        self._user_id = user_id
        self._api_key = None if isinstance(api_key, str) else api_key
        self._api_key_header = header_name(api_key) if isinstance(api_key, str) else None
        self._policy = Policy(trusted_proxies, headers, on_error, ignore_case, max_lease_seconds, forwarded_header)
        self._matching = Matching(
            self._policy,
            _FRAMEWORK,
            skip=skip,
            key=key,
            cost=cost,
            limit=limit,
            rules=rules,
            on_denied=on_denied,
            on_decision=on_decision,
            count=count,
        )
        self._matching.hooks.refuse_coroutines()
        self._matching.ensure_known(limiter)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        verdict = blocking(self._matching.steps(environ, lambda: self._limiter, lambda: self._described(environ)))
        if verdict.denial is not None:
            denied(environ)
            return _refuse(verdict.denial, environ, start_response)
        if verdict.decision is not None:
            environ["sluicegate.decision"] = verdict.decision
        if verdict.headers:
            start_response = _with_headers(start_response, verdict.headers, told(environ))
        held = verdict.held
        if held is None:
            return self._app(environ, start_response)
        body = _Body(InFlight(held, self._policy.max_lease_seconds), self._matching.hooks)
        try:
            environ["sluicegate.reservation"] = held
            return body.of(self._app(environ, body.noting(start_response)))
        except BaseException:
            body.close()
            raise

    def _described(self, environ: WSGIEnvironment) -> MatchedRequest:
        headers = _headers(environ)
        # Several lines of one header are joined by the server.
        forwarded_for = (value for name, value in headers if name == self._policy.forwarded_header)
        method, peer = environ["REQUEST_METHOD"], environ.get("REMOTE_ADDR")
        path, other_paths = environ_paths(environ)
        line = {
            "method": method,
            "path": path,
            "user_id": user_named(self._user_id(environ)) if self._user_id else None,
            "ip": self._policy.ip(peer, forwarded_for),
            "api_key": self._api_key(environ) if self._api_key else None,
            "headers": headers,
            "api_key_header": self._api_key_header,
            "other_paths": other_paths,
            "ignore_case": self._policy.ignore_case,
        }
        return MatchedRequest((environ,), method, path, None, peer, among(headers), {}, line)


def _refuse(denial: Denial, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Answers in place of the application; what the application answers with itself gets the headers that it lacks."""
    if denial.answer is not None:
        answer: WSGIApplication = denial.answer
        return answer(environ, _with_lacking(start_response, denial.headers))
    problem = denial.reply
    start_response(f"{problem.status} {problem.title}", fields(problem))
    return [] if environ["REQUEST_METHOD"] == "HEAD" else [problem.body]


class _Body:
    """The body of a response for which something is held until it is over, which its server signals by `close`."""

    def __init__(self, flight: InFlight, hooks: Hooks) -> None:
        self._flight = flight
        self._hooks = hooks
        self._outcome = UNANSWERED
        self._chunks: Iterable[bytes] = ()
        self._left: int | None = None

    def noting(self, start_response: StartResponse) -> StartResponse:
        def start_noting(status: str, headers: Headers, *exc_info: Any) -> Callable[[bytes], object]:
            lengths = [value for name, value in headers if name.lower() == "content-length" and value.isdecimal()]
            self._left = int(lengths[0]) if lengths else None
            self._outcome = Outcome(int(status[:3]), {name.lower(): value for name, value in headers})
            return start_response(status, headers, *exc_info)

        return start_noting

    def of(self, chunks: Iterable[bytes]) -> _Body:
        self._chunks = chunks
        return self

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._chunks:
            if self._left is not None:
                self._left -= len(chunk)
                if self._left <= 0:
                    # Before the last byte is sent: the client's next request is to find the place free.
                    self._end()
            yield chunk
        self._end()

    def close(self) -> None:
        try:
            close = getattr(self._chunks, "close", None)
            if close is not None:
                close()
        finally:
            self._end()

    def __del__(self) -> None:
        # A server, or a middleware in between, that never calls `close`: the lease would be renewed for ever.
        self._end()

    def _end(self) -> None:
        self._flight.end(is_kept=self._hooks.is_kept(self._outcome, self._outcome.status_code))


def _headers(environ: WSGIEnvironment) -> Headers:
    named = ((name.removeprefix("HTTP_"), value) for name, value in environ.items() if _is_header(name))
    return [(name.replace("_", "-").lower(), text(raw_bytes(value))) for name, value in named]


def _is_header(name: str) -> bool:
    return name.startswith("HTTP_") or name in ("CONTENT_TYPE", "CONTENT_LENGTH")


def _with_headers(start_response: StartResponse, added: Headers, limits: Told) -> StartResponse:
    """Adds headers to the answer in place of the application's, unless it has those of a limit further in."""

    def start_with_headers(status: str, headers: Headers, *exc_info: Any) -> Callable[[bytes], object]:
        headers = merged(headers, added) if limits.claim(added, headers) else headers
        return start_response(status, headers, *exc_info)

    return start_with_headers


def _with_lacking(start_response: StartResponse, added: Headers) -> StartResponse:
    """Adds those headers to the application's own answer to a denial that it lacks."""

    def start_with_headers(status: str, headers: Headers, *exc_info: Any) -> Callable[[bytes], object]:
        return start_response(status, merged(added, headers), *exc_info)

    return start_with_headers
