"""How long this machine lets a process wait for a processor, to separate that from the time that limiters take."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

from history import Stall, now

EVERY_US = 5_000
# Shorter ones are of no interest.
LEAST_US = 1_000


@contextmanager
def noted(stalls: list[Stall]) -> Iterator[None]:
    """Adds to the list, until the end of the block."""
    is_over = Event()

    def watch() -> None:
        due = now() + EVERY_US
        while not is_over.wait((due - now()) / 1e6 if due > now() else 0):
            late = now() - due
            if late > LEAST_US:
                stalls.append(Stall(due, late))
            due = now() + EVERY_US

    watching = Thread(target=watch)
    watching.start()
    try:
        yield
    finally:
        is_over.set()
        watching.join()
