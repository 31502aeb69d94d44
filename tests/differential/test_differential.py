"""Whenever a handler ran, its rule was charged, and the key that it saw."""

from __future__ import annotations

import json
import os
import unittest
from collections import Counter
from pathlib import Path
from typing import Any

from sites import SITES, Client
from targets import PATHS, Request, requests

COUNT = int(os.environ.get("DIFFERENTIAL_TARGETS", "300"))
SEED = int(os.environ.get("DIFFERENTIAL_SEED", "1"))
RULES = {rule["rule_id"] for rule in json.loads((Path(__file__).parent / "rules.json").read_text(encoding="utf-8"))}
MOST_SHOWN = 25


def key_of(seen: str) -> str:
    """The key of what a handler saw: what would be misread in a path is escaped, and `/` is an empty name."""
    return "/" if not seen else "".join(f"%{ord(char):02X}" if char in "%?#/" or ord(char) < 32 or ord(char) == 127 else char for char in seen)


def fault(ran: dict[str, Any]) -> str | None:
    keys = [key for rule, key in ran["charged"] if rule == ran["rule"]]
    if not keys:
        return f"rule {ran['rule']} was not charged: {ran['charged']}"
    seen = ran["key"]
    if seen is None or seen in keys or key_of(seen) in keys:
        return None
    return f"rule {ran['rule']} was charged for {keys}, and the handler saw {seen!r}"


class Differential(unittest.TestCase):
    def judge(self, name: str) -> None:
        faults: list[str] = []
        ran: Counter[str] = Counter()
        with SITES[name]() as port:
            client = Client(port)
            for request in requests(SEED, COUNT):
                answer = client.ask(request.sent(), request.method != b"HEAD")
                if answer.ran:
                    ran[answer.ran["rule"]] += 1
                    found = fault(answer.ran)
                    faults += [f"{request}: {found}"] if found else []
            client.close()
        print(f"{name}: {COUNT} requests, {ran.total()} reached a handler, {len(faults)} slipped past", flush=True)
        # Without this, an application that answers nothing would pass.
        self.assertEqual(set(ran), RULES, "handlers that never ran")
        self.assertFalse(faults, "\n" + "\n".join(faults[:MOST_SHOWN]))


def _test(name: str) -> Any:
    return lambda self: self.judge(name)


for _name in SITES:
    setattr(Differential, "test_" + "_".join(_name.replace(",", "").split()), _test(_name))

if __name__ == "__main__":
    unittest.main()
