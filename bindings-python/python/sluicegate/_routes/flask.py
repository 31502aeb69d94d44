"""Limits of Flask that stand above `@app.route`."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from flask import Flask, request, request_started

from .misplaced import Misplaced

_LOG = logging.getLogger("sluicegate")


class MisplacedError(RuntimeError):
    """A view is served without the limit that was put around it."""


class MisplacedViews:
    """Refuses requests to views that an application serves without their limits."""

    def __init__(self) -> None:
        self._misplaced = Misplaced()
        # The endpoints of each application that has served a request.
        self._found: WeakKeyDictionary[Flask, set[str]] = WeakKeyDictionary()

    def watch(self, limited: Callable[..., Any]) -> None:
        """Watches a view with a limit around it."""
        self._misplaced.watch(limited)
        request_started.connect(self._look)

    def _look(self, app: Flask, **_: Any) -> None:
        found = self._found.get(app)
        if found is None:
            # Flask adds no routes any more.
            found = self._found[app] = self._misplaced.among(app.view_functions)
            if self._misplaced.is_settled:
                # Requests are looked at no more.
                request_started.disconnect(self._look)
        if request.endpoint in found:
            error = MisplacedError(f"route {request.url_rule}: its limit is not in force (write its decorator below @app.route)")
            _LOG.error("%s", error)
            raise error


MISPLACED = MisplacedViews()
