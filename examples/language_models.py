"""A gateway for language models: requests, tokens and concurrency of each tenant, in one call.

The cost of an answer is known only when it has been streamed. So the gateway reserves the most that it may cost, and
afterwards charges what it did cost: of 60,000 tokens, 15 calls may hold 4,000 each, and a call that used 500 frees 3,500 at once.
If the gateway crashes, its reservations are held until their leases end.

    pip install sluicegate fastapi uvicorn
    uvicorn --app-dir examples language_models:app
    curl -N -X POST -H "Authorization: Bearer acme" "http://localhost:8000/chat?max_tokens=4000&words=500"
"""

from __future__ import annotations

import asyncio
import math
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI, Header, HTTPException, Query
from fastapi.responses import StreamingResponse
from sluicegate import AsyncRateLimiter, AsyncReservation, Check

# For several processes: redis://localhost/0.
URL = os.environ.get("LIMITER_URL", "memory://")
RULES = str(Path(__file__).with_name("language_models.jsonc"))
# Seconds between two words of the toy model.
PACE = float(os.environ.get("MODEL_PACE", "0.04"))


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    async with AsyncRateLimiter.connect(URL, rules=RULES) as app.state.limiter:
        yield


app = FastAPI(lifespan=lifespan)


async def toy_model(words: int) -> AsyncIterator[str]:
    """A toy model: one word is one token."""
    for number in range(words):
        await asyncio.sleep(PACE)
        yield f"word{number} "


@app.post("/chat")
async def chat(
    max_tokens: int = Query(4_000, ge=1, le=100_000),
    words: int = Query(20, ge=0),
    authorization: str = Header(),
) -> StreamingResponse:
    tenant = authorization.removeprefix("Bearer ")
    reservation = await app.state.limiter.reserve_all(
        [Check("requests", tenant), Check("tokens", tenant, cost=max_tokens), Check("in_flight", tenant)]
    )
    if not reservation:
        raise refusal(reservation)
    return StreamingResponse(streamed(reservation, min(words, max_tokens)), media_type="text/plain")


def refusal(denied: AsyncReservation) -> HTTPException:
    never = math.isinf(denied.retry_after)
    headers = {} if never else {"Retry-After": str(math.ceil(denied.retry_after))}
    return HTTPException(400 if never else 429, f"the limit of {denied.rule} is reached", headers)


async def streamed(reservation: AsyncReservation, words: int) -> AsyncIterator[str]:
    """Passes an answer on, and commits what it used: all of it, or what there was before the client hung up."""
    used = 0
    try:
        async for word in toy_model(words):
            used += 1
            yield word
    finally:
        # A client that hangs up cancels this task, which must not cancel the commit.
        await asyncio.shield(reservation.commit({"tokens": used}))
