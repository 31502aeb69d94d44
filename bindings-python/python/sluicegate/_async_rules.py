"""The rules, settings and metrics of the limiter for asyncio, without I/O."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ._native import Bridge, RequestMatch, RulesStatus

if TYPE_CHECKING:
    from ._native import _Headers, _Name, _StatedRules
    from .rules import Rule


class AsyncRules:
    """The methods of `AsyncRateLimiter` about the rules in force, none of which waits."""

    __slots__ = ()

    _bridge: Bridge

    def match_request(
        self,
        method: str,
        path: str,
        *,
        user_id: _Name | None = None,
        ip: str | None = None,
        api_key: str | None = None,
        headers: _Headers | None = None,
        api_key_header: str | None = None,
        other_paths: Iterable[str] | None = None,
        ignore_case: bool = False,
        explain: bool = False,
    ) -> list[RequestMatch]:
        """The rules that `check_request` would apply, in order of priority; nothing is counted.

        With `explain` it answers all rules: whether each applies, and why.
        """
        return self._bridge.match_request(
            method, path, user_id, ip, api_key, headers, api_key_header, other_paths, ignore_case, explain
        )

    def rules(self) -> list[Rule]:
        """The rules in force, as rule files state them: what is left to its default is left out."""
        return self._bridge.rules()

    def add_rules(self, rules: _StatedRules) -> None:
        """Adds rules of the application to those of the source: JSON text or a list of dict, as rule files state them.

        They stay whatever the source says later, and take effect with the next check; all of them, or none. A source that
        comes to hold a rule of the same name is refused as one with a mistake is. Does no I/O. Raises InvalidRuleError when
        a rule is not valid, or a rule in force has its name.
        """
        self._bridge.add_rules(rules)

    def set_instances(self, instances: int) -> None:
        """Changes how many processes share the limits while no server decides, as the option `instances` says at the start.

        For fleets that grow and shrink. Takes effect with the next call that falls back. Does no I/O. Raises
        InvalidArgumentError for 0, and for more than 1,000,000.
        """
        self._bridge.set_instances(instances)

    def rules_status(self) -> RulesStatus:
        """Which rules are in force, since when, and what was refused of their source."""
        return self._bridge.rules_status()
