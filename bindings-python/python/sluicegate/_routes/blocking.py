"""What frameworks without an event loop have in common."""

from __future__ import annotations

from .._asynchronous import AsyncRateLimiter
from .._middleware import ensure


def check_limiter(limiter: object) -> None:
    """Refuses what is no limiter that may be called here."""
    is_blocking = hasattr(limiter, "reserve_all") and not isinstance(limiter, AsyncRateLimiter)
    ensure("limiter", "a RateLimiter, or a function that returns one", limiter, is_blocking)
