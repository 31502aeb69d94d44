"""A kind of fault: what is done to servers, and what it may cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Kind:
    name: str
    # Does it to the servers for so many seconds, and returns when they could decide again.
    do: Callable[[Any, float], int]
    # These are those of `history.Fault`.
    forgets: int = 0
    is_split: bool = False
    is_noticed: bool = True
    # Whether it is one of a short run.
    is_short: bool = False
