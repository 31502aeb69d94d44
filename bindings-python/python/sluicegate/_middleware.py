"""What the middleware for ASGI and that for WSGI have in common."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, AnyStr, Literal
from urllib.parse import quote

from ._native import Decision, Problem, TrustedProxies, address_key, is_header_name
from .errors import InvalidArgumentError, SluicegateError, WrongTypeError

if TYPE_CHECKING:
    _Style = Literal["ietf", "ietf-draft-6", "ietf-draft-7", "ietf-draft-8", "x-ratelimit", "x-ratelimit-seconds", "none"]
    _Forwarded = Literal["x-forwarded-for", "forwarded"]
    _OnError = Literal["admit", "deny", "raise"]

Headers = list[tuple[str, str]]
# How many proxies, or their networks.
Trusted = int | list[str] | tuple[str, ...]

# What a path may have as it is, and the percent sign of what is encoded already.
_VISIBLE = "".join(map(chr, range(0x21, 0x7F)))
_LOG = logging.getLogger("sluicegate")


# Of so many peers the keys are remembered.
_PEERS = 10_000
# Requests that cannot be decided are logged at most once in so many seconds.
_LOG_INTERVAL = 60.0


class Undecided:
    """Logs requests that cannot be decided: the first at once, then at most once a minute, with the count of the others."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._next = 0.0
        self._skipped = 0

    def warn(self, what: str, error: SluicegateError) -> None:
        with self._lock:
            now = time.monotonic()
            if now < self._next:
                self._skipped += 1
                return
            skipped, self._skipped, self._next = self._skipped, 0, now + _LOG_INTERVAL
        more = f" ({skipped} more since the last warning)" if skipped else ""
        _LOG.warning("%s: %s%s", what, error, more)


@dataclass(frozen=True)
class Policy:
    """What becomes of requests."""

    trusted_proxies: Trusted
    headers: _Style
    on_error: _OnError
    ignore_case: bool
    max_lease_seconds: float
    forwarded_header: _Forwarded = "x-forwarded-for"
    # The keys of peers, by their address and the length of the prefix: they send many requests.
    _peers: dict[tuple[str, int], str] = field(default_factory=dict, init=False, repr=False, compare=False)
    _proxies: TrustedProxies = field(init=False, repr=False, compare=False)
    _undecided: Undecided = field(default_factory=Undecided, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        ensure("ignore_case", "a bool", self.ignore_case, isinstance(self.ignore_case, bool))
        ensure("headers", "a str", self.headers, isinstance(self.headers, str))
        ensure("on_error", "a str", self.on_error, isinstance(self.on_error, str))
        object.__setattr__(self, "_proxies", TrustedProxies(self.trusted_proxies, self.forwarded_header))
        ensure_seconds("max_lease_seconds", self.max_lease_seconds)
        if self.on_error not in ("admit", "deny", "raise"):
            raise InvalidArgumentError('on_error must be "admit", "deny" or "raise"')
        # An unknown style is refused now rather than with the first request.
        Decision(allowed=True, rule="any", limit=1, remaining=1).headers(self.headers)

    def ip(self, peer: str | None, forwarded_for: Iterable[str]) -> str | None:
        """The address of the client: what the trusted proxies say of it, or else the peer's."""
        return self._proxies.client(peer, list(forwarded_for))

    def key(self, peer: str | None, forwarded_for: list[str], prefix_length: int) -> str | None:
        """The key of the client by its address; None where it has none."""
        # What a proxy says of the client differs from request to request.
        place = None if peer is None or forwarded_for else (peer, prefix_length)
        known = self._peers.get(place) if place else None
        if known is not None:
            return known
        ip = self.ip(peer, forwarded_for)
        key = None if ip is None else address_key(ip, prefix_length)
        if place and key is not None:
            if len(self._peers) >= _PEERS:
                self._peers.clear()
            self._peers[place] = key
        return key

    def decided(self, decision: Decision) -> Headers | Problem:
        """The headers for the answer of the application, or the answer to a request that is denied."""
        if decision.shadow_denied and _LOG.isEnabledFor(logging.DEBUG):
            rules = ", ".join(part.rule for part in decision.parts or [decision] if part.shadow_denied)
            _LOG.debug("a rule in shadow would deny this request: %s", rules)
        if decision.allowed:
            return decision.headers(self.headers)
        return Problem.denied(decision, self.headers)

    def undecided(self, error: SluicegateError) -> Headers | Problem:
        """Likewise if the limiter raised an error. Log it; do not send it to the client."""
        if isinstance(error, WrongTypeError):
            # Of a hook, such as `user_id`: no request has a type.
            raise error
        if isinstance(error, InvalidArgumentError):
            return Problem.invalid(str(error))
        if self.on_error == "raise":
            raise error
        if self.on_error == "admit":
            self._undecided.warn("request admitted (fail open)", error)
            return []
        self._undecided.warn("request denied (fail closed)", error)
        return Problem.undecided()


def ensure(name: str, wanted: str, value: object, is_so: bool) -> None:
    """Refuses an argument of the wrong type."""
    if not is_so:
        raise WrongTypeError(f"{name} must be {wanted}, not {type(value).__name__}")


def ensure_seconds(name: str, value: object) -> None:
    """Refuses what is no length of time."""
    ensure(name, "a number", value, isinstance(value, (int, float)) and not isinstance(value, bool))
    if not 0 < value < inf:  # type: ignore[operator]
        raise InvalidArgumentError(f"{name} {value}: must be above 0 and finite")


def paths(raw: bytes, decoded: bytes, *mounted: bytes) -> tuple[str, list[str]]:
    """The path as the client sent it, and others that the application may act on.

    Those are the path as the server decoded it, and what the application is left with where it is mounted.
    """
    # Bytes that no request line should have are encoded, too: applications take them for the same.
    sent = quote(raw, safe=_VISIBLE) if raw else quote(decoded)
    others = dict.fromkeys((decoded, *mounted))
    return sent or "/", [quote(path) or "/" for path in others if path != raw.partition(b"?")[0]]


def header_name(name: str) -> str:
    """Refuses what is no name of a header now rather than with every request."""
    if not is_header_name(name):
        raise InvalidArgumentError("api_key must be a function, or the name of an HTTP header")
    return name


def text(value: bytes) -> str:
    """The value of a header need not be UTF-8; a rule that only wants it to be present still applies."""
    return value.decode("utf-8", "replace")


def merged(
    headers: Iterable[tuple[AnyStr, AnyStr]], added: list[tuple[AnyStr, AnyStr]]
) -> list[tuple[AnyStr, AnyStr]]:
    """The headers of the application, and those of a decision in place of any of the same name."""
    names = {name.lower() for name, _ in added}
    return [(name, value) for name, value in headers if name.lower() not in names] + added


def fields(problem: Problem) -> Headers:
    """The headers of an answer that does not come from the application."""
    return [*problem.headers, ("Content-Length", str(len(problem.body)))]
