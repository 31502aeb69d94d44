"""Workers that together call a provider no more often than it admits: 10 times per second.

Each worker waits for its turn. The provider may still say 429, since it counts when calls arrive and others may use the same
account: then the whole fleet pauses for as long as its `Retry-After` says, because the worker blocks the key for all of them.

    pip install sluicegate
    LIMITER_URL=redis://localhost/0 python examples/paced_worker.py https://provider.example/jobs/ 1 2 3
"""

from __future__ import annotations

import os
import sys
import time
import urllib.error
import urllib.request
from email.utils import parsedate_to_datetime

from sluicegate import RateLimiter

# Workers on one machine need a server too: memory:// holds for one process.
URL = os.environ.get("LIMITER_URL", "redis://localhost/0")
RATE = os.environ.get("PROVIDER_RATE", "10/s")
# `block` without seconds: only by hand. One worker's denial is no reason to stop the others.
RULES = [{"rule_id": "provider", "algorithm": "uniform", "rate": RATE, "block": {}}]
KEY = "account"
# The longest that a call may wait for its turn, pauses included.
LONGEST_WAIT = 600.0
TRIES = 5


def call(limiter: RateLimiter, url: str) -> bytes:
    """Waits for its turn, calls the provider, and repeats both after a 429."""
    for _ in range(TRIES):
        if not limiter.wait("provider", KEY, timeout=LONGEST_WAIT):
            raise TimeoutError(f"no turn within {LONGEST_WAIT:.0f} s")
        try:
            with urllib.request.urlopen(url, timeout=30) as answer:
                return bytes(answer.read())
        except urllib.error.HTTPError as error:
            if error.code != 429:
                raise
            limiter.block("provider", KEY, pause(error.headers.get("Retry-After")))
    raise TimeoutError(f"the provider refused {TRIES} times")


def pause(retry_after: str | None) -> float:
    """The seconds of a `Retry-After`, which may be a date; 1 if it cannot be read."""
    try:
        seconds = float(retry_after or "")
    except ValueError:
        try:
            seconds = parsedate_to_datetime(retry_after or "").timestamp() - time.time()
        except ValueError:
            seconds = 1.0
    return min(max(seconds, 0.1), 3600.0)


def main(base: str, jobs: list[str]) -> None:
    with RateLimiter(URL, rules=RULES) as limiter:
        for job in jobs:
            print(job, call(limiter, base + job).decode(), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
