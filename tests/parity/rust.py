"""The public API of the crate."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from brackets import inside, split
from sources import Sources
from surface import Parameters, Surface, word

CRATE = "core/src"
# Each option of these is a method, which belongs to what they build.
BUILDERS = {"Builder", "RateLimitLayer", "RouteLimits"}
BUILDING = {"build", "connect", "layer", "new"}
# A builder opens, and headers are added one by one.
RENAMED = {"builder": "open", "header": "headers", "is_retryable": "retryable"}
# To explain is an option of matching.
EXPLAIN = ("explain_request", "match_request")
# What is compiled for the tests and for the bindings only is not for users, nor is the function that is the
# command-line tool; the lab is a tool of Rust and Python alone.
HIDDEN = re.compile(
    r'^( *)#\[cfg\((?:test|feature = "(?:bridge|internal)")\)\]\n(?:\1\S[^\n]*;\n|.*?^\1\}\n)', re.MULTILINE | re.DOTALL
)
BLOCK = re.compile(
    r"^(?P<kind>pub struct|pub enum|impl)(?:<[^>\n]*>)? (?P<name>\w+)\b(?:(?! for )[^{;])*\{", re.MULTILINE
)
# Methods that both limiters have stand once.
BOTH = re.compile(r"^both_limiters! \{", re.MULTILINE)
LIMITERS = ("RateLimiter", "AsyncRateLimiter")
# Options that both layers of tower have stand once.
COMMON = re.compile(r"^macro_rules! common_options \{\n[^\n]*=> \{\n(.*?)^    \};", re.MULTILINE | re.DOTALL)
IN_COMMON = re.compile(r"^    common_options!\([^)]*\);\n", re.MULTILINE)
ITEM = r"(?:(?:async|const|enum|fn|static|struct|trait|type|union|unsafe) )+"


def surface(sources: Sources) -> Surface:
    crate = Crate(sources)
    found = Surface()
    found["package"] = crate.exported("lib")
    for name in found["package"] - BUILDERS:
        found[name] |= crate.values(name) | crate.constants(name) | crate.shape(name).keys()
        for method, parameters in crate.methods(name):
            add(found, crate, name, method, parameters)
    # A reservation can be used as the decision that it is. Methods are compared where they are.
    found["Reservation"] |= found["Decision"] - {"headers"}
    for limiter in LIMITERS:
        found.add_method(limiter, "open", dict(crate.methods(limiter))["builder"] | crate.options("Builder"))
    for layers in ("RateLimitLayer", "RouteLimits"):
        found.add_method(layers, "new", crate.options(layers))
    return found


def add(found: Surface, crate: Crate, owner: str, method: str, parameters: Parameters) -> None:
    explains, matches = EXPLAIN
    # `check_with` is `check` with options, and to wait is one of them.
    name = RENAMED.get(method, word(method.removesuffix("_within").removesuffix("_with")))
    if method == explains:
        found.add_method(owner, matches, parameters | {"explain": False})
    elif name not in crate.shape(owner):  # What sets a field is the field.
        found.add_method(owner, name, parameters)


class Crate:
    """The sources, without comments and what is hidden."""

    def __init__(self, sources: Sources) -> None:
        paths = (path for path in sources.files(f"{CRATE}/**/*.rs") if not re.search(r"/(bin|bridge|cli|lab|tests)/", path))
        self.files = {path: visible(sources.read(path)) for path in paths}
        common = "".join(COMMON.findall("".join(self.files.values())))
        common = re.sub(r"^    ", "", common, flags=re.MULTILINE)
        self.files = {path: IN_COMMON.sub(lambda _: common, text) for path, text in self.files.items()}
        self.found: dict[tuple[str, str], list[str]] = {}
        for text in self.files.values():
            for kind, name, body in blocks_of(text):
                self.found.setdefault((kind, name), []).append(body)

    def exported(self, module: str) -> set[str]:
        """What a module exports, and the public modules in it."""
        text = self.files.get(f"{CRATE}/{module}.rs") or self.files[f"{CRATE}/{module}/mod.rs"]
        names = set(re.findall(rf"^pub {ITEM}(\w+)", text, re.MULTILINE))
        for used in re.findall(r"^pub use ([^;]*);", text, re.MULTILINE):
            listed = used[used.index("{") + 1 : -1] if "{" in used else used
            names |= {re.split(r"::| as ", name)[-1] for name in split(listed, ",")}
        return names.union(*map(self.exported, re.findall(r"^pub mod (\w+);", text, re.MULTILINE)))

    def blocks(self, kind: str, name: str) -> str:
        """What stands between the braces after `pub struct Name`, or after each `impl Name`."""
        return "".join(self.found.get((kind, name), []))

    def fields(self, name: str) -> dict[str, str]:
        """The public fields of a struct, with their types."""
        declared = split(self.blocks("pub struct", name), ",")
        found = (re.search(r"^ *pub (\w+): (.*)", one, re.DOTALL | re.MULTILINE) for one in declared)
        return {one[1]: one[2] for one in found if one}

    def shape(self, name: str) -> Parameters:
        """The fields of a struct; required are those that making one takes."""
        made_of = {parameter for method, given in self.functions(name) if method == "new" for parameter, _ in given}
        shape: Parameters = {}
        for field, kind in self.fields(name).items():
            required = field in made_of
            shape |= self.expanded(field, kind, required) if "Options" in kind else {word(field): required}
        return shape

    def expanded(self, name: str, kind: str, required: bool) -> Parameters:
        """A struct of options stands for its fields."""
        struct = re.fullmatch(r"&?(\w+)(?:<'\w+>)?", kind)
        shape = self.shape(struct[1]) if struct else {}
        return shape or {word(name): required}

    def functions(self, name: str) -> list[tuple[str, list[tuple[str, str]]]]:
        return functions_of(self.blocks("impl", name))

    def methods(self, name: str) -> Iterator[tuple[str, Parameters]]:
        for method, given in self.functions(name):
            parameters: Parameters = {}
            for parameter, kind in given:
                parameters |= self.expanded(parameter, kind, True)
            yield method, parameters

    def options(self, builder: str) -> Parameters:
        """What its methods set, and what it takes to begin and to end."""
        options: Parameters = {}
        for method, parameters in self.methods(builder):
            options |= parameters if method in BUILDING else {method: False}
        if builder == "Builder":
            table = self.files[f"{CRATE}/options/table.rs"]
            options |= dict.fromkeys(re.findall(r"^ +(\w+): \w+\([^\n]*\) = ", table, re.MULTILINE), False)
        return options

    def values(self, name: str) -> set[str]:
        """The variants of an enum, by the texts that they are called by."""
        variants = re.findall(r"^    (\w+)\b", self.blocks("pub enum", name), re.MULTILINE)
        named = dict(re.findall(r'Self::(\w+) => "([^"]+)"', self.blocks("impl", name)))
        return {named.get(variant, word(variant)) for variant in variants}

    def constants(self, name: str) -> set[str]:
        return set(re.findall(r"^    pub const ([A-Z]\w*)", self.blocks("impl", name), re.MULTILINE))


@cache
def blocks_of(text: str) -> list[tuple[str, str, str]]:
    """The kind and the name of each block of a file, and what stands between its braces."""
    # A type that is not public may have the name of one that is.
    private = set(re.findall(r"^(?:pub\(\w+\) )?(?:struct|enum) (\w+)", text, re.MULTILINE))
    public = (block for block in BLOCK.finditer(text) if block["name"] not in private)
    found = [(block["kind"], block["name"], inside(text, block.end() - 1)) for block in public]
    both = (inside(text, block.end() - 1) for block in BOTH.finditer(text))
    return found + [("impl", limiter, body) for body in both for limiter in LIMITERS]


@cache
def functions_of(blocks: str) -> list[tuple[str, list[tuple[str, str]]]]:
    """The public functions, each with its parameters and their types."""
    functions = []
    for found in re.finditer(rf"^    pub {ITEM}(\w+)(?:<.*?>)?\(", blocks, re.MULTILINE):
        pairs = (re.fullmatch(r"(?:mut )?(\w+): (.*)", one, re.DOTALL) for one in split(inside(blocks, found.end() - 1), ","))
        functions.append((found[1], [(pair[1], pair[2]) for pair in pairs if pair]))
    return functions


@cache
def visible(text: str) -> str:
    return HIDDEN.sub("", re.sub(r"^ *//.*\n", "", text, flags=re.MULTILINE))
