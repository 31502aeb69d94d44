"""What a limiter counts, as the SDK of OpenTelemetry collects and exports it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry.exporter.otlp.proto.common.metrics_encoder import encode_metrics
from opentelemetry.sdk.metrics import Counter, MeterProvider
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    InMemoryMetricReader,
    Metric,
    MetricExporter,
    MetricExportResult,
    MetricsData,
    PeriodicExportingMetricReader,
)

from sluicegate import RateLimiter
from sluicegate.opentelemetry import RoundTripExporter, observe

RULES = [{"rule_id": "api", "rate": "2/hour"}]


@pytest.fixture
def reader() -> Iterator[tuple[InMemoryMetricReader, MeterProvider]]:
    reader = InMemoryMetricReader()
    provider = MeterProvider([reader])
    yield reader, provider
    provider.shutdown()


def metrics_of(data: MetricsData | None) -> dict[str, Metric]:
    assert data is not None
    scopes = [scope for resource in data.resource_metrics for scope in resource.scope_metrics]
    assert {scope.scope.name for scope in scopes} <= {"sluicegate", "application"}
    return {metric.name: metric for scope in scopes for metric in scope.metrics}


def points(metric: Metric) -> dict[tuple[Any, ...], float]:
    return {tuple(point.attributes.values()): point.value for point in metric.data.data_points}


def test_decisions_are_a_counter(reader: tuple[InMemoryMetricReader, MeterProvider]) -> None:
    limiter = RateLimiter("memory://", rules=RULES)
    observe(limiter, reader[1])
    for _ in range(3):
        limiter.check("api", "a key")
    found = metrics_of(reader[0].get_metrics_data())
    decisions = found["sluicegate.decisions"]
    assert (decisions.unit, decisions.data.is_monotonic) == ("{request}", True)
    assert {tuple(point.attributes) for point in decisions.data.data_points} == {("rule", "result", "source")}
    assert points(decisions) == {("api", "admitted", "memory"): 2, ("api", "denied", "memory"): 1}
    # It is the whole count each time, and not added to that of before.
    limiter.check("api", "a key")
    assert points(metrics_of(reader[0].get_metrics_data())["sluicegate.decisions"])["api", "denied", "memory"] == 2
    assert points(found["sluicegate.cost"]) == {("api",): 2}
    assert points(found["sluicegate.waiting"]) == {("api",): 0}
    assert points(found["sluicegate.fallback.admitted"]) == {("api",): 0}
    assert points(found["sluicegate.errors"])["Timeout",] == 0
    assert points(found["sluicegate.rules.version"]) == {(limiter.rules_status().version,): 1}
    assert "a key" not in str(found)


def test_servers_that_are_away(reader: tuple[InMemoryMetricReader, MeterProvider]) -> None:
    with RateLimiter("redis://127.0.0.1:1", rules=RULES, fallback="allow") as limiter:
        observe(limiter, reader[1])
        for _ in range(6):
            limiter.check("api", "k")
        found = metrics_of(reader[0].get_metrics_data())
    assert points(found["sluicegate.breaker.open"]) == {("127.0.0.1:1",): 1}
    assert points(found["sluicegate.breaker.openings"]) == {("127.0.0.1:1",): 1}
    assert points(found["sluicegate.fallback.admitted"]) == {("api",): 6}


def test_several_limiters_are_told_apart(reader: tuple[InMemoryMetricReader, MeterProvider]) -> None:
    limiters = {"web": RateLimiter("memory://", rules=RULES)}
    observe(limiters, reader[1])
    with pytest.raises(ValueError, match="one dict"):
        observe(RateLimiter("memory://", rules=RULES), reader[1])
    limiters["jobs"] = RateLimiter("memory://", rules=RULES)
    for _ in range(3):
        limiters["jobs"].check("api", "k", cost=2)
    found = metrics_of(reader[0].get_metrics_data())
    assert points(found["sluicegate.cost"]) == {("web", "api"): 0, ("jobs", "api"): 2}


class Collected(MetricExporter):
    """Keeps what is exported."""

    def __init__(self) -> None:
        super().__init__({Counter: AggregationTemporality.DELTA})
        self.exports: list[MetricsData] = []
        self.is_shut_down = False

    def export(self, metrics_data: MetricsData, timeout_millis: float = 10_000, **_: Any) -> MetricExportResult:
        self.exports.append(metrics_data)
        return MetricExportResult.SUCCESS

    def force_flush(self, timeout_millis: float = 10_000) -> bool:
        return True

    def shutdown(self, timeout_millis: float = 30_000, **_: Any) -> None:
        self.is_shut_down = True


def test_round_trips_are_exported_as_the_histogram_that_they_are(redis_url: str) -> None:
    exporter = Collected()
    with RateLimiter(redis_url, rules=RULES) as limiter:
        reader = PeriodicExportingMetricReader(RoundTripExporter(exporter, limiter), export_interval_millis=3_600_000)
        provider = MeterProvider([reader])
        observe(limiter, provider)
        own = provider.get_meter("application").create_counter("own")
        for _ in range(5):
            limiter.check("api", "k")
            own.add(1)
            provider.force_flush()
        provider.shutdown()
        trips = limiter.metrics()["round_trips"]
    assert exporter.is_shut_down
    found = metrics_of(exporter.exports[4])
    histogram = found["sluicegate.round_trip.duration"]
    (point,) = histogram.data.data_points
    assert (histogram.unit, histogram.data.aggregation_temporality) == ("s", AggregationTemporality.CUMULATIVE)
    assert (point.count, sum(point.bucket_counts), point.sum) == (trips["count"], trips["count"], trips["sum"])
    assert (len(point.explicit_bounds), len(point.bucket_counts)) == (14, 15)
    # What the other exporter prefers holds for the rest.
    assert points(found["own"]) == {(): 1}
    sent = encode_metrics(exporter.exports[4]).SerializeToString()
    assert b"sluicegate.round_trip.duration" in sent
