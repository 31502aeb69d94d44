"""What one rule says about a call, out of what is stored."""

from dataclasses import replace

from .algorithm import Algorithm
from .decision import Decision, Figures, longest, of_rule
from .items import Charge, Place
from .view import View


def answer(charge: Charge, view: View, costs: dict[Place, int], room: dict[Place, bool]) -> Decision:
    limits = [
        figures(algorithm, view.taken(place, algorithm), view.now, costs[place], room[place])
        for place, algorithm in charge.algorithms.items()
    ]
    return with_block(charge, view, of_rule(charge.rule.id, charge.rule.shadow, limits))


def figures(algorithm: Algorithm, state: object, now: int, cost: int, fits: bool) -> Figures:
    return Figures(
        fits=fits,
        limit=int(algorithm.most),
        remaining=max(algorithm.capacity(state, now), 0),
        # A limit with room may belong to a key that holds too many reservations.
        retry_after=0 if fits or algorithm.capacity(state, now) >= cost else algorithm.retry_after(state, now, cost),
        reset_after=algorithm.reset_after(state, now),
    )


def answer_of_full(charge: Charge, view: View, decided: Decision) -> Decision:
    """A decision about a reserve that finds too many reservations: it has to wait for the first expiry at least."""
    full = [scope for scope in charge.scopes if view.is_full(scope)]
    if not full or decided.retry_after == "never":
        return decided
    wait = max(view.holdings[scope].first_expiry() - view.now for scope in full)
    return replace(decided, remaining=0, retry_after=longest([decided.retry_after, wait]))


def with_block(charge: Charge, view: View, decided: Decision) -> Decision:
    """The decision of a rule as the block has it, if one runs."""
    if not view.is_blocked(charge):
        return decided
    (scope,) = charge.scopes
    wait = view.blocks[scope].end - view.now
    shadow = charge.rule.shadow
    return replace(
        decided,
        allowed=shadow,
        remaining=0,
        retry_after=longest([wait, decided.retry_after]),
        reset_after=max(wait, decided.reset_after),
        shadow_denied=shadow,
        blocked=not shadow,
    )
