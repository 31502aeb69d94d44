"""The JSON Schema of rules and the reader agree."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from sluicegate import InvalidRuleError, RateLimiter
from sluicegate.rules import Rule

ROOT = Path(__file__).parents[2]
VECTORS = ROOT / "tests" / "vectors"
SCHEMA = Draft202012Validator(json.loads((ROOT / "docs" / "rules.schema.json").read_text()))
GOOD = {"rule_id": "r", "algorithm": "gcra", "limit": 1, "window_size_seconds": 1}

# What compares values, or does arithmetic with them, cannot be said in a schema.
INEXPRESSIBLE = {
    "rules/same-id": "compares the ids of all rules",
    "rules/resolution-long": "compares a slot with its window",
    "rules/rate-window": "computes the window",
    "rules/limits-same": "compares windows and scopes of all limits",
    "rules/calendar-zone-misspelt": "knows the time zones",
    "rules/calendar-zone-case": "knows the time zones",
    "rules/calendar-zone-offset": "knows the time zones",
    "rules/calendar-in-limits": "knows the time zones",
    "rules/block-longest": "compares two fields",
    "rules/global-age": "compares the age with the window",
    "rules/lease-age": "compares a time with the window",
    "rules/lease-pace": "compares two times",
    "rules/composite-twice": "compares names without their capitals",
    "rules/composite-path": "looks for a name in the pattern",
}


def loaded(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def without_comments(text: str) -> Any:
    return json.loads(re.sub(r"(?m)^\s*//.*$|(?<=[,{\[ ])//.*$", "", text))


def good_rules() -> Iterator[tuple[str, Any]]:
    for file in sorted(VECTORS.glob("*.json")):
        if file.name != "schema.json":
            for vector in loaded(file)["vectors"]:
                if "rules" in vector:
                    yield f"{file.stem}/{vector['id']}", vector["rules"]
    for file in sorted((VECTORS / "matching").glob("*.json")):
        if file.name != "schema.json":
            for vector in loaded(file)["vectors"]:
                if "rules" in vector and "error" not in vector.get("expect", {}):
                    yield f"{file.stem}/{vector['id']}", vector["rules"]
    for file in sorted((ROOT / "examples").glob("*.jsonc")):
        yield file.name, without_comments(file.read_text(encoding="utf-8"))


BAD = [vector for vector in loaded(VECTORS / "errors" / "rules.json")["vectors"] if "rules" in vector]


def parsed(rules: Any) -> Any:
    """What editors see of it; `None` for what is no JSON."""
    if not isinstance(rules, str):
        return rules
    try:
        return json.loads(rules)
    except ValueError:
        return None


@pytest.mark.parametrize("vector", BAD, ids=[vector["id"] for vector in BAD])
def test_both_refuse_bad_rules(vector: dict[str, Any]) -> None:
    rules = vector["rules"]
    with pytest.raises(InvalidRuleError):
        RateLimiter("memory://", rules=rules if isinstance(rules, str) else json.dumps(rules))
    assert SCHEMA.is_valid(parsed(rules)) == (vector["id"] in INEXPRESSIBLE), INEXPRESSIBLE.get(vector["id"])


GOOD_RULES = list(good_rules())


@pytest.mark.parametrize("rules", [rules for _, rules in GOOD_RULES], ids=[name for name, _ in GOOD_RULES])
def test_both_accept_good_rules(rules: Any) -> None:
    RateLimiter("memory://", rules=json.dumps(rules)).close()
    SCHEMA.validate(rules)


@pytest.mark.parametrize("pattern", ["/", "//", "/a/", "*", "/a/*", "/{a}", "/{a}/{b}/", "/a.b", "/..a", "/a/.../b", "/%2e"])
def test_paths(pattern: str) -> None:
    rules = [{**GOOD, "identifier_type": "global", "match": {"path_pattern": pattern}}]
    try:
        RateLimiter("memory://", rules=rules).close()
    except InvalidRuleError:
        assert not SCHEMA.is_valid(rules)
    else:
        SCHEMA.validate(rules)


def test_a_file_may_name_its_schema() -> None:
    rules = {"$schema": "rules.schema.json", "rules": [GOOD]}
    RateLimiter("memory://", rules=rules).close()
    SCHEMA.validate(rules)
    assert not SCHEMA.is_valid({**rules, "$schema": 1})


def test_the_types_are_those_of_the_schema() -> None:
    check = [sys.executable, ROOT / "docs/tools/rule_types.py", "--check"]
    checked = subprocess.run(check, capture_output=True, text=True)
    assert (checked.stdout, checked.stderr, checked.returncode) == ("", "", 0)
    rules: list[Rule] = [
        {"rule_id": "r", "rate": "1/s", "identifier_type": "global", "match": {}},
        {"rule_id": "leased", "rate": "9/s", "lease": {"max_age_ms": 20}},
        {"rule_id": "everywhere", "rate": "9/s", "global": {"max_age_ms": 500}},
    ]
    RateLimiter("memory://", rules=rules).close()
    assert Rule.__required_keys__ == {"rule_id"}
