"""The limiters of which metrics are shown together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from . import AsyncRateLimiter, RateLimiter

Limiter = RateLimiter | AsyncRateLimiter
Limiters = Limiter | Mapping[str, Limiter]


def named(limiters: Limiters) -> Iterator[tuple[dict[str, str], Limiter]]:
    """Yields each limiter with the labels that tell it from the others: none, if it is the only one."""
    if isinstance(limiters, Mapping):
        # Another thread may add one.
        for name, limiter in list(limiters.items()):
            yield {"limiter": name}, limiter
    else:
        yield {}, limiters
