"""The vectors of mistakes that every language plays, through both limiters.

`tests/vectors/errors/README.md` of the repository describes them.
"""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from harness import Blocking, Driver, in_seconds, item, make

from sluicegate import SluicegateError, WrongTypeError, errors

FOLDER = Path(__file__).parents[2] / "tests" / "vectors" / "errors"
KINDS = {
    "InvalidRule": errors.InvalidRuleError,
    "UnknownRule": errors.UnknownRuleError,
    "InvalidArgument": errors.InvalidArgumentError,
    "Connection": errors.ConnectionFailedError,
    "Timeout": errors.ResponseTimeoutError,
    "Server": errors.ServerError,
    "Closed": errors.ClosedError,
}
# What the README calls by other names.
ARGUMENTS = {"items": "checks", "items[1]": "checks[1]"}

Vector = dict[str, Any]


def load() -> Iterator[Vector]:
    """The vectors, each with the rules of its file unless it has its own."""
    for path in sorted([*FOLDER.glob("*.json"), *FOLDER.glob("reservations/*.json")]):
        if path.name != "schema.json":
            file = json.loads(path.read_text(encoding="utf-8"))
            yield from ({"rules": file["rules"], **vector} for vector in file["vectors"])


@pytest.fixture
def addresses(redis_url: str) -> Iterator[dict[str, str]]:
    """What the names in braces stand for."""
    with socket.create_server(("127.0.0.1", 0)) as nobody, socket.create_server(("127.0.0.1", 0)) as silent:
        found = {"{nobody}": address(nobody), "{silent}": address(silent), "{redis}": redis_url.split("//")[1]}
        # Closed, it was free a moment ago.
        nobody.close()
        yield found


def address(server: socket.socket) -> str:
    host, port = server.getsockname()
    return f"{host}:{port}"


def test_mistakes(driver: type[Driver], addresses: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    vectors = list(load())
    played = [vector for vector in vectors if "python" in vector.get("only", ["python"])]
    failed = [fault for vector in played if (fault := difference(driver, addresses, vector))]
    name = "sync" if driver is Blocking else "async"
    passed, skipped = len(played) - len(failed), len(vectors) - len(played)
    reason = f" (Python has none of these: {', '.join(reasons(vectors))})" if skipped else ""
    with capsys.disabled():
        print(f"\nvectors: Python {name}, mistakes: {passed} passed, {len(failed)} failed, {skipped} skipped{reason}")
    assert not failed, "\n".join(failed)
    assert passed > 100


def reasons(vectors: list[Vector]) -> list[str]:
    return sorted({vector["why"] for vector in vectors if "python" not in vector.get("only", ["python"])})


def difference(driver: type[Driver], addresses: dict[str, str], vector: Vector) -> str | None:
    """What is not as expected on the first backend where something is not."""
    expect = vector.get("instead", {}).get("python", vector["expect"])
    for url in [vector["url"]] if "url" in vector else ["memory://", "redis://{redis}"]:
        url = filled(url, addresses) if isinstance(url, str) else url
        try:
            attempt(driver, url, vector)
        except (SluicegateError, TypeError) as error:
            if not matches(error, expect, addresses):
                return f"{vector['id']}: {url}\n  expected {expect}\n  answered {type(error).__name__}: {error}"
        else:
            return f"{vector['id']}: {url}: no error"
    return None


def filled(text: str, addresses: dict[str, str]) -> str:
    for name, address in addresses.items():
        text = text.replace(name, address)
    return text


def matches(error: Exception, expect: dict[str, Any], addresses: dict[str, str]) -> bool:
    said = str(error)
    if "unknown_option" in expect:
        return type(error) is TypeError and expect["unknown_option"] in said
    if "type_error" in expect:
        name = ARGUMENTS.get(expect["type_error"], expect["type_error"])
        return type(error) is WrongTypeError and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", said) is not None
    if type(error) is not KINDS[expect["error"]] or error.retryable != expect["retryable"]:
        return False
    if "message_begins" in expect:
        return said.startswith(filled(expect["message_begins"], addresses))
    return said == filled(expect["message"], addresses)


def attempt(driver: type[Driver], url: Any, vector: Vector) -> None:
    options = {"prefix": uuid4().hex, **in_seconds(vector.get("options", {}))}
    limiter = driver(url, rules=rules(vector), **options)
    try:
        if vector.get("closed"):
            limiter.close()
        if "reserve" in vector:
            vector = {**vector, "reservation": reserved(driver, limiter, url, vector)}
        if "op" in vector:
            make(limiter, vector)
    finally:
        limiter.finish()


def reserved(driver: type[Driver], limiter: Driver, url: Any, vector: Vector) -> str:
    """The id of what is reserved first, after its change."""
    change = vector.get("change")
    by = driver(url, rules=rules(vector), prefix="other") if change == "prefix" else limiter
    id_: str = by.reserve_all([item(each) for each in vector["reserve"]]).id
    if by is not limiter:
        by.finish()
    if change == "cut":
        return id_[:-1]
    if change == "altered":
        middle = len(id_) // 2
        return id_[:middle] + ("B" if id_[middle] == "A" else "A") + id_[middle + 1 :]
    return id_


def rules(vector: Vector) -> Any:
    if "rules_file" in vector:
        return Path(vector["rules_file"])
    return vector["rules"]
