"""The package for Node, by its types."""

from __future__ import annotations

import json
import posixpath
import re

from brackets import before, inside, split
from sources import Sources
from surface import Parameters, Surface, word

PACKAGE = "bindings-node"
RENAMED = {
    "ConnectOptions": "Builder",
    "ErrorCode": "ErrorKind",
    "HttpRequest": "Request",
    "SluicegateError": "Error",
    "rateLimit": "RateLimitLayer",
}
# Their fields are compared as what the methods take.
OPTIONS = {"ConnectOptions", "FastifyRateLimitOptions", "PeekOptions", "PingOptions", "RateLimitOptions", "ResetOptions", "WaitOptions"}
MEMBERS = {"code": "kind", "connect": "open", "constructor": "new"}
# Node counts in milliseconds, and says what a list holds.
PARAMETERS = {"items": "checks", "ms": "by"}
# What other languages raise, JavaScript throws.
TEXTS = {"throw": "raise"}
# Functions that are methods elsewhere, and those that make what is a class elsewhere.
METHODS = {"headers": ("Decision", "headers")}
MAKING = {"rateLimit": ("RateLimitLayer", "new")}
MODIFIERS = r"(?:(?:abstract|declare|get|readonly|set|static) )*"


def surface(sources: Sources) -> Surface:
    types = Types(sources)
    found = Surface()
    for name in types.exported:
        if name not in METHODS:
            found["package"].add(RENAMED.get(name, word(name) if name in types.functions else name))
        for parameters in types.functions.get(name, []) if name in METHODS | MAKING else []:
            owner, method = (METHODS | MAKING)[name]
            found.add_method(owner, method, types.parameters(parameters, owner))
        if name in types.classes:
            add_class(found, types, name)
        elif name in types.aliases.keys() - OPTIONS:
            text = types.aliases[name]
            found[RENAMED.get(name, name)] |= types.shape(text).keys() | literals(text)
    found["Refusal"] |= types.shape(field(types.aliases["RulesStatus"], "refused").removesuffix("[]")).keys()
    found["Source"] |= literals(field(types.aliases["DecisionFields"], "source"))
    on_error = literals(field(types.aliases["RateLimitOptions"], "onError"))
    found["OnError"] |= {TEXTS.get(text, text) for text in on_error}
    return found


def add_class(found: Surface, types: Types, name: str) -> None:
    owner = RENAMED.get(name, name)
    for member in split(types.classes[name], ";"):
        if member.startswith(("private ", "protected ", "#")):
            continue
        method = re.match(rf"{MODIFIERS}([\w$]+|\[[\w.]+\])(?:<.*?>)?\(", member)
        if method is None or member.startswith(("get ", "set ")):
            named = re.match(rf"{MODIFIERS}(\w+)", member)
            assert named, member
            found[owner].add(MEMBERS.get(named[1], word(named[1])))
        elif method[1].startswith("["):
            found[owner].add(method[1])
        else:
            called = MEMBERS.get(method[1], word(method[1]))
            found.add_method(owner, called, types.parameters(inside(member, method.end() - 1), owner))


class Types:
    """The declarations, without comments."""

    def __init__(self, sources: Sources) -> None:
        self.files = {path: without_comments(sources.read(path)) for path in sources.files(f"{PACKAGE}/types/*.d.*ts")}
        entries = json.loads(sources.read(f"{PACKAGE}/package.json"))["exports"].values()
        declared = {way["types"] for entry in entries if isinstance(entry, dict) for way in entry.values()}
        self.exported = set().union(*(self.exports(posixpath.join(PACKAGE, path)) for path in declared))
        self.aliases: dict[str, str] = {}
        self.classes: dict[str, str] = {}
        self.functions: dict[str, list[str]] = {}
        for text in self.files.values():
            self.declare(text)

    def exports(self, path: str) -> set[str]:
        text = self.files[posixpath.normpath(path)]
        names = set(re.findall(r"^export (?:(?:abstract|declare|async) )*\w+ (\w+)", text, re.MULTILINE))
        for listed in re.findall(r"^export (?:type )?\{(.*?)\}", text, re.MULTILINE | re.DOTALL):
            names |= {name.split()[-1] for name in split(listed, ",")}
        for other in re.findall(r"^export \* from '\./(.*)\.js'", text, re.MULTILINE):
            names |= self.exports(posixpath.join(posixpath.dirname(path), f"{other}.d.ts"))
        return names

    def declare(self, text: str) -> None:
        for found in re.finditer(r"^export type (\w+)(?:<\w+>)? = ", text, re.MULTILINE):
            meant = before(text, found.end(), ";")
            if not meant.startswith("import("):
                self.aliases[found[1]] = meant
        for found in re.finditer(r"^export class (\w+) [^{]*\{", text, re.MULTILINE):
            self.classes[found[1]] = inside(text, found.end() - 1)
        for found in re.finditer(r"^export function (\w+)(?:<[^>]*>)?\(", text, re.MULTILINE):
            self.functions.setdefault(found[1], []).append(inside(text, found.end() - 1))
        # A plugin is a function whose type follows from its options.
        for found in re.finditer(r"^export const (\w+): \w+<(\w+)>;", text, re.MULTILINE):
            self.functions.setdefault(found[1], []).append(f"options: {found[2]}")

    def shape(self, text: str) -> Parameters:
        """The fields of an object, and whether each is required; nothing for what is no object."""
        text = without_undefined(text)
        if len(joined := split(text, "&")) > 1:
            return {name: required for one in joined for name, required in self.shape(one).items()}
        if text.startswith("{"):
            fields = (re.match(r"(?:readonly )?(\w+)(\??):", one) for one in split(inside(text, 0), ";"))
            return {MEMBERS.get(one[1], word(one[1])): not one[2] for one in fields if one}
        generic = re.fullmatch(r"(\w+)<(.*)>", text, re.DOTALL)
        if generic and generic[1] in ("Partial", "Pick", "Readonly"):
            return self.changed(generic[1], split(generic[2], ","))
        alias = self.aliases.get(generic[1] if generic else text)
        return self.shape(alias) if alias else {}

    def changed(self, how: str, arguments: tuple[str, ...]) -> Parameters:
        shape = self.shape(arguments[0])
        if how == "Partial":
            return dict.fromkeys(shape, False)
        picked = {word(name) for name in literals(arguments[1])} if how == "Pick" else shape.keys()
        return {name: required for name, required in shape.items() if name in picked}

    def parameters(self, text: str, owner: str) -> Parameters:
        """An object of options stands for its fields; what a method belongs to is none of its parameters."""
        parameters: Parameters = {}
        for one in split(text, ","):
            name, optional, kind = re.fullmatch(r"(?:\.\.\.)?(\w+|\{[^}]*\})(\??): (.*)", one, re.DOTALL).groups()
            if kind == owner:
                continue
            shape = self.shape(kind) or {PARAMETERS.get(name, word(name)): True}
            parameters |= {option: required and not optional for option, required in shape.items()}
        return parameters


def field(text: str, name: str) -> str:
    """The type of a field of an object."""
    found = (re.fullmatch(rf"{name}\??: (.*)", one, re.DOTALL) for one in split(inside(text, 0), ";"))
    return next(one[1] for one in found if one)


def without_undefined(text: str) -> str:
    return " | ".join(one for one in split(text, "|") if one != "undefined")


def literals(text: str) -> set[str]:
    """The texts that a type allows, if it allows nothing else."""
    texts = [re.fullmatch(r'"([^"]*)"', one) for one in split(without_undefined(text), "|")]
    return {one[1] for one in texts if one} if all(texts) else set()


def without_comments(text: str) -> str:
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
