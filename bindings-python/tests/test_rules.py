"""Where rules come from, and rules that change while a limiter runs."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from conftest import Servers, started
from harness import Driver

from sluicegate import (
    AsyncRateLimiter,
    ConnectionFailedError,
    InvalidArgumentError,
    InvalidRuleError,
    RateLimiter,
    SluicegateError,
)

OpenLimiter = Callable[..., Driver]

LONGEST_WAIT = 10


def rule(limit: int, rule_id: str = "r") -> dict[str, Any]:
    return {"rule_id": rule_id, "algorithm": "fixed_window", "limit": limit, "window_size_seconds": 315360000}


def write(path: Path, *rules: dict[str, Any]) -> None:
    """As editors and orchestrators do: there is no moment without a file."""
    new = path.with_suffix(".new")
    new.write_text(json.dumps(rules), encoding="utf-8")
    os.replace(new, path)


def until(reached: Callable[[], bool]) -> None:
    end = time.monotonic() + LONGEST_WAIT
    while not reached():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "rules.json"
    write(path, rule(5))
    return path


@pytest.mark.parametrize("form", [json.dumps, list, tuple, lambda rules: {"rules": rules}])
def test_fixed_rules(form: Callable[[Any], Any], open_limiter: OpenLimiter) -> None:
    limiter = open_limiter("memory://", rules=form([rule(5)]))
    status = limiter.rules_status()
    assert (status.rules, status.updates, status.refusals, status.refused) == (1, 1, 0, ())
    assert (status.reachable, status.cached, status.last_error) == (True, False, None)
    assert status.version and status == limiter.rules_status()
    assert abs((datetime.now(timezone.utc) - status.loaded_at).total_seconds()) < 60
    assert repr(status).startswith("RulesStatus(source=") and "refused=()" in repr(status)


@pytest.mark.parametrize("form", [str, Path])
def test_a_file_is_followed(form: Callable[[Path], Any], path: Path, url: str, open_limiter: OpenLimiter) -> None:
    limiter = open_limiter(url, rules=form(path))
    first = limiter.rules_status()
    assert (first.source, first.updates) == (str(path), 1)
    assert limiter.check("r", "k").remaining == 4
    write(path, rule(9), rule(1, "new"))
    until(lambda: limiter.rules_status().updates == 2)
    # What was counted is kept.
    assert limiter.check("r", "k").remaining == 7
    assert limiter.check("new", "k")
    status = limiter.rules_status()
    assert status != first and (status.rules, status.version != first.version) == (2, True)
    assert status.loaded_at > first.loaded_at


def test_what_is_not_valid_is_refused(path: Path, open_limiter: OpenLimiter) -> None:
    limiter = open_limiter("memory://", rules=path)
    write(path, rule(0))
    until(lambda: limiter.rules_status().refusals == 1)
    status = limiter.rules_status()
    (refusal,) = status.refused
    assert refusal.unit == str(path) and "limit" in refusal.reason
    assert refusal in status.refused and len({refusal, *status.refused}) == 1
    assert repr(refusal).startswith("Refusal(unit=")
    assert status.last_error and "limit" in status.last_error and status.reachable
    assert limiter.check("r", "k").limit == 5
    write(path, rule(6))
    until(lambda: limiter.check("r", "k").limit == 6)
    assert limiter.rules_status().refused == ()


def test_rules_are_added_by_the_application(open_limiter: OpenLimiter) -> None:
    limiter = open_limiter("memory://", rules=[rule(5, "a")])
    limiter.add_rules([rule(3, "b")])
    limiter.add_rules(json.dumps([rule(2, "c")]))
    assert [limiter.check(name, "k").remaining for name in "abc"] == [4, 2, 1]
    with pytest.raises(InvalidRuleError, match='^add_rules: rule "a": the name is taken'):
        limiter.add_rules([rule(1, "d"), rule(1, "a")])
    with pytest.raises(InvalidRuleError):
        limiter.add_rules("rules.json")
    with pytest.raises(TypeError, match="^rules must be JSON text or a list of dict, not int"):
        limiter.add_rules(5)
    assert limiter.rules_status().rules == 3


def test_a_start_without_the_file(path: Path, tmp_path: Path, open_limiter: OpenLimiter) -> None:
    cache = tmp_path / "cache.json"
    open_limiter("memory://", rules=path, rules_cache=cache)
    path.unlink()
    with pytest.raises(InvalidRuleError, match=r"rules\.json.* No such file"):
        open_limiter("memory://", rules=path)
    limiter = open_limiter("memory://", rules=path, rules_cache=str(cache))
    assert limiter.rules_status().cached and limiter.check("r", "k").limit == 5
    write(path, rule(7))
    until(lambda: limiter.check("r", "k").limit == 7)
    assert not limiter.rules_status().cached


def test_a_cache_is_for_rules_that_change(tmp_path: Path, open_limiter: OpenLimiter) -> None:
    with pytest.raises(InvalidArgumentError, match="^rules_cache: "):
        open_limiter("memory://", rules=[rule(5)], rules_cache=tmp_path / "cache.json")
    with pytest.raises(TypeError, match="rules_cache must be a path, not int"):
        open_limiter("memory://", rules=[rule(5)], rules_cache=7)


CHILD = """
import os, sys, time
from sluicegate import RateLimiter
RULES = '[{"rule_id": "r", "algorithm": "fixed_window", "window_size_seconds": 60, "limit": %d}]'
with RateLimiter("memory://", rules=sys.argv[1]) as limiter:
    child = os.fork()
    assert limiter.check("r", "k").limit == 5
    if child == 0:
        open(sys.argv[1], "w").write(RULES % 8)
    while limiter.check("r", "k").limit != 8:
        time.sleep(0.01)
    if child:
        assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_follows_too(path: Path) -> None:
    subprocess.run([sys.executable, "-c", CHILD, str(path)], timeout=60, check=True)


