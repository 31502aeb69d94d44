"""The stubs say what the module does, and users' programs pass strict checking."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mypy")

PROGRAM = """
import asyncio
from pathlib import Path
from sluicegate import AsyncRateLimiter, Check, Decision, ManualClock, RateLimiter, SluicegateError

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

RateLimiter("memory://", rules=3)  # type: ignore[arg-type]
RateLimiter("memory://", rules="[]").check("login", 7)  # type: ignore[arg-type]
"""


def mypy(*arguments: str, folder: Path) -> None:
    # Away from the sources: what is checked is the installed package.
    command = [sys.executable, "-m", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_stubs_match_the_module(tmp_path: Path) -> None:
    mypy("mypy.stubtest", "sluicegate", folder=tmp_path)


def test_programs_pass_strict_checking(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    mypy("mypy", "--strict", "--python-version=3.11", "program.py", folder=tmp_path)


def test_the_package_passes_strict_checking(tmp_path: Path) -> None:
    mypy("mypy", "--strict", "--python-version=3.10", "-p", "sluicegate", folder=tmp_path)
