"""Logins that lock guessers out: 5 wrong passwords an hour per address and name, then an hour without any, then two.

Each guess is reserved before the password is looked at. A wrong one is charged, a right one is given back, and the failures
before it are forgotten. To look at the count first and to charge afterwards would let 32 parallel guesses through, since none
of them has failed yet when the others ask; what is reserved counts at once.

    pip install sluicegate fastapi uvicorn
    uvicorn --app-dir examples login:app
    curl -i --json '{"name": "alice", "password": "guess"}' http://localhost:8000/login
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import math
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, HTTPException, Request
from pydantic import BaseModel
from sluicegate import AsyncRateLimiter, ManualClock

# For several processes: redis://localhost/0.
URL = os.environ.get("LIMITER_URL", "memory://")
RULES = [
    {
        "rule_id": "guesses",
        "algorithm": "sliding_log",
        "limit": 5,
        "window_size_seconds": 3600,
        # What a process that dies has reserved is charged after 30 s: it may have looked at the password.
        "reservations": True,
        "lease_seconds": 30,
        # A guess too many begins an hour; each that begins within a day of the last one is twice as long.
        "block": {"seconds": 3600, "factor": 2, "max_seconds": 86400},
    }
]
# The tests have a clock of their own; without one the server's counts.
CLOCK: ManualClock | None = None


def hashed(password: str) -> bytes:
    return hashlib.scrypt(password.encode(), salt=b"of the example", n=2**14, r=8, p=1)


# Stands for the accounts. Real ones have a salt each.
ACCOUNTS = {"alice": hashed("correct horse")}


def is_right(name: str, password: str) -> bool:
    """Takes as long for a name that nobody has, which is not to be learnt from here."""
    known = ACCOUNTS.get(name, b"")
    return hmac.compare_digest(known, hashed(password))


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    async with AsyncRateLimiter.connect(URL, rules=RULES, clock=CLOCK) as app.state.limiter:
        yield


app = FastAPI(lifespan=lifespan)


class Guess(BaseModel):
    name: str
    password: str


@app.post("/login")
async def login(request: Request, guess: Guess) -> dict[str, str]:
    # Behind a proxy: the address that it tells.
    key = [request.client.host if request.client else "unknown", guess.name]
    limiter = app.state.limiter
    reservation = await limiter.reserve("guesses", key)
    if not reservation:
        # A guess that would fit but for those under way may be repeated soon, and blocks nobody.
        wait = str(math.ceil(reservation.retry_after))
        raise HTTPException(429, "too many wrong passwords", {"Retry-After": wait})
    if not await asyncio.to_thread(is_right, guess.name, guess.password):
        await reservation.commit()
        raise HTTPException(401, "wrong name or password")
    await reservation.release()
    await limiter.reset("guesses", key)
    return {"welcome": guess.name}
