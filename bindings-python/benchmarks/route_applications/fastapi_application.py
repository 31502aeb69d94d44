"""A route of FastAPI with the limit that KIND names."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import Depends, FastAPI, HTTPException, Request, Response
from slowapi import Limiter
from slowapi.util import get_remote_address

import sluicegate.limits  # noqa: F401
from sluicegate import AsyncRateLimiter
from sluicegate.fastapi import RouteLimits

RATE = "1000000000/minute"
REDIS = os.environ["REDIS_URL"]
# Where ours counts, by its kind.
URLS = {"route": REDIS, "endpoint": REDIS, "endpoint without headers": REDIS}
URLS |= dict.fromkeys(["bare check", "route in memory", "endpoint in memory"], "memory://")
KIND = os.environ["KIND"]


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    if KIND not in URLS:
        yield
        return
    async with AsyncRateLimiter.connect(URLS[KIND], rules=[{"rule_id": "items", "rate": RATE}]) as limiter:
        app.state.limiter = limiter
        yield


app = FastAPI(title="shop", lifespan=lifespan)


def slowapi(url: str, **options: Any) -> None:
    limiter = app.state.limiter = Limiter(get_remote_address, storage_uri=url, **options)

    @app.get("/items/{item}")
    @limiter.limit(RATE)
    async def items(item: str, request: Request, response: Response) -> dict[str, str]:
        return {"item": item}


if KIND.startswith("theirs"):
    slowapi("memory://" if "memory" in KIND else REDIS, headers_enabled="headers" in KIND)
elif KIND.startswith("drop-in"):
    slowapi(f"sluicegate+{REDIS}", headers_enabled="headers" in KIND)
elif KIND.startswith("route"):
    limits = RouteLimits(lambda request: request.app.state.limiter)

    @app.get("/items/{item}", dependencies=[Depends(limits(RATE))])
    async def limited(item: str) -> dict[str, str]:
        return {"item": item}
elif KIND.startswith("endpoint"):
    styles = {"headers": "none"} if "without headers" in KIND else {}

    @app.get("/items/{item}")
    @RouteLimits(lambda request: request.app.state.limiter, **styles).endpoint(RATE)
    async def decorated(item: str) -> dict[str, str]:
        return {"item": item}
elif KIND == "bare check":

    @app.get("/items/{item}")
    async def checked(item: str, request: Request) -> dict[str, str]:
        if not await request.app.state.limiter.check("items", request.client.host if request.client else ""):
            raise HTTPException(429)
        return {"item": item}
else:

    @app.get("/items/{item}")
    async def free(item: str) -> dict[str, str]:
        return {"item": item}
