"""Plays the calls of a scenario on the reference and answers in the form of the vectors."""

from limiter import Item, Limiter

from .allotment import Allotment, Terms
from .scenario import KEY, RULE, Scenario
from .spending import Asked, spend


class Borrower:
    """A region that is not in charge of the keys."""

    def __init__(self, rule: dict):
        self.rule = rule
        self.allotments: dict[str, Allotment] = {}

    def terms(self, trip: int) -> Terms:
        return Terms(self.rule.get("burst", self.rule["limit"]), self.rule["global"]["max_age_ms"] * 1_000, trip)

    def play(self, step: dict) -> dict:
        now, terms = step["at_us"], self.terms(step["trip_us"])
        if step["op"] == "deposit":
            return {"dropped": self.allotments.setdefault(KEY, Allotment(now)).deposit(now, terms, step)}
        items = step.get("items", [step])
        asked = {item.get("key", KEY): (Asked(item["cost"], item.get("there")), terms) for item in items}
        answers = spend(self.allotments, now, asked, step.get("others_fit", True))
        return {"items": answers} if "items" in step else answers[0]


class Lender:
    """The region in charge: it decides a call of another region, if there is one, and lends half of what is left, but one unit at
    least where there is one."""

    def __init__(self, rule: dict):
        self.limiter = Limiter([{name: value for name, value in rule.items() if name != "global"}])

    def play(self, step: dict) -> dict:
        now, expected = step["at_us"], {}
        if "own" in step:
            expected["allowed"] = self.limiter.check(now, Item(RULE, KEY, cost=step["own"])).allowed
        remaining = self.limiter.peek(now, Item(RULE, KEY)).remaining
        lent = min(step["want"], max(remaining // 2, 1), remaining)
        if lent:
            assert self.limiter.check(now, Item(RULE, KEY, cost=lent)).allowed
        return {**expected, "lent": lent}


def vector(scenario: Scenario) -> dict:
    player = Lender(scenario.rule) if scenario.steps[0]["op"] == "lend" else Borrower(scenario.rule)
    steps = [{**step, "expect": player.play(step)} for step in scenario.steps]
    return {"id": scenario.id, "note": scenario.note, "rules": [scenario.rule], "steps": steps}
