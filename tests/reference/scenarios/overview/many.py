"""Rules of all kinds, for calls that go over all of them."""

from ..reservations.held import EVERY, in_flight
from ..script import rule


def named(name: str, **others) -> dict:
    """10 at once, and nothing that is used leaves within a second."""
    algorithm, limit, window, options = EVERY[name]
    return rule(algorithm, limit, window, rule_id=name, **options, **others)


def counter(rule_id: str, limit: int, window: int = 10, **others) -> dict:
    return rule("fixed_window", limit, window, rule_id=rule_id, **others)


EVERY_ALGORITHM = [named(name) for name in EVERY] + [
    rule("uniform", 5, 10, rule_id="uniform"),
    in_flight(3, rule_id="in_flight"),
]


def of_a_resource(rule_id: str, resource: int, key: int | None = None, window: int = 10) -> dict:
    limits = [{"limit": resource, "window_size_seconds": window, "scope": "resource"}]
    own = [] if key is None else [{"limit": key, "window_size_seconds": window}]
    return rule("fixed_window", rule_id=rule_id, limits=limits + own)
