"""What the vectors try: rules and calls, without answers. One module per file of vectors."""

from . import decay, fixed_window, gcra, leaky_bucket, sliding_buckets, sliding_log, sliding_window, token_bucket, uniform

MODULES = (
    fixed_window, sliding_window, sliding_log, sliding_buckets, gcra, token_bucket, leaky_bucket, uniform, decay,
)  # fmt: skip

FILES = {module.__name__.rpartition(".")[2]: (module.DESCRIPTION, module.SCENARIOS) for module in MODULES}
