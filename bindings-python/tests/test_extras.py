"""What needs another package says how to install it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("module", "package", "extra"),
    [
        ("aiohttp", "aiohttp", "aiohttp"),
        ("django", "django", "django"),
        ("fastapi", "starlette", "fastapi"),
        ("flask", "flask", "flask"),
        ("httpx", "httpx", "httpx"),
        ("httpx2", "httpx2", "httpx2"),
        ("limits", "limits", "limits"),
        ("opentelemetry", "opentelemetry", "opentelemetry"),
        ("prometheus", "prometheus_client", "prometheus"),
        ("testing", "pytest", "pytest"),
        ("requests", "requests", "requests"),
        ("rest_framework", "rest_framework", "rest-framework"),
    ],
)
def test_an_extra_is_named(module: str, package: str, extra: str) -> None:
    program = f"import sys; sys.modules[{package!r}] = None; import sluicegate.{module}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert f"pip install sluicegate[{extra}]" in done.stderr.splitlines()[-1]
    assert f"\n{extra} = [" in PROJECT
