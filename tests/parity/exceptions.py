"""What one language lacks or has alone, and why."""

# (language, part of the surface, name): it is not there.
MISSING = {
    ("node", "options", "pool_size"): "all calls share one connection",
    ("c", "decision", "parts"): "sluicegate_check_all writes them to an array of the caller's",
    ("c", "limiter", "rules"): "the rules are the caller's; sluicegate_rules_status tells which are in force",
    ("python", "limiter", "rules"): "the rules are the caller's; rules_status tells which are in force",
    ("python", "async_limiter", "rules"): "the rules are the caller's; rules_status tells which are in force",
    ("python", "error", "kind"): "the class is the kind",
    ("python", "error", "message"): "str(error) is the message",
    ("node", "limiter", "rules"): "the rules are the caller's; rulesStatus tells which are in force",
    ("node", "decision", "headers"): "a decision is a plain object; `headers` is a function of the package",
    ("node", "error", "message"): "Error has it",
}

# (language, part of the surface, name): no other language has it.
ALONE = {
    ("rust", "decision", "blank"): "it is for the bindings, and not there without their feature",
    ("c", "limiter", "new_from_file"): "elsewhere one argument takes both JSON and a path",
    ("c", "limiter", "free"): "memory is freed by hand",
    ("c", "clock", "free"): "memory is freed by hand",
    ("c", "decision", "reserved"): "the ABI stays as it is when fields are added",
    ("c", "kinds", "Internal"): "a panic, which other languages have exceptions for",
    ("c", "sources", "other"): "the ABI stays as it is when sources are added",
    ("node", "error", "name"): "Error has it",
}

# Languages without an asynchronous limiter beside the blocking one.
ONE_LIMITER = {
    "node": "every call answers with a promise",
    "c": "there is no event loop that all programs share",
}
