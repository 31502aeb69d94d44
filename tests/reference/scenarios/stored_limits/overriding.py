"""The rules that stored limits are tried with."""

from ..reservations.held import EVERY
from ..script import Scenario, rule

UNIFORM = ("uniform", 10, 10, {})
ALL = EVERY | {"uniform": UNIFORM}


def overriding(name: str, **others) -> dict:
    """10 units at once, or one each second for uniform; nothing that is used leaves within a second."""
    algorithm, limit, window, options = ALL[name]
    return rule(algorithm, limit, window, **options, overrides=True, **others)


def counter(limit: int = 10, window: int = 10, **others) -> dict:
    return rule("fixed_window", limit, window, overrides=True, **others)


def drips(limit: int = 10, window: int = 10, **others) -> dict:
    return rule("gcra", limit, window, overrides=True, **others)


def per_algorithm(title: str, note: str, steps: list, but: tuple = ("token_bucket",), **others) -> list[Scenario]:
    """The same story under every algorithm, but for those whose burst is not their limit."""
    return [Scenario(f"{title}-{name}", note, [overriding(name, **others)], steps) for name in EVERY if name not in but]