REFUSED = """
import sys, time
from sluicegate import RateLimiter
with RateLimiter("memory://", rules=sys.argv[1]) as limiter:
    open(sys.argv[1], "w").write("[{]")
    while not limiter.rules_status().refused:
        time.sleep(0.01)
"""


@pytest.mark.parametrize(
    ("configured", "start"),
    [
        ("", "rules refused: "),
        ("logging.basicConfig(format='%(levelname)s %(name)s %(message)s')", "WARNING sluicegate rules refused: "),
        ("logging.getLogger('sluicegate').setLevel(logging.ERROR)", None),
    ],
)
def test_refusals_go_to_the_logger(configured: str, start: str | None, path: Path) -> None:
    command = [sys.executable, "-c", f"import logging\n{configured}\n{REFUSED}", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr.startswith(f"{start}{path}: ") if start else done.stderr == ""
    assert done.stderr.count("\n") == (start is not None)


def test_a_forked_child_logs_by_itself(path: Path) -> None:
    program = f"""
import logging, os
from pathlib import Path
logging.basicConfig(format="%(process)d %(message)s")
{REFUSED}
child = os.fork()
if child == 0:
    Path(sys.argv[1]).write_text('[{{"rule_id": "a", "rate": "1/s"}}]')
    with RateLimiter("memory://", rules=sys.argv[1]) as limiter:
        open(sys.argv[1], "w").write("[")
        while not limiter.rules_status().refused:
            time.sleep(0.01)
    sys.exit()
assert os.waitpid(child, 0)[1] == 0
"""
    command = [sys.executable, "-W", "ignore", "-c", program, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    processes = [line.split()[0] for line in done.stderr.splitlines() if "rules refused" in line]
    assert len(processes) == len(set(processes)) == 2, done.stderr


@pytest.fixture(scope="module")
def zookeeper() -> Iterator[Servers]:
    with started("zookeeper") as servers:
        yield servers


def test_rules_in_zookeeper(zookeeper: Servers, prefix: str, open_limiter: OpenLimiter, redis_url: str) -> None:
    folder = f"/config/{prefix}"
    zookeeper.command("create", f"{folder}/r", json.dumps(rule(5)))
    hosts = zookeeper.addresses["zookeeper"]
    limiter = open_limiter(redis_url, rules=f"zookeeper://{hosts}{folder}")
    assert limiter.rules_status().source == f"zookeeper://{hosts}{folder}"
    assert limiter.check("r", "k").remaining == 4
    zookeeper.command("set", f"{folder}/r", json.dumps(rule(9)))
    until(lambda: limiter.rules_status().updates == 2)
    assert limiter.check("r", "k").remaining == 7
    zookeeper.command("create", f"{folder}/new", json.dumps(rule(1, "new")))
    zookeeper.command("create", f"{folder}/bad", "[}")
    until(lambda: [refusal.unit for refusal in limiter.rules_status().refused] == ["bad"])
    assert limiter.check("new", "k") and limiter.rules_status().rules == 2
    zookeeper.command("delete", f"{folder}/new")
    until(lambda: limiter.rules_status().rules == 1)


def test_other_threads_run_while_a_source_says_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        rules = f"zookeeper://127.0.0.1:{silent.getsockname()[1]}/rules"
        with ThreadPoolExecutor(1) as pool:
            making = pool.submit(RateLimiter, "memory://", rules=rules)
            time.sleep(0.2)
            assert not making.done()
            with pytest.raises(SluicegateError, match="did not answer in time"):
                making.result(30)


def test_a_loop_runs_while_a_source_says_nothing() -> None:
    async def connect(rules: str) -> None:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(AsyncRateLimiter.connect("memory://", rules=rules), 0.2)

    with socket.create_server(("127.0.0.1", 0)) as silent:
        began = time.monotonic()
        asyncio.run(connect(f"zookeeper://127.0.0.1:{silent.getsockname()[1]}/rules"))
        assert time.monotonic() - began < 1


def test_a_zookeeper_that_is_away() -> None:
    with pytest.raises(ConnectionFailedError, match="zookeeper://127"):
        RateLimiter("memory://", rules="zookeeper://127.0.0.1:1/rules")
    with pytest.raises(InvalidArgumentError, match="ZooKeeper: the host is missing"):
        RateLimiter("memory://", rules="zookeeper:///rules")
