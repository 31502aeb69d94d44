"""How calls spend from allotments: one alone, or several together, of which all are spent from or none is."""

from copy import deepcopy
from dataclasses import dataclass
from fractions import Fraction

from .allotment import AHEAD, LEAST_SPENT, PACE, TRIPS, Allotment, Loan, Terms, is_less, left, whole


@dataclass(frozen=True)
class Asked:
    """What a call asks of one allotment."""

    cost: int
    there: bool | None = None
    """Whether the region in charge has charged this call, or denied it; `None`: it was not asked."""


@dataclass
class Found:
    """An allotment as a call finds it, with what it asks for counted."""

    allotment: Allotment
    verdict: str
    rate: Fraction
    lends: bool
    is_denied: bool


def find(allotment: Allotment, now: int, asked: Asked, terms: Terms) -> Found:
    allotment = deepcopy(allotment)
    allotment.heal(now, terms.age)
    allotment.rate(now, terms.span)
    # What the region in charge has decided, it was asked for before. More than ever fits is no need.
    demand = min(asked.cost, terms.most) if asked.there is None else 0
    allotment.asked.append((allotment.begun, demand))
    rate = allotment.rate(now, terms.span)
    lends = terms.age >= TRIPS * terms.trip and not is_less(rate * terms.age, LEAST_SPENT)
    is_contended = lends and now < allotment.contended_until and not is_less(rate * PACE, asked.cost)
    denial = allotment.denial
    is_denied = bool(denial and now < denial.until and asked.cost >= denial.cost)
    if asked.there is not None:
        verdict = "spent" if asked.there else "denied"
    elif left(allotment, now) >= asked.cost:
        verdict = "spent"
    else:
        verdict = "denied" if is_contended or is_denied else "elsewhere"
    return Found(allotment, verdict, rate, lends, is_denied)


def settle(found: Found, now: int, asked: Asked, is_refused: bool, terms: Terms) -> dict:
    """Carries out what was found; `is_refused`: another limit of the call has no room."""
    allotment = found.allotment
    ended = [[loan.units, loan.granted_at] for loan in allotment.loans if loan.valid_until <= now]
    allotment.loans = [loan for loan in allotment.loans if loan.valid_until > now]
    if is_refused:
        began, demand = allotment.asked.pop()
        assert began == allotment.begun and demand == (0 if asked.there is not None else min(asked.cost, terms.most))
    elif found.verdict == "spent" and asked.there is None:
        take(allotment, asked.cost)
    want = 0
    may_ask = asked.there is None and not is_refused and may_borrow(allotment, now)
    if found.lends and may_ask and is_less(left(allotment, now), found.rate * (terms.trip + PACE) * Fraction(3, 2)):
        ahead = PACE if now < allotment.contended_until else min(terms.age, TRIPS * terms.trip + AHEAD)
        want = max(whole(found.rate * ahead), 1)
        allotment.requested_at = now
    wait = until(allotment, found, now) - now if found.verdict == "denied" else 0
    fresh = max(allotment.fresh_at - now, 0)
    return answer(found.verdict, left(allotment, now), wait, fresh, want, ended)


def may_borrow(allotment: Allotment, now: int) -> bool:
    """A region asks once per pace. What was denied to a single unit is not lent."""
    denial = allotment.denial
    is_denied = denial and now < denial.until and denial.cost <= 1
    return not is_denied and (allotment.requested_at is None or now >= allotment.requested_at + PACE)


def take(allotment: Allotment, cost: int) -> None:
    """Units of the loans that came first are spent first."""
    rest = []
    for loan in allotment.loans:
        taken = min(loan.units, cost)
        cost -= taken
        rest.append(Loan(loan.units - taken, loan.valid_until, loan.granted_at))
    allotment.loans = [loan for loan in rest if loan.units > 0]


def until(allotment: Allotment, found: Found, now: int) -> int:
    """When a call that is denied near may come again."""
    if found.is_denied:
        return max(allotment.denial.fits_at, allotment.denial.until, now + 1)
    asked = allotment.requested_at
    return now + 1 if asked is None else max(asked + PACE, now + 1)


def answer(verdict: str, units: int, wait: int, fresh: int, want: int, ended: list) -> dict:
    return {"verdict": verdict, "left": units, "wait": wait, "fresh": fresh, "want": want, "ended": ended}


def spend(allotments: dict[str, Allotment], now: int, asked: dict[str, tuple[Asked, Terms]], others_fit: bool) -> list[dict]:
    """A call of several items, or of one; `others_fit`: whether its limits that are counted near have room."""
    found = {key: find(allotments.get(key) or Allotment(now), now, *of) for key, of in asked.items()}
    is_open = any(each.verdict == "elsewhere" for each in found.values())
    is_admitted = others_fit and all(each.verdict == "spent" for each in found.values())
    answers = []
    for key, each in found.items():
        if is_open and each.verdict != "elsewhere":
            # The call comes again, once the regions in charge have been asked: nothing happens yet.
            answers.append(answer(each.verdict, left(each.allotment, now), 0, 0, 0, []))
            continue
        is_refused = each.verdict == "spent" and not is_admitted
        answers.append(settle(each, now, asked[key][0], is_refused, asked[key][1]))
        allotments[key] = each.allotment
    return answers
