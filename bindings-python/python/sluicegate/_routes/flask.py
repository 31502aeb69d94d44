"""Limits of Flask that stand above `@app.route`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakSet

from flask import Flask, request_started

from .misplaced import Misplaced


class MisplacedViews:
    """Names views that an application serves without their limits, once it serves any."""

    def __init__(self) -> None:
        self._misplaced = Misplaced()
        self._seen: WeakSet[Flask] = WeakSet()

    def watch(self, limited: Callable[..., Any]) -> None:
        """Watches a view with a limit around it."""
        self._misplaced.watch(limited)
        request_started.connect(self._look)

    def _look(self, app: Flask, **_: Any) -> None:
        if app in self._seen:
            return
        # Flask adds no routes any more.
        self._seen.add(app)
        views = app.view_functions
        self._misplaced.name((rule.rule, views.get(rule.endpoint)) for rule in app.url_map.iter_rules())
        if self._misplaced.is_settled:
            # Requests are looked at no more.
            request_started.disconnect(self._look)


MISPLACED = MisplacedViews()
