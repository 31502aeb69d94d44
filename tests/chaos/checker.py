"""What went wrong, by nothing but what each client was told and when, and what was done to the servers.

What is found broken was broken wherever between `before` and `after` each decision was made: a slow machine hides
violations, and makes none.
"""

from __future__ import annotations

from collections.abc import Iterator

from excess import excess
from history import Call, Fault, History
from limits import COUNTED, DEADLINE_US, WHOLE, share

# What a limiter may say when no server decides; any other error is one of the kit or of the limiter.
EXPECTED = {"Connection", "Timeout", "Server"}
DECIDED = {"server", "fallback"}
# Sums of doubles.
ROUNDING = 1e-6


def violations(history: History, late_us: int, back_us: int) -> list[str]:
    """Of every kind. A call may end so much after its deadline, and service may be back so long after the servers are."""
    return [
        *answered_once(history),
        *in_time(history, late_us),
        *of_known_kinds(history),
        *counted_once(history),
        *within_shares(history),
        *within_bounds(history),
        *noticed(history),
        *back(history, back_us),
    ]


def answered_once(history: History) -> Iterator[str]:
    """Every call has exactly one answer."""
    lanes: dict[tuple[str, int], list[int]] = {}
    for call in history.calls:
        lanes.setdefault((call.client, call.lane), []).append(call.number)
    for (client, lane), numbers in sorted(lanes.items()):
        counts = history.counts.get(client)
        if counts is None:
            yield f"{client}, lane {lane}: a call was never answered, after {len(numbers)} that were"
        elif sorted(numbers) != list(range(counts[lane])):
            yield f"{client}, lane {lane}: {counts[lane]} calls, and {len(numbers)} answers to {len(set(numbers))} of them"
    for client, counts in history.counts.items():
        for lane, count in enumerate(counts):
            if (client, lane) not in lanes:
                yield f"{client}, lane {lane}: {count} calls and no answer"


def deadline(history: History, call: Call) -> int:
    return history.lanes[call.lane].timeout_us or DEADLINE_US


def in_time(history: History, late_us: int) -> Iterator[str]:
    for call in history.calls:
        took, most = call.after - call.before, deadline(history, call)
        if took > most + late_us:
            yield f"{call.client}: a call took {took / 1000:.0f} ms instead of {most / 1000:.0f} ms: {call}"


def of_known_kinds(history: History) -> Iterator[str]:
    for call in history.calls:
        if call.word not in (EXPECTED if call.allowed is None else DECIDED):
            yield f"{call.client}: an answer nobody expects: {call}"
        if call.is_by_fallback and history.lanes[call.lane].rule != "local":
            yield f"{call.client}: a fallback that was not asked for: {call}"


def segments(calls: list[Call], faults: list[Fault]) -> Iterator[tuple[list[Call], list[Call]]]:
    """The answers between two faults that make servers forget, and other calls whose charges may be among theirs."""
    cuts = [fault for fault in faults if fault.forgets or fault.is_split]
    starts = [0, *(fault.settled for fault in cuts)]
    ends = [*(fault.began for fault in cuts), max((call.after for call in calls), default=0)]
    # What was sent before may be carried out later than its caller waits.
    since = [0, *(fault.healed for fault in cuts)]
    for start, end, earliest in zip(starts, ends, since):
        inside = [call for call in calls if call.is_by_server and start <= call.before and call.after <= end]
        failed = [call for call in calls if not call.is_by_server and earliest <= call.after and call.before <= end]
        across = [call for call in calls if call.is_by_server and (call.before < start <= call.after or call.before <= end < call.after)]
        yield inside, failed + across


