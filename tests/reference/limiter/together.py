"""How the items of one call are admitted and charged together."""

from . import decision
from .decision import Decision
from .errors import InvalidArgument
from .items import Charge, Place
from .view import View

OVERDRAFT_MAX = 2**53
"""In units of cost or, for the gcra family, microseconds."""


def overall(charges: list[Charge], parts: list[Decision]) -> Decision:
    rules = [charge.rule for charge in charges]
    return decision.of_all(parts, [rule.shadow for rule in rules], [rule.priority for rule in rules])


def room_in(view: View, charges: list[Charge], costs: dict[Place, int]) -> dict[Place, bool]:
    """For each limit whether all that the call asks of it fits beside what was used and what is held."""
    return {
        place: view.room(place, algorithm) >= costs[place]
        for charge in charges
        for place, algorithm in charge.algorithms.items()
    }


def is_admitted(view: View, charges: list[Charge], room: dict[Place, bool]) -> bool:
    """All or none, but for rules in shadow, which admit always."""
    return all(view.fits(charge, room) for charge in charges if not charge.rule.shadow)


def charge_fitting(view: View, charges: list[Charge], room: dict[Place, bool]) -> None:
    """Charges an admitted call: rules in shadow count only what fits."""
    for charge in charges:
        for place, algorithm in charge.algorithms.items():
            if view.fits(charge, room):
                view.charge(place, algorithm, charge.item.cost)


def charge_beyond(view: View, charge: Charge, places: list[Place], cost: int) -> None:
    """Charges some limits of a rule whatever they have room for. The view is of no use after an error."""
    for place in places:
        algorithm = charge.algorithms[place]
        added = min(cost, algorithm.most_charged)
        if algorithm.overdraft(view.states[place], view.now, added) > OVERDRAFT_MAX:
            raise InvalidArgument("more than can be counted")
        view.charge(place, algorithm, added)


def charge_denied(view: View, charges: list[Charge], costs: dict[Place, int], room: dict[Place, bool]) -> None:
    """A denied cost is counted by the limits that refused it, if their rule wants that and is not blocked."""
    counting = {
        place: algorithm
        for charge in charges
        for place, algorithm in charge.algorithms.items()
        if charge.rule.count_denied and not room[place] and not view.is_blocked(charge)
    }
    for place, algorithm in counting.items():
        view.charge(place, algorithm, costs[place])
