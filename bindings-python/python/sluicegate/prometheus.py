"""A collector for prometheus_client: what limiters count, beside the metrics of the application."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ._routes.needed import needed

with needed("prometheus_client", "prometheus"):
    from prometheus_client.metrics_core import Metric
    from prometheus_client.parser import text_string_to_metric_families
    from prometheus_client.registry import Collector

from . import AsyncRateLimiter, RateLimiter

__all__ = ["LimiterCollector"]


class LimiterCollector(Collector):
    """Collects what a limiter counts: `REGISTRY.register(LimiterCollector(limiter))`.

    Does no I/O. A registry takes one collector of these names: two limiters of one process need a registry each.
    """

    def __init__(self, limiter: RateLimiter | AsyncRateLimiter) -> None:
        self._limiter = limiter

    def collect(self) -> Iterator[Metric]:
        """Yields the metric families of `prometheus()`."""
        yield from text_string_to_metric_families(self._limiter.prometheus())

    def describe(self) -> Iterable[Metric]:
        """Yields the same families: a registry learns their names when the collector is registered."""
        return self.collect()
