"""The rules that reservations are tried with: 10 at once, and nothing that is used leaves within a second."""

from ..script import Scenario, rule

EVERY = {
    "fixed_window": ("fixed_window", 10, 10, {}),
    "first_request": ("fixed_window", 10, 10, {"window_start": "first_request"}),
    "sliding_window": ("sliding_window", 10, 10, {}),
    "list": ("sliding_log", 10, 10, {}),
    "sorted_set": ("sliding_log", 10, 10, {"structure": "sorted_set"}),
    "sliding_buckets": ("sliding_buckets", 10, 10, {"resolution_seconds": 1}),
    "gcra": ("gcra", 10, 100, {}),
    "token_bucket": ("token_bucket", 5, 50, {"burst": 10}),
    "leaky_bucket": ("leaky_bucket", 10, 100, {}),
    "decay": ("decay", 10, None, {"resolution_seconds": 2}),
}
UNIFORM = ("uniform", 5, 10, {})


def holding(name: str, lease: float | None = None, **others) -> dict:
    """A rule with reservations that live for `lease` seconds, or 60."""
    algorithm, limit, window, options = UNIFORM if name == "uniform" else EVERY[name]
    return rule(algorithm, limit, window, **options, reservations=True, lease_seconds=lease, **others)


def budget(limit: int = 10, window: int = 10, lease: float | None = None, **others) -> dict:
    """One whose figures are easy to tell: all is new again at the end of its window."""
    return rule("fixed_window", limit, window, reservations=True, lease_seconds=lease, **others)


def drips(limit: int = 10, window: int = 10, lease: float | None = None, **others) -> dict:
    """One that gives back one unit in `window / limit` seconds."""
    return rule("gcra", limit, window, reservations=True, lease_seconds=lease, **others)


def in_flight(limit: int | None = 3, lease: float | None = None, **others) -> dict:
    return rule("concurrency", limit, lease_seconds=lease, **others)


def two_level(algorithm: str, key: int, resource: int, window: int | None = 10, **others) -> dict:
    """A resource that many keys share, and a share of it for each."""
    times = {} if window is None else {"window_size_seconds": window}
    limits = [{"limit": resource, **times, "scope": "resource"}, {"limit": key, **times}]
    reservations = {} if algorithm == "concurrency" else {"reservations": True}
    return rule(algorithm, limits=limits, **reservations, **others)


def per_algorithm(title: str, note: str, steps: list, lease: float | None = None) -> list[Scenario]:
    """The same story under every algorithm. `title` is where the ids begin."""
    return [Scenario(f"{title}-{name.replace('/', '-')}", note, [holding(name, lease)], steps) for name in EVERY]
