"""Seeded random histories: mixed calls at times that are likely to lie on an edge."""

from dataclasses import dataclass

from player import FairPlay, UnfairVector
from scenarios import random_plans
from scenarios.mixed import random_plans as mixed
from scenarios.random_plans import Plan
from scenarios.reservations import random_plans as reservations
from scenarios.script import BASE
from scenarios.waiting import random_plans as waiting

MASK = 2**64 - 1
TRIES = 40
PLANS = random_plans.PLANS | reservations.PLANS | mixed.PLANS | waiting.PLANS
ENDING = ("commit", "release", "renew")
FIELD_OF_RULE = {"block": "block", "unblock": "block", "set_limit": "overrides", "clear_limit": "overrides"}
REPEATABLE = ("check", "check_all", "charge", "refund")


class Dice:
    """splitmix64: the same numbers for ever, whatever the version of Python."""

    def __init__(self, seed: int):
        self.state = seed

    def below(self, bound: int) -> int:
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        mixed = self.state
        mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & MASK
        return (mixed ^ (mixed >> 31)) % bound

    def one_of(self, choices):
        return choices[self.below(len(choices))]


def vectors(file: str) -> list[dict]:
    return [history(plan, seed) for plan in PLANS.get(file, []) for seed in range(1, plan.histories + 1)]


def history(plan: Plan, seed: int) -> dict:
    writer = Writer(plan, Dice(int.from_bytes(plan.id.encode(), "big") % MASK + seed), FairPlay(plan.rules))
    while len(writer.steps) < plan.steps:
        writer.add_step()
    return {"id": f"{plan.id}-{seed}", "note": plan.note, "rules": plan.rules, "steps": writer.steps}


