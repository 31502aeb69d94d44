"""The library for C, by its header."""

from __future__ import annotations

import re

from surface import Surface, camel_case, read

HEADER = "bindings-c/include/sluicegate.h"
# How a struct tells its own size or that of what follows.
SIZES = {"size", "resource_len"}


def surface() -> Surface:
    header = read(HEADER)
    functions = set(re.findall(r"\bsluicegate_(\w+)\(", without_comments(header)))
    # What a name begins with says what it belongs to. Matches are an answer that the caller takes apart.
    kinds = ("clock", "decision", "matches")
    of = {kind: {name for name in functions if name.startswith(f"{kind}_")} for kind in kinds}
    limiter = {name.removeprefix("limiter_") for name in functions - set().union(*of.values())}
    return Surface(
        limiter={"open" if name == "new" else name for name in limiter} - {"version", "status_name"},
        async_limiter=set(),
        options=fields(header, "options") | ({"rules"} if "rules" in parameters(header, "limiter_new") else set()),
        check=fields(header, "check_options"),
        decision=fields(header, "decision") | {name.removeprefix("decision_") for name in of["decision"]},
        clock={name.removeprefix("clock_") for name in of["clock"]},
        error={"kind" if name == "status" else name for name in fields(header, "error")},
        kinds={camel_case(name) for name in variants(header, "status")} - {"Ok"},
        sources={name.removeprefix("SOURCE_").lower() for name in variants(header, "source")},
    )


def without_comments(text: str) -> str:
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)


def body(header: str, kind: str, name: str) -> str:
    return re.search(rf"^typedef {kind} \{{\n([^}}]*)\}} sluicegate_{name};", header, re.MULTILINE)[1]


def fields(header: str, name: str) -> set[str]:
    found = re.findall(r"(\w+)(?:\[\w+\])?;$", without_comments(body(header, "struct", name)), re.MULTILINE)
    return {field.removesuffix("_us") for field in found} - SIZES


def variants(header: str, name: str) -> list[str]:
    return re.findall(r"^    SLUICEGATE_(\w+) =", body(header, "enum", name), re.MULTILINE)


def parameters(header: str, function: str) -> list[str]:
    return re.findall(r"(\w+)[,)]", re.search(rf"sluicegate_{function}\(([^;]*;)", header)[1])
