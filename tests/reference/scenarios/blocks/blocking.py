"""The rules that blocks are tried with: 10 at once, and nothing that is used leaves within a second."""

from ..reservations.held import EVERY
from ..script import Scenario, rule

BLOCKED = {"allowed": False, "blocked": True, "remaining": 0, "shadow_denied": False}
FREE = {"allowed": True, "blocked": False, "retry_after_us": 0}


def for_a(seconds: float | None = 60, factor: float | None = None, longest: float | None = None) -> dict:
    """The field `block`."""
    fields = {"seconds": seconds, "factor": factor, "max_seconds": longest}
    return {name: value for name, value in fields.items() if value is not None}


BY_HAND = for_a(None)


def blocking(name: str, block: dict, **others) -> dict:
    algorithm, limit, window, options = EVERY[name]
    return rule(algorithm, limit, window, **options, block=block, **others)


def counter(limit: int = 3, window: int = 10, block: dict | None = None, **others) -> dict:
    """One whose figures are easy to tell: all is new again at the end of its window."""
    return rule("fixed_window", limit, window, block=for_a() if block is None else block, **others)


def drips(limit: int = 3, window: int = 3, block: dict | None = None, **others) -> dict:
    """One that gives back one unit in `window / limit` seconds."""
    return rule("gcra", limit, window, block=for_a() if block is None else block, **others)


def per_algorithm(title: str, note: str, steps: list, block: dict, **others) -> list[Scenario]:
    """The same story under every algorithm. `title` is where the ids begin."""
    return [Scenario(f"{title}-{name}", note, [blocking(name, block, **others)], steps) for name in EVERY]
