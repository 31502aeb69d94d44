"""The stubs say what the module does, and users' programs pass strict checking."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mypy")

PROGRAM = """
import asyncio
from pathlib import Path
from sluicegate import AsyncRateLimiter, Check, Decision, ManualClock, RateLimiter, RequestMatch, SluicegateError

def blocking() -> float:
    clock = ManualClock()
    with RateLimiter("memory://", rules=Path("rules.json"), clock=clock, tls_ca="ca.pem") as limiter:
        decision: Decision = limiter.check("login", "alice", cost=2)
        parts: tuple[Decision, ...] = limiter.check_all([Check("login", "alice")]).parts
        return decision.retry_after + len(parts)

async def asynchronous() -> int:
    async with AsyncRateLimiter.connect("memory://", rules=[{"rule_id": "a"}]) as limiter:
        try:
            async with asyncio.TaskGroup() as group:
                task: asyncio.Task[Decision] = group.create_task(limiter.check("login", "alice"))
        except SluicegateError as error:
            print(error.retryable)
        return task.result().remaining

def requests(limiter: RateLimiter) -> list[tuple[str, str]]:
    matches: list[RequestMatch] = limiter.match_request("GET", "/", headers=[("a", "b")], explain=True)
    refused: list[str] = [refusal.reason for refusal in limiter.rules_status().refused]
    print(matches[0].reason, refused)
    return limiter.check_request("GET", "/", user_id="alice", headers={"a": "b"}).headers("x-ratelimit")

limiter = RateLimiter("memory://", rules="[]", rules_cache=Path("cache.json"))
limiter.check("login", "alice").headers("draft")  # type: ignore[arg-type]
RateLimiter("memory://", rules=3)  # type: ignore[arg-type]
RateLimiter("memory://", rules="[]").check("login", (7, "a"), resource=7)
RateLimiter("memory://", rules="[]").check("login", 7.5)  # type: ignore[arg-type]
"""

APPLICATIONS = """
from starlette.applications import Starlette
from flask import Flask
from sluicegate import AsyncRateLimiter, RateLimiter, asgi, wsgi

async def user(scope: object) -> str | None:
    return None

def find(scope: asgi.Scope) -> AsyncRateLimiter:
    limiter: AsyncRateLimiter = scope["app"].state.limiter
    return limiter

app = Starlette()
app.add_middleware(asgi.RateLimitMiddleware, limiter=find, user_id=user, api_key="X-Key", on_error="deny")
app.add_middleware(asgi.RateLimitMiddleware, limiter=find, on_error="ignore")  # type: ignore[arg-type]

flask = Flask(__name__)
limited = wsgi.RateLimitMiddleware(flask.wsgi_app, RateLimiter("memory://", rules="[]"), user_id=lambda environ: "me")
flask.wsgi_app = limited  # type: ignore[method-assign]
"""


def mypy(*arguments: str, folder: Path) -> None:
    # Away from the sources: what is checked is the installed package.
    command = [sys.executable, "-m", *arguments]
    # Django REST framework cannot be imported without settings.
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "django.conf.global_settings"}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_stubs_match_the_module(tmp_path: Path) -> None:
    mypy("mypy.stubtest", "sluicegate", folder=tmp_path)


def test_programs_pass_strict_checking(tmp_path: Path) -> None:
    programs = {"program.py": PROGRAM, "applications.py": APPLICATIONS}
    for name, program in programs.items():
        (tmp_path / name).write_text(program, encoding="utf-8")
    mypy("mypy", "--strict", "--python-version=3.11", *programs, folder=tmp_path)


def test_the_package_passes_strict_checking(tmp_path: Path) -> None:
    mypy("mypy", "--strict", "--python-version=3.10", "-p", "sluicegate", folder=tmp_path)