def counted_once(history: History) -> Iterator[str]:
    """The charges of the rule `counted` have numbers: no number appears twice or goes backwards, and nobody is charged for a call that nobody made."""
    for answers, unsure in segments(history.of("counted"), history.faults):
        numbers: dict[int, Call] = {}
        for call in answers:
            number = COUNTED - call.remaining
            if number in numbers:
                yield f"one charge was told to two callers, {call.client} and {numbers[number].client}: {call}, {numbers[number]}"
            numbers[number] = call
        yield from in_order(answers)
        if not numbers:
            continue
        untold = max(numbers) - min(numbers) + 1 - len(numbers)
        if untold > len(unsure):
            yield f"{untold} charges were told to nobody, where {len(unsure)} calls may have been charged without an answer"


def in_order(answers: list[Call]) -> Iterator[str]:
    """A call that began after the end of another has a higher number."""
    ended = sorted(answers, key=lambda call: call.after)
    at, last = 0, None
    for call in sorted(answers, key=lambda call: call.before):
        while ended[at].after < call.before:
            # Less remains, the higher the number.
            last = min(last or ended[at], ended[at], key=lambda one: one.remaining)
            at += 1
        if last and last.remaining <= call.remaining:
            yield f"what was counted went back: {call} began after the end of {last}"


def within_shares(history: History) -> Iterator[str]:
    """No process admits by itself more than its share, over all faults together."""
    clients = sorted({call.client for call in history.calls})
    for client in clients:
        calls = [call for call in history.calls if call.client == client and call.is_by_fallback]
        over = excess(calls, share(len(clients)))
        if over > ROUNDING:
            yield f"{client} admitted {over:.1f} units more by itself than its share"


def sections(history: History) -> Iterator[tuple[Fault, int, int]]:
    """Each fault, from the end of the one before it to the beginning of the next."""
    starts = [0, *(fault.settled for fault in history.faults)]
    ends = [*(fault.began for fault in history.faults[1:]), max((call.after for call in history.calls), default=0)]
    yield from zip(history.faults, starts, ends)


def during(calls: list[Call], start: int, end: int) -> list[Call]:
    return [call for call in calls if start <= call.before and call.after <= end]


def stated(fault: Fault) -> float:
    """How many units more than the limit the servers may admit, by what the documentation says of such a fault."""
    second = WHOLE.within(fault.settled - fault.began) if fault.is_split else 0
    return fault.forgets * WHOLE.burst + second


def stated_locally(calls: list[Call]) -> float:
    """How many units more the processes may admit by themselves, with as many as `instances` says."""
    local = [call for call in calls if call.is_by_fallback]
    if not local:
        return 0
    return WHOLE.within(max(call.after for call in local) - min(call.before for call in local))


def within_bounds(history: History) -> Iterator[str]:
    for fault, start, end in sections(history):
        for rule in ("strict", "local"):
            calls = during(history.of(rule), start, end)
            more = stated(fault) + stated_locally(calls)
            over = excess(calls, WHOLE)
            if over > more + ROUNDING:
                yield f"{fault.name}: {rule} admitted {over:.1f} units more than its limit, and {more:.1f} are stated"


def noticed(history: History) -> Iterator[str]:
    """A fault that nobody notices tests nothing."""
    for fault in history.faults:
        calls = [call for call in history.calls if fault.began <= call.after and call.before <= fault.settled]
        if fault.is_noticed and all(call.is_by_server for call in calls):
            yield f"{fault.name}: nobody noticed it"


def recovery(history: History, fault: Fault) -> int | None:
    """How long after the servers could decide again they did so for every lane of every client; None: never."""
    first: dict[tuple[str, int], int] = {}
    for call in history.calls:
        lane = (call.client, call.lane)
        if call.is_by_server and call.after >= fault.healed:
            first[lane] = min(call.after, first.get(lane, call.after))
    everybody = {(call.client, call.lane) for call in history.calls}
    if first.keys() != everybody:
        return None
    return max(first.values()) - fault.healed


def back(history: History, back_us: int) -> Iterator[str]:
    for fault in history.faults:
        took = recovery(history, fault)
        if took is None:
            yield f"{fault.name}: service did not come back for everybody"
        elif took > back_us:
            yield f"{fault.name}: service came back after {took / 1000:.0f} ms"
