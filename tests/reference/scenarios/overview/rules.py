"""rules: those in force, as data."""

from ..script import Scenario, rules_in_force

DESCRIPTION = "rules: each as a file of rules states it, in one form, without what is left to its default"

SLOTTED = {"rule_id": "a", "algorithm": "sliding_buckets", "priority": 0}
PLAIN = {"rule_id": "a", "algorithm": "gcra", "limit": 5, "window_size_seconds": 60, "priority": 0}
WINDOW = PLAIN | {"algorithm": "fixed_window"}
MATCHED = {"match": {"path_pattern": "/a/*"}, "identifier_type": "user_id"}
CALENDAR = {"rule_id": "a", "algorithm": "fixed_window", "limit": 5}
TWO = [{"limit": 2, "window_size_seconds": 1}, {"limit": 9, "window_size_seconds": 60}]


def is_stated(name: str, note: str, given: dict, answered: dict) -> Scenario:
    return Scenario(f"rules/{name}", note, [given], [rules_in_force(answered)])


def stays(name: str, note: str, given: dict) -> Scenario:
    """One that is in that form."""
    return is_stated(name, note, given, given)


def loses(name: str, default: dict) -> Scenario:
    return is_stated(f"default-{name}", "What is stated as its default is left out", WINDOW | default, WINDOW)


