"""The vectors that every language plays, through both limiters: with SLUICEGATE_LONG_TESTS each on every backend, otherwise each
backend by one of them at least.

`tests/vectors/README.md` of the repository describes them.
"""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from harness import DRIVERS, Asyncio, Blocking, Driver, make

from sluicegate import Decision, ManualClock, SluicegateError

FOLDER = Path(__file__).parents[2] / "tests" / "vectors"
VECTORS = [
    vector
    for folder in (".", "reservations", "blocks", "stored_limits", "request_ids", "mixed", "waiting", "overview")
    for file in sorted((FOLDER / folder).glob("*.json"))
    if file.name != "schema.json"
    for vector in json.loads(file.read_text(encoding="utf-8"))["vectors"]
]
EVERY = [(driver, backend) for driver in DRIVERS for backend in ("memory", "redis", "cluster")]
PLAYED = EVERY if os.environ.get("SLUICEGATE_LONG_TESTS") else [(Blocking, "memory"), (Blocking, "redis"), (Asyncio, "cluster")]


def test_there_are_vectors() -> None:
    assert len(VECTORS) > 100


@pytest.mark.parametrize("driver, backend", PLAYED, ids=lambda of: of if isinstance(of, str) else of.__name__)
def test_vectors(driver: type[Driver], backend: str, url: str, capsys: pytest.CaptureFixture[str]) -> None:
    failed = [f"{vector['id']}: {fault}" for vector in VECTORS if (fault := difference(driver, url, vector))]
    with capsys.disabled():
        print(f"\nvectors: {driver.runner}, {backend}: {len(VECTORS) - len(failed)} passed, {len(failed)} failed, 0 skipped")
    assert not failed, "\n".join(failed)


def difference(driver: type[Driver], url: str, vector: dict[str, Any]) -> str | None:
    """What is not as expected in the first step where something is not."""
    clock = ManualClock()
    limiter = driver(url, rules=vector["rules"], clock=clock, prefix=f"test-{uuid4().hex}")
    made: dict[str, Any] = {}
    try:
        for step in vector["steps"]:
            clock.set(step["at_us"])
            if (answer := act(limiter, step, made)) != expected(step["expect"]):
                return f"{answer} in step {step}"
    finally:
        limiter.finish()
    return None


def act(limiter: Driver, step: dict[str, Any], made: dict[str, Any]) -> dict[str, Any]:
    """Reservations are kept in `made` by the names that the vector gives them."""
    try:
        answer = make(limiter, {**step, "reservation": given(made[step["reservation"]])} if "reservation" in step else step)
    except SluicegateError as error:
        return {"error": type(error).__name__}
    if isinstance(answer, bool):
        return {"took_effect": answer}
    if step["op"] == "rules":
        return {"rules": answer}
    if "as" in step:
        made[step["as"]] = answer
        held = {"id": answer.id is not None}
        return {**decision_as_json(step, answer), **held, **({} if answer.token is None else {"token": answer.token})}
    return {} if answer is None else decision_as_json(step, answer)


def given(reservation: Any) -> Any:
    """By itself, or by its id: what is made of one has to be what is made of the other."""
    return reservation if reservation.id is None or len(reservation.id) % 2 else reservation.id


def decision_as_json(step: dict[str, Any], decision: Decision) -> dict[str, Any]:
    if not decision.rule_applied:
        return {"allowed": decision.allowed, "rule_applied": False}
    if "items" in step or step["op"] in ("inspect", "reserve_request"):
        return {**fields(decision), "parts": [fields(part) for part in decision.parts]}
    return fields(decision)


def fields(decision: Decision) -> dict[str, Any]:
    return {
        "allowed": decision.allowed,
        "rule": decision.rule,
        "limit": decision.limit,
        "remaining": decision.remaining,
        "retry_after": decision.retry_after,
        "reset_after": decision.reset_after,
        "shadow_denied": decision.shadow_denied,
        **({"blocked": True} if decision.blocked else {}),
    }


def expected(answer: dict[str, Any]) -> dict[str, Any]:
    """The answer of a vector in the words and the unit of Python."""
    if "error" in answer:
        return {"error": answer["error"] + "Error"}
    converted = dict(answer)
    for name in ("retry_after", "reset_after"):
        if f"{name}_us" in converted:
            converted[name] = seconds(converted.pop(f"{name}_us"))
    if "parts" in converted:
        converted["parts"] = [expected(part) for part in converted["parts"]]
    return converted


def seconds(us: int | str) -> float:
    return math.inf if us == "never" else int(us) / 1_000_000
