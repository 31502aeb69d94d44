"""A limit above `@app.route` of Flask, which registers the view alone: it must not be silently unlimited."""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from flask import Blueprint, Flask
from flask.views import MethodView

from sluicegate import RateLimiter
from sluicegate.flask import RouteLimits


@pytest.fixture
def limits() -> Iterator[RouteLimits]:
    with RateLimiter("memory://", rules=[]) as limiter:
        yield RouteLimits(limiter)


def statuses(app: Flask, path: str, times: int) -> list[int]:
    client = app.test_client()
    return [client.get(path).status_code for _ in range(times)]


def plain(view: Callable[..., Any]) -> Callable[..., Any]:
    """As decorators of applications are."""

    @functools.wraps(view)
    def inner(*arguments: Any) -> Any:
        return view(*arguments)

    return inner


def served(app: Any) -> None:
    @app.get("/served")
    def view() -> str:
        return "unlimited by intention"


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.message for record in caplog.records if record.name == "sluicegate"]


def lacking(template: str, view: str) -> str:
    advice = "write its decorator below that of the route, unless this route is to be unlimited"
    return f"route {template}: a limit of {__name__}.{view} is not in force ({advice})"


def module_view() -> str:
    return "an answer"


def test_a_limit_above_the_route_is_named_once(limits: RouteLimits, caplog: pytest.LogCaptureFixture) -> None:
    app = Flask("shop")
    served(app)

    @limits("1/minute")
    @plain
    @app.get("/orders/<int:order>")
    def orders(order: int) -> str:
        return "an order"

    assert statuses(app, "/orders/7", 2) == [200, 200]
    assert statuses(app, "/served", 2) == [200, 200]
    name = f"{test_a_limit_above_the_route_is_named_once.__name__}.<locals>.orders"
    assert said(caplog) == [lacking("/orders/<int:order>", name)]


def test_one_of_a_blueprint(limits: RouteLimits, caplog: pytest.LogCaptureFixture) -> None:
    app, blueprint = Flask("shop"), Blueprint("items", "items")
    blueprint.get("/misplaced")(lambda: "unlimited")

    def define() -> None:
        # What it is bound to is gone when the application begins.
        @limits("1/minute")
        @blueprint.get("/items")
        def items() -> str:
            return "items"

    define()
    app.register_blueprint(blueprint, url_prefix="/v1")
    assert statuses(app, "/v1/items", 1) == [200]
    assert said(caplog) == [lacking("/v1/items", f"{test_one_of_a_blueprint.__name__}.<locals>.define.<locals>.items")]


def test_one_above_the_route_of_which_another_is_below(limits: RouteLimits, caplog: pytest.LogCaptureFixture) -> None:
    app = Flask("shop")
    view = limits("1/minute")(app.get("/both")(limits("2/minute")(module_view)))
    assert statuses(app, "/both", 3) == [200, 200, 429]
    assert said(caplog) == [lacking("/both", module_view.__name__)]
    assert view


def test_views_that_are_unlimited_by_intention_are_served(limits: RouteLimits, caplog: pytest.LogCaptureFixture) -> None:
    public, internal = Flask("public"), Flask("internal")
    limited = limits("1/minute")(module_view)
    public.get("/both")(limited)
    internal.get("/both")(module_view)

    @internal.get("/calls")
    def calls() -> Any:
        return limited()

    assert statuses(internal, "/both", 2) == [200, 200]
    assert statuses(internal, "/calls", 2) == statuses(public, "/both", 2) == [200, 429]
    # It cannot be told from a limit that is out of place.
    assert said(caplog) == [lacking("/both", module_view.__name__)]


def test_an_application_that_is_gone_leaves_nothing(limits: RouteLimits, caplog: pytest.LogCaptureFixture) -> None:
    def made(limit: Callable[..., Any]) -> Flask:
        app = Flask("shop")
        app.get("/")(limit(module_view))
        return app

    made(limits("1/minute"))
    gc.collect()
    assert statuses(made(lambda view: view), "/", 2) == [200, 200]
    assert said(caplog) == []


def test_limits_in_their_place_are_in_force(limits: RouteLimits, caplog: pytest.LogCaptureFixture) -> None:
    app = Flask("shop")

    @app.get("/below")
    @plain
    @limits("1/minute")
    @limits("5/minute")
    @plain
    def below() -> str:
        return "limited"

    @limits("9/minute", shared="called")
    def called() -> str:
        return "a function that a view calls"

    class Items(MethodView):
        @limits("1/minute")
        def get(self) -> str:
            return called()

    class Others(MethodView):
        decorators = [limits("1/minute")]

        def get(self) -> str:
            return "limited"

    app.add_url_rule("/items", view_func=Items.as_view("items"))
    app.add_url_rule("/others", view_func=Others.as_view("others"))
    for path in ("/below", "/items", "/others"):
        assert statuses(app, path, 2) == [200, 429], path
    assert said(caplog) == []


def test_a_view_may_be_served_with_its_limit_and_without(limits: RouteLimits, caplog: pytest.LogCaptureFixture) -> None:
    app = Flask("shop")

    def view() -> str:
        return "an answer"

    app.add_url_rule("/internal", "internal", view)
    app.add_url_rule("/public", "public", limits("1/minute")(view))
    assert [statuses(app, path, 2) for path in ("/internal", "/public")] == [[200, 200], [200, 429]]
    assert said(caplog) == []
