"""The package for Python, by its stubs and its Python sources."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache

from sources import Sources
from surface import Parameters, Surface, word

PACKAGE = "bindings-python/python/sluicegate"
# No class shadows a built-in exception.
KINDS = {"ConnectionFailed": "Connection", "ResponseTimeout": "Timeout"}
RENAMED = {"SluicegateError": "Error", "RateLimitMiddleware": "RateLimitLayer"}
# What a new object is made by, and what that is called in Rust.
MAKING = {"__new__": "new", "__init__": "new"}
OPENING = {"RateLimiter": {"__new__": "open"}, "AsyncRateLimiter": {"connect": "open"}}
# Options that the middleware for ASGI has alone: to WSGI, what is behind the root path is PATH_INFO.
OF_ASGI = {"root_path": False}
# Python counts in seconds.
PARAMETERS = {"seconds": "by"}

Function = ast.FunctionDef | ast.AsyncFunctionDef

parsed = cache(ast.parse)


def surface(sources: Sources) -> Surface:
    modules = {path.split("/")[-1]: parsed(sources.read(path)) for path in files(sources)}
    defined = [node for module in modules.values() for node in module.body if isinstance(node, ast.ClassDef)]
    exported = {name for path, module in modules.items() if is_public(path) for name in exports(module)}
    found = Surface()
    for name in exported:
        if not is_kind(name):
            found["package"].add(RENAMED.get(name, name))
    for of in defined:
        if of.name in exported:
            add_class(found, of)
            for base in bases(of, defined):
                if base.name in exported:
                    add_inherited(found, of.name, base)
                else:
                    # A part of it, from which nobody else is made, and which makes nothing itself.
                    public = (function for function in functions(base) if not function.name.startswith("_"))
                    add_functions(found, of.name, public, {})
    found["ErrorKind"] = {kind(name) for name in exported if is_kind(name)}
    # With `explain`, a match has the reason too.
    found["Explanation"] |= found["RequestMatch"]
    decision = next(of for of in defined if of.name == "Decision")
    found["Source"] = literals(named(decision, "source").returns)
    found["HeaderStyle"] = literals(named(decision, "headers").args)
    found["OnError"] = literals(alias(modules["_middleware.py"], "_OnError"))
    asgi, wsgi = (named(of, "__init__") for of in defined if of.name == "RateLimitMiddleware")
    assert parameters(asgi) == parameters(wsgi) | OF_ASGI, "the two kinds of middleware have different options"
    return found


def files(sources: Sources) -> list[str]:
    """All but the lab, a tool for the command line and for notebooks that other languages do not have."""
    found = sources.files(f"{PACKAGE}/*.py") + sources.files(f"{PACKAGE}/*.pyi")
    return [path for path in found if not path.endswith("/lab.py")]


def is_public(path: str) -> bool:
    return path == "__init__.py" or not path.startswith("_")


def exports(module: ast.Module) -> Iterator[str]:
    """What `__all__` lists, and whatever else is defined under a public name."""
    for node in module.body:
        if isinstance(node, Function | ast.ClassDef) and not node.name.startswith("_"):
            yield node.name
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            yield from ast.literal_eval(node.value)


def is_kind(name: str) -> bool:
    return name.endswith("Error") and name not in RENAMED


def kind(name: str) -> str:
    name = name.removesuffix("Error")
    return KINDS.get(name, name)


def add_class(found: Surface, of: ast.ClassDef) -> None:
    """What classes of errors have is that of their base."""
    owner = "Error" if is_kind(of.name) else RENAMED.get(of.name, of.name)
    found[owner] |= {word(name) for name in attributes(of) if not is_private(name)}
    add_functions(found, owner, functions(of), OPENING.get(of.name, MAKING))


def add_functions(found: Surface, owner: str, of: Iterator[Function], making: dict[str, str]) -> None:
    for function in of:
        name = making.get(function.name, word(function.name))
        if is_private(function.name):
            continue
        if name.startswith("__") or is_property(function):
            found[owner].add(name)
        else:
            found.add_method(owner, name, parameters(function))


def bases(of: ast.ClassDef, defined: list[ast.ClassDef]) -> Iterator[ast.ClassDef]:
    """The classes of the package that a class is made from, if it is none of errors."""
    for base in defined:
        if not is_kind(of.name) and base.name in map(ast.unparse, of.bases):
            yield base
            yield from bases(base, defined)


def add_inherited(found: Surface, owner: str, base: ast.ClassDef) -> None:
    """The fields that a class has of another. Methods are compared where they are."""
    fields = (function.name for function in functions(base) if is_property(function))
    found[owner] |= {name for name in fields if not is_private(name)}


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")


def is_property(function: Function) -> bool:
    return any(ast.unparse(decorator).endswith("property") for decorator in function.decorator_list)


def functions(of: ast.ClassDef) -> Iterator[Function]:
    return (node for node in of.body if isinstance(node, Function))


def named(of: ast.ClassDef, name: str) -> Function:
    return next(function for function in functions(of) if function.name == name)


def attributes(of: ast.ClassDef) -> set[str]:
    """What is assigned or annotated in a class, and what `__init__` sets of the object."""
    making = (node for function in functions(of) if function.name == "__init__" for node in ast.walk(function))
    own = {name.removeprefix("self.") for node in making for name in assigned(node) if name.startswith("self.")}
    return own.union(*map(assigned, of.body))


def assigned(node: ast.AST) -> set[str]:
    if isinstance(node, ast.Assign):
        targets = node.targets
    else:
        targets = [node.target] if isinstance(node, ast.AnnAssign) else []
    return {ast.unparse(name) for target in targets for name in getattr(target, "elts", [target])}


def parameters(function: Function) -> Parameters:
    """Without the object itself."""
    given = function.args
    positional = [*given.posonlyargs, *given.args]
    defaults = [None] * (len(positional) - len(given.defaults)) + given.defaults + given.kw_defaults
    pairs = list(zip([*positional, *given.kwonlyargs], defaults, strict=True))[1:]
    gathered = {one.arg: False for one in (given.vararg, given.kwarg) if one}
    return {PARAMETERS.get(one.arg, word(one.arg)): default is None for one, default in pairs} | gathered


def alias(module: ast.Module, name: str) -> ast.expr:
    assigned = (node for node in ast.walk(module) if isinstance(node, ast.Assign))
    return next(node.value for node in assigned if ast.unparse(node.targets[0]) == name)


def literals(node: ast.AST | None) -> set[str]:
    """The texts that an annotation allows."""
    allowed = (one for one in ast.walk(node or ast.Pass()) if isinstance(one, ast.Subscript))
    texts = (text for one in allowed if ast.unparse(one.value) == "Literal" for text in ast.walk(one.slice))
    return {text.value for text in texts if isinstance(text, ast.Constant)}
