"""The package for Python, by its stubs and its Python sources."""

from __future__ import annotations

import ast

from surface import Surface, read

PACKAGE = "bindings-python/python/sluicegate"
# No class shadows a built-in exception.
KINDS = {"ConnectionFailed": "Connection", "ResponseTimeout": "Timeout"}


def surface() -> Surface:
    native = classes(f"{PACKAGE}/_native.pyi")
    asynchronous = classes(f"{PACKAGE}/_asynchronous.py")["AsyncRateLimiter"]
    errors = classes(f"{PACKAGE}/errors.py")
    blocking = native["RateLimiter"]
    assert keywords(blocking, "__new__") == keywords(asynchronous, "connect")
    assert keywords(blocking, "check") == keywords(asynchronous, "check") == keywords(native["Check"], "__new__")
    return Surface(
        limiter=public(blocking) | {"open"},
        async_limiter=(public(asynchronous) - {"connect"}) | {"open"},
        options=keywords(blocking, "__new__"),
        check=keywords(blocking, "check"),
        decision=public(native["Decision"]),
        clock={name.removesuffix("_us") for name in public(native["ManualClock"])} | {"new"},
        error=attributes(errors["SluicegateError"]),
        kinds={kind(name) for name in errors if name != "SluicegateError"},
        sources=literals(native["Decision"], "source"),
    )


def classes(path: str) -> dict[str, ast.ClassDef]:
    return {node.name: node for node in ast.parse(read(path)).body if isinstance(node, ast.ClassDef)}


def functions(of: ast.ClassDef) -> dict[str, ast.FunctionDef | ast.AsyncFunctionDef]:
    return {node.name: node for node in of.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def public(of: ast.ClassDef) -> set[str]:
    return {name for name in functions(of) if not name.startswith("_")}


def keywords(of: ast.ClassDef, function: str) -> set[str]:
    return {argument.arg for argument in functions(of)[function].args.kwonlyargs}


def attributes(of: ast.ClassDef) -> set[str]:
    """What `__init__` sets."""
    assigned = (node for node in ast.walk(functions(of)["__init__"]) if isinstance(node, ast.Assign))
    return {target.attr for node in assigned for target in node.targets if isinstance(target, ast.Attribute)}


def kind(name: str) -> str:
    name = name.removesuffix("Error")
    return KINDS.get(name, name)


def literals(of: ast.ClassDef, name: str) -> set[str]:
    """The texts that a property may have."""
    returned = functions(of)[name].returns
    return {node.value for node in ast.walk(returned) if isinstance(node, ast.Constant)}
