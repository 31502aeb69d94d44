"""What benchmarks measure, turn by turn."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median, quantiles


@dataclass(frozen=True)
class Slice:
    """One contender's part of a round: its calls, such as checks or requests."""

    calls: int
    seconds: float
    processor_time: float
    # Of each call, in seconds, where they are measured.
    latencies: list[float] = field(default_factory=list)

    @property
    def per_second(self) -> float:
        return self.calls / self.seconds

    @property
    def cost(self) -> float:
        """Processor time per call, in microseconds, which is also seconds per million calls."""
        return self.processor_time / self.calls * 1e6

    @property
    def p50(self) -> float:
        """In microseconds."""
        return median(self.latencies) * 1e6

    @property
    def p99(self) -> float:
        """In microseconds."""
        return quantiles(self.latencies, n=100)[98] * 1e6
