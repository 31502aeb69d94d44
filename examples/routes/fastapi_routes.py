"""Limits at the routes of FastAPI.

    pip install 'sluicegate[fastapi]' uvicorn
    uvicorn --app-dir examples/routes fastapi_routes:app
    for i in 1 2 3 4; do curl -i -X POST http://localhost:8000/signup; done
"""

# --8<-- [start:head]
import os
from contextlib import asynccontextmanager

from fastapi import Depends, FastAPI, Request
from fastapi.responses import JSONResponse
from fastapi.security import HTTPBearer

from sluicegate import AsyncRateLimiter
from sluicegate.fastapi import RateLimited, RouteLimits

URL = os.environ.get("LIMITER_URL", "memory://")  # For several processes: redis://localhost/0.
PROXIES = int(os.environ.get("PROXIES", "0"))
# --8<-- [end:head]


# --8<-- [start:limits]
@asynccontextmanager
async def lifespan(app: FastAPI):
    async with AsyncRateLimiter.connect(URL, rules=[]) as app.state.limiter:
        yield


limits = RouteLimits(
    lambda request: request.app.state.limiter,
    user_id=lambda request: getattr(request.state, "user", None),
    skip=lambda request: request.url.path == "/health",
    trusted_proxies=PROXIES,
)
app = FastAPI(title="shop", lifespan=lifespan, dependencies=[Depends(limits("1000/hour", shared="all"))])
# --8<-- [end:limits]


# --8<-- [start:address]
@app.post("/signup", dependencies=[Depends(limits("3/hour"))])
async def signup():
    return {"welcome": "to the shop"}
# --8<-- [end:address]


# --8<-- [start:user]
async def signed_in(request: Request, bearer=Depends(HTTPBearer())):
    request.state.user = bearer.credentials  # In place of authentication: `Bearer alice` is alice.


@app.get("/reports/{report}", dependencies=[Depends(signed_in)])
async def report(report: int, decision=Depends(limits("4/hour", "20/day"))):
    return {"report": report, "left": decision.remaining}
# --8<-- [end:user]


# --8<-- [start:plan]
PLANS = {"alice": 4}  # How many exports a day a user has bought.


def of_plan(request: Request):
    return PLANS.get(request.state.user)  # None: the limit of the route.


@app.get("/exports", dependencies=[Depends(signed_in), Depends(limits("2/day", limit=of_plan))])
async def exports():
    return {"rows": 250}
# --8<-- [end:plan]


# --8<-- [start:denied]
@app.exception_handler(RateLimited)
async def too_many(request: Request, denied: RateLimited):
    return JSONResponse({"error": denied.detail}, denied.status_code, denied.headers)
# --8<-- [end:denied]


@app.get("/health")
async def health():
    return "well"
