"""Random histories alone: see random_plans.py beside it."""

DESCRIPTION = "Reservations, blocks, stored limits and request ids in one history, at random"

SCENARIOS: list = []
