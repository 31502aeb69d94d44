"""The library for C, by its header."""

from __future__ import annotations

import re

from brackets import inside, split
from sources import Sources
from surface import Parameters, Surface, camel_case, word

HEADER = "bindings-c/include/sluicegate.h"
# What is said of a type of C, or what a handle is asked for, is in Rust said of this.
RENAMED = {
    "clock": "ManualClock",
    "error": "Error",
    "item": "Check",
    "limiter": "RateLimiter",
    "match": "RequestMatch",
    "matches": "RequestMatch",
    "options": "Builder",
    "rules": "RulesStatus",
    "status": "ErrorKind",
}
# Their fields are compared as what the functions take.
OPTIONS = {"options", "header"}
FIELDS = {("error", "status"): "kind", ("rules", "count"): "rules"}
METHODS = {
    ("RateLimiter", "check_all_with"): "check_all",
    ("RateLimiter", "new"): "open",
    ("RateLimiter", "ping_with"): "ping",
    ("RateLimiter", "reserve_within"): "reserve",
    ("RateLimiter", "reserve_all_within"): "reserve_all",
}
PARAMETERS = {"items": "checks", "by_us": "by", "id": "reservation"}
# The arguments of the callback for a refused unit.
REFUSAL = {"name": "unit", "value": "reason"}
# A number of this type and such a name is the length of the argument beside it.
LENGTH = re.compile(r"size_t \*?(?:size|(?:\w+_)?(?:len|count|room))")


def surface(sources: Sources) -> Surface:
    header = Header(sources.read(HEADER))
    found = Surface()
    found["package"] = {RENAMED.get(name, camel_case(name)) for name in header.types} | header.constants
    for name in header.structs.keys() - OPTIONS:
        found[RENAMED.get(name, camel_case(name))] |= header.shape(name).keys()
    # With `explain`, a match has the reason too.
    found["Explanation"] |= found["RequestMatch"]
    found["ErrorKind"] |= {camel_case(name) for name in header.values("status")} - {"Ok"}
    found["Source"] |= {name.removeprefix("SOURCE_").lower() for name in header.values("source")}
    found["Refusal"] |= {REFUSAL.get(name, name) for name in header.callback("pair_callback")} - {"context"}
    for name, given in header.functions.items():
        add(found, header, name, given)
    return found


def add(found: Surface, header: Header, name: str, given: tuple[str, ...]) -> None:
    kind = header.belongs_to(given)
    if kind is None:
        found["package"].add(name)
        return
    owner = RENAMED.get(kind, camel_case(kind))
    method = name.removeprefix(f"{kind}_")
    found.add_method(owner, METHODS.get((owner, method), method), header.parameters(given, kind))


class Header:
    """The declarations, without comments."""

    def __init__(self, text: str) -> None:
        self.text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)
        self.types = set(re.findall(r"^typedef .*?\bsluicegate_(\w+)\)?(?:;|\()", self.joined(), re.MULTILINE))
        self.structs = dict(self.bodies("struct"))
        self.constants = set(re.findall(r"^#define SLUICEGATE_(\w+)[ (]", self.text, re.MULTILINE))
        called = re.finditer(r"^[\w *]*\bsluicegate_(\w+)(\()", self.text, re.MULTILINE)
        functions = ((found[1], inside(self.text, found.start(2))) for found in called if "typedef" not in found[0])
        self.functions = {name: split(" ".join(given.split()), ",") for name, given in functions}

    def joined(self) -> str:
        """Bodies are left out, so that each type is declared in one line."""
        return re.sub(r"\{[^}]*\}", "", self.text)

    def bodies(self, kind: str) -> list[tuple[str, str]]:
        found = re.findall(rf"^typedef {kind} \{{([^}}]*)\}} sluicegate_(\w+);", self.text, re.MULTILINE)
        return [(name, body) for body, name in found]

    def shape(self, struct: str) -> Parameters:
        """The fields of a struct; none is required, as each has a value that says that it is not given."""
        shape: Parameters = {}
        for declared in split(self.structs[struct], ";"):
            name = re.search(r"(\w+)(?:\[\w+\])?$", declared)[1]
            if not LENGTH.fullmatch(declared):
                shape |= self.expanded(declared) or {FIELDS.get((struct, name), word(name)): False}
        return shape

    def expanded(self, declared: str) -> Parameters:
        """A struct of options that is passed in stands for its fields; that begins with its size."""
        struct = re.fullmatch(r"const sluicegate_(\w+) \*\w+", declared)
        is_growing = struct and self.structs.get(struct[1], "").lstrip().startswith("size_t size;")
        return self.shape(struct[1]) if is_growing else {}

    def belongs_to(self, given: tuple[str, ...]) -> str | None:
        """What a function is asked of, or what it makes."""
        asked = re.match(r"(?:const )?sluicegate_(\w+) \*\w", given[0])
        made = re.search(r"sluicegate_(\w+) \*\*", ",".join(given))
        found = asked or made
        return found[1] if found else None

    def parameters(self, given: tuple[str, ...], kind: str) -> Parameters:
        parameters: Parameters = {}
        for declared in given:
            name = re.search(r"\w+$", declared)[0]
            is_answer = re.match(r"(?:sluicegate_\w+|bool|char|uint64_t) \*", declared)
            is_asked = declared is given[0] and re.match(rf"const sluicegate_{kind} \*", declared)
            if not (is_answer or is_asked or LENGTH.fullmatch(declared)):
                parameters |= self.expanded(declared) or {PARAMETERS.get(name, word(name)): True}
        return parameters

    def values(self, enum: str) -> list[str]:
        return re.findall(r"^    SLUICEGATE_(\w+) =", dict(self.bodies("enum"))[enum], re.MULTILINE)

    def callback(self, name: str) -> list[str]:
        """Its arguments."""
        start = re.search(rf"\(\*sluicegate_{name}\)\(", self.text).end() - 1
        return [re.search(r"\w+$", one)[0] for one in split(inside(self.text, start), ",")]
