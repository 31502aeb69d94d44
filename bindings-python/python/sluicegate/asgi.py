"""Middleware for ASGI: Starlette, FastAPI and others."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, MutableMapping
from typing import TYPE_CHECKING, Any

from ._asynchronous import AsyncRateLimiter
from ._inflight import AsyncInFlight
from ._middleware import Headers, Policy, ensure, header_name, merged, text
from ._native import Decision
from ._paths import own_root_path, scope_paths
from ._receiving import WatchedReceive, expects_to_be_asked
from ._routes.asgi import UNANSWERED, Reply, encoded, outcome_of, with_headers_of
from ._routes.deciding import Denial, Framework, asynchronous
from ._routes.hooks import Count, Hooks
from ._routes.matching import MatchedRequest, Matching, user_named
from ._routes.request import among
from ._told import Told, denied, told

if TYPE_CHECKING:
    from ._middleware import Trusted, _Forwarded, _OnError, _Style

__all__ = ["RateLimitMiddleware"]

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
_Receive = Callable[[], Awaitable[Message]]
_Send = Callable[[Message], Awaitable[None]]
_App = Callable[[Scope, _Receive, _Send], Awaitable[None]]
# Messages that have the headers of an answer.
_BEGINNINGS = ("http.response.start", "websocket.accept", "websocket.http.response.start")
# Why a WebSocket is closed.
_POLICY_VIOLATION = 1008
# An answer of the application is an application.
_FRAMEWORK = Framework(answer_of=lambda returned: returned if callable(returned) else None)
_Find = Callable[[Scope], str | None | Awaitable[str | None]]
_FindUser = Callable[[Scope], str | int | None | Awaitable[str | int | None]]


class RateLimitMiddleware:
    """Decides every HTTP request, and every handshake of a WebSocket, by `reserve_request`; one that is denied is answered with 429.

    Answers get the headers of the decision, admitted or not. A handshake is a GET, and is refused before the WebSocket is accepted
    (with 403 by servers that let an application say no more). What is reserved for one is held until the application returns.

    What is reserved, such as a place of a rule with the algorithm `concurrency`, is held until the response is over, and
    renewed while it lasts; then it is committed as it was reserved, also if the application raises or the client hangs
    up. The application finds it as `scope["sluicegate.reservation"]`, and may commit what it has used itself.

    The decision is `scope["sluicegate.decision"]`. What rules in shadow would have denied is in its `parts`, and logged at
    debug to the logger `sluicegate`.

    `limiter`: an `AsyncRateLimiter`, or a function that finds it in the scope, as it can be connected only once the
    loop runs: `lambda scope: scope["app"].state.limiter`. The function may be a coroutine.

    `user_id`, `api_key`: functions of the scope, which may be coroutines; for `api_key` also the name of a header.
    A rule does not apply to a request that lacks what the rule counts by.

    `trusted_proxies`: how many proxies stand between clients and this server, each of which adds the address it was
    called from to `X-Forwarded-For`. With n of them the client is the n-th address from the right, over all lines of
    that header; where there is no valid address, the client is the peer. One too many, and clients choose their
    addresses themselves. If the server looks at that header already (as uvicorn does for local peers, unless run
    with `--no-proxy-headers`), the peer is what it found.

    `trusted_proxies` may also be a list of networks, such as `["10.0.0.0/8", "2001:db8::/32"]`: the client is the first address,
    from the peer on and then from the right, that is in none of them. `forwarded_header`: `"forwarded"` where proxies write the
    header of RFC 7239 instead. They have to write the one that is read: the other one is the client's own word.

    `headers`: the style, as of `Decision.headers`.

    `ignore_case`: the application routes without regard to capitals.

    `root_path`: the root path that an application inside sets for itself, whatever the server says. That of FastAPI
    and `FORCE_SCRIPT_NAME` of Django are found without it, unless middleware hides the application in a function.

    `max_lease_seconds`: for how long what is reserved for a request is renewed at most. A response that is not over by
    then is logged to the logger `sluicegate`, and what is held for it ends with its lease: what is committed later
    answers False.

    `on_error`: what becomes of a request if the limiter cannot decide, such as when its server is away: `"admit"`,
    `"deny"` (503), or `"raise"`. The first two are logged to the logger `sluicegate`.

    The other options are functions of the scope, which may be coroutines:

    - `skip`: True exempts the request, before anything else is asked.
    - `cost`: a number, or a function that answers it, in place of the `cost` of the rules.
    - `limit`: a number, or a function that answers it, in place of the limit of every rule that is applied, such as that of a plan;
      None: the rules' own. It is for rules with a single limit, which `rules` may choose.
    - `rules`: names of rules, or a function that answers them, such as those of a plan; None: all rules that match. A rule that
      is named is applied if it matches; if it has no `match`, it is applied in any case.
    - `key`: who is counted by rules without `identifier_type`, which `rules` names. Default: the user, or else the address.
    - `on_denied(scope, decision)`: the answer as an application for ASGI, such as a response of Starlette, in place of ours.
    - `count`: what becomes of what is reserved: `"all"` is charged, or only for `"failures"` (status 400 and above), `"successes"`,
      or answers for which a function answers True (it has `status_code` and `headers`). Rules without `"reservations": true` count every
      request.
    - `on_decision(scope, decision)`: is called with every decision.
    """

    def __init__(
        self,
        app: _App,
        limiter: AsyncRateLimiter | Callable[[Scope], AsyncRateLimiter | Awaitable[AsyncRateLimiter]],
        *,
        user_id: _FindUser | None = None,
        api_key: _Find | str | None = None,
        trusted_proxies: Trusted = 0,
        forwarded_header: _Forwarded = "x-forwarded-for",
        headers: _Style = "ietf",
        on_error: _OnError = "admit",
        ignore_case: bool = False,
        max_lease_seconds: float = 3600,
        root_path: str | None = None,
        skip: Callable[[Scope], bool | Awaitable[bool]] | None = None,
        key: Callable[[Scope], Any] | None = None,
        cost: int | Callable[[Scope], int | Awaitable[int]] | None = None,
        limit: int | Callable[[Scope], int | None | Awaitable[int | None]] | None = None,
        rules: list[str] | tuple[str, ...] | Callable[[Scope], Any] | None = None,
        on_denied: Callable[[Scope, Decision], Any] | None = None,
        on_decision: Callable[[Scope, Decision], Any] | None = None,
        count: Count = "all",
    ) -> None:
        fits = isinstance(limiter, AsyncRateLimiter) or callable(limiter)
        ensure("limiter", "an AsyncRateLimiter, or a function that returns one", limiter, fits)
        ensure("root_path", "a str", root_path, root_path is None or isinstance(root_path, str))
        ensure("user_id", "a function", user_id, user_id is None or callable(user_id))
        is_key = api_key is None or isinstance(api_key, str) or callable(api_key)
        ensure("api_key", "a function or the name of a header", api_key, is_key)
        self._app = app
        self._limiter = limiter
        self._user_id = user_id
        self._api_key = None if isinstance(api_key, str) else api_key
        self._api_key_header = header_name(api_key) if isinstance(api_key, str) else None
        self._root_path = root_path
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
        if isinstance(limiter, AsyncRateLimiter):
            self._matching.ensure_known(limiter)

    async def __call__(self, scope: Scope, receive: _Receive, send: _Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            return await self._app(scope, receive, send)
        steps = self._matching.steps(scope, lambda: self._limiter_of(scope), lambda: self._described(scope))
        verdict = await asynchronous(steps)
        if verdict.denial is not None:
            denied(scope)
            return await _refuse(verdict.denial, scope, receive, send)
        if verdict.decision is not None:
            scope["sluicegate.decision"] = verdict.decision
        send = _with_headers(send, verdict.headers, told(scope)) if verdict.headers else send
        held = verdict.held
        if held is None:
            return await self._app(scope, receive, send)
        flight = AsyncInFlight(held, self._policy.max_lease_seconds)
        ending = _Ending(send, flight, self._matching.hooks)
        scope["sluicegate.reservation"] = held
        if scope["type"] == "websocket":
            # The application itself learns that the client has gone.
            try:
                return await self._app(scope, receive, ending.send)
            finally:
                await flight.ended(is_kept=ending.is_kept)
        watched = WatchedReceive(receive, flight.end, expects_to_be_asked=expects_to_be_asked(scope))
        try:
            await self._app(scope, watched, ending.send)
        finally:
            watched.stop()
            await flight.ended(is_kept=ending.is_kept)

    async def _limiter_of(self, scope: Scope) -> AsyncRateLimiter:
        if isinstance(self._limiter, AsyncRateLimiter):
            return self._limiter
        limiter = self._limiter(scope)
        return await limiter if inspect.isawaitable(limiter) else limiter

    async def _described(self, scope: Scope) -> MatchedRequest:
        user_id, api_key = user_named(await _found(self._user_id, scope)), await _found(self._api_key, scope)
        headers = [(name.decode("latin-1").lower(), text(value)) for name, value in scope["headers"]]
        client = scope.get("client")
        peer = client[0] if client else None
        forwarded_for = (value for name, value in headers if name == self._policy.forwarded_header)
        own_root = own_root_path(self._app) if self._root_path is None else self._root_path
        path, other_paths = scope_paths(scope, own_root)
        method = scope.get("method", "GET")
        line = {
            "method": method,
            "path": path,
            "user_id": user_id,
            "ip": self._policy.ip(peer, forwarded_for),
            "api_key": api_key,
            "headers": headers,
            "api_key_header": self._api_key_header,
            "other_paths": other_paths,
            "ignore_case": self._policy.ignore_case,
        }
        return MatchedRequest((scope,), method, path, None, peer, among(headers), {}, line)


async def _found(find: _FindUser | _Find | None, scope: Scope) -> Any:
    found = find(scope) if find else None
    return await found if inspect.isawaitable(found) else found


def _with_headers(send: _Send, added: Headers, limits: Told) -> _Send:
    """Adds headers to the answer in place of the application's, unless it has those of a limit further in."""

    async def send_with_headers(message: Message) -> None:
        await send(with_headers_of(message, added, limits) if message["type"] in _BEGINNINGS else message)

    return send_with_headers


