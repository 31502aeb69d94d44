"""Distributed rate limiter: decides atomically inside Redis, or in memory, with one set of rules."""

from . import _loading as _loading  # First: it explains why the native part is missing.
from ._asynchronous import AsyncRateLimiter
from ._metrics import (
    DecisionCounts,
    DeniedKey,
    LoanUnits,
    Metrics,
    RoundTripBucket,
    RoundTrips,
    RuleMetrics,
    ServerMetrics,
)
from ._native import (
    Check,
    Decision,
    ManualClock,
    RateLimiter,
    Refusal,
    RequestMatch,
    Reservation,
    RulesStatus,
    address_key,
)
from ._reservations import AsyncReservation
from .errors import (
    ClosedError,
    ConnectionFailedError,
    InvalidArgumentError,
    InvalidRuleError,
    ResponseTimeoutError,
    ServerError,
    SluicegateError,
    UnknownRuleError,
    WrongTypeError,
)

__all__ = [
    "AsyncRateLimiter",
    "AsyncReservation",
    "Check",
    "ClosedError",
    "ConnectionFailedError",
    "Decision",
    "DecisionCounts",
    "DeniedKey",
    "InvalidArgumentError",
    "InvalidRuleError",
    "LoanUnits",
    "ManualClock",
    "Metrics",
    "RateLimiter",
    "Refusal",
    "RequestMatch",
    "Reservation",
    "ResponseTimeoutError",
    "RoundTripBucket",
    "RoundTrips",
    "RuleMetrics",
    "RulesStatus",
    "ServerError",
    "ServerMetrics",
    "SluicegateError",
    "UnknownRuleError",
    "WrongTypeError",
    "address_key",
]
