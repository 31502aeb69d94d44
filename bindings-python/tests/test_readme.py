"""The examples of the README run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

README = Path(__file__).parents[1] / "README.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


def run(example: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(compile(example, str(README), "exec"), names)
    return names


def test_there_are_three_examples() -> None:
    assert len(EXAMPLES) == 3


def test_the_first_example_is_short() -> None:
    code = [line for line in EXAMPLES[0].splitlines() if line.strip()]
    assert len(code) <= 11
    run(EXAMPLES[0])


def test_the_handler_admits_denies_and_does_without_a_server(redis_url: str) -> None:
    client_of = pytest.importorskip("fastapi.testclient", reason="needs Python 3.11").TestClient
    app = run(EXAMPLES[1].replace("redis://localhost/0", redis_url))["app"]
    with client_of(app) as client:
        answers = [client.get("/orders") for _ in range(21)]
    assert [answer.status_code for answer in answers] == [200] * 20 + [429]
    assert answers[0].headers["X-RateLimit-Remaining"] == "19" and answers[0].json() == ["a book", "a lamp"]
    assert answers[-1].headers["Retry-After"] == "1"
    # The limiter was closed with the application.
    late = client_of(app).get("/orders")
    assert late.status_code == 200 and "X-RateLimit-Remaining" not in late.headers


def test_the_test_with_a_clock() -> None:
    run(EXAMPLES[2])
