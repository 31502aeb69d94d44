"""A route of Flask with the limit that KIND names."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from flask import Flask, abort, request
from flask_limiter import Limiter
from flask_limiter.util import get_remote_address

import sluicegate.limits  # noqa: F401
from sluicegate import RateLimiter
from sluicegate.flask import RouteLimits

RATE = "1000000000/minute"
REDIS = os.environ["REDIS_URL"]
View = Callable[..., Any]

app = Flask("shop")


def flask_limiter(url: str, **options: Any) -> Callable[[View], View]:
    decorate: Callable[[View], View] = Limiter(get_remote_address, app=app, storage_uri=url, **options).limit(RATE)
    return decorate


def sluicegate_routes(url: str, **options: Any) -> Callable[[View], View]:
    return RouteLimits(RateLimiter(url, rules=[]), **options)(RATE)


def bare_check(view: View) -> View:
    limiter = RateLimiter("memory://", rules=[{"rule_id": "items", "rate": RATE}])

    def checked(item: str) -> Any:
        if not limiter.check("items", request.remote_addr or ""):
            abort(429)
        return view(item)

    return checked


LIMITS: dict[str, Callable[[], Callable[[View], View]]] = {
    "none": lambda: lambda view: view,
    "theirs": lambda: flask_limiter(REDIS),
    "theirs in memory": lambda: flask_limiter("memory://"),
    "theirs with headers": lambda: flask_limiter(REDIS, headers_enabled=True),
    "drop-in": lambda: flask_limiter(f"sluicegate+{REDIS}"),
    "drop-in with headers": lambda: flask_limiter(f"sluicegate+{REDIS}", headers_enabled=True),
    "route": lambda: sluicegate_routes(REDIS),
    "route without headers": lambda: sluicegate_routes(REDIS, headers="none"),
    "bare check": lambda: bare_check,
    "route in memory": lambda: sluicegate_routes("memory://"),
}


def items(item: str) -> dict[str, str]:
    return {"item": item}


app.add_url_rule("/items/<item>", "items", LIMITS[os.environ["KIND"]]()(items))
