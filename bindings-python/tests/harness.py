"""One way to drive both limiters, so that every test runs on both."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

from sluicegate import AsyncRateLimiter, Check, RateLimiter

# Longer than anything takes here; a call that hangs must not hang the tests.
LONGEST_WAIT = 30


class Blocking:
    """The limiter for threads, as it is."""

    runner = "Python sync"

    def __init__(self, url: str, **options: Any) -> None:
        self._limiter = RateLimiter(url, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._limiter, name)

    def finish(self) -> None:
        self._limiter.close()


class Asyncio:
    """The limiter for asyncio, on a loop that runs while a call does."""

    runner = "Python async"

    def __init__(self, url: str, **options: Any) -> None:
        self._loop = asyncio.new_event_loop()
        try:
            self._limiter = self._run(self._connect(url, options))
        except BaseException:
            self._loop.close()
            raise

    @staticmethod
    async def _connect(url: str, options: dict[str, Any]) -> AsyncRateLimiter:
        return await AsyncRateLimiter.connect(url, **options)

    def _run(self, call: Any) -> Any:
        return self._loop.run_until_complete(asyncio.wait_for(call, LONGEST_WAIT))

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._limiter, name)

        def call(*arguments: Any, **options: Any) -> Any:
            answer = method(*arguments, **options)
            return self._run(answer) if inspect.isawaitable(answer) else answer

        return call

    def finish(self) -> None:
        self._run(self._limiter.close())
        self._loop.close()


Driver = Blocking | Asyncio
DRIVERS = [Blocking, Asyncio]

# What a vector says beside the arguments of its call.
BESIDE = {"id", "note", "only", "why", "url", "rules", "rules_file", "options", "closed", "op", "at_us", "expect", "instead"}
BESIDE |= {"as", "reserve", "change"}
TIMES = {"connect_timeout", "response_timeout", "timeout", "breaker_probe", "remember_denials", "replica_timeout", "wait"}


def make(limiter: Driver, vector: dict[str, Any]) -> Any:
    """Makes the call that a vector names, with the arguments that it states."""
    arguments = {name: value for name, value in vector.items() if name not in BESIDE}
    call = getattr(limiter, vector["op"])
    if "request" in arguments:
        return call(**arguments["request"])
    if "items" in arguments:
        items = arguments.pop("items")
        return call([item(each) for each in items] if isinstance(items, list) else items, **in_seconds(arguments))
    if vector["op"] == "commit" and "costs" in arguments:
        arguments["cost"] = arguments.pop("costs")
    # That of a check is an option.
    limit = ["limit"] if vector["op"] == "set_limit" else []
    about = [arguments.pop(name) for name in ("rule", "key", "reservation", "seconds", *limit) if name in arguments]
    return call(*about, **in_seconds(arguments))


def item(fields: Any) -> Any:
    """What is no object is the mistake."""
    if not isinstance(fields, dict):
        return fields
    options = {name: value for name, value in fields.items() if name not in ("rule", "key")}
    return Check(fields["rule"], fields["key"], **in_seconds(options))


def in_seconds(options: dict[str, Any]) -> dict[str, Any]:
    """Times are in microseconds in the vectors, and in seconds here; what is no number is the mistake."""

    def converted(name: str, value: Any) -> Any:
        return value / 1_000_000 if name in TIMES and isinstance(value, int) else value

    return {name: converted(name, value) for name, value in options.items()}
