"""Random histories of allotments. One whose answer depends on how a fraction is rounded is left out."""

from random import Random

from .allotment import Unfair
from .play import vector
from .scenario import MS, S, Scenario, deposit, item, rule, spend, together

HISTORIES, STEPS = 12, 60


def history(seed: int) -> Scenario:
    draw = Random(seed)
    trip = draw.choice([300, 40 * MS, 150 * MS])
    now, steps = 0, []
    for _ in range(STEPS):
        now += -draw.randrange(5 * S) if draw.random() < 0.02 else draw.randrange(draw.choice([MS, 30 * MS, S]))
        steps.append(step(draw, now, trip))
    return Scenario(f"random/{seed}", "a random history", steps, rule(age=draw.choice([201, 801, 991])))


def step(draw: Random, now: int, trip: int) -> dict:
    match draw.randrange(8):
        case 0 | 1:
            denied = (draw.randrange(1, 4), draw.randrange(400 * MS), draw.randrange(S)) if draw.random() < 0.3 else None
            contended = draw.choice([0, 0, S])
            return deposit(now, draw.randrange(60), draw.randrange(-50, 900) * MS, draw.randrange(2 * S), denied, contended)
        case 2:
            there = draw.choice([None, None, True, False])
            items = item(draw.randrange(1, 5), there), item(draw.randrange(1, 5), key="bob")
            return together(now, *items, others_fit=draw.random() < 0.7)
        case _:
            return spend(now, draw.randrange(1, 5), trip)


def is_fair(scenario: Scenario) -> bool:
    try:
        vector(scenario)
    except Unfair:
        return False
    return True


SCENARIOS = [scenario for scenario in map(history, range(HISTORIES)) if is_fair(scenario)]
