"""The rules that waits are tried with: 10 at once, and how long a unit takes to come back after that."""

from ..reservations.held import EVERY
from ..script import Scenario, Step, rule

COMES_BACK_AFTER = {name: 10_000_000 for name in EVERY} | {"sliding_window": 11_000_000, "decay": 2_000_000}


def room(name: str, **others) -> dict:
    algorithm, limit, window, options = EVERY[name]
    return rule(algorithm, limit, window, **options, **others)


def per_algorithm(title: str, note: str, steps: list[Step], name: str, **others) -> Scenario:
    """The story of one algorithm; most depend on how long a unit takes to come back."""
    return Scenario(f"{title}-{name}", note, [room(name, **others)], steps)
