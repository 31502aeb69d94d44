"""OpenTelemetry: what limiters count, as instruments of a meter."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from weakref import WeakSet

from ._routes.needed import needed

with needed("opentelemetry-sdk", "opentelemetry"):
    from opentelemetry.metrics import MeterProvider, Observation, get_meter_provider
    from opentelemetry.sdk.metrics.export import (
        AggregationTemporality,
        Histogram,
        HistogramDataPoint,
        Metric,
        MetricExporter,
        MetricExportResult,
        MetricsData,
        ScopeMetrics,
    )
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from ._named import named

if TYPE_CHECKING:
    from . import AsyncRateLimiter, Metrics, RateLimiter
    from ._metrics import RoundTrips
    from ._named import Limiters

__all__ = ["RoundTripExporter", "observe"]

_SCOPE = "sluicegate"
# Counts begin with 0 in each process.
_BEGAN = time.time_ns()

_Observed = Iterator[tuple[int, dict[str, str]]]


def _decisions(metrics: Metrics) -> _Observed:
    for rule, counted in metrics["rules"].items():
        for source, results in counted["decisions"].items():
            for result, count in cast("dict[str, int]", results).items():
                # As in `prometheus()`.
                if count > 0:
                    yield count, {"rule": rule, "result": result, "source": source}


def _cost(metrics: Metrics) -> _Observed:
    return ((counted["cost"], {"rule": rule}) for rule, counted in metrics["rules"].items())


def _fallback_admitted(metrics: Metrics) -> _Observed:
    for rule, counted in metrics["rules"].items():
        decided = counted["decisions"].get("fallback")
        yield (decided["admitted"] if decided else 0), {"rule": rule}


def _waiting(metrics: Metrics) -> _Observed:
    return ((counted["waiting"], {"rule": rule}) for rule, counted in metrics["rules"].items())


def _loans(metrics: Metrics) -> _Observed:
    for rule, counted in metrics["rules"].items():
        for what, units in cast("dict[str, int]", counted["loans"]).items():
            if units > 0:
                yield units, {"rule": rule, "what": what}


def _errors(metrics: Metrics) -> _Observed:
    return ((count, {"kind": kind}) for kind, count in metrics["errors"].items())


def _breaker_open(metrics: Metrics) -> _Observed:
    return ((int(server["breaker_open"]), {"server": address}) for address, server in metrics["servers"].items())


def _breaker_openings(metrics: Metrics) -> _Observed:
    return ((server["breaker_openings"], {"server": address}) for address, server in metrics["servers"].items())


def _rules_version(metrics: Metrics) -> _Observed:
    yield 1, {"version": metrics["rules_version"]}


def _region(metrics: Metrics) -> _Observed:
    if metrics["region"] is not None:
        yield 1, {"region": metrics["region"]}


class _Instrument(NamedTuple):
    name: str
    kind: str
    unit: str
    description: str
    observed: Callable[[Metrics], _Observed]


_INSTRUMENTS = [
    _Instrument("decisions", "counter", "{request}", "Checks by rule, result and who decided.", _decisions),
    _Instrument("cost", "counter", "{unit}", "What admitted checks have cost.", _cost),
    _Instrument("fallback.admitted", "counter", "{request}", "Checks that the fallback admitted.", _fallback_admitted),
    _Instrument("waiting", "up_down_counter", "{call}", "Calls that wait for room.", _waiting),
    _Instrument("loan.units", "counter", "{unit}", "Units that servers and other regions lend, by what became of them.", _loans),
    _Instrument("errors", "counter", "{error}", "Calls that ended with an error, by its kind.", _errors),
    _Instrument("breaker.open", "gauge", "1", "Whether the circuit breaker of a server is open.", _breaker_open),
    _Instrument("breaker.openings", "counter", "{opening}", "How often circuit breakers have opened.", _breaker_openings),
    _Instrument("rules.version", "gauge", "1", "The version of the rules in force, as an attribute.", _rules_version),
    _Instrument("region", "gauge", "1", "The region of the limiter, as an attribute.", _region),
]

# A meter takes the callbacks of the first instrument of a name, and ignores those of a second one.
_OBSERVING: WeakSet[MeterProvider] = WeakSet()


def observe(
    limiters: RateLimiter | AsyncRateLimiter | Mapping[str, RateLimiter | AsyncRateLimiter],
    meter_provider: MeterProvider | None = None,
) -> None:
    """Makes instruments of what limiters count: `sluicegate.decisions` and others, observed whenever metrics are collected.

    Call it once for each meter provider, with a limiter, or with a dict of several: their names are the attribute `limiter`.
    Limiters that are added to the dict later are observed too. Does no I/O. `meter_provider`: default is the global one.

    How long servers took to answer is not among them, since no instrument takes a histogram that is complete: `RoundTripExporter`
    exports it.
    """
    provider = meter_provider or get_meter_provider()
    if provider in _OBSERVING:
        raise ValueError("this meter provider has limiters already: name all of them in one dict, to which more can be added")
    _OBSERVING.add(provider)
    meter = provider.get_meter(_SCOPE)
    for instrument in _INSTRUMENTS:
        create = getattr(meter, f"create_observable_{instrument.kind}")
        callback = _callback(limiters, instrument.observed)
        create(f"sluicegate.{instrument.name}", [callback], instrument.unit, instrument.description)


def _callback(limiters: Limiters, observed: Callable[[Metrics], _Observed]) -> Callable[[object], Iterator[Observation]]:
    def observations(_options: object) -> Iterator[Observation]:
        for labels, limiter in named(limiters):
            for value, attributes in observed(limiter.metrics()):
                yield Observation(value, {**labels, **attributes})

    return observations


class RoundTripExporter(MetricExporter):
    """Exports `sluicegate.round_trip.duration` by another exporter, together with all that a reader collects.

    `PeriodicExportingMetricReader(RoundTripExporter(OTLPMetricExporter(), limiters))`. The histogram is the limiter's own, with
    its buckets, and cumulative. It has no minimum and no maximum, which limiters do not keep.
    """

    def __init__(
        self,
        exporter: MetricExporter,
        limiters: RateLimiter | AsyncRateLimiter | Mapping[str, RateLimiter | AsyncRateLimiter],
    ) -> None:
        # A reader asks its exporter for them.
        super().__init__(exporter._preferred_temporality, exporter._preferred_aggregation)
        self._exporter = exporter
        self._limiters = limiters

    def export(self, metrics_data: MetricsData, timeout_millis: float = 10_000, **kwargs: Any) -> MetricExportResult:
        """Exports what was collected, and the round trips."""
        first, *others = metrics_data.resource_metrics
        own = ScopeMetrics(InstrumentationScope(_SCOPE), [self._round_trips()], "")
        with_own = replace(first, scope_metrics=[*first.scope_metrics, own])
        return self._exporter.export(MetricsData([with_own, *others]), timeout_millis, **kwargs)

    def _round_trips(self) -> Metric:
        points = [_point(limiter.metrics()["round_trips"], labels) for labels, limiter in named(self._limiters)]
        data = Histogram(points, AggregationTemporality.CUMULATIVE)
        return Metric("sluicegate.round_trip.duration", "How long servers took to answer.", "s", data)

    def force_flush(self, timeout_millis: float = 10_000) -> bool:
        """Flushes the other exporter."""
        return self._exporter.force_flush(timeout_millis)

    def shutdown(self, timeout_millis: float = 30_000, **kwargs: Any) -> None:
        """Shuts the other exporter down."""
        self._exporter.shutdown(timeout_millis, **kwargs)


def _point(trips: RoundTrips, attributes: dict[str, str]) -> HistogramDataPoint:
    up_to = [bucket["count"] for bucket in trips["buckets"]] + [trips["count"]]
    return HistogramDataPoint(
        attributes=attributes,
        start_time_unix_nano=_BEGAN,
        time_unix_nano=time.time_ns(),
        count=trips["count"],
        sum=trips["sum"],
        bucket_counts=[count - before for before, count in zip([0, *up_to], up_to, strict=False)],
        explicit_bounds=[bucket["at_most"] for bucket in trips["buckets"]],
        # Not known, which the protocol allows.
        min=cast("float", None),
        max=cast("float", None),
    )
