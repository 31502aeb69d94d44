"""What bad input and absent servers get."""

from __future__ import annotations

import asyncio
import builtins
import pickle
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from harness import Driver

import sluicegate
from sluicegate import (
    Check,
    ConnectionFailedError,
    InvalidArgumentError,
    InvalidRuleError,
    ManualClock,
    RateLimiter,
    ResponseTimeoutError,
    ServerError,
    SluicegateError,
    UnknownRuleError,
    WrongTypeError,
    errors,
)

Open = Callable[..., Driver]
CLASSES = [getattr(errors, name) for name in errors.__all__]


def test_classes_have_one_base_and_shadow_no_built_in() -> None:
    assert all(issubclass(kind, SluicegateError) for kind in CLASSES)
    assert not any(hasattr(builtins, kind.__name__) for kind in CLASSES)
    assert all(getattr(sluicegate, kind.__name__) is kind for kind in CLASSES)
    assert issubclass(InvalidRuleError, ValueError) and issubclass(InvalidArgumentError, ValueError)
    assert issubclass(UnknownRuleError, LookupError)


@pytest.mark.parametrize("kind", CLASSES)
def test_errors_survive_a_pickle(kind: type[SluicegateError]) -> None:
    error = pickle.loads(pickle.dumps(kind("what", retryable=True, key="a:b")))
    assert (type(error), str(error), error.retryable, error.key) == (kind, "what", True, "a:b")


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda limiter: limiter.check("tem", "a"), UnknownRuleError, 'no rule is called "tem"; did you mean "ten"'),
        (lambda limiter: limiter.check("ten", ""), InvalidArgumentError, "key"),
        (lambda limiter: limiter.check("ten", "a", cost=0), InvalidArgumentError, "cost"),
        (lambda limiter: limiter.check("ten", "a", cost=-5), InvalidArgumentError, "cost"),
        (lambda limiter: limiter.check("ten", "a", cost=1 << 70), InvalidArgumentError, "cost"),
        (lambda limiter: limiter.check("ten", "a", limit=0), InvalidArgumentError, "limit"),
        (lambda limiter: limiter.check("ten", "a", resource="r"), InvalidArgumentError, "resource"),
        (lambda limiter: limiter.check("printer", "a"), InvalidArgumentError, "resource"),
        (lambda limiter: limiter.check("ten", "\ud800"), InvalidArgumentError, "key is not well-formed Unicode"),
        (lambda limiter: limiter.check_all([]), InvalidArgumentError, ""),
        (lambda limiter: limiter.wait("ten", "a", timeout=-1), InvalidArgumentError, "timeout"),
        (lambda limiter: limiter.wait("ten", "a", timeout=float("nan")), InvalidArgumentError, "timeout"),
    ],
)
def test_bad_calls(
    call: Callable[[Any], object], kind: type[SluicegateError], message: str, url: str, open_limiter: Open
) -> None:
    with pytest.raises(kind) as caught:
        call(open_limiter(url))
    assert type(caught.value) is kind and message in str(caught.value) and not caught.value.retryable


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda limiter: limiter.check(1, "a"), "rule"),
        (lambda limiter: limiter.check("ten", b"a"), "key"),
        (lambda limiter: limiter.check("ten", None), "key"),
        (lambda limiter: limiter.peek("ten", "a", cost=1.5), "cost"),
        (lambda limiter: limiter.refund("ten", "a", cost="1"), "cost"),
        (lambda limiter: limiter.check("ten", "a", cost=None), "cost"),
        (lambda limiter: limiter.check("ten", "a", limit="5"), "limit"),
        (lambda limiter: limiter.check("ten", "a", cost=True), "cost"),
        (lambda limiter: limiter.check("ten", "a", timeout=True), "timeout"),
        (lambda limiter: limiter.block("ten", "a", False), "seconds"),
        (lambda limiter: limiter.reset("ten", "a", resource=5.5), "resource"),
        (lambda limiter: limiter.wait("ten", "a", timeout="soon"), "timeout"),
        (lambda limiter: limiter.check_all(7), "checks"),
        (lambda limiter: limiter.check_all([Check("ten", "a"), ("ten", "b")]), r"checks\[1\]"),
        (lambda _: Check("ten", 5.5), "key"),
        (lambda _: ManualClock("now"), "now_us"),
        (lambda _: ManualClock(True), "now_us"),
        (lambda _: ManualClock().advance("1"), "seconds"),
    ],
)
def test_wrong_types_name_the_argument(
    call: Callable[[Any], object], argument: str, url: str, open_limiter: Open
) -> None:
    with pytest.raises(WrongTypeError, match=f"^{argument} must be "):
        call(open_limiter(url))


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("url", b"memory://"),
        ("rules", 5),
        ("rules", b"[]"),
        ("prefix", None),
        ("clock", 0),
        ("connect_timeout", "1"),
        ("response_timeout", None),
        ("breaker_failures", 1.0),
        ("tls_ca", 5),
        ("identifier_secret", b"0123456789abcdef"),
        ("max_keys", "many"),
    ],
)
def test_wrong_types_of_options(option: str, value: object, open_limiter: Open) -> None:
    with pytest.raises(WrongTypeError, match=f"^{option} must be "):
        open_limiter(**{"url": "memory://", option: value})


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("url", "http://a", "scheme"),
        ("prefix", "{", "prefix"),
        ("connect_timeout", -1, "connect_timeout"),
        ("connect_timeout", 1 << 2000, "connect_timeout"),
        ("response_timeout", float("nan"), "response_timeout"),
        ("response_timeout", float("inf"), "response_timeout"),
        ("tls_cert", "a.pem", "tls_cert and tls_key"),
        ("identifier_secret", "short", "identifier_secret"),
        ("max_keys", 5, "max_keys"),
    ],
)
def test_senseless_options(option: str, value: object, message: str, open_limiter: Open) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        open_limiter(**{"url": "redis://127.0.0.1:1", option: value})


