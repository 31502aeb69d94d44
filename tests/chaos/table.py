"""What a run measured, as a table of the site."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import checker
from excess import excess
from history import Call, Fault, History
from limits import WHOLE

HEAD = """\
| servers | fault | longest call, timeout 0.4 s | longest call, default | errors | `error`: over the limit | `local`: over the limit | back after | the machine |
|---|---|---|---|---|---|---|---|---|"""


@dataclass
class Over:
    """Units over the limit: measured, and stated."""

    measured: float
    stated: float

    def __str__(self) -> str:
        return f"{max(self.measured, 0):.0f} of {self.stated:.0f}"


@dataclass
class Row:
    servers: str
    fault: str
    longest_short: int
    longest: int
    back: int
    stall: int
    strict: Over
    local: Over
    errors: Counter[str] = field(default_factory=Counter)

    def worse(self, other: Row) -> Row:
        """The worst of two rounds."""
        return Row(
            self.servers,
            self.fault,
            max(self.longest_short, other.longest_short),
            max(self.longest, other.longest),
            max(self.back, other.back),
            max(self.stall, other.stall),
            max(self.strict, other.strict, key=lambda over: over.measured),
            max(self.local, other.local, key=lambda over: over.measured),
            self.errors | other.errors,
        )

    def __str__(self) -> str:
        errors = ", ".join(f"{count} {kind}" for kind, count in self.errors.most_common()) or "none"
        times = [f"{time / 1000:.0f} ms" for time in (self.longest_short, self.longest)]
        cells = [self.servers, self.fault, *times, errors, self.strict, self.local, f"{self.back / 1000:.0f} ms", f"{self.stall / 1000:.0f} ms"]
        return f"| {' | '.join(map(str, cells))} |"


def rows(servers: str, history: History) -> Iterable[Row]:
    for fault, start, end in checker.sections(history):
        calls = [call for call in history.calls if fault.began <= call.after and call.before <= fault.settled]
        own, default = ([call for call in calls if bool(history.lanes[call.lane].timeout_us) is given] for given in (True, False))
        strict, local = (over(checker.during(history.of(rule), start, end), fault) for rule in ("strict", "local"))
        errors = Counter(call.word for call in calls if call.allowed is None)
        times = [longest(own), longest(default), checker.recovery(history, fault) or 0, history.longest_stall(fault.began, fault.settled)]
        yield Row(servers, fault.name, *times, strict, local, errors)


def longest(calls: list[Call]) -> int:
    return max((call.after - call.before for call in calls), default=0)


def over(calls: list[Call], fault: Fault) -> Over:
    return Over(excess(calls, WHOLE), checker.stated(fault) + checker.stated_locally(calls))


def markdown(found: Iterable[Row]) -> str:
    worst: dict[tuple[str, str], Row] = {}
    for row in found:
        name = (row.servers, row.fault)
        worst[name] = row.worse(worst[name]) if name in worst else row
    return "\n".join([HEAD, *map(str, worst.values())])
