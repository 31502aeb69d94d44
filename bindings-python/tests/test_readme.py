"""The examples of the READMEs run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

PACKAGE = Path(__file__).parents[1]
RULES = '"orders.jsonc"'


def examples(readme: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", readme.read_text(encoding="utf-8"), re.DOTALL)


EXAMPLES = examples(PACKAGE / "README.md")


def run(example: str) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "readme"}
    exec(compile(example, "README.md", "exec"), names)
    return names


def located(example: str, redis_url: str) -> str:
    """The example with the server and the rules of the tests."""
    rules = PACKAGE.parent / "examples" / "orders.jsonc"
    return example.replace("redis://localhost/0", redis_url).replace(RULES, repr(str(rules)))


def test_there_are_six_examples() -> None:
    assert len(EXAMPLES) == 6


def test_the_first_example_is_short() -> None:
    code = [line for line in EXAMPLES[0].splitlines() if line.strip()]
    assert len(code) <= 11
    run(EXAMPLES[0])


def test_the_example_of_the_repository() -> None:
    (example,) = examples(PACKAGE.parent / "README.md")
    assert run(example)["decision"].remaining == 4


def test_the_handler_admits_denies_and_does_without_a_server(redis_url: str) -> None:
    client_of = pytest.importorskip("fastapi.testclient", reason="needs Python 3.11").TestClient
    app = run(located(EXAMPLES[1], redis_url))["app"]
    with client_of(app) as client:
        answers = [client.get("/orders")]
        # On a slow machine more are admitted meanwhile: one every 600 ms.
        while answers[-1].status_code == 200 and len(answers) < 1000:
            answers.append(client.get("/orders"))
    assert len(answers) > 20 and answers[-1].status_code == 429
    assert answers[0].headers["X-RateLimit-Remaining"] == "19" and answers[0].json() == ["a book", "a lamp"]
    assert answers[-1].headers["Retry-After"] == "1"
    # The limiter was closed with the application.
    late = client_of(app).get("/orders")
    assert late.status_code == 200 and "X-RateLimit-Remaining" not in late.headers


def test_the_request_that_chooses_its_rules() -> None:
    assert run(EXAMPLES[2])["decision"].rule == "login"


def test_the_middleware_for_asgi(redis_url: str) -> None:
    client_of = pytest.importorskip("fastapi.testclient", reason="needs Python 3.11").TestClient
    app = run(located(EXAMPLES[3], redis_url))["app"]
    with client_of(app, client=("192.0.2.1", 50000)) as client:
        answers = [client.post("/login") for _ in range(6)]
    assert [answer.status_code for answer in answers] == [404] * 5 + [429]


def test_the_middleware_for_wsgi(redis_url: str) -> None:
    client = run(located(EXAMPLES[4], redis_url))["app"].test_client()
    peer = {"REMOTE_ADDR": "192.0.2.2"}
    answers = [client.post("/login", environ_overrides=peer) for _ in range(6)]
    assert [answer.status_code for answer in answers] == [404] * 5 + [429]


def test_the_test_with_a_clock() -> None:
    run(EXAMPLES[5])
