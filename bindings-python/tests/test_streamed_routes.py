"""Places that limits at routes hold for responses which are streamed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from web import Site, configured, serve_werkzeug, serve_wsgiref

from sluicegate import RateLimiter

RULES = [{"rule_id": "place", "identifier_type": "global", "algorithm": "concurrency", "limit": 1}]
Parts = Callable[[], Iterator[str]]


@contextmanager
def flask(limiter: RateLimiter, parts: Parts) -> Iterator[Site]:
    from flask import Flask

    from sluicegate.flask import RouteLimits

    app = Flask("site")
    app.add_url_rule("/", "stream", RouteLimits(limiter)("place")(parts))
    with serve_werkzeug(app) as site:
        yield site


@contextmanager
def django(limiter: RateLimiter, parts: Parts) -> Iterator[Site]:
    configured()
    from django.core.wsgi import get_wsgi_application
    from django.http import StreamingHttpResponse
    from django.test import override_settings
    from django.urls import path

    from sluicegate.django import RouteLimits

    limited = RouteLimits(limiter)("place")(lambda request: StreamingHttpResponse(parts()))
    with override_settings(ROOT_URLCONF=type("urls", (), {"urlpatterns": [path("", limited)]})):
        with serve_wsgiref(get_wsgi_application()) as site:
            yield site


@pytest.mark.parametrize("serve", [flask, django])
def test_a_place_is_held_until_the_last_part(serve: Any) -> None:
    with RateLimiter("memory://", rules=RULES) as limiter:

        def parts() -> Iterator[str]:
            for _ in range(2):
                yield f"{limiter.peek('place', 'global').remaining} left, "

        with serve(limiter, parts) as site:
            # The second one finds the place free.
            assert [site.ask("GET", "/").body for _ in range(2)] == [b"0 left, 0 left, "] * 2


def test_a_response_that_is_closed_early_gives_its_place_back() -> None:
    from flask import Flask

    from sluicegate.flask import RouteLimits

    with RateLimiter("memory://", rules=RULES) as limiter:
        app = Flask("site")
        app.add_url_rule("/", "stream", RouteLimits(limiter)("place")(lambda: iter(["first", "never sent"])))
        response = app.test_client().get("/")
        assert next(response.iter_encoded()) == b"first"
        assert limiter.peek("place", "global").remaining == 0
        response.close()
        assert limiter.peek("place", "global").remaining == 1
