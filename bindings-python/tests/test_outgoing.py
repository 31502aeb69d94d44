"""Transports of httpx, httpx2 and requests that pace calls of a real server."""

from __future__ import annotations

import asyncio
import email.utils
import importlib
import math
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from web import running

from sluicegate import AsyncRateLimiter, InvalidArgumentError, ManualClock, RateLimiter, UnknownRuleError
from sluicegate import functions as of_functions

RULES = [
    {"rule_id": "provider", "algorithm": "uniform", "rate": "6/minute", "block": {}},
    {"rule_id": "unblockable", "rate": "6/minute"},
]
START = 1_700_000_040_000_000


class Provider(ThreadingHTTPServer):
    """Gives the answers that a test prepared, and notes when it was asked."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.clock = clock
        self.asked: list[tuple[str, float]] = []
        self.answers: list[tuple[int, dict[str, str]]] = []
        # Of a request for `/late`.
        self.is_asked, self.may_answer = threading.Event(), threading.Event()
        self.url = f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Provider

    def do_GET(self) -> None:
        server = self.server
        server.asked.append((self.path, (server.clock.now_us - START) / 1_000_000))
        status, headers = server.answers.pop(0) if server.answers else (200, {})
        if self.path == "/late":
            server.is_asked.set()
            server.may_answer.wait(20)
        self.send_response_only(status)
        for name, value in {"Content-Length": "2", **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_: object) -> None: ...


Get = Callable[[str], int]


@contextmanager
def requests(url: str, limits: tuple[Any, ...], transport: dict[str, Any], limiter: dict[str, Any]) -> Iterator[Get]:
    import requests as library

    from sluicegate.requests import RateLimitAdapter

    with RateLimiter(url, **limiter) as made, library.Session() as session:
        session.mount("http://", RateLimitAdapter(made, *limits, **transport))
        yield lambda address: session.get(address).status_code


def _client(library: str) -> Any:
    @contextmanager
    def client(url: str, limits: tuple[Any, ...], transport: dict[str, Any], limiter: dict[str, Any]) -> Iterator[Get]:
        module = pytest.importorskip(library, reason="needs Python 3.11")
        ours = importlib.import_module(f"sluicegate.{library}")
        with RateLimiter(url, **limiter) as made:
            with module.Client(transport=ours.RateLimitTransport(made, *limits, **transport)) as session:
                yield lambda address: session.get(address, follow_redirects=True).status_code  # type: ignore[no-any-return]

    client.__name__ = library
    return client


def _async_client(library: str) -> Any:
    @contextmanager
    def client(url: str, limits: tuple[Any, ...], transport: dict[str, Any], limiter: dict[str, Any]) -> Iterator[Get]:
        module = pytest.importorskip(library, reason="needs Python 3.11")
        ours = importlib.import_module(f"sluicegate.{library}")
        loop = asyncio.new_event_loop()
        run = loop.run_until_complete

        async def connected() -> AsyncRateLimiter:
            return await AsyncRateLimiter.connect(url, **limiter)

        with ExitStack() as opened:
            opened.callback(loop.close)
            made = run(connected())
            opened.callback(lambda: run(made.close()))
            session = module.AsyncClient(transport=ours.AsyncRateLimitTransport(made, *limits, **transport))
            opened.callback(lambda: run(session.aclose()))
            yield lambda address: run(session.get(address, follow_redirects=True)).status_code

    client.__name__ = f"async_{library}"
    return client


CLIENTS = [requests, _client("httpx"), _client("httpx2"), _async_client("httpx"), _async_client("httpx2")]
Open = Callable[..., Get]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START)


@pytest.fixture
def provider(clock: ManualClock) -> Iterator[Provider]:
    server = Provider(clock)
    with running(server):
        yield server


@pytest.fixture(params=CLIENTS, ids=lambda client: client.__name__)
def client(request: pytest.FixtureRequest, prefix: str, clock: ManualClock) -> Iterator[Open]:
    with ExitStack() as opened:
        options = {"rules": RULES, "prefix": prefix, "clock": clock}
        yield lambda *limits, url="memory://", **transport: opened.enter_context(
            request.param(url, limits, transport, options)
        )


def times(provider: Provider) -> list[float]:
    return [at for _, at in provider.asked]


def test_calls_are_paced(client: Open, provider: Provider, redis_url: str) -> None:
    get = client("provider", url=redis_url)
    assert [get(provider.url) for _ in range(3)] == [200] * 3
    assert times(provider) == [0, 10, 20]


def test_rates_are_decided_together(client: Open, provider: Provider) -> None:
    get = client("2/minute", "3/hour", wait=2000)
    assert [get(provider.url) for _ in range(4)] == [200] * 4
    assert times(provider) == [0, 0, 30, 1200]


@pytest.mark.parametrize("status", [429, 503])
def test_nobody_calls_before_the_provider_allows_it(
    client: Open, provider: Provider, redis_url: str, prefix: str, clock: ManualClock, status: int
) -> None:
    provider.answers = [(status, {"Retry-After": "35"})]
    get = client("provider", url=redis_url)
    assert get(provider.url) == status
    # Another process, with its own limiter.
    with RateLimiter(redis_url, rules=RULES, prefix=prefix, clock=clock) as other:
        assert other.peek("provider", "127.0.0.1").blocked
    assert [get(provider.url), get(provider.url)] == [200, 200]
    assert times(provider) == [0, 35, 45]


def test_rates_obey_too(client: Open, provider: Provider) -> None:
    provider.answers = [(429, {"Retry-After": "35"})]
    get = client("100/second")
    assert [get(provider.url), get(provider.url), *times(provider)] == [429, 200, 0, 35]


def test_a_shorter_pause_does_not_end_a_longer_one(provider: Provider, prefix: str, clock: ManualClock) -> None:
    provider.answers = [(429, {"Retry-After": "5"}), (429, {"Retry-After": "50"})]
    options = {"rules": [], "prefix": prefix, "clock": clock}
    with requests("memory://", ("2/minute",), {"wait": 0}, options) as get:
        late = threading.Thread(target=get, args=(f"{provider.url}/late",))
        late.start()
        assert provider.is_asked.wait(20)
        assert get(provider.url) == 429
        provider.may_answer.set()
        late.join()
        with pytest.raises(of_functions.RateLimited, match="retry in 50 s"):
            get(provider.url)


@pytest.mark.parametrize(
    ("headers", "pause"),
    [
        ({"Retry-After": "Tue, 14 Nov 2023 22:15:00 GMT", "Date": "Tue, 14 Nov 2023 22:14:20 GMT"}, 40),
        ({"Retry-After": "Tue, 14 Nov 2023 22:14:00 GMT", "Date": "Tue, 14 Nov 2023 22:14:20 GMT"}, 10),
        ({"Retry-After": "soon"}, 10),
        ({"Retry-After": "-5"}, 10),
        ({"Retry-After": "0"}, 10),
        ({}, 10),
        # What is bounded.
        ({"Retry-After": "9999999999"}, 50),
    ],
)
def test_what_a_provider_may_say(client: Open, provider: Provider, headers: dict[str, str], pause: float) -> None:
    provider.answers = [(429, headers)]
    get = client("provider", max_block_seconds=50)
    assert [get(provider.url), get(provider.url), *times(provider)] == [429, 200, 0, pause]


def test_a_date_without_the_clock_of_the_provider(client: Open, provider: Provider) -> None:
    provider.answers = [(429, {"Retry-After": email.utils.formatdate(usegmt=True)})]
    get = client("provider", max_block_seconds=50)
    assert [get(provider.url), get(provider.url), *times(provider)] == [429, 200, 0, 10]


def test_other_answers_stop_nobody(client: Open, provider: Provider) -> None:
    provider.answers = [(202, {"Retry-After": "35"})]
    get = client("provider")
    assert [get(provider.url), get(provider.url), *times(provider)] == [202, 200, 0, 10]


def test_a_call_that_would_wait_too_long_is_not_sent(client: Open, provider: Provider) -> None:
    get = client("provider", wait=5)
    get(provider.url)
    with pytest.raises(of_functions.RateLimited, match='^denied by rule "provider": retry in 10 s$') as denied:
        get(provider.url)
    assert denied.value.retry_after == 10 and denied.value.decision is not None
    # An error of the library as well, which applications expect of a call.
    assert any(of.__name__ in ("TransportError", "RequestException") for of in type(denied.value).__mro__)
    assert times(provider) == [0]


def test_hosts_are_counted_apart(client: Open, provider: Provider) -> None:
    get = client("provider", wait=0)
    assert get(provider.url) == 200
    assert get(provider.url.replace("127.0.0.1", "localhost")) == 200


def test_keys_and_costs(client: Open, provider: Provider) -> None:
    get = client("6/minute", key=lambda request: request.method, cost=lambda request: 3 if "bulk" in str(request.url) else 1)
    assert [get(provider.url + path) for path in ("/bulk", "/bulk", "/one")] == [200] * 3
    assert times(provider) == [0, 0, 10]


def test_every_step_of_a_redirect_is_paced(client: Open, provider: Provider) -> None:
    provider.answers = [(302, {"Location": "/there"})]
    assert client("provider")(provider.url + "/here") == 200
    assert provider.asked == [("/here", 0), ("/there", 10)]


def test_what_makes_no_sense_is_refused(client: Open) -> None:
    for limits, options, kind, message in [
        (("unblockable",), {}, InvalidArgumentError, 'add "block": {} to the rule'),
        (("nobody",), {}, UnknownRuleError, 'no rule is called "nobody"'),
        ((), {}, InvalidArgumentError, "a limit is missing"),
        (("provider",), {"max_block_seconds": 0}, InvalidArgumentError, "max_block_seconds 0: must be above 0"),
        (("provider",), {"max_block_seconds": "1"}, TypeError, "max_block_seconds must be a number"),
        (("provider",), {"wait": math.nan}, InvalidArgumentError, "wait nan"),
        (("provider",), {"key": 5}, TypeError, "key must be a str or a function, not int"),
    ]:
        with pytest.raises(kind, match=message):
            client(*limits, **options)


def test_pacing_that_is_off(client: Open, provider: Provider) -> None:
    provider.answers = [(429, {"Retry-After": "35"})]
    get = client("provider", enabled=False)
    assert [get(provider.url) for _ in range(3)] == [429, 200, 200]
    assert times(provider) == [0, 0, 0]
