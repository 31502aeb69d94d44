"""reserve, reserve_all, commit, release, renew: cost that is held until it is known."""

from dataclasses import dataclass

from .answers import answer, answer_of_full
from .blocks import begin_blocks, offending
from .decision import Decision
from .errors import InvalidArgument
from .holdings import Hold
from .items import Charge, Item, Place, Scope, cost_per_place, refuse_bad_cost_of_commit, summed
from .together import charge_beyond, charge_denied, charge_fitting, is_admitted, overall, room_in
from .view import View
from .waiting import in_time


@dataclass(frozen=True)
class Reservation:
    id: int
    token: int
    parts: tuple[Item, ...]
    """What is held, each with a hold of its own in every scope of its rule."""


class Reservations:
    """The part of a limiter that holds cost."""

    def reserve(self, now: int, item: Item, wait: int = 0) -> tuple[Decision, Reservation | None]:
        """Decides as a check does, and holds the cost in place of charging it; waits for room."""
        return in_time(now, wait, lambda at: self._reserve_one(at, item))

    def reserve_all(
        self, now: int, items: list[Item], wait: int = 0
    ) -> tuple[Decision, list[Decision], Reservation | None]:
        """Holds the items whose rules have reservations and charges the others: all of them, or none."""
        return in_time(now, wait, lambda at: self._reserve_all(at, items))

    def commit(
        self,
        now: int,
        reservation: Reservation | None,
        cost: int | None = None,
        costs: dict[str, int] | None = None,
    ) -> bool:
        """Ends what is still held and charges what was used of it; false if some of it had ended."""
        if reservation is None:
            return False
        used = used_by_part(reservation, cost, costs)
        charges = [self._charge(now, part) for part in reservation.parts]
        view = self._look(now, charges)
        found = holds_of(reservation, charges, view)
        for (number, scope) in found:
            view.end(scope, (reservation.id, number))
        for number, charge in enumerate(charges):
            held = {scope: hold for (of, scope), hold in found.items() if of == number}
            charge_used(view, charge, held, used[number])
        self.store.write(view)
        return len(found) == count_of_holds(charges)

    def release(self, now: int, reservation: Reservation | None) -> bool:
        return self.commit(now, reservation, 0)

    def renew(self, now: int, reservation: Reservation | None) -> bool:
        """Lets what is still held live for `lease_seconds` from now; false if some of it had ended."""
        if reservation is None:
            return False
        charges = [self._charge(now, part) for part in reservation.parts]
        view = self._look(now, charges)
        found = holds_of(reservation, charges, view)
        for (number, scope), hold in found.items():
            view.end(scope, hold.id)
            length = charges[number].rule.lease
            longer = hold._replace(expiry=now + length, length=length)
            view.hold(scope, longer, view.holdings[scope].token)
        self.store.write(view)
        return len(found) == count_of_holds(charges)

    def _reserve_one(self, now: int, item: Item) -> tuple[Decision, Reservation | None]:
        charge = self._charge(now, item)
        if not charge.rule.reservations:
            raise InvalidArgument("a rule without reservations")
        parts, reservation = self._reserve(now, [charge])
        return parts[0], reservation

    def _reserve_all(self, now: int, items: list[Item]) -> tuple[Decision, list[Decision], Reservation | None]:
        charges = self._charges(now, items)
        if not any(charge.rule.reservations for charge in charges):
            raise InvalidArgument("no rule with reservations")
        parts, reservation = self._reserve(now, charges)
        return overall(charges, parts), parts, reservation

    def _reserve(self, now: int, charges: list[Charge]) -> tuple[list[Decision], Reservation | None]:
        view = self._look(now, charges)
        holding = summed([charge for charge in charges if charge.rule.reservations])
        full = {place for charge in holding for place in charge.algorithms if view.is_full(place[0])}
        costs = cost_per_place(charges)
        room = {place: fits and place not in full for place, fits in room_in(view, charges, costs).items()}
        offenders = offending(view, charges, costs)
        reservation = None
        if is_admitted(view, charges, room):
            charge_fitting(view, [charge for charge in charges if not charge.rule.reservations], room)
            reservation = self._hold(view, holding, room)
        charge_denied(view, charges, costs, room)
        begin_blocks(view, offenders)
        self.store.write(view)
        parts = [answer(charge, view, costs, room) for charge in charges]
        if reservation is None:
            parts = [answer_of_full(charge, view, part) for charge, part in zip(charges, parts)]
        return parts, reservation

    def _hold(self, view: View, holding: list[Charge], room: dict[Place, bool]) -> Reservation:
        self.last_reservation += 1
        # Ids are random, so nothing may follow from their order.
        id = -self.last_reservation if self.latitude.ids_descend else self.last_reservation
        token = view.next_token([scope for charge in holding for scope in charge.scopes])
        for number, charge in enumerate(holding):
            weight = charge.item.cost if view.fits(charge, room) else 0
            hold = Hold(view.now + charge.rule.lease, (id, number), weight, charge.item.limit, charge.rule.lease)
            for scope in charge.scopes:
                view.hold(scope, hold, token)
        return Reservation(id, token, tuple(charge.item for charge in holding))


def used_by_part(reservation: Reservation, cost: int | None, costs: dict[str, int] | None) -> list[int]:
    """What each part is charged; as reserved where nothing is said."""
    parts = reservation.parts
    if cost is not None:
        refuse_bad_cost_of_commit(cost)
        if cost and len(parts) > 1:
            raise InvalidArgument("one cost for several parts")
        return [cost] * len(parts)
    costs = costs or {}
    for value in costs.values():
        refuse_bad_cost_of_commit(value)
    if not costs.keys() <= {part.rule for part in parts}:
        raise InvalidArgument("a rule that is not in the reservation")
    return [costs.get(part.rule, part.cost) for part in parts]


def holds_of(reservation: Reservation, charges: list[Charge], view: View) -> dict[tuple[int, Scope], Hold]:
    """Each hold of a reservation that has not ended."""
    found = {
        (number, scope): view.holdings[scope].find((reservation.id, number))
        for number, charge in enumerate(charges)
        for scope in charge.scopes
    }
    return {place: hold for place, hold in found.items() if hold is not None}


def count_of_holds(charges: list[Charge]) -> int:
    return sum(len(charge.scopes) for charge in charges)


def charge_used(view: View, charge: Charge, held: dict[Scope, Hold], cost: int) -> None:
    """Charges what was used to the limits in whose scope it was held. Work in flight is charged to nothing."""
    places = [place for place in charge.algorithms if place[0] in held]
    if any(hold.weight == 0 for hold in held.values()):
        fitting = min(view.room(place, charge.algorithms[place]) for place in places)
        cost = min(cost, max(fitting, 0))
    if cost and not charge.rule.is_concurrency:
        charge_beyond(view, charge, places, cost)
