"""What each algorithm may admit while windows pass, judged from the answers that the workers got.

When a decision was made is known to lie between two times. A check here fails only if the bound was broken wherever
between them each decision was made, so a slow machine cannot make it fail.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable

from fleet import Report

# Sums of doubles.
ROUNDING = 1e-6


def cost(reports: Iterable[Report]) -> int:
    return sum(report.cost for report in reports)


def admitted(reports: Iterable[Report]) -> list[Report]:
    return [report for report in reports if report.allowed]


def windows_hold_the_limit(windows: dict[int | None, list[Report]], limit: int) -> list[str]:
    """Exactly the limit where somebody was denied a cost of 1, and nowhere more; at least two windows were full.

    Under None stand calls so slow that they may be of several windows.
    """
    faults, full = [], 0
    doubtful = cost(admitted(windows.pop(None, [])))
    for end, reports in windows.items():
        total = cost(admitted(reports))
        was_full = any(not report.allowed and report.cost == 1 for report in reports)
        full += was_full
        if total > limit or (was_full and total + doubtful < limit):
            faults.append(f"{total} instead of {limit} admitted in the window until {end}")
    if full < 2:
        faults.append(f"only {full} windows were full")
    return faults


def aligned(reports: list[Report], limit: int, window: int) -> list[str]:
    """`reset_after` is the time until the end of a window, and that is a multiple of its length."""
    windows = defaultdict(list)
    for report in reports:
        windows[aligned_end(report, window)].append(report)
    return windows_hold_the_limit(windows, limit)


def aligned_end(report: Report, window: int) -> int | None:
    """The one multiple of the window that `reset_after` can point to."""
    first, last = report.before + report.reset_after, report.after + report.reset_after
    end = last // window * window
    assert first <= end, f"no window ends when {report} says"
    return end if end - window < first else None


def first_request(reports: list[Report], limit: int, window: int) -> list[str]:
    """Windows end at any time, but each at least one window after the other."""
    windows: dict[int | None, list[Report]] = {}
    latest = -window
    for report in sorted(reports, key=lambda report: report.before + report.reset_after):
        if report.after - report.before >= window // 2:
            windows.setdefault(None, []).append(report)
            continue
        end = report.before + report.reset_after
        if end >= latest + window // 2:
            latest = end
        windows.setdefault(latest, []).append(report)
    return windows_hold_the_limit(windows, limit)


def sliding_window(reports: list[Report], limit: int, window: int) -> list[str]:
    """The estimate is exact where no previous window counts: at most the limit in each window, twice in any span."""
    charged = admitted(reports)
    windows = defaultdict(list)
    for report in charged:
        # After a charge, until the end of the next window.
        windows[aligned_end(report, window)].append(report)
    windows.pop(None, None)
    faults = [f"{cost(some)} in the window until {end}" for end, some in windows.items() if cost(some) > limit]
    return faults + any_span(charged, 2 * limit, window)


def any_span(charged: list[Report], limit: int, span: int) -> list[str]:
    """Spans that end with an admission are the fullest."""
    faults = []
    for last in charged:
        certain = cost(one for one in charged if one.after <= last.after and one.before > last.after - span)
        if certain > limit:
            faults.append(f"{certain} instead of {limit} admitted in {span} us until {last.after}")
    return faults


def exact_log(reports: list[Report], limit: int, window: int) -> list[str]:
    """Never more than the limit in any window, and all of it where somebody was denied a cost of 1."""
    return any_span(admitted(reports), limit, window) + nothing_held_back(reports, limit, window)


def slots(resolution: int) -> Callable[[list[Report], int, int], list[str]]:
    """A slot is gone when its first microsecond is one window old: the bound is for a span one slot shorter."""

    def sliding_buckets(reports: list[Report], limit: int, window: int) -> list[str]:
        faults = any_span(admitted(reports), limit, window - resolution + 1)
        return faults + nothing_held_back(reports, limit, window)

    return sliding_buckets


def nothing_held_back(reports: list[Report], limit: int, window: int) -> list[str]:
    faults = []
    charged = admitted(reports)
    denied = [report for report in reports if not report.allowed and report.cost == 1]
    for one in denied:
        possible = cost(other for other in charged if other.before <= one.after and other.after > one.before - window)
        if possible < limit:
            faults.append(f"denied until {one.after}, when at most {possible} of {limit} were counted")
    return faults if denied else [*faults, "nobody was denied"]


def bucket(burst: int) -> Callable[[list[Report], int, int], list[str]]:
    """The burst, and one unit more per interval."""

    def gcra(reports: list[Report], limit: int, window: int) -> list[str]:
        faults = []
        charged = sorted(admitted(reports), key=lambda report: report.after)
        for at, last in enumerate(charged):
            for first in charged[: at + 1]:
                certain = cost(one for one in charged[: at + 1] if one.before >= first.before)
                bound = burst + (last.after - first.before) * limit / window
                if certain > bound * (1 + ROUNDING):
                    faults.append(f"{certain} instead of {bound} admitted from {first.before} to {last.after}")
        return faults

    return gcra


def fading(factor: float) -> Callable[[list[Report], int, int], list[str]]:
    """Every slot that passes divides what was admitted by the factor."""

    def decay(reports: list[Report], limit: int, resolution: int) -> list[str]:
        faults = []
        charged = admitted(reports)
        for last in charged:
            passed = ((one, last.after // resolution - one.before // resolution) for one in charged)
            earlier = [one.cost / factor**slots for one, slots in passed if one.after <= last.after and slots >= 0]
            level = math.fsum(earlier)
            if level > limit * (1 + ROUNDING):
                faults.append(f"a level of {level} instead of {limit} at {last.after}")
        return faults

    return decay