SCENARIOS = [
    is_stated("smallest", "The algorithm and the priority are returned, a rate is a limit and a window",
              {"rule_id": "a", "rate": "5/minute"}, PLAIN),
    is_stated("rate-of-a-unit", "5 in a second", {"rule_id": "a", "rate": "5/s"}, PLAIN | {"window_size_seconds": 1}),
    is_stated("rate-of-several", "5 in 90 s", {"rule_id": "a", "rate": "5/90s"}, PLAIN | {"window_size_seconds": 90}),
    is_stated("rate-of-a-fraction", "5 in a quarter of a second",
              {"rule_id": "a", "rate": "5/250ms"}, PLAIN | {"window_size_seconds": 0.25}),
    is_stated("whole-fraction", "60.0 is 60", PLAIN | {"window_size_seconds": 60.0}, PLAIN),
    stays("fraction", "A window of a second and a microsecond", PLAIN | {"window_size_seconds": 1.000001}),
    *[stays(f"algorithm-{name}", "As it was stated", PLAIN | {"algorithm": name})
      for name in ("fixed_window", "sliding_window", "sliding_log", "gcra", "token_bucket", "leaky_bucket", "uniform")],
    stays("burst", "The burst beside the limit", PLAIN | {"burst": 20}),
    is_stated("buckets", "The resolution is returned: a sixtieth of the window",
              SLOTTED | {"rate": "5/minute"}, SLOTTED | {"limit": 5, "window_size_seconds": 60, "resolution_seconds": 1}),
    is_stated("buckets-rounded", "A sixtieth of a second, rounded up to the microsecond", SLOTTED | {"rate": "5/s"},
              SLOTTED | {"limit": 5, "window_size_seconds": 1, "resolution_seconds": 0.016667}),
    stays("buckets-stated", "The resolution as stated",
          SLOTTED | {"limit": 5, "window_size_seconds": 60, "resolution_seconds": 7}),
    is_stated("decay", "The factor is returned", {"rule_id": "a", "algorithm": "decay", "limit": 2.5, "resolution_seconds": 3},
              {"rule_id": "a", "algorithm": "decay", "limit": 2.5, "resolution_seconds": 3, "decay_factor": 2, "priority": 0}),
    is_stated("concurrency", "It has reservations by itself, and no window", {"rule_id": "a", "algorithm": "concurrency", "limit": 3},
              {"rule_id": "a", "algorithm": "concurrency", "limit": 3, "priority": 0}),
    stays("lease", "How long a lease is", PLAIN | {"reservations": True, "lease_seconds": 7.5}),
    is_stated("lease-of-a-minute", "60 s are the default", PLAIN | {"reservations": True, "lease_seconds": 60},
              PLAIN | {"reservations": True}),
    loses("window_start", {"window_start": "aligned"}),
    loses("count_denied", {"count_denied": False}),
    loses("shadow", {"shadow": False}),
    loses("reservations", {"reservations": False}),
    loses("overrides", {"overrides": False}),
    stays("window_start", "From the first request on", WINDOW | {"window_start": "first_request"}),
    stays("structure", "A sorted set", PLAIN | {"algorithm": "sliding_log", "structure": "sorted_set"}),
    stays("flags", "What is switched on", WINDOW | {"count_denied": True, "shadow": True, "overrides": True}),
    stays("description-and-priority", "Any text, and numbers below zero", PLAIN | {"description": "\"a\"\n", "priority": -3}),
    stays("month", "A window of the calendar", CALENDAR | {"window": "month", "priority": 0}),
    stays("month-of-a-zone", "Its zone and its first day",
          CALENDAR | {"window": "month", "time_zone": "Asia/Tokyo", "month_start_day": 15, "priority": 0}),
    is_stated("calendar-defaults", "UTC, from the first day on",
              CALENDAR | {"window": "month", "time_zone": "UTC", "month_start_day": 1}, CALENDAR | {"window": "month", "priority": 0}),
    stays("limits", "Several limits", {"rule_id": "a", "algorithm": "fixed_window", "limits": TWO, "priority": 0}),
    is_stated("limits-of-rates", "Rates of several limits",
              {"rule_id": "a", "algorithm": "fixed_window", "limits": [{"rate": "2/s"}, {"rate": "9/minute"}]},
              {"rule_id": "a", "algorithm": "fixed_window", "limits": TWO, "priority": 0}),
    is_stated("one-of-limits", "The only one stands without the list",
              {"rule_id": "a", "limits": [{"rate": "5/minute", "scope": "key"}]}, PLAIN),
    stays("resource", "One of a resource stays in the list",
          {"rule_id": "a", "algorithm": "gcra", "limits": [TWO[1] | {"scope": "resource"}], "priority": 0}),
    stays("block-by-hand", "A block that only begins by hand", PLAIN | {"block": {}}),
    stays("block", "Its length", PLAIN | {"block": {"seconds": 600}}),
    stays("block-that-grows", "Its factor and how long it gets", PLAIN | {"block": {"seconds": 600, "factor": 1.5, "max_seconds": 86400}}),
    is_stated("block-defaults", "A factor of 1, ten times its length at most",
              PLAIN | {"block": {"seconds": 600, "factor": 1, "max_seconds": 6000}}, PLAIN | {"block": {"seconds": 600}}),
    stays("match", "Which requests it applies to", PLAIN | MATCHED),
    stays("match-in-full", "Every condition, and what a request costs",
          PLAIN | {"match": {"path_pattern": "/a/*", "methods": ["GET", "PUT"], "requires_authentication": True,
                             "required_headers": {"x-b": "*"}}, "identifier_type": ["user_id", "header:x-a"], "cost": 3}),
    is_stated("cost-of-1", "A request costs 1", PLAIN | MATCHED | {"cost": 1, "ipv6_prefix_length": 64}, PLAIN | MATCHED),
    is_stated("unless-in-a-list", "The only exemption stands without the list",
              PLAIN | MATCHED | {"unless": [{"path_pattern": "/a/health"}]},
              PLAIN | MATCHED | {"unless": {"path_pattern": "/a/health"}}),
    stays("unless", "Several exemptions",
          PLAIN | MATCHED | {"unless": [{"path_pattern": "/a/health"}, {"methods": ["OPTIONS"]}], "ipv6_prefix_length": 48}),
    Scenario(
        "rules/order",
        "In the order in which they are stated, whatever their priority",
        [PLAIN | {"priority": 9}, WINDOW | {"rule_id": "b", "priority": 1}],
        [rules_in_force(PLAIN | {"priority": 9}, WINDOW | {"rule_id": "b", "priority": 1})],
    ),
]  # fmt: skip
