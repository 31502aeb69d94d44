"""The public API of the crate."""

from __future__ import annotations

import re

from surface import Surface, block, read

# A builder opens, and to explain is an option of matching.
RENAMED = {"builder": "open", "explain_request": "match_request"}


def surface() -> Surface:
    error = block(read("core/src/error.rs"), "impl Error ")
    return Surface(
        limiter=methods("core/src/limiter/blocking.rs", "impl RateLimiter "),
        async_limiter=methods("core/src/limiter/asynchronous.rs", "impl AsyncRateLimiter "),
        options=options(),
        check=fields("core/src/request.rs", "pub struct CheckOptions<'a> "),
        decision=fields("core/src/decision.rs", "pub struct Decision ")
        | functions(block(read("core/src/decision.rs"), "impl Decision "))
        | functions(block(read("core/src/headers.rs"), "impl Decision ")),
        clock={name.removesuffix("_us") for name in functions(block(read("core/src/clock.rs"), "impl ManualClock "))},
        error={name.removeprefix("is_") for name in functions(error)},
        kinds=names("core/src/error.rs", "impl ErrorKind "),
        sources=names("core/src/decision.rs", "impl Source "),
    )


def functions(text: str) -> set[str]:
    return set(re.findall(r"^    pub (?:async )?fn (\w+)", text, re.MULTILINE))


def methods(path: str, beginning: str) -> set[str]:
    """`check_with` is `check` with options."""
    return {RENAMED.get(name, name.removesuffix("_with")) for name in functions(block(read(path), beginning))}


def options() -> set[str]:
    return functions(block(read("core/src/limiter/builder.rs"), "impl Builder ")) - {"build", "connect"}


def fields(path: str, beginning: str) -> set[str]:
    return set(re.findall(r"^    pub (\w+):", block(read(path), beginning), re.MULTILINE))


def names(path: str, beginning: str) -> set[str]:
    """The texts that the variants of an enum are called by."""
    return set(re.findall(r'Self::\w+ => "(\w+)"', block(read(path), beginning)))
