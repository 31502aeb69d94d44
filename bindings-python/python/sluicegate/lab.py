"""What rules let through: traffic in virtual time, sent through the real engine.

    from sluicegate import lab

    rules = lab.compare("fixed_window", "sliding_log", "gcra", limit=10, window=10)
    result = lab.run(rules, "edge:size=20,window=10s,for=1m")
    print(result["fixed_window"].worst_ratio)  # 2.0
    result.plot()  # with matplotlib: pip install sluicegate[plot]
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from math import inf
from os import PathLike
from typing import Any

from ._native import LabReport as _LabReport
from ._native import lab_compare, lab_run
from .errors import InvalidArgumentError

__all__ = ["Result", "Strategy", "compare", "run"]

_MICROSECONDS = 1_000_000
# The columns of decisions, and the types of their numbers as the module `struct` has them.
_COLUMNS = {"time": "d", "key": "I", "cost": "Q", "admitted": "?", "remaining": "Q", "retry_after": "d"}


def compare(*algorithms: str, limit: int, window: float) -> list[dict[str, Any]]:
    """Rules that keep one limit of `limit` per `window` seconds, one for each algorithm, named after it."""
    rules: list[dict[str, Any]] = json.loads(lab_compare(list(algorithms), limit, _micros(window)))
    return rules


def run(
    rules: str | PathLike[str] | Iterable[dict[str, Any]] | dict[str, Any],
    traffic: str | Iterable[str] | Iterable[tuple[float, str] | tuple[float, str, int] | tuple[float, str, int, float]],
    *,
    seed: int = 1,
    bin: float | None = None,
    start: float | None = None,
    processes: int = 10,
) -> Result:
    """Sends the same traffic through every rule, each alone, in virtual time.

    `traffic` is a spec such as `"poisson:rate=100/s,keys=1000,for=1h"`, several of them, or an iterable of calls: time
    in seconds since the beginning, key, cost if it is not 1, and for rules of `concurrency` how many seconds the call takes
    (`duration=` of a spec). `seed` fixes what is random; `bin` is the width of a
    bin in seconds; `start` is when virtual time begins, in seconds since 1970. Of each rule with `lease`, so many `processes` borrow, evenly
    and unevenly busy, as strategies of their own: `-even` and `-skewed` after the rule's name.
    """
    if isinstance(traffic, str):
        traffic = [traffic]
    given = list(traffic)
    specs = [spec for spec in given if isinstance(spec, str)]
    calls = None if specs else [_call(call) for call in given]
    if specs and len(specs) != len(given):
        raise TypeError("traffic is either specs or calls, not both")
    if not isinstance(rules, (str, dict, PathLike)):
        rules = list(rules)
    native = lab_run(
        rules,
        specs or None,
        calls,
        seed,
        None if bin is None else _micros(bin),
        None if start is None else _micros(start),
        processes,
    )
    return Result(native)


def _call(call: Any) -> tuple[int, str, int, int | None]:
    given: tuple[Any, ...] = tuple(call)
    if not 2 <= len(given) <= 4:
        forms = "(time, key), (time, key, cost) or (time, key, cost, duration)"
        raise InvalidArgumentError(f"call {given!r} has to be {forms}")
    time, key, cost, duration = given + (1, None)[len(given) - 2 :]
    return _micros(time), key, cost, None if duration is None else _micros(duration)


def _micros(seconds: float) -> int:
    if not 0 <= seconds < inf:
        raise InvalidArgumentError(f"{seconds!r} is no time: it has to be seconds from 0 on")
    return round(seconds * _MICROSECONDS)


class Strategy:
    """What one rule let through.

    Columns have one entry per decision and are buffers that `numpy.asarray` takes as they are: `time` in seconds since
    the beginning, `key` as an index into `keys`, `cost`, `admitted`, `remaining` and `retry_after` in seconds.
    """

    def __init__(self, native: _LabReport, number: int, figures: dict[str, Any], keys: list[str]) -> None:
        self._native, self._number = native, number
        self.figures = figures
        self.keys = keys
        self.name: str = figures["rule"]
        self.algorithm: str = figures["algorithm"]

    def __getattr__(self, name: str) -> Any:
        if name not in _COLUMNS:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        column = memoryview(self._native.column(self._number, name)).cast(_COLUMNS[name])  # type: ignore[call-overload]
        # Made once: columns may be long.
        self.__dict__[name] = column
        return column

    @property
    def worst_ratio(self) -> float:
        """The most that was admitted in any window, over all its positions, divided by the limit.

        Under `concurrency`: the most that was under way at once.
        """
        return max((limit["worst"]["ratio"] for limit in self.figures["limits"]), default=0.0)

    @property
    def jain(self) -> float | None:
        """Jain's index of what keys were admitted."""
        jain: float | None = self.figures["jain"]
        return jain

    @property
    def bins(self) -> dict[str, list[float]]:
        """Per bin: `admitted`, `denied`, `cost`, and `fullest`, the fullest window (or what was under way) by the limit."""
        bins: dict[str, list[float]] = self.figures["bins"]
        return bins

    def __repr__(self) -> str:
        admitted, denied = self.figures["admitted"], self.figures["denied"]
        return f"<Strategy {self.name}: {admitted} admitted, {denied} denied, fullest window {self.worst_ratio:.2f}x>"


