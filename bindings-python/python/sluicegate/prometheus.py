"""A collector for prometheus_client: what limiters count, beside the metrics of the application."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ._routes.needed import needed

with needed("prometheus_client", "prometheus"):
    from prometheus_client.metrics_core import Metric
    from prometheus_client.parser import text_string_to_metric_families
    from prometheus_client.registry import Collector

from . import AsyncRateLimiter, RateLimiter
from ._named import named

__all__ = ["LimiterCollector"]


class LimiterCollector(Collector):
    """Collects what limiters count: `REGISTRY.register(LimiterCollector(limiter))`.

    A registry takes one collector of these names. Give it a dict of all limiters: their names are the label `limiter`. Limiters
    that are added to the dict later are collected too. Does no I/O.
    """

    def __init__(
        self, limiters: RateLimiter | AsyncRateLimiter | Mapping[str, RateLimiter | AsyncRateLimiter]
    ) -> None:
        self._limiters = limiters

    def collect(self) -> Iterator[Metric]:
        """Yields the metric families of `prometheus()`, each with the samples of all limiters."""
        families: dict[str, Metric] = {}
        for labels, limiter in named(self._limiters):
            for family in text_string_to_metric_families(limiter.prometheus()):
                samples = [sample._replace(labels={**labels, **sample.labels}) for sample in family.samples]
                family.samples = [*families.get(family.name, Metric(family.name, "", "unknown")).samples, *samples]
                families[family.name] = family
        yield from families.values()

    def describe(self) -> Iterable[Metric]:
        """Yields the same families: a registry learns their names when the collector is registered."""
        return self.collect()
