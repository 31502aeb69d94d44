"""Tables of limiters at routes: against another package on Redis, and against a bare check in memory."""

from __future__ import annotations

from statistics import median

from figures import MANY, ONE, Results, added, figures, ratio, table
from slices import Slice

# What a limit may take beside another package's: of its requests per second, and of the processor time that it adds.
LEAST_PER_SECOND, MOST_ADDED = 1.0, 0.5
# What a route with a limit may cost of one with a bare check in the handler.
MOST_OF_BARE = 1.15


def against(results: Results, without: str, theirs: str) -> str:
    """Each application beside that with another package's limit. Applications after that one are ours."""
    names = list(results)
    rows = []
    for at, name in enumerate(names):
        is_ours = at > names.index(theirs)
        cells, misses = [name], []
        for in_flight in (ONE, MANY):
            rates, others = (figures(results, one, in_flight, _per_second) for one in (name, theirs))
            cells.append(f"{median(rates):,.0f}")
            cells.append(f"{ratio(rates, others):.2f}" if name != theirs else "")
            if is_ours and round(ratio(rates, others), 2) < LEAST_PER_SECOND:
                misses.append(f"requests with {in_flight}")
        for in_flight in (ONE, MANY):
            more, others = (added(results, one, without, in_flight) for one in (name, theirs))
            cells.append(f"{median(more):.1f}" if name != without else "")
            cells.append(f"{ratio(more, others):.2f}" if is_ours else "")
        if is_ours and round(ratio(more, others), 2) > MOST_ADDED:
            misses.append(f"processor time with {MANY}")
        rows.append([*cells, _verdict(misses) if is_ours else ""])
    return table(_head_against(theirs), rows)


def _head_against(theirs: str) -> list[str]:
    of_theirs = f"to {theirs}"
    rates = [cell for number in (ONE, MANY) for cell in (f"{number} in flight: requests/s", of_theirs)]
    times = [cell for number in (ONE, MANY) for cell in (f"{number}: adds, us", of_theirs)]
    return ["", *rates, *times, "targets"]


def beside(results: Results, without: str, bare: str) -> str:
    """Each application beside one with a bare check in the handler, in time per request."""
    rows = []
    for name in results:
        cells, misses = [name], []
        for in_flight in (ONE, MANY):
            rates, others = (figures(results, one, in_flight, _per_second) for one in (name, bare))
            cost = ratio(others, rates)
            cells += [f"{median(rates):,.0f}", f"{cost:.2f}" if name != bare else ""]
            if round(cost, 2) > MOST_OF_BARE:
                misses.append(f"{in_flight} in flight")
        more = added(results, name, without, MANY)
        cells.append(f"{median(more):.1f}" if name != without else "")
        rows.append([*cells, _verdict(misses) if name not in (without, bare) else ""])
    rates_head = [cell for number in (ONE, MANY) for cell in (f"{number} in flight: requests/s", "time to a bare check")]
    return table(["", *rates_head, f"{MANY}: adds, us", "targets"], rows)


def _per_second(one: Slice) -> float:
    return one.per_second


def _verdict(misses: list[str]) -> str:
    return f"NOT MET: {', '.join(misses)}" if misses else "met"