def _with_lacking(send: _Send, added: list[tuple[bytes, bytes]]) -> _Send:
    """Adds those headers to the application's own answer to a denial that it lacks."""

    async def send_with_headers(message: Message) -> None:
        if message["type"] in _BEGINNINGS:
            message = {**message, "headers": merged(added, [*message.get("headers", ())])}
        await send(message)

    return send_with_headers


class _Ending:
    """The answer to a request for which something is held."""

    def __init__(self, send: _Send, flight: AsyncInFlight, hooks: Hooks) -> None:
        self._send = send
        self._flight = flight
        self._hooks = hooks
        self._outcome = UNANSWERED

    @property
    def is_kept(self) -> bool:
        """Whether what is held is charged, by what is known of the answer."""
        return self._hooks.is_kept(self._outcome, self._outcome.status_code)

    async def send(self, message: Message) -> None:
        """What the application does after its last byte is not part of the response."""
        if message["type"] in _BEGINNINGS:
            self._outcome = outcome_of(message)
        elif message["type"] == "http.response.body" and not message.get("more_body", False):
            # Before the byte is sent: the client's next request is to find the place free.
            self._flight.end(is_kept=self.is_kept)
        await self._send(message)


async def _refuse(denial: Denial, scope: Scope, receive: _Receive, send: _Send) -> None:
    """Answers in place of the application; what the application answers with itself gets the headers that it lacks."""
    is_websocket = scope["type"] == "websocket"
    if is_websocket:
        # That of the handshake.
        await receive()
        if "websocket.http.response" not in scope.get("extensions", {}):
            return await send({"type": "websocket.close", "code": _POLICY_VIOLATION})
    if denial.answer is not None:
        await denial.answer(scope, receive, _with_lacking(send, encoded(denial.headers)))
        return
    await Reply(denial)(scope, receive, send)
