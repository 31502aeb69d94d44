"""Login lockout: after 5 wrong passwords in an hour, an address may not guess a name's password for an hour, then for two.

Each guess is reserved before the password is checked. A wrong guess is charged. A right one is released, and earlier failures are
forgotten. Checking the count first and charging afterwards would admit 32 parallel guesses, because none has failed yet when the
others are checked. A reservation counts at once.

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
        # An IPv6 address is cut to its network, of which one client has all addresses.
        "identifier_type": ["ip_address", "user_id"],
        "algorithm": "sliding_log",
        "limit": 5,
        "window_size_seconds": 3600,
        # If the process dies, its guess is charged after 30 s, because the password may have been checked.
        "reservations": True,
        "lease_seconds": 30,
        # The sixth guess starts a block of an hour. A block within a day of the last one is twice as long.
        "block": {"seconds": 3600, "factor": 2, "max_seconds": 86400},
    }
]
# Tests set a clock; without one the limiter uses the server's.
CLOCK: ManualClock | None = None


def hashed(password: str) -> bytes:
    return hashlib.scrypt(password.encode(), salt=b"of the example", n=2**14, r=8, p=1)


# In place of a database of accounts, in which each has a salt of its own.
ACCOUNTS = {"alice": hashed("correct horse")}


def is_right(name: str, password: str) -> bool:
    """Takes the same time for an unknown name, so that the response time does not reveal which names exist."""
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
    # Behind a proxy, use the client's address that the proxy passes on.
    key = [request.client.host if request.client else "unknown", guess.name]
    limiter = app.state.limiter
    reservation = await limiter.reserve("guesses", key)
    if not reservation:
        # If only unfinished guesses stand in the way, the wait is short and no block starts.
        wait = str(math.ceil(reservation.retry_after))
        raise HTTPException(429, "too many wrong passwords", {"Retry-After": wait})
    if not await asyncio.to_thread(is_right, guess.name, guess.password):
        await reservation.commit()
        raise HTTPException(401, "wrong name or password")
    await reservation.release()
    await limiter.reset("guesses", key)
    return {"welcome": guess.name}
