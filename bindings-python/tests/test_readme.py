"""The examples of the README run."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

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


def test_the_handler_admits_and_denies() -> None:
    names = run(EXAMPLES[1])
    app = SimpleNamespace(state=SimpleNamespace())
    request = SimpleNamespace(app=app, client=SimpleNamespace(host="203.0.113.9"))

    async def serve() -> list[tuple[int, dict[str, str]]]:
        async with names["lifespan"](app):
            return [await names["limited"](request) for _ in range(21)]

    answers = asyncio.run(serve())
    assert answers[0] == (200, {"X-RateLimit-Remaining": "19"})
    assert answers[-1][0] == 429 and int(answers[-1][1]["Retry-After"]) >= 1
    assert asyncio.run(names["limited"](request))[0] == 503


def test_the_test_with_a_clock() -> None:
    run(EXAMPLES[2])
