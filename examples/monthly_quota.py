"""A monthly quota: the units that a plan includes, renewed at midnight on the 1st in the billing time zone.

A conversion costs as many units as the document has pages. It is charged before the work is done, so that parallel calls
cannot overspend together, and refunded if the work fails. A denial says when the next month begins.

    pip install sluicegate fastapi uvicorn
    uvicorn --app-dir examples monthly_quota:app
    curl -i -X POST -H "Authorization: Bearer acme" "http://localhost:8000/convert?pages=12"
    curl -H "Authorization: Bearer acme" http://localhost:8000/usage
"""

from __future__ import annotations

import math
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

from fastapi import Depends, FastAPI, Header, HTTPException, Query
from sluicegate import AsyncRateLimiter, Decision, ManualClock

# Use redis://localhost/0: a monthly quota must outlive the process.
URL = os.environ.get("LIMITER_URL", "memory://")
ZONE = "Europe/Berlin"
RULES = [{"rule_id": "pages", "algorithm": "fixed_window", "limit": 500, "window": "month", "time_zone": ZONE}]
# What each plan includes; one that is raised in the middle of the month keeps what was used.
PLANS = {"free": 500, "team": 20_000}
# In place of a database of accounts.
PLAN_OF = {"acme": "team"}
# Tests set a clock; without one the limiter uses the server's.
CLOCK: ManualClock | None = None


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    async with AsyncRateLimiter.connect(URL, rules=RULES, clock=CLOCK) as app.state.limiter:
        yield


app = FastAPI(lifespan=lifespan)


def customer_of(authorization: str = Header()) -> str:
    return authorization.removeprefix("Bearer ")


def plan_of(customer: str) -> int:
    return PLANS[PLAN_OF.get(customer, "free")]


@app.post("/convert")
async def convert(
    pages: int = Query(ge=1, le=100_000), broken: bool = False, customer: str = Depends(customer_of)
) -> dict[str, Any]:
    limit = plan_of(customer)
    decision = await app.state.limiter.check("pages", customer, cost=pages, limit=limit)
    if not decision:
        raise refusal(decision, limit)
    if broken:
        await app.state.limiter.refund("pages", customer, cost=pages, limit=limit)
        raise HTTPException(422, "the document cannot be read; it was not charged")
    return {"pages": pages, "left": decision.remaining}


def refusal(denied: Decision, limit: int) -> HTTPException:
    if math.isinf(denied.retry_after):
        return HTTPException(413, f"the plan includes {limit} pages a month, which are fewer than these")
    headers = {"Retry-After": str(math.ceil(denied.retry_after))}
    return HTTPException(429, f"{denied.remaining} of {limit} pages are left until {renewal(denied)}", headers)


@app.get("/usage")
async def usage(customer: str = Depends(customer_of)) -> dict[str, Any]:
    """What a bill or a page about the account shows. It costs nothing."""
    limit = plan_of(customer)
    decision = await app.state.limiter.peek("pages", customer, limit=limit)
    used = limit - decision.remaining
    return {"limit": limit, "used": used, "renewed": renewal(decision) if used else None}


def renewal(decision: Decision) -> str:
    """The first day of the next month in the billing time zone."""
    now = datetime.fromtimestamp(CLOCK.now_us / 1e6, timezone.utc) if CLOCK else datetime.now(timezone.utc)
    renewed = (now + timedelta(seconds=decision.reset_after)).astimezone(ZoneInfo(ZONE))
    # To the nearest midnight, since the clock of this process need not be the server's.
    return (renewed + timedelta(hours=12)).date().isoformat()
