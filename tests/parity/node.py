"""The package for Node, by its types."""

from __future__ import annotations

import re

from surface import Surface, block, read, snake_case

TYPES = "bindings-node/lib/index.d.ts"
SOURCES = {"RateLimiter": "bindings-node/lib/limiter.js", "ManualClock": "bindings-node/lib/clock.js"}


def surface() -> Surface:
    types = read(TYPES)
    limiter = methods(block(types, "export class RateLimiter "))
    clock = methods(block(types, "export class ManualClock "))
    error = fields(block(types, "export class SluicegateError "))
    decision = block(types, "export interface Decision ")
    codes = types.split("export type ErrorCode =")[1].split(";")[0]
    return Surface(
        limiter={"open" if name == "connect" else name for name in limiter},
        async_limiter=set(),
        options=fields(block(types, "export interface ConnectOptions ")),
        check=fields(block(types, "export interface CheckOptions ")),
        decision=fields(decision),
        clock={name.removesuffix("_us") for name in clock} | {"new"},
        error={"kind" if name == "code" else name for name in error},
        kinds=set(re.findall(r"^  \| '(\w+)'", codes, re.MULTILINE)),
        sources=set(re.findall(r"'(\w+)'", re.search(r"source: (.*);", decision)[1])),
    )


def methods(text: str) -> set[str]:
    """Methods and getters; those with a symbol for a name belong to the language."""
    found = re.findall(r"^  (?:static |async |get )*([a-z]\w*)\(", text, re.MULTILINE)
    return {snake_case(name) for name in found if name != "constructor"}


def fields(text: str) -> set[str]:
    found = re.findall(r"^  (?:readonly )?(\w+)\??:", text, re.MULTILINE)
    return {snake_case(name.removesuffix("Ms")) for name in found}


def untyped() -> list[str]:
    """Methods that a class has and its type does not, or the other way round."""
    types = read(TYPES)
    differences = []
    for name, path in SOURCES.items():
        typed = methods(block(types, f"export class {name}\\b"))
        real = methods(block(read(path), f"class {name}\\b"))
        differences += [f"{name}.{method}" for method in typed ^ real]
    return differences