class Result:
    """What a run showed: strategies by the names of their rules."""

    def __init__(self, native: _LabReport) -> None:
        self._native = native
        self.figures: dict[str, Any] = json.loads(native.json())
        strategies = enumerate(self.figures["strategies"])
        keys = native.keys
        self.strategies = {it["rule"]: Strategy(native, number, it, keys) for number, it in strategies}

    def __getitem__(self, name: str) -> Strategy:
        return self.strategies[name]

    def __iter__(self) -> Iterator[Strategy]:
        return iter(self.strategies.values())

    def __len__(self) -> int:
        return len(self.strategies)

    def __repr__(self) -> str:
        return "\n".join(repr(strategy) for strategy in self)

    @property
    def bin(self) -> float:
        """The width of a bin in seconds."""
        return float(self.figures["bin_us"]) / _MICROSECONDS

    @property
    def length(self) -> float:
        """The length of the run in seconds."""
        return float(self.figures["length_us"]) / _MICROSECONDS

    def svg(self, picture: str = "raster") -> str:
        """A picture: `raster`, `admitted`, `windows`, `cumulative`, `excess`, `waits` or `fairness`."""
        return self._native.svg(picture)

    def html(self) -> str:
        """The page with all pictures; it needs nothing from anywhere else."""
        return self._native.html()

    def _repr_html_(self) -> str:
        return "" if not any(it.figures["matched"] for it in self) else self.svg()

    def plot(self) -> Any:
        """A figure of matplotlib: what was admitted and denied, and how full windows were."""
        try:
            from matplotlib import pyplot
        except ImportError as error:
            raise ImportError("plot() needs matplotlib: pip install sluicegate[plot]") from error

        rows = max(len(self), 1)
        figure, axes = pyplot.subplots(
            rows, 2, figsize=(11, 1 + 1.3 * rows), sharex=True, sharey="col", squeeze=False, layout="constrained"
        )
        # A bin may be narrower than a pixel: without a line around it, matplotlib leaves some bars out.
        bars: dict[str, Any] = {"width": self.bin, "align": "edge", "linewidth": 0.8}
        blue, orange = ({"color": color, "edgecolor": color, **bars} for color in ("#0072b2", "#d55e00"))
        for (calls, windows), strategy in zip(axes, self, strict=False):
            times = [number * self.bin for number in range(len(strategy.bins["admitted"]))]
            denied = [-count for count in strategy.bins["denied"]]
            calls.bar(times, strategy.bins["admitted"], label="admitted", **blue)
            calls.bar(times, denied, label="denied", **orange)
            calls.axhline(0, color="0.5", linewidth=0.8)
            calls.set_ylabel(strategy.name, rotation=0, ha="right", va="center")
            windows.bar(times, strategy.bins["fullest"], **blue)
            windows.axhline(1, color="black", linestyle="--", linewidth=1)
        axes[0][0].set_title("calls per bin, denied below the line")
        axes[0][1].set_title("fullest window / limit")
        axes[0][0].legend(loc="upper right", fontsize="small")
        for axis in axes[-1]:
            axis.set_xlabel("seconds")
        return figure
