"""What limiters tell of themselves, for `logging`."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import RULES
from outages import Server

from sluicegate import ConnectionFailedError, RateLimiter, SluicegateError
from sluicegate._events import hand_on


@pytest.fixture
def events(caplog: pytest.LogCaptureFixture) -> Callable[[], list[tuple[str, int]]]:
    caplog.set_level(logging.INFO, "sluicegate")
    return lambda: [(record.event, record.levelno) for record in caplog.records if record.name == "sluicegate"]


def until(is_so: Callable[[], bool]) -> None:
    """Another thread logs."""
    end = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.01)


def fail(limiter: RateLimiter, times: int) -> None:
    for _ in range(times):
        with pytest.raises(SluicegateError):
            limiter.check("ten", "k")


def recover(limiter: RateLimiter) -> None:
    def works() -> bool:
        try:
            return bool(limiter.check("ten", "k"))
        except ConnectionFailedError:
            return False

    until(works)


def test_a_breaker_opens_and_closes(server: Server, events: Callable[[], list[tuple[str, int]]], caplog: pytest.LogCaptureFixture) -> None:
    with RateLimiter(server.url, rules=RULES, response_timeout=0.1) as limiter:
        limiter.check("ten", "k")
        server.pause()
        fail(limiter, 8)
        until(lambda: events() == [("breaker_open", logging.WARNING)])
        assert "does not answer (no answer for 0.1 s)" in caplog.text
        server.resume()
        recover(limiter)
        until(lambda: events()[1:] == [("breaker_closed", logging.INFO)])
        # What follows within a minute is not told anew.
        server.pause()
        fail(limiter, 8)
        server.resume()
        recover(limiter)
        assert len(events()) == 2


def test_a_fallback_begins_and_ends(server: Server, events: Callable[[], list[tuple[str, int]]]) -> None:
    with RateLimiter(server.url, rules=RULES, response_timeout=0.1, fallback="allow", breaker_failures=0) as limiter:
        server.pause()
        assert limiter.check("ten", "k").source == "fallback"
        until(lambda: events() == [("fallback_began", logging.WARNING)])
        server.resume()
        # It is over when servers have decided everything for a second.
        until(lambda: limiter.check("ten", "k").source == "server" and len(events()) == 2)
        assert events()[1] == ("fallback_ended", logging.WARNING)


def test_a_server_that_can_only_read_is_one_outage(server: Server, events: Callable[[], list[tuple[str, int]]]) -> None:
    with RateLimiter(server.url, rules=RULES, fallback="allow") as limiter:
        limiter.check("ten", "used up", cost=10)
        assert server.command("CONFIG SET maxmemory 1") == b"+OK\r\n"
        for _ in range(50):
            assert limiter.check("ten", "k").source == "fallback"
            # A denial writes nothing.
            assert limiter.check("ten", "used up").source == "server"
        names = [name for name, _ in events()]
        # On a machine that was held up for a second in between it has ended once.
        assert names in (["fallback_began"], ["fallback_began", "fallback_ended"])


def test_denials_in_shadow_are_told_at_debug(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "sluicegate")
    rules = [{"rule_id": "trial", "rate": "1/hour", "shadow": True}]
    with RateLimiter("memory://", rules=rules) as limiter:
        for _ in range(5):
            assert limiter.check("trial", "k")
    records = caplog.records
    until(lambda: len(records) == 1)
    assert (records[0].event, records[0].levelno) == ("shadow_denied", logging.DEBUG)
    assert '"trial"' in records[0].message


def test_rules_change_and_are_refused(tmp_path: Path, events: Callable[[], list[tuple[str, int]]]) -> None:
    path = tmp_path / "rules.json"
    path.write_text(json.dumps([{"rule_id": "a", "rate": "5/minute"}]))
    with RateLimiter("memory://", rules=path):
        path.write_text(json.dumps([{"rule_id": "a", "rate": "7/minute"}]))
        until(lambda: events() == [("rules_changed", logging.INFO)])
        path.write_text("[")
        until(lambda: events()[1:] == [("rules_refused", logging.WARNING)])
        path.write_text("[]")
        until(lambda: events()[2:] == [("rules_lost", logging.WARNING)])


def test_a_file_that_is_rewritten_again_and_again_is_told_once(tmp_path: Path, events: Callable[[], list[tuple[str, int]]]) -> None:
    path = tmp_path / "rules.json"
    path.write_text("[]")
    with RateLimiter("memory://", rules=path) as limiter:
        for count in range(2, 12):
            path.write_text(json.dumps([{"rule_id": "a", "rate": f"{count}/minute"}]))
            until(lambda count=count: limiter.rules_status().updates == count)
        # Another line in its turn, after which those before it have been told.
        path.write_text("[")
        until(lambda: ("rules_refused", logging.WARNING) in events())
    assert [name for name, _ in events()] == ["rules_changed", "rules_refused"]


# A handler is at work on a line of a limiter's own thread when the program comes to its end.
ENDS = """if True:
    import logging, sys, threading, time
    from sluicegate import RateLimiter

    begun = threading.Event()

    class Slow(logging.Handler):
        def createLock(self):
            self.lock = None  # Else `logging` itself would wait for the line at the end.

        def emit(self, record):
            begun.set()
            time.sleep(0.3)
            print(record.event)

    logging.getLogger("sluicegate").addHandler(Slow())
    limiter = RateLimiter("memory://", rules=sys.argv[1])
    open(sys.argv[1], "w").write("[")
    assert begun.wait(60)
