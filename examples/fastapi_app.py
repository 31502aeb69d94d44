"""An API whose limits are the rules in orders.jsonc; edit them while it runs.

    pip install sluicegate fastapi uvicorn
    uvicorn --app-dir examples fastapi_app:app
    for i in 1 2 3 4 5 6; do curl -i -X POST http://localhost:8000/login; done
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Header
from sluicegate import AsyncRateLimiter
from sluicegate.asgi import RateLimitMiddleware

# For several processes: redis://localhost/0.
URL = os.environ.get("LIMITER_URL", "memory://")
# Or zookeeper://localhost:2181/config/ratelimit/rules.
RULES = os.environ.get("LIMITER_RULES", str(Path(__file__).with_name("orders.jsonc")))


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    async with AsyncRateLimiter.connect(URL, rules=RULES) as app.state.limiter:
        yield


def user_of(scope: dict[str, Any]) -> str | None:
    """In place of authentication: `Authorization: Bearer alice` is alice."""
    authorization = dict(scope["headers"]).get(b"authorization", b"").decode("latin-1")
    return authorization.removeprefix("Bearer ") or None


app = FastAPI(lifespan=lifespan)
app.add_middleware(RateLimitMiddleware, limiter=lambda scope: scope["app"].state.limiter, user_id=user_of)


@app.get("/orders/{order}")
async def order(order: int, authorization: str = Header()) -> dict[str, Any]:
    return {"order": order, "of": authorization.removeprefix("Bearer ")}


@app.post("/login")
async def login() -> dict[str, str]:
    return {"token": "alice"}
