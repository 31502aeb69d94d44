"""The vectors for the matching of requests that every language plays, through both limiters.

`tests/vectors/matching/README.md` of the repository describes them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from harness import Driver

from sluicegate import InvalidArgumentError, RequestMatch

FOLDER = Path(__file__).parents[2] / "tests" / "vectors" / "matching"
VECTORS = [
    vector
    for file in sorted(FOLDER.glob("*.json"))
    if file.name != "schema.json"
    for vector in json.loads(file.read_text(encoding="utf-8"))["vectors"]
]

Fields = dict[str, Any]


def test_there_are_cases() -> None:
    assert sum(len(vector["cases"]) for vector in VECTORS) >= 100


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["id"])
def test_matching_vector(vector: Fields, open_limiter: Callable[..., Driver]) -> None:
    for case in vector["cases"]:
        # Its own limiter: what other cases charged must not deny this one.
        limiter = open_limiter("memory://", rules=vector["rules"])
        if "error" in case:
            assert_refused(limiter, case)
        else:
            assert_matched(limiter, case)


def assert_refused(limiter: Driver, case: Fields) -> None:
    for call in (limiter.match_request, limiter.check_request, explainer(limiter)):
        with pytest.raises(InvalidArgumentError, match=rf"^{case['argument']} "):
            call(**case["request"])


def assert_matched(limiter: Driver, case: Fields) -> None:
    expected = case["matches"]
    found = limiter.match_request(**case["request"])
    assert [fields(match) for match in found] == expected, case
    assert all(match.matched and match.reason is None for match in found)
    explained = explainer(limiter)(**case["request"])
    assert [fields(match) for match in explained if match.matched] == expected, case
    assert {match.reason for match in explained if match.matched} <= {"every condition holds"}
    if "reasons" in case:
        assert {match.rule_id: match.reason for match in explained if not match.matched} == case["reasons"], case
    decision = limiter.check_request(**case["request"])
    assert decision.allowed and decision.rule_applied == bool(expected)
    assert [part.rule for part in decision.parts] == [match["rule_id"] for match in expected]


def explainer(limiter: Driver) -> Callable[..., list[RequestMatch]]:
    return lambda **request: limiter.match_request(**request, explain=True)


def fields(match: RequestMatch) -> Fields:
    found = {"rule_id": match.rule_id, "key": match.key, "resource": match.resource}
    return {name: value for name, value in found.items() if value is not None}