"""


@pytest.mark.parametrize("end", ["pass", "del limiter", "limiter.close()", "sys.exit(0)"])
def test_a_program_ends_while_a_line_is_written(end: str, tmp_path: Path) -> None:
    path = tmp_path / "rules.json"
    path.write_text(json.dumps(RULES))
    command = [sys.executable, "-c", f"{ENDS}    {end}\n", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "rules_refused\n", "")


# More lines wait for a slow handler than can be written before the end.
FLOOD = """if True:
    import logging, sys, threading, time
    from sluicegate import RateLimiter

    begun = threading.Event()

    class Slow(logging.Handler):
        def createLock(self):
            self.lock = None

        def emit(self, record):
            begun.set()
            time.sleep(0.15)

    class Last:
        # The interpreter takes its time to end, in which the handler comes back.
        def __del__(self, sleep=time.sleep):
            sleep(0.5)

    sys.last = Last()
    logging.getLogger("sluicegate").addHandler(Slow())
    logging.getLogger("sluicegate").setLevel(logging.DEBUG)
    rules = [{"rule_id": f"trial-{number}", "rate": "1/d", "shadow": True} for number in range(40)]
    limiter = RateLimiter("memory://", rules=rules)
    for rule in rules * 2:
        limiter.check(rule["rule_id"], "k")
    assert begun.wait(60)
"""


@pytest.mark.parametrize("wait", [0.0, 0.1, 0.7])
def test_a_program_ends_while_lines_wait_for_a_handler(wait: float) -> None:
    done = subprocess.run([sys.executable, "-c", f"{FLOOD}    time.sleep({wait})\n"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


# No thread has room for its stack.
NO_THREAD = """if True:
    import logging, resource, sys, threading
    from sluicegate import RateLimiter

    class Prints(logging.Handler):
        def emit(self, record):
            print(record.event)

    logging.getLogger("sluicegate").addHandler(Prints())
    logging.getLogger("sluicegate").setLevel(logging.DEBUG)
    rules = [{"rule_id": f"trial-{number}", "rate": "1/d", "shadow": True} for number in range(3)]
    limiter = RateLimiter("memory://", rules=rules)
    threading.stack_size(8 << 30)
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    for rule in rules * 2:
        limiter.check(rule["rule_id"], "k")
"""


def test_lines_for_which_no_thread_can_be_started_are_written_at_the_end() -> None:
    done = subprocess.run([sys.executable, "-c", NO_THREAD], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "shadow_denied\n" * 3, "")


class Calls(logging.Handler):
    """Calls a function with each record of a block."""

    def __init__(self, function: Callable[[logging.LogRecord], object]) -> None:
        super().__init__()
        self._function = function
        self._log = logging.getLogger("sluicegate")

    def emit(self, record: logging.LogRecord) -> None:
        self._function(record)

    def __enter__(self) -> None:
        self._level_before = self._log.level
        self._log.addHandler(self)
        self._log.setLevel(logging.DEBUG)

    def __exit__(self, *_: object) -> None:
        self._log.removeHandler(self)
        self._log.setLevel(self._level_before)


def deny_in_shadow(*names: str) -> None:
    rules = [{"rule_id": name, "rate": "1/d", "shadow": True} for name in names]
    with RateLimiter("memory://", rules=rules) as limiter:
        for name in names * 2:
            limiter.check(name, "k")


@pytest.mark.parametrize("hook_raises", [False, True])
def test_a_handler_that_raises_keeps_no_other_line_from_being_written(hook_raises: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    raised: list[type[BaseException]] = []

    def hook(args: threading.ExceptHookArgs) -> None:
        raised.append(args.exc_type)
        if hook_raises:
            raise OSError("nowhere to report to")

    def fail_to_write(record: logging.LogRecord) -> None:
        raise ValueError(record.getMessage())

    monkeypatch.setattr(threading, "excepthook", hook)
    with Calls(fail_to_write):
        deny_in_shadow("one", "two", "three")
        until(lambda: raised == [ValueError] * 3)


def test_lines_beyond_those_that_may_wait_are_dropped() -> None:
    written: list[str] = []
    begun, may_end = threading.Event(), threading.Event()

    def write(record: logging.LogRecord) -> None:
        begun.set()
        may_end.wait()
        written.append(record.getMessage())

    with Calls(write):
        hand_on(logging.INFO, "written meanwhile", "test")
        assert begun.wait(60)
        for number in range(1001):
            hand_on(logging.INFO, str(number), "test")
        may_end.set()
        until(lambda: len(written) >= 1001)
    assert written[1:1001] == [str(number) for number in range(1000)]
