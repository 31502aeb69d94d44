"""Limits at the handlers of aiohttp.

    pip install 'sluicegate[aiohttp]'
    python examples/routes/aiohttp_routes.py
    for i in 1 2 3 4; do curl -i -X POST http://localhost:8000/signup; done
"""

# --8<-- [start:head]
import os

from aiohttp import web

from sluicegate import AsyncRateLimiter
from sluicegate.aiohttp import RATE_LIMIT, RouteLimits

URL = os.environ.get("LIMITER_URL", "memory://")  # For several processes: redis://localhost/0.
PROXIES = int(os.environ.get("PROXIES", "0"))
# --8<-- [end:head]


# --8<-- [start:denied]
def too_many(request, decision):
    return web.json_response({"error": f"try again in {decision.retry_after:.0f} s"}, status=429)
# --8<-- [end:denied]


# --8<-- [start:limits]
LIMITER = web.AppKey("limiter", AsyncRateLimiter)


async def connected(app):
    async with AsyncRateLimiter.connect(URL, rules=[]) as app[LIMITER]:
        yield


limits = RouteLimits(
    lambda request: request.app[LIMITER],
    name="shop",
    user_id=lambda request: request.get("user"),
    on_denied=too_many,
    trusted_proxies=PROXIES,
)
# --8<-- [end:limits]


# --8<-- [start:address]
@limits("3/hour")
async def signup(request):
    return web.json_response({"welcome": "to the shop"})
# --8<-- [end:address]


# --8<-- [start:user]
@web.middleware
async def sign_in(request, handler):
    # In place of authentication: `Bearer alice` is alice.
    request["user"] = request.headers.get("Authorization", "").removeprefix("Bearer ") or None
    if request["user"] is None and handler in (report, exports):
        raise web.HTTPUnauthorized
    return await handler(request)


@limits("4/hour", "20/day")
async def report(request):
    return web.json_response({"report": int(request.match_info["report"]), "left": request[RATE_LIMIT].remaining})
# --8<-- [end:user]


# --8<-- [start:plan]
PLANS = {"alice": 4}  # How many exports a day a user has bought.


@limits("2/day", limit=lambda request: PLANS.get(request["user"]))  # None: the limit of the handler.
async def exports(request):
    return web.json_response({"rows": 250})
# --8<-- [end:plan]


# --8<-- [start:health]
async def health(request):
    return web.Response(text="well")


def application():
    app = web.Application(middlewares=[sign_in])
    app.cleanup_ctx.append(connected)
    app.router.add_post("/signup", signup)
    app.router.add_get("/reports/{report}", report)
    app.router.add_get("/exports", exports)
    app.router.add_get("/health", health)
    return app
# --8<-- [end:health]


if __name__ == "__main__":
    web.run_app(application(), port=int(os.environ.get("PORT", "8000")))
