"""The fixtures for tests of applications, in runs of pytest of their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = """
import pytest

pytest_plugins = ["sluicegate.testing"]


@pytest.fixture
def rate_limiter_rules():
    return [{"rule_id": "mail", "algorithm": "fixed_window", "limit": 1, "window_size_seconds": 3600}]
"""

TESTS = """
import asyncio

import pytest
from flask import Flask

from sluicegate.flask import RouteLimits

app = Flask("shop")
limits = RouteLimits(lambda: app.extensions["limiter"], key=lambda: "alice")
app.route("/")(limits("mail", "5/day")(lambda: "sent"))


@pytest.fixture
def client(rate_limiter):
    app.extensions["limiter"] = rate_limiter
    return app.test_client()


@pytest.mark.parametrize("number", range(40))
def test_nothing_is_left_of_other_tests(client, rate_limiter_clock, number):
    assert [client.get("/").status_code for _ in range(2)] == [200, 429]
    assert client.get("/").headers["Retry-After"] == "3600"
    rate_limiter_clock.advance(3600)
    assert client.get("/").status_code == 200


def test_a_wait_takes_no_time(rate_limiter, rate_limiter_clock):
    begun = rate_limiter_clock.now_us
    assert all(rate_limiter.wait("mail", "alice", timeout=7200) for _ in range(3))
    assert rate_limiter_clock.now_us - begun == 7200 * 1_000_000


def test_coroutines(connect_rate_limiter, rate_limiter_clock):
    async def main():
        async with connect_rate_limiter() as limiter:
            assert await limiter.check("mail", "alice")
            assert not await limiter.check("mail", "alice")
            rate_limiter_clock.advance(3600)
            assert await limiter.check("mail", "alice")

    asyncio.run(main())
"""


def pytest_in(folder: Path, *options: str) -> str:
    command = [sys.executable, "-X", "dev", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error", *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    return done.stdout + done.stderr


def test_every_test_has_a_limiter_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    (tmp_path / "test_site.py").write_text(TESTS, encoding="utf-8")
    printed = pytest_in(tmp_path)
    assert "42 passed" in printed, printed


def test_there_are_no_rules_unless_they_are_stated(tmp_path: Path) -> None:
    test = "def test_it(rate_limiter):\n    assert rate_limiter.rules() == []\n"
    (tmp_path / "test_it.py").write_text(test, encoding="utf-8")
    assert "1 passed" in pytest_in(tmp_path, "-p", "sluicegate.testing")
    # Only who asks for them has them.
    assert "fixture 'rate_limiter' not found" in pytest_in(tmp_path)


@pytest.mark.parametrize("name", ["rate_limiter", "rate_limiter_clock", "rate_limiter_rules", "connect_rate_limiter"])
def test_fixtures_are_listed_with_what_they_are_for(name: str, tmp_path: Path) -> None:
    printed = pytest_in(tmp_path, "-p", "sluicegate.testing", "--fixtures")
    (line,) = [line for line in printed.splitlines() if line.startswith(f"{name} --")]
    assert line
