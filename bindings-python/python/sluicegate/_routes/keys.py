"""Who is counted at a route."""

from __future__ import annotations

import logging
from typing import Any

from .._middleware import Policy
from .hooks import HookError, Hooks, Steps, ask, name_of
from .request import RouteRequest
from .rules import Rule

Key = str | tuple[str, ...]

_LOG = logging.getLogger("sluicegate")
# The key of all clients that have no address.
NO_ADDRESS = "no address"
_DEFAULT_PREFIX = 64


class NoAddress(Exception):
    """A request is counted by its address, and has none."""


class NoHeader(Exception):
    """A request is counted by a header that it lacks, which the message names."""


class Keys:
    """Finds the keys of one request; asks each function of the application once."""

    def __init__(self, hooks: Hooks, policy: Policy, request: RouteRequest, passing: tuple[type[BaseException], ...]) -> None:
        self._hooks = hooks
        self._policy = policy
        self._request = request
        self._passing = passing
        self._known: dict[str, Any] = {}

    def of(self, rule: Rule) -> Steps:
        """The key under a rule: what its `identifier_type` says, or else `key`, or else user or address."""
        identifier = rule.get("identifier_type")
        if isinstance(identifier, list):
            parts = []
            for part in identifier:
                parts.append((yield from self._identified(part, rule)))
            return tuple(parts)
        if identifier is not None:
            return (yield from self._identified(identifier, rule))
        if self._hooks.key is not None:
            return (yield from self._asked("key", self._hooks.key))
        if self._hooks.user_id is None:
            return self._address(rule)
        # A user cannot be named like the address of somebody else.
        user = yield from self._user()
        if user is None:
            return ("ip", self._address(rule))
        return ("user", *user) if isinstance(user, tuple) else ("user", user)

    def _identified(self, identifier: str, rule: Rule) -> Steps:
        kind, _, name = identifier.partition(":")
        if identifier == "global":
            return identifier
        if identifier == "ip_address":
            return self._address(rule)
        if identifier == "user_id":
            user = None if self._hooks.user_id is None else (yield from self._user())
            return user or self._missing(rule, "user_id says no user")
        if identifier == "api_key":
            return self._missing(rule, "a route knows no API key: use header:<name>, or `key` with a rule without identifier_type")
        found = self._request.values(name.lower()) if kind == "header" else [self._request.path.get(name)]
        value = found[0] if found else None
        if value not in (None, ""):
            return str(value)
        if kind == "header":
            raise NoHeader(f'rule "{rule["rule_id"]}": the request has no header {name}')
        return self._missing(rule, f"the request has no {identifier}")

    def _missing(self, rule: Rule, why: str) -> str:
        raise HookError(f'{self._request.where}: rule "{rule["rule_id"]}": {why}')

    def _user(self) -> Steps:
        assert self._hooks.user_id is not None
        return (yield from self._asked("user_id", self._hooks.user_id, may_lack=True))

    def _asked(self, name: str, hook: Any, *, may_lack: bool = False) -> Steps:
        if name not in self._known:
            where = self._request.where
            value = yield from ask(where, name, hook, self._request.arguments, self._passing)
            is_nobody = may_lack and value is None
            self._known[name] = None if is_nobody else name_of(where, name, value)
        return self._known[name]

    def _address(self, rule: Rule) -> str:
        return address_of(self._request, self._hooks, self._policy, rule)


def address_of(request: RouteRequest, hooks: Hooks, policy: Policy, rule: Rule) -> str:
    """The key by the address."""
    forwarded = request.values(policy.forwarded_header)
    key = policy.key(request.peer, forwarded, rule.get("ipv6_prefix_length", _DEFAULT_PREFIX))
    if key is not None:
        return key
    if hooks.no_address == "shared":
        _NO_ADDRESS.once()
        return NO_ADDRESS
    raise NoAddress


class _Warning:
    def __init__(self) -> None:
        self._is_said = False

    def once(self) -> None:
        if not self._is_said:
            self._is_said = True
            _LOG.warning(
                "requests without an address, as from a Unix socket, share one limit "
                "(set `key`, `trusted_proxies` or `no_address`)"
            )


_NO_ADDRESS = _Warning()