def test_a_missing_or_unknown_option(open_limiter: Open) -> None:
    with pytest.raises(TypeError, match=r"^RateLimiter\..*rules"):
        RateLimiter("memory://")
    with pytest.raises(TypeError, match=r"^RateLimiter\..*perfix"):
        RateLimiter("memory://", rules=[], perfix="a")
    with pytest.raises(TypeError, match="perfix"):
        open_limiter("memory://", perfix="a")


RULE = '{"rule_id": "a", "algorithm": "gcra", "limit": 1, "window_size_seconds": 1}'


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "rules.jsonc"
    path.write_text(f"// the rules\n[{RULE}]", encoding="utf-8")
    yield path


def test_rules_in_every_form(file: Path, open_limiter: Open) -> None:
    rule = {"rule_id": "a", "algorithm": "gcra", "limit": 1, "window_size_seconds": 1}
    text = file.read_text(encoding="utf-8")
    forms = [file, str(file), text, f' \n{{"rules": [{RULE}]}}', [rule], (rule,), {"rules": [rule]}]
    for form in [*forms, f"/* all */ [{RULE}]"]:
        assert open_limiter("memory://", rules=form).check("a", "k")


def rule_with(**fields: object) -> dict[str, object]:
    return {"rule_id": "a", "algorithm": "gcra", "limit": 1, "window_size_seconds": 1, **fields}


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ('[{"rule_id": "a", "algoritm": "gcra"}]', 'did you mean "algorithm"'),
        ([{"rule_id": "a", "algorithm": "gcra", "limit": 0, "window_size_seconds": 1}], "limit"),
        ([rule_with(limit=float("nan"))], 'rule "a": field "limit" is "nan"; it has to be a whole number'),
        ([rule_with(window_size_seconds=float("inf"))], 'rule "a": field "window_size_seconds" is "inf"'),
        ([rule_with(limit=10**400)], 'rule "a": field "limit" is "1000'),
        ([rule_with(limit=10**5000)], 'rule "a": field "limit" is "an integer'),
        ([rule_with(block={"seconds": -float("inf")})], 'rule "a": field "block.seconds" is "-inf"'),
        ([rule_with(description=float("nan"))], "rules: Out of range"),
        ([{"rule_id": "\ud800"}], ""),
        ("no/such/file.json", "no/such/file.json: cannot be read"),
        (Path("no/such/file.json"), "no/such/file.json: cannot be read"),
        ("", "rules: the text is empty"),
        (" \n", "rules: the text is empty"),
        ("{", ""),
    ],
)
def test_bad_rules(rules: object, message: str, open_limiter: Open) -> None:
    with pytest.raises(InvalidRuleError) as caught:
        open_limiter("memory://", rules=rules)
    assert message in str(caught.value)


def test_rules_that_json_cannot_express(open_limiter: Open) -> None:
    with pytest.raises(TypeError, match="^rules: .* not JSON serializable"):
        open_limiter("memory://", rules=[{"rule_id": object()}])


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def test_nobody_listens(open_limiter: Open) -> None:
    began = time.monotonic()
    with pytest.raises(ConnectionFailedError) as caught:
        open_limiter(f"redis://127.0.0.1:{free_port()}").ping()
    assert caught.value.retryable and time.monotonic() - began < 3


def test_a_server_that_says_nothing(open_limiter: Open) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"redis://127.0.0.1:{server.getsockname()[1]}"
        began = time.monotonic()
        with pytest.raises((ResponseTimeoutError, ConnectionFailedError)) as caught:
            open_limiter(url, connect_timeout=0.2, response_timeout=0.1).ping()
        assert caught.value.retryable and time.monotonic() - began < 3


def test_a_damaged_key_is_reported_to_the_caller(redis_url: str, prefix: str, open_limiter: Open) -> None:
    name = f"{prefix}:ten:{{alice}}:f1h"
    host, port = redis_url.removeprefix("redis://").split(":")
    with socket.create_connection((host, int(port.split("/")[0])), timeout=10) as server:
        server.sendall(f"SET {name} garbage EX 60\r\n".encode())
        assert server.recv(100) == b"+OK\r\n"
    limiter = open_limiter(redis_url)
    with pytest.raises(ServerError) as caught:
        limiter.check("ten", "alice")
    assert caught.value.key == name
    assert 'rule "ten"' in str(caught.value) and "alice" not in f"{caught.value!s}{caught.value!r}"
    with pytest.raises(InvalidArgumentError) as refused:
        limiter.check("ten", "alice", cost=0)
    assert refused.value.key is None


def test_a_password_the_server_does_not_know(redis_url: str, open_limiter: Open) -> None:
    with pytest.raises(SluicegateError) as caught:
        open_limiter(redis_url.replace("redis://", "redis://user:s3cret@")).ping()
    assert isinstance(caught.value, (ServerError, ConnectionFailedError))
    assert "s3cret" not in str(caught.value)


def test_a_connection_that_cannot_be_made_leaves_nothing_behind() -> None:
    async def attempt() -> None:
        with pytest.raises(ConnectionFailedError):
            await sluicegate.AsyncRateLimiter.connect(f"redis://127.0.0.1:{free_port()}", rules="[]")
        with pytest.raises(ConnectionFailedError):
            async with sluicegate.AsyncRateLimiter.connect(f"redis://127.0.0.1:{free_port()}", rules="[]"):
                pass

    asyncio.run(attempt())
