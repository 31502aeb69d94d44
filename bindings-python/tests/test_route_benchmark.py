"""The benchmark of limits at routes runs: a short one, whose figures mean nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = [ROOT / "tests/benchmarks/routes", ROOT / "bindings-python/benchmarks/routes.json"]
SHORT = ["--rounds", "1", "--seconds", "0.02", "--warm-up", "0"]
# Both applications, on Redis and in memory.
GROUPS = {"FastAPI and slowapi, on Redis": 7, "Flask, in memory": 3}
HEAD = 2

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs the clocks of processes, and epoll")


def test_applications_are_compared() -> None:
    pytest.importorskip("fastapi")
    only = [word for title in GROUPS for word in ("--only", title)]
    run = subprocess.run([sys.executable, *PROGRAM, *SHORT, *only], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    for title, applications in GROUPS.items():
        _, _, table = run.stdout.partition(f"**{title}**\n\n")
        rows = table.split("\n\n")[0].splitlines()
        assert len(rows) == HEAD + applications, run.stdout
