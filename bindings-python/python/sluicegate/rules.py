"""The types of rules, for type checkers."""
# Written by docs/tools/rule_types.py.

from collections.abc import Mapping, Sequence
from typing import Literal, TypedDict

__all__ = ["Block", "Global", "Lease", "Limit", "Match", "Rule"]


class Block(TypedDict, total=False):
    """How keys of a rule are blocked."""

    factor: float
    """A block that begins within max_seconds after the last one is so many times longer. Default: 1."""
    max_seconds: float
    """The longest block. Default: 10 times seconds."""
    seconds: float
    """How long a key is blocked that was denied. Default: keys are blocked by hand alone."""


class Global(TypedDict, total=False):
    """How a limit holds over regions."""

    max_age_ms: float
    """How long what is lent to another region may be used, and a denial be remembered there. Default: 2000, or the window."""


class Lease(TypedDict, total=False):
    """How a process borrows units of its server."""

    max_age_ms: float
    """How long borrowed units may be spent; the window at most. Default: 20, or the window."""
    pace_ms: float
    """How much time lies between two requests for units of one key; max_age_ms at most. Default: half of max_age_ms."""


class Limit(TypedDict, total=False):
    """One of several limits of a rule."""

    limit: float
    """The cost that may be admitted per window, or be in flight at once."""
    month_start_day: int
    """The day at which a month of the calendar begins; in a month that lacks it, its last day. Default: 1."""
    rate: str
    """Limit and window in one, in place of limit and window_size_seconds: 5/minute, 100/s, 20/30s."""
    resolution_seconds: float
    """Length of a slot. Default of sliding_buckets: a sixtieth of the window."""
    scope: Literal["key", "resource"]
    """Who shares the limit. Default: key."""
    time_zone: str
    """The time zone of a window of the calendar, by its IANA name, such as Europe/Berlin. Default: UTC."""
    window: Literal["day", "week", "month", "year"]
    """A window of the calendar, in place of window_size_seconds."""
    window_size_seconds: float
    """Length of the window."""


class Match(TypedDict, total=False):
    """Which requests a rule applies to."""

    ip_subnet: str | Sequence[str]
    """The address is in one of these networks (CIDR)."""
    methods: Sequence[str]
    """The method is one of these."""
    path_pattern: str
    """The path matches: * is any run of characters, {name} is one segment."""
    required_headers: Mapping[str, str]
    """Each header has this value; * stands for any value."""
    requires_authentication: bool
    """The request has a user."""


class _NamedRule(TypedDict):
    """What every rule has."""

    rule_id: str
    """Name of the rule, unique in its file."""


_KeywordRule = TypedDict("_KeywordRule", {"global": Global}, total=False)


class Rule(_NamedRule, _KeywordRule, total=False):
    """A rule, with the names of fields that rule files have."""

    algorithm: Literal["fixed_window", "sliding_window", "sliding_log", "sliding_buckets", "gcra", "token_bucket",
        "leaky_bucket", "uniform", "decay", "concurrency"]
    """How the limit is kept. Default: gcra."""
    block: Block
    """A key that is denied stays denied for some time; {}: only keys that are blocked by hand."""
    burst: int
    """The most that is admitted at once. Default: the limit."""
    cost: int
    """What a request costs to which the rule applies. Default: 1."""
    count_denied: bool
    """Charge denied costs too, by the limits that refused them. Default: false."""
    decay_factor: float
    """Each slot that passes divides the level by this. Default: 2."""
    description: str
    """For people."""
    fallback: Literal["error", "allow", "deny", "local"]
    """What a call answers that no server can decide. Default: what the limiter's option of that name says."""
    identifier_type: str | Sequence[str]
    """What of a request is the key: user_id, ip_address, api_key, header:<name>, path:<name> or global; or an array of them."""
    ipv6_prefix_length: int
    """How many leading bits of an IPv6 address identify a client. Default: 64."""
    lease: Lease
    """A process borrows units of its server ahead of its calls, and decides by them. Default: the server decides each check."""
    lease_seconds: float
    """How long a reservation lives without being renewed. Default: 60."""
    limit: float
    """The cost that may be admitted per window, or be in flight at once."""
    limits: Sequence[Limit]
    """Several limits, decided together, in place of limit and window_size_seconds."""
    match: Match
    """Which requests the rule applies to. Default: only by name."""
    month_start_day: int
    """The day at which a month of the calendar begins; in a month that lacks it, its last day. Default: 1."""
    overrides: bool
    """Limits of single keys may be stored. Default: false."""
    priority: int
    """Lower numbers are decided and reported first. Default: 0."""
    rate: str
    """Limit and window in one, in place of limit and window_size_seconds: 5/minute, 100/s, 20/30s."""
    reservations: bool
    """Usage may be reserved, and charged when it is known. Default: false."""
    resolution_seconds: float
    """Length of a slot. Default of sliding_buckets: a sixtieth of the window."""
    resource_identifier_type: str
    """Which part of a request is the resource."""
    shadow: bool
    """Decide and count, but always admit. Default: false."""
    structure: Literal["list", "sorted_set"]
    """The Redis type that holds the log. Default: list."""
    time_zone: str
    """The time zone of a window of the calendar, by its IANA name, such as Europe/Berlin. Default: UTC."""
    unless: Match | Sequence[Match]
    """Conditions like those of match, or an array of them: the rule does not apply where one of them holds."""
    window: Literal["day", "week", "month", "year"]
    """A window of the calendar, in place of window_size_seconds."""
    window_size_seconds: float
    """Length of the window."""
    window_start: Literal["aligned", "first_request"]
    """When windows begin: at the same instant for every key, or at its first request. Default: aligned."""
