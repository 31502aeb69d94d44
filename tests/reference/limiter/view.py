"""What is stored about the scopes of a call, as its instant has to take it."""

from dataclasses import dataclass, field

from .algorithm import Algorithm
from .block import Block
from .holdings import MOST_HOLDS, NONE_HELD, Hold, Holdings
from .items import Charge, Place, Scope
from .latitude import Latitude
from .stored_limit import StoredLimit


@dataclass
class Store:
    """Everything that outlives a call. Values are immutable, so a copy of the dictionaries is a snapshot."""

    states: dict[Place, object] = field(default_factory=dict)
    holdings: dict[Scope, Holdings] = field(default_factory=dict)
    blocks: dict[Scope, Block] = field(default_factory=dict)
    limits: dict[Scope, StoredLimit] = field(default_factory=dict)
    answers: dict[tuple, tuple] = field(default_factory=dict)
    """Of calls that had a request id."""

    def copy(self) -> "Store":
        return Store(*(dict(each) for each in vars(self).values()))

    def write(self, view: "View") -> None:
        self.limits.update({scope: limit for scope, limit in view.limits.items() if limit is not None})
        for place, state in view.states.items():
            if state is None:
                self.states.pop(place, None)
            else:
                self.states[place] = state
        self.holdings.update({scope: holdings for scope, holdings in view.holdings.items() if holdings != NONE_HELD})
        self.blocks.update({scope: block for scope, block in view.blocks.items() if block is not None})


@dataclass
class View:
    """States have no time in the future, and what had expired is charged."""

    now: int
    states: dict[Place, object]
    holdings: dict[Scope, Holdings]
    blocks: dict[Scope, Block | None] = field(default_factory=dict)
    limits: dict[Scope, StoredLimit | None] = field(default_factory=dict)

    def taken(self, place: Place, algorithm: Algorithm) -> object:
        """A state together with what is held."""
        return algorithm.with_held(self.states[place], self.now, self.holdings[place[0]].holds)

    def room(self, place: Place, algorithm: Algorithm) -> int:
        return algorithm.capacity(self.taken(place, algorithm), self.now)

    def charge(self, place: Place, algorithm: Algorithm, cost: int) -> None:
        self.states[place] = algorithm.charged(self.states[place], self.now, cost)

    def is_blocked(self, charge: Charge) -> bool:
        blocks = [self.blocks[scope] for scope in charge.scopes]
        return any(block is not None and block.lasts(self.now) for block in blocks)

    def fits(self, charge: Charge, room: dict[Place, bool]) -> bool:
        return charge.fits(room) and not self.is_blocked(charge)

    def is_full(self, scope: Scope) -> bool:
        return len(self.holdings[scope].holds) >= MOST_HOLDS

    def end(self, scope: Scope, id: tuple) -> None:
        self.holdings[scope] = self.holdings[scope].without(id, self.now)

    def hold(self, scope: Scope, hold: Hold, token: int) -> None:
        self.holdings[scope] = self.holdings[scope].adding(hold, token, self.now)

    def next_token(self, scopes: list[Scope]) -> int:
        last = [self.holdings[scope].token for scope in scopes]
        return max([self.now] + [token + 1 for token in last if token is not None])


def look(store: Store, latitude: Latitude, now: int, charges: list[Charge]) -> View:
    """Reads what the charges touch. Nothing is stored, unless the latitude says to delete what has expired."""
    view = View(now, {}, {})
    for charge in charges:
        for scope in charge.scopes:
            if scope not in view.holdings:
                look_at_scope(view, store, latitude, charge, scope)
    return view


def look_at_scope(view: View, store: Store, latitude: Latitude, charge: Charge, scope: Scope) -> None:
    holdings = store.holdings.get(scope, NONE_HELD).healed(view.now)
    expired = holdings.expired(view.now)
    for place, algorithm in charge.algorithms.items():
        if place[0] == scope:
            # What an expired reservation is charged to is kept until then.
            if latitude.sweep_always and not expired:
                sweep(store, place, algorithm, view.now)
            state = store.states.get(place)
            state = None if state is None else algorithm.healed(state, view.now)
            view.states[place] = with_expired(charge, place, state, expired, latitude, view.now)
    if latitude.sweep_always and not holdings.holds and view.now >= holdings.changed_at + charge.rule.lease:
        store.holdings.pop(scope, None)
        holdings = NONE_HELD
    view.holdings[scope] = holdings.without_expired(view.now)
    view.blocks[scope] = block_of(store, latitude, charge, scope, view.now)
    view.limits[scope] = charge.stored


def block_of(store: Store, latitude: Latitude, charge: Charge, scope: Scope, now: int) -> Block | None:
    block = store.blocks.get(scope)
    if block is None:
        return None
    if latitude.sweep_always and not block.lasts(now) and not charge.rule.block.remembered(block, now):
        del store.blocks[scope]
        return None
    return block.healed(now)


def sweep(store: Store, place: Place, algorithm: Algorithm, now: int) -> None:
    state = store.states.get(place)
    if state is not None:
        state = algorithm.swept(state, now)
        store.write(View(now, {place: state}, {}))


def with_expired(
    charge: Charge, place: Place, state: object, expired: list[Hold], latitude: Latitude, now: int
) -> object:
    """A state after what has expired was charged to it in full, each at its expiry."""
    limit = charge.rule.limits[place[1]]
    for hold in expired:
        stored = charge.stored_at(hold.expiry if latitude.limit_at_expiry else now)
        algorithm = limit.algorithm(stored if hold.limit is None else hold.limit, latitude)
        at = hold.expiry if state is None else max(hold.expiry, algorithm.since(state))
        if hold.weight:
            state = algorithm.charged(state, at, min(hold.weight, algorithm.most_charged))
    return state
