"""Limits at the views of Flask.

    pip install 'sluicegate[flask]'
    flask --app examples/routes/flask_routes.py run --port 8000
    for i in 1 2 3 4; do curl -i -X POST http://localhost:8000/signup; done
"""

# --8<-- [start:head]
import os

from flask import Flask, abort, g, jsonify, request

from sluicegate import RateLimiter
from sluicegate.flask import RouteLimits

URL = os.environ.get("LIMITER_URL", "memory://")  # For several processes: redis://localhost/0.
PROXIES = int(os.environ.get("PROXIES", "0"))
# --8<-- [end:head]

# --8<-- [start:limits]
app = Flask("shop")
limits = RouteLimits(RateLimiter(URL, rules=[]), user_id=lambda: g.get("user"), trusted_proxies=PROXIES)
# --8<-- [end:limits]


# --8<-- [start:address]
@app.post("/signup")
@limits("3/hour")
def signup():
    return {"welcome": "to the shop"}
# --8<-- [end:address]


# --8<-- [start:user]
@app.before_request
def sign_in():
    # In place of authentication: `Bearer alice` is alice.
    g.user = request.authorization.token if request.authorization else None
    if g.user is None and request.endpoint in ("report", "exports"):
        abort(401)


@app.get("/reports/<int:report>")
@limits("4/hour", "20/day")
def report(report):
    return {"report": report, "left": g.rate_limit.remaining}
# --8<-- [end:user]


# --8<-- [start:plan]
PLANS = {"alice": 4}  # How many exports a day a user has bought.


@app.get("/exports")
@limits("2/day", limit=lambda: PLANS.get(g.user))  # None: the limit of the view.
def exports():
    return {"rows": 250}
# --8<-- [end:plan]


# --8<-- [start:denied]
@app.errorhandler(429)
def too_many(denied):
    return jsonify(error=denied.description), 429
# --8<-- [end:denied]


# --8<-- [start:health]
@app.get("/health")
def health():
    return "well"
# --8<-- [end:health]
