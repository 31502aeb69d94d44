"""Plays calls on the reference limiter and answers in the form of the vectors."""

from fractions import Fraction

from limiter import Decision, Item, Limiter, LimiterError, Reservation
from limiter.decay import State as DecayState
from limiter.latitude import EXACT, OF_ALL, OF_DECAY, OF_GCRA, OF_RESERVATIONS, Latitude
from limiter.rules import GCRA_FAMILY, Rule, exact, is_power_of_two
from scenarios.script import Scenario

ITEM_FIELDS = ("rule", "key", "cost", "resource", "limit")


class UnfairVector(Exception):
    """The answer depends on something the definitions leave open, or contradicts its author."""


class Session:
    """A limiter, and the reservations that its caller has made, by name."""

    def __init__(self, limiter: Limiter):
        self.limiter = limiter
        self.reservations: dict[str, Reservation | None] = {}

    def snapshot(self) -> tuple:
        return self.limiter.store.copy(), self.limiter.last_reservation, dict(self.reservations)

    def restore(self, snapshot: tuple) -> None:
        self.limiter.store, self.limiter.last_reservation, self.reservations = snapshot


def item_of(fields: dict) -> Item:
    return Item(**{name: fields[name] for name in ITEM_FIELDS if name in fields})


def play(session: Session, call: dict) -> dict:
    """The `expect` of one step."""
    try:
        if call["op"].startswith("reserve"):
            return reserve(session, call)
        if "reservation" in call:
            return end(session, call)
        return answer(session.limiter, call)
    except LimiterError as refused:
        return {"error": type(refused).__name__}


def answer(limiter: Limiter, call: dict) -> dict:
    if call["op"] == "rules":
        return {"rules": limiter.rules_in_force()}
    spans = {name: exact(call[name]) for name in ("seconds", "expires_in") if name in call}
    options = options_of(call, "request_id", "timeout") | spans
    if "items" in call:
        about = [item_of(item) for item in call["items"]]
    elif "rule" in call:
        about = item_of(call)
    else:
        about, options = call["key"], options_of(call, "resource")
    return answer_as_json(getattr(limiter, call["op"])(call["at_us"], about, **options))


def answer_as_json(answered: Decision | tuple | bool | None) -> dict:
    if answered is None:
        return {}
    if isinstance(answered, bool):
        return {"took_effect": answered}
    return with_parts(*answered) if isinstance(answered, tuple) else answered.as_json()


def options_of(call: dict, *names: str) -> dict:
    return {name: call[name] for name in names if name in call}


def with_parts(decision: Decision | None, parts: list[Decision]) -> dict:
    """The answer about several rules; without one, all that is reported."""
    if decision is None:
        return {"allowed": True, "rule_applied": False}
    return decision.as_json() | {"parts": [part.as_json() for part in parts]}


def reserve(session: Session, call: dict) -> dict:
    now, limiter = call["at_us"], session.limiter
    wait = options_of(call, "wait")
    if call["op"] == "reserve":
        decision, reservation = limiter.reserve(now, item_of(call), **wait)
        answered = decision.as_json()
    elif call["op"] == "reserve_request":
        decision, parts, reservation = limiter.reserve_request(now, call["request"])
        answered = with_parts(decision, parts)
    else:
        decision, parts, reservation = limiter.reserve_all(now, [item_of(item) for item in call["items"]], **wait)
        answered = with_parts(decision, parts)
    session.reservations[call["as"]] = reservation
    token = {} if reservation is None else {"token": reservation.token}
    return answered | {"id": reservation is not None} | token


def end(session: Session, call: dict) -> dict:
    """commit, release or renew."""
    method = getattr(session.limiter, call["op"])
    used = options_of(call, "cost", "costs")
    return answer_as_json(method(call["at_us"], session.reservations[call["reservation"]], **used))


def choices(rules: list[dict]) -> tuple[Latitude, ...]:
    """What an implementation may choose that can show in a history of these rules."""
    algorithms = {rule.get("algorithm", "gcra") for rule in rules}
    holds = "concurrency" in algorithms or any(rule.get("reservations") for rule in rules)
    return (
        *OF_ALL,
        *(OF_RESERVATIONS if holds else ()),
        *(OF_GCRA if algorithms & GCRA_FAMILY else ()),
        *(OF_DECAY if "decay" in algorithms else ()),
    )


class FairPlay:
    """One limiter for every choice an implementation has; all must give the same answers."""

    def __init__(self, rules: list[dict]):
        self.sessions = [Session(Limiter(rules, latitude)) for latitude in choices(rules)]

    def play(self, call: dict) -> dict:
        """The answer all agree on. After a disagreement nothing has happened."""
        before = [session.snapshot() for session in self.sessions]
        answers = [play(session, call) for session in self.sessions]
        agreed = all(answer == answers[0] for answer in answers)
        if agreed and self.levels_fit_doubles():
            return answers[0]
        for session, snapshot in zip(self.sessions, before):
            session.restore(snapshot)
        raise UnfairVector(f"{call}: " + (f"{answers}" if not agreed else "no double holds this level"))

    def levels_fit_doubles(self) -> bool:
        """Decay with a power of two is exact in doubles as long as they are wide enough for the level."""
        exact = self.sessions[0].limiter
        return all(
            fits_a_double(state.level) or not halves(exact.rules[place[0][0]])
            for place, state in exact.store.states.items()
            if isinstance(state, DecayState)
        )


def halves(rule: Rule) -> bool:
    return is_power_of_two(rule.limits[0].decay_factor(EXACT))


def fits_a_double(number: Fraction) -> bool:
    return Fraction(float(number)) == number


def vector(scenario: Scenario) -> dict:
    """The scenario with its expectations."""
    limiters = FairPlay(scenario.rules)
    steps = []
    for number, step in enumerate(scenario.steps):
        where = f"{scenario.id}, step {number}"
        try:
            expect = limiters.play(step.call)
        except UnfairVector as unfair:
            raise UnfairVector(f"{where}: {unfair}") from None
        compare_with_author(where, step.by_hand, expect)
        steps.append(step.call | {"expect": expect})
    return {"id": scenario.id, "note": scenario.note, "rules": scenario.rules, "steps": steps}


def compare_with_author(where: str, by_hand: dict | None, computed: dict) -> None:
    by_hand, computed = by_hand or {}, {"blocked": False} | computed
    if "error" in computed and "error" not in by_hand:
        raise UnfairVector(f"{where}: {computed} was not meant")
    for name, value in by_hand.items():
        if computed.get(name) != value:
            raise UnfairVector(f"{where}: {name} is {value} by hand, computed {computed}")
