"""The application among the examples does what it says."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
from web import serve_uvicorn

FOLDER = Path(__file__).parents[2] / "examples"
ALICE = ("Authorization", "Bearer alice")


@pytest.fixture
def app(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    pytest.importorskip("fastapi", reason="needs Python 3.11")
    monkeypatch.setenv("LIMITER_URL", redis_url)
    specification = importlib.util.spec_from_file_location("fastapi_app", FOLDER / "fastapi_app.py")
    assert specification and specification.loader
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module.app


def test_orders_per_user_and_logins_per_address(app: Any) -> None:
    with serve_uvicorn(app) as site:
        orders = [site.ask("GET", f"/orders/{number}", ALICE) for number in range(51)]
        logins = [site.ask("POST", "/login") for _ in range(6)]
        of_bob = site.ask("GET", "/orders/1", ("Authorization", "Bearer bob"))
    assert [answer.status for answer in orders] == [200] * 50 + [429]
    assert orders[0].header("RateLimit-Policy") == '"api_user_get_orders";q=50;w=60'
    assert orders[0].json() == {"order": 0, "of": "alice"}
    assert orders[50].json()["rule"] == "api_user_get_orders"
    assert [answer.status for answer in logins] == [200] * 5 + [429]
    assert logins[5].header("Retry-After") == "60" and logins[5].json()["rule"] == "login_attempts_per_ip"
    assert of_bob.status == 200
