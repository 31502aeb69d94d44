"""What a slice of an application's time shows, and tables of it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import median

sys.path.append(str(Path(__file__).parents[1]))

from slices import Slice  # noqa: E402

IN_FLIGHT = (1, 64)
ONE, MANY = IN_FLIGHT


# By the application and the requests in flight; one slice a round.
Results = dict[str, dict[int, list[Slice]]]


def added(results: Results, name: str, without: str, in_flight: int) -> list[float]:
    """What the limiter adds to the cost of a request, round by round."""
    pairs = zip(results[name][in_flight], results[without][in_flight], strict=True)
    return [limited.cost - free.cost for limited, free in pairs]


def ratio(ours: Iterable[float], theirs: Iterable[float]) -> float:
    """The median of the ratios within the rounds."""
    return median(own / other for own, other in zip(ours, theirs, strict=True))


def figures(results: Results, name: str, in_flight: int, figure: Callable[[Slice], float]) -> list[float]:
    """One figure of all slices."""
    return [figure(one) for one in results[name][in_flight]]


def table(head: list[str], rows: list[list[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
