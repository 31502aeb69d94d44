"""Sites whose servers start several processes, of which each answers with its number: of Flask, and of FastAPI."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import Depends, FastAPI
from flask import Flask, request

from sluicegate import AsyncRateLimiter, RateLimiter
from sluicegate.fastapi import RouteLimits as FastapiLimits
from sluicegate.flask import RouteLimits as FlaskLimits

RATE = "10/day"
OPTIONS: dict[str, Any] = {"url": os.environ["REDIS_URL"], "prefix": os.environ["PREFIX"], "rules": []}

limiter = RateLimiter(**OPTIONS)
# Connections are open, and a thread reads from them, when the server forks.
limiter.ping()
flask_app = Flask("workers")


@flask_app.get("/")
@FlaskLimits(limiter, key=lambda: request.headers["X-User"])(RATE)
def of_flask() -> str:
    return str(os.getpid())


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    async with AsyncRateLimiter.connect(**OPTIONS) as app.state.limiter:
        yield


fastapi_app = FastAPI(title="workers", lifespan=lifespan)
limits = FastapiLimits(lambda request: request.app.state.limiter, key=lambda request: request.headers["X-User"])


@fastapi_app.get("/", dependencies=[Depends(limits(RATE))])
async def of_fastapi() -> int:
    return os.getpid()
