"""The package for Node, by its types."""

from __future__ import annotations

import re

from surface import REPOSITORY, Surface, block, snake_case

TYPES = "bindings-node/types"


def surface() -> Surface:
    types = "".join(path.read_text(encoding="utf-8") for path in sorted((REPOSITORY / TYPES).glob("*.d.ts")))
    limiter = methods(block(types, "export class RateLimiter "))
    clock = methods(block(types, "export class ManualClock "))
    error = fields(block(types, "export class SluicegateError "))
    decision = block(types, "export type DecisionFields ")
    codes = types.split("export type ErrorCode =")[1].split(";")[0]
    return Surface(
        limiter={"open" if name == "connect" else name for name in limiter},
        async_limiter=set(),
        options=fields(block(types, "export type ConnectOptions ")),
        check=fields(block(types, "export type CheckOptions ")),
        decision=fields(decision),
        clock={name.removesuffix("_us") for name in clock} | {"new"},
        error={"kind" if name == "code" else name for name in error},
        kinds=set(re.findall(r'"(\w+)"', codes)),
        sources=set(re.findall(r'"(\w+)"', re.search(r"source: (.*);", decision)[1])),
    )


def methods(text: str) -> set[str]:
    """Methods and getters; those with a symbol for a name belong to the language."""
    found = re.findall(r"^    (?:static |get )*([a-z]\w*)\(", text, re.MULTILINE)
    return {snake_case(name) for name in found if name != "constructor"}


def fields(text: str) -> set[str]:
    found = re.findall(r"^    (?:readonly )?(\w+)\??:", text, re.MULTILINE)
    return {snake_case(name.removesuffix("Ms")) for name in found}
