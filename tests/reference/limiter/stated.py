"""Rules as `rules()` answers them: in one form, what is left to its default left out.

A rate is a limit and a window. The one entry of `limits` that counts keys stands without that list. `algorithm`,
`priority`, the `decay_factor` and the resolution of buckets are always there.
"""

from .rules import LEASE_SECONDS, UNITS, exact, microseconds, one_slot_in_sixty, without_rate

DEFAULTS = {
    "description": "",
    "count_denied": False,
    "reservations": False,
    "lease_seconds": LEASE_SECONDS,
    "overrides": False,
    "shadow": False,
    "ipv6_prefix_length": 64,
    "cost": 1,
    "window_start": "aligned",
    "structure": "list",
    "time_zone": "UTC",
    "month_start_day": 1,
    "scope": "key",
    "factor": 1,
}
DAY = UNITS["day"]


def stated(given: dict) -> dict:
    fields = {"algorithm": "gcra", "priority": 0} | given
    if fields["algorithm"] == "decay":
        fields = {"decay_factor": 2} | fields
    if fields["algorithm"] == "concurrency":
        fields.pop("reservations", None)
    if "block" in fields:
        fields["block"] = stated_block(fields["block"])
    if "unless" in fields:
        fields["unless"] = without_list_of_one(fields["unless"])
    if "limits" not in fields:
        return without_defaults(limit_of(fields["algorithm"], fields))
    limits = [without_defaults(limit_of(fields["algorithm"], entry)) for entry in fields.pop("limits")]
    if len(limits) == 1 and "scope" not in limits[0]:
        return without_defaults(fields | limits[0])
    return without_defaults(fields | {"limits": limits})


def limit_of(algorithm: str, entry: dict) -> dict:
    """The fields of one limit, without a rate and with its resolution."""
    fields = without_rate(entry)
    if algorithm == "sliding_buckets" and "resolution_seconds" not in fields:
        slot = one_slot_in_sixty(microseconds(fields["window_size_seconds"]))
        return fields | {"resolution_seconds": slot / 1_000_000}
    return fields


def stated_block(block: dict) -> dict:
    """Ten times its length, and at most ten years, is as long as a block gets by default."""
    if "seconds" not in block:
        return block
    longest = max(min(10 * exact(block["seconds"]), 3650 * DAY), exact(block["seconds"]))
    is_default = exact(block.get("max_seconds", float(longest))) == longest
    return without_defaults({name: value for name, value in block.items() if name != "max_seconds" or not is_default})


def without_list_of_one(unless: dict | list) -> dict | list:
    return unless[0] if isinstance(unless, list) and len(unless) == 1 else unless


def without_defaults(fields: dict) -> dict:
    kept = {name: value for name, value in fields.items() if name not in DEFAULTS or DEFAULTS[name] != value}
    return {name: whole(value) for name, value in kept.items()}


def whole(value):
    """Whole numbers are written as such."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
