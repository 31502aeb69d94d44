"""What a limiter counts, as Prometheus' own parser reads it."""

import asyncio
import re
from pathlib import Path

import pytest
import sluicegate
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families
from sluicegate.prometheus import LimiterCollector

RULES = [{"rule_id": "api", "rate": "2/hour"}]


def samples(text: str) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    families = text_string_to_metric_families(text)
    return {(sample.name, frozenset(sample.labels.items())): sample.value for family in families for sample in family.samples}


def decisions(text: str, rule: str, result: str) -> float:
    labels = frozenset({"rule": rule, "result": result, "source": "memory"}.items())
    return samples(text).get(("sluicegate_decisions_total", labels), 0)


def test_the_parser_of_prometheus_reads_it() -> None:
    limiter = sluicegate.RateLimiter("memory://", rules=RULES)
    for _ in range(3):
        limiter.check("api", "a key")
    text = limiter.prometheus()
    assert (decisions(text, "api", "admitted"), decisions(text, "api", "denied")) == (2, 1)
    assert samples(text)["sluicegate_round_trip_seconds_count", frozenset()] == 0
    assert samples(text)["sluicegate_rules_version", frozenset({("version", limiter.rules_status().version)})] == 1
    assert "a key" not in text


def test_an_asyncio_limiter_counts_too() -> None:
    async def run() -> str:
        async with await sluicegate.AsyncRateLimiter.connect("memory://", rules=RULES) as limiter:
            await limiter.check("api", "k")
            return limiter.prometheus()

    assert decisions(asyncio.run(run()), "api", "admitted") == 1


def test_a_registry_collects_it() -> None:
    registry = CollectorRegistry()
    limiter = sluicegate.RateLimiter("memory://", rules=RULES)
    registry.register(LimiterCollector(limiter))
    for _ in range(3):
        limiter.check("api", "a key")
    labels = {"rule": "api", "result": "denied", "source": "memory"}
    assert registry.get_sample_value("sluicegate_decisions_total", labels) == 1
    assert samples(generate_latest(registry).decode()) == samples(limiter.prometheus())
    with pytest.raises(ValueError, match="sluicegate_decisions"):
        registry.register(LimiterCollector(limiter))


def test_a_registry_collects_several_limiters_until_they_are_unregistered() -> None:
    registry = CollectorRegistry()
    limiters = {"web": sluicegate.RateLimiter("memory://", rules=RULES)}
    collector = LimiterCollector(limiters)
    registry.register(collector)
    limiters["jobs"] = sluicegate.RateLimiter("memory://", rules=RULES)
    for name, limiter in limiters.items():
        for _ in range(len(name)):
            limiter.check("api", "k")
    text = generate_latest(registry).decode()
    counted = {
        (labels["limiter"], labels["result"]): value
        for (name, found), value in samples(text).items()
        if name == "sluicegate_decisions_total" and (labels := dict(found))
    }
    assert counted == {("web", "admitted"): 2, ("web", "denied"): 1, ("jobs", "admitted"): 2, ("jobs", "denied"): 2}
    # A family may be there once only.
    kinds = re.findall(r"# TYPE (\S+) (\S+)", text)
    assert len(dict(kinds)) == len(kinds)
    assert ("sluicegate_round_trip_seconds", "histogram") in kinds
    buckets = [found for name, found in samples(text) if name == "sluicegate_round_trip_seconds_bucket"]
    assert sum(("le", "+Inf") in found for found in buckets) == 2
    registry.unregister(collector)
    assert generate_latest(registry) == b""
    registry.register(LimiterCollector(limiters["web"]))


def test_alerts_name_what_is_served() -> None:
    alerts = (Path(__file__).parents[2] / "docs/operations/alerts.yml").read_text(encoding="utf-8")
    families = re.findall(r"# TYPE (\S+)", sluicegate.RateLimiter("memory://", rules=RULES).prometheus())
    named = {name.removesuffix("_bucket") for name in re.findall(r"sluicegate_\w+", alerts)}
    assert len(named) == 5
    assert named <= set(families)


def test_metrics_are_plain_values() -> None:
    with sluicegate.RateLimiter("memory://", rules=RULES, top_denied=1) as limiter:
        for _ in range(3):
            limiter.check("api", "a key")
        metrics = limiter.metrics()
    assert metrics["rules"] == {
        "api": {
            "decisions": {"memory": {"admitted": 2, "denied": 1, "shadow_denied": 0, "blocked": 0, "error": 0}},
            "cost": 2,
            "waiting": 0,
            "loans": {"asked": 0, "granted": 0, "spent": 0, "given_back": 0, "lost": 0},
            "top_denied": [{"key": "a key", "denied": 1, "overstated": 0}],
        }
    }
    assert (metrics["servers"], metrics["rules_refusals"], metrics["region"]) == ({}, 0, None)
    assert (metrics["errors"]["Timeout"], metrics["rules_version"]) == (0, limiter.rules_status().version)


def test_metrics_of_servers(redis_url: str) -> None:
    async def run() -> sluicegate.Metrics:
        async with sluicegate.AsyncRateLimiter.connect(redis_url, rules=RULES) as limiter:
            await limiter.check("api", "k")
            return limiter.metrics()

    metrics = asyncio.run(run())
    assert list(metrics["servers"].values()) == [{"breaker_open": False, "breaker_openings": 0}]
    trips = metrics["round_trips"]
    assert trips["count"] >= 1 and trips["sum"] > 0
    bounds = [bucket["at_most"] for bucket in trips["buckets"]]
    assert (bounds[0], bounds[-1], bounds) == (0.00005, 1.0, sorted(bounds))


def test_too_many_keys_to_tell_of() -> None:
    with pytest.raises(sluicegate.InvalidArgumentError, match="top_denied"):
        sluicegate.RateLimiter("memory://", rules=RULES, top_denied=101)
