"""Calls about one key under every rule, and the rules as data."""

from .decision import Decision
from .items import Charge, Item
from .rules import Rule
from .stated import stated
from .together import overall


class Overview:
    """The part of a limiter that goes over all of its rules, in their order. Rules with resources want one."""

    def inspect(self, now: int, key: str | list[str], resource: str | None = None) -> tuple[Decision | None, list[Decision]]:
        """What each rule would answer to a check of cost 1, and all of them together; None without a rule."""
        items = self._items_of(key, resource)
        parts = [self.peek(now, item) for item in items]
        charges = [Charge(self.rules[item.rule], item, {}) for item in items]
        return overall(charges, parts) if parts else None, parts

    def reset_all(self, now: int, key: str | list[str], resource: str | None = None) -> None:
        for item in self._items_of(key, resource):
            self.reset(now, item)

    def rules_in_force(self) -> list[dict]:
        return [stated(rule.given) for rule in self.rules.values()]

    def _items_of(self, key: str | list[str], resource: str | None) -> list[Item]:
        def item(rule: Rule) -> Item:
            return Item(rule.id, key, resource=resource if rule.has_resource else None)

        return [item(rule) for rule in self.rules.values() if resource is not None or not rule.has_resource]
