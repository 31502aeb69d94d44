"""One limit over two regions: one with a single server, one with a Cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from conftest import LOOPS

from sluicegate import AsyncRateLimiter, Check, Decision, InvalidArgumentError, RateLimiter

RULES: list[dict[str, Any]] = [
    {"rule_id": "all", "algorithm": "fixed_window", "limit": 10, "window_size_seconds": 86400, "global": {}},
]


@pytest.fixture
def regions(servers: dict[str, str]) -> dict[str, str]:
    return {"eu": servers["redis"], "us": servers["cluster"]}


# Of some of them the one region is in charge, of the others the other one.
KEYS = [f"together-{number}" for number in range(8)]
ITEMS = [Check("all", key) for key in KEYS]
ALL_BUT_ONE = [0 if key == KEYS[3] else 2 for key in KEYS]


def assert_together(decisions: list[Decision], denied: Decision) -> None:
    assert all(decisions)
    assert {decision.source for decision in decisions} == {"server"}
    assert [part.remaining for part in decisions[-1].parts] == [2] * len(KEYS)
    assert (denied.allowed, denied.rule) == (False, "all")
    assert [part.allowed for part in denied.parts] == [key != KEYS[3] for key in KEYS]


def options(regions: dict[str, str], region: str, prefix: str) -> dict[str, Any]:
    return {"rules": RULES, "regions": regions, "region": region, "prefix": prefix}


def test_blocking_limiters_share_one_limit(regions: dict[str, str], prefix: str) -> None:
    with RateLimiter("", **options(regions, "eu", prefix)) as here, RateLimiter("", **options(regions, "us", prefix)) as there:
        for number in range(8):
            decisions = [limiter.check("all", f"user-{number}") for limiter in (here, there) * 8]
            assert sum(map(bool, decisions)) == 10
            assert {decision.source for decision in decisions} <= {"server", "allotment"}
        assert (here.metrics()["region"], there.metrics()["region"]) == ("eu", "us")


def test_items_of_both_regions_are_charged_together_or_not_at_all(regions: dict[str, str], prefix: str) -> None:
    with RateLimiter("", **options(regions, "eu", prefix)) as here, RateLimiter("", **options(regions, "us", prefix)) as there:
        decisions = [limiter.check_all(ITEMS) for limiter in (here, there) * 4]
        assert here.check("all", KEYS[3], cost=2)
        assert_together(decisions, there.check_all(ITEMS))
        assert [there.peek("all", key).remaining for key in KEYS] == ALL_BUT_ONE


def run_on(loop: str, body: Callable[[], Awaitable[None]]) -> None:
    running = LOOPS[loop]()
    try:
        running.run_until_complete(body())
    finally:
        running.close()


@pytest.mark.parametrize("loop", LOOPS)
def test_tasks_charge_items_of_both_regions_together(loop: str, regions: dict[str, str], prefix: str) -> None:
    async def body() -> None:
        here = await AsyncRateLimiter.connect("", **options(regions, "eu", f"{prefix}-{loop}"))
        there = await AsyncRateLimiter.connect("", **options(regions, "us", f"{prefix}-{loop}"))
        decisions = [await limiter.check_all(ITEMS) for limiter in (here, there) * 4]
        assert await here.check("all", KEYS[3], cost=2)
        assert_together(decisions, await there.check_all(ITEMS))
        assert [(await there.peek("all", key)).remaining for key in KEYS] == ALL_BUT_ONE
        await asyncio.gather(here.close(), there.close())

    run_on(loop, body)


@pytest.mark.parametrize("loop", LOOPS)
def test_async_limiters_share_one_limit(loop: str, regions: dict[str, str], prefix: str) -> None:
    async def body() -> None:
        here = await AsyncRateLimiter.connect("", **options(regions, "eu", prefix))
        there = await AsyncRateLimiter.connect("", **options(regions, "us", prefix))
        for number in range(8):
            calls = (limiter.check("all", f"{loop}-{number}") for limiter in (here, there) * 20)
            assert sum(map(bool, await asyncio.gather(*calls))) == 10
            # One at a time, too.
            assert not await there.check("all", f"{loop}-{number}")
            assert not await here.check("all", f"{loop}-{number}")
        await asyncio.gather(here.close(), there.close())

    run_on(loop, body)


def test_a_region_that_is_cut_off_decides_by_its_part(regions: dict[str, str], prefix: str) -> None:
    gone = {**regions, "us": "redis://127.0.0.1:1"}
    parts = {"eu": 0.4, "us": 0.6}
    with RateLimiter("", **options(gone, "eu", prefix), region_parts=parts) as limiter:
        admitted: dict[str, set[int]] = {"server": set(), "share": set()}
        for number in range(20):
            decisions = [limiter.check("all", f"user-{number}") for _ in range(12)]
            (source,) = {decision.source for decision in decisions}
            admitted[source].add(sum(map(bool, decisions)))
        assert admitted == {"server": {10}, "share": {4}}


def test_regions_are_mappings(regions: dict[str, str]) -> None:
    with pytest.raises(TypeError, match="regions must be a mapping of names and texts"):
        RateLimiter("", rules=RULES, regions=["eu"], region="eu")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="region_parts must be a mapping of names and numbers"):
        RateLimiter("", rules=RULES, regions=regions, region="eu", region_parts={"eu": "half"})  # type: ignore[dict-item]
    with pytest.raises(InvalidArgumentError, match='region "asia" is not among regions'):
        RateLimiter("", rules=RULES, regions=regions, region="asia")