@dataclass
class Writer:
    plan: Plan
    dice: Dice
    limiters: FairPlay

    def __post_init__(self):
        self.now = BASE + self.dice.below(self.plan.span)
        self.wait = 0
        self.steps: list[dict] = []
        self.held: list[str] = []
        self.repeatable: list[dict] = []

    def add_step(self) -> None:
        """Draws until a call is fair: its answer follows from the definitions alone."""
        for _ in range(TRIES):
            call = self.draw()
            try:
                expect = self.limiters.play(call)
            except UnfairVector:
                continue
            self.steps.append(call | {"expect": expect})
            self.remember(call, expect)
            self.now = call["at_us"] + call.get("timeout", call.get("wait", 0))
            announced = call.get("seconds", call.get("expires_in"))
            self.wait = expect.get("retry_after_us", self.wait) if announced is None else int(announced * 1_000_000)
            return
        self.now += 5 * self.plan.span

    def remember(self, call: dict, expect: dict) -> None:
        """What may be ended later, most of what ended is not tried again; and what may be repeated."""
        if "request_id" in call and "error" not in expect:
            self.repeatable.append(call)
        if expect.get("id"):
            self.held.append(call["as"])
        if call["op"] in ("commit", "release") and "took_effect" in expect and self.dice.below(4):
            self.held.remove(call["reservation"])

    def draw(self) -> dict:
        at = self.now + self.jump()
        op = self.dice.one_of(self.plan.ops)
        if op in ENDING and self.held:
            return {"at_us": at, "op": op, **self.ending(op)}
        if op in ENDING:
            op = "reserve"
        if op == "repeat":
            return {**self.repeated(), "at_us": at}
        if op in FIELD_OF_RULE:
            return {"at_us": at, "op": op, **self.about_a_key(op)}
        if op in ("inspect", "reset_all"):
            return {"at_us": at, "op": op, **self.about_every_rule()}
        name = {"as": f"r{len(self.steps)}"} if op.startswith("reserve") else {}
        name |= self.longest(op)
        if op in ("check_all", "wait_all", "reserve_all"):
            items = [self.item() for _ in range(2 + self.dice.below(3))]
            return {"at_us": at, "op": op, **name, "items": items, **self.request_id(op)}
        fields = name | self.item() | self.request_id(op)
        if op == "reset":
            fields = {name: value for name, value in fields.items() if name not in ("cost", "limit")}
        return {"at_us": at, "op": op, **fields}

    def request_id(self, op: str) -> dict:
        if not self.plan.request_ids or op not in REPEATABLE or self.dice.below(2):
            return {}
        return {"request_id": f"q{len(self.steps)}"}

    def longest(self, op: str) -> dict:
        """How long a wait may take: often exactly as long as the last denial said, or just not."""
        if not self.plan.waits or not op.startswith(("wait", "reserve")):
            return {}
        announced = self.wait if isinstance(self.wait, int) else 0
        longest = self.dice.one_of((*self.plan.waits, announced, max(announced - 1, 0)))
        return {"timeout" if op.startswith("wait") else "wait": longest}

    def about_every_rule(self) -> dict:
        resources = ("printer", "scanner") if any(map(has_resource, self.plan.rules)) else ()
        resource = self.dice.one_of((None, *resources))
        return {"key": self.dice.one_of(self.plan.keys)} | ({"resource": resource} if resource else {})

    def repeated(self) -> dict:
        """One of the last calls that had an id, now and then with another cost."""
        if not self.repeatable:
            return {"op": "check", **self.item(), **self.request_id("check")}
        call = self.dice.one_of(self.repeatable[-6:])
        if "items" not in call and self.dice.below(8) == 0:
            return call | {"cost": call.get("cost", 1) + 1}
        return call

    def about_a_key(self, op: str) -> dict:
        """A block or a stored limit of a rule that has such."""
        rules = [rule for rule in self.plan.rules if FIELD_OF_RULE[op] in rule]
        fields = {"rule": self.dice.one_of(rules)["rule_id"], "key": self.dice.one_of(self.plan.keys)}
        if op == "block":
            fields["seconds"] = self.dice.one_of(self.plan.seconds)
        if op == "set_limit":
            fields["limit"] = self.dice.one_of(self.plan.stored)
            if self.dice.below(2):
                fields["expires_in"] = self.dice.one_of(self.plan.expiries)
        return fields

    def ending(self, op: str) -> dict:
        """Mostly one of the last reservations, which may have ended; most costs are near what was reserved."""
        fields = {"reservation": self.dice.one_of((self.held * 3)[-3:] + self.held)}
        if op == "commit" and self.plan.used_by_rule and self.dice.below(2):
            fields["costs"] = {self.dice.one_of(self.plan.rules)["rule_id"]: self.dice.one_of((0, *self.plan.costs))}
        elif op == "commit" and not self.plan.used_by_rule and self.dice.below(3):
            fields["cost"] = self.dice.one_of((0, *self.plan.costs, self.plan.beyond))
        return fields

    def jump(self) -> int:
        """No time, a little, a window or so, or just before or at the announced end of a wait."""
        span = self.plan.span
        if isinstance(self.wait, int) and self.wait > 0 and self.dice.below(3) == 0:
            return self.wait - self.dice.below(2)
        if self.plan.steps_back and self.dice.below(6) == 0:
            return -1 - self.dice.below(span)
        short = tuple(self.dice.below(span // part) for part in (64, 32, 16, 16, 8, 4, 1))
        return self.dice.one_of((0, 0, 0, 0, 0, 0, 1, 1, span) + short)

    def item(self) -> dict:
        rule = self.dice.one_of(self.plan.rules)
        fields = {"rule": rule["rule_id"], "key": self.dice.one_of(self.plan.keys)}
        if self.dice.below(2):
            fields["cost"] = self.dice.one_of(self.plan.costs)
        if has_resource(rule):
            fields["resource"] = self.dice.one_of(("printer", "scanner"))
        if self.plan.overrides and self.dice.below(3) == 0:
            fields["limit"] = self.dice.one_of(self.plan.overrides)
        return fields


def has_resource(rule: dict) -> bool:
    return any(limit.get("scope") == "resource" for limit in rule.get("limits", []))
