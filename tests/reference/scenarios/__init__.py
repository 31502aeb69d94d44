"""What the vectors try: rules and calls, without answers. One module per file of vectors."""

from . import (
    arguments,
    check_all,
    clock_steps,
    count_denied,
    decay,
    fixed_window,
    gcra,
    leaky_bucket,
    overrides,
    resources,
    several_limits,
    shadow,
    sliding_buckets,
    sliding_log,
    sliding_window,
    token_bucket,
    uniform,
)

ALGORITHMS = [
    fixed_window,
    sliding_window,
    sliding_log,
    sliding_buckets,
    gcra,
    token_bucket,
    leaky_bucket,
    uniform,
    decay,
]
TOPICS = [several_limits, resources, check_all, count_denied, shadow, clock_steps, overrides, arguments]

FILES = {module.__name__.rpartition(".")[2]: (module.DESCRIPTION, module.SCENARIOS) for module in ALGORITHMS + TOPICS}
