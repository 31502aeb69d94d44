"""What `on_denied` returns in Flask: all that a view may return."""

from __future__ import annotations

from typing import Any

from flask import Flask

from sluicegate import RateLimiter
from sluicegate.flask import RouteLimits


def test_the_answer_to_a_denial_is_made_once() -> None:
    app, calls = Flask("shop"), []

    def answer(environ: Any, start: Any) -> list[bytes]:
        """An application of WSGI, which Flask calls to make a response of it."""
        calls.append(environ["PATH_INFO"])
        start("418 I'm a teapot", [("Content-Type", "text/plain")])
        return [b"later"]

    with RateLimiter("memory://", rules=[]) as limiter:
        limited = RouteLimits(limiter)("1/minute", on_denied=lambda decision: answer)
        app.get("/")(limited(lambda: "an answer"))
        client = app.test_client()
        assert client.get("/").status_code == 200
        denied = client.get("/")
        assert (denied.status_code, denied.text, denied.headers["Retry-After"]) == (418, "later", "60")
        assert calls == ["/"]
