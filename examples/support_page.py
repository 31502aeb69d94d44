"""A page for the support team: what a customer has used, a higher limit for a day, block, unblock, reset.

It has no login of its own: put it behind the login of your other internal pages.

    pip install sluicegate
    LIMITER_URL=redis://localhost/0 python examples/support_page.py
    open http://localhost:8000/?key=acme
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable
from html import escape
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit
from wsgiref.simple_server import make_server

from sluicegate import Decision, RateLimiter, SluicegateError

URL = os.environ.get("LIMITER_URL", "memory://")
RULES = os.environ.get("LIMITER_RULES", str(Path(__file__).with_name("support.jsonc")))
DAY = 86_400
limiter = RateLimiter(URL, rules=RULES)


class Refused(Exception):
    """A mistake in the form. The message is shown on the page."""


def app(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    try:
        fields = _fields(environ)
        if environ["REQUEST_METHOD"] == "POST":
            _ensure_own_page(environ)
            change(fields)
            start_response("303 See Other", [("Location", f"?{urlencode({'key': fields['key']})}")])
            return [b""]
        status, body = HTTPStatus.OK, page(fields.get("key", ""))
    except (Refused, SluicegateError) as error:
        status, body = HTTPStatus.BAD_REQUEST, f"<p>{escape(str(error))}</p>"
    html = f"<!doctype html><meta charset=utf-8><title>Limits</title><h1>Limits</h1>{body}".encode()
    # The page runs no scripts, and other sites cannot show it in a frame.
    policy = ("Content-Security-Policy", "default-src 'none'; form-action 'self'; frame-ancestors 'none'")
    start_response(f"{status.value} {status.phrase}", [("Content-Type", "text/html; charset=utf-8"), policy])
    return [html]


def _fields(environ: dict[str, Any]) -> dict[str, str]:
    text = environ.get("QUERY_STRING", "")
    if environ["REQUEST_METHOD"] == "POST":
        text = environ["wsgi.input"].read(min(int(environ.get("CONTENT_LENGTH") or 0), 10_000)).decode()
    return {name: values[0] for name, values in parse_qs(text).items()}


def _ensure_own_page(environ: dict[str, Any]) -> None:
    """Rejects forms that another site submits with the user's login (CSRF): browsers send the `Origin`."""
    if urlsplit(environ.get("HTTP_ORIGIN", "")).netloc != environ.get("HTTP_HOST"):
        raise Refused("this form was not sent by this page")


def change(fields: dict[str, str]) -> None:
    rule, key = fields.get("rule", ""), fields.get("key", "")
    match fields.get("action"):
        case "raise":
            limiter.set_limit(rule, key, _number(fields, "limit"), expires_in=DAY)
        case "clear":
            limiter.clear_limit(rule, key)
        case "block":
            limiter.block(rule, key, _number(fields, "minutes") * 60)
        case "unblock":
            limiter.unblock(rule, key)
        case "reset":
            limiter.reset(rule, key)
        case other:
            raise Refused(f"{other!r} is nothing that this page does")


def _number(fields: dict[str, str], name: str) -> int:
    try:
        return int(fields.get(name, ""))
    except ValueError:
        raise Refused(f"{name}: must be a whole number") from None


def page(key: str) -> str:
    form = f'<form>Customer <input name=key value="{escape(key)}"><button>Show</button></form>'
    if not key:
        return form
    rules = {rule["rule_id"]: rule for rule in limiter.rules()}
    rows = "".join(row(rules[part.rule], part, key) for part in limiter.inspect(key).parts)
    heads = "".join(f"<th>{name}" for name in ("rule", "used", "limit", "reset", "blocked", ""))
    return f"{form}<h2>{escape(key)}</h2><table><tr>{heads}</tr>{rows}</table>"


def row(rule: dict[str, Any], part: Decision, key: str) -> str:
    blocked = f"for {_time(part.retry_after)}" if part.blocked else "no"
    # While a key is blocked, its decision says that 0 are left.
    used = "" if part.blocked else str(part.limit - part.remaining)
    cells = (part.rule, used, str(part.limit), _time(part.reset_after), blocked)
    forms = [("reset", "")]
    if rule.get("overrides"):
        forms += [("raise", '<input name=limit size=6 required placeholder="limit">'), ("clear", "")]
    if "block" in rule:
        forms += [("block", '<input name=minutes size=4 required placeholder="minutes">'), ("unblock", "")]
    buttons = "".join(_form(action, part.rule, key, field) for action, field in forms)
    return "<tr>" + "".join(f"<td>{escape(cell)}" for cell in cells) + f"<td>{buttons}</tr>"


def _form(action: str, rule: str, key: str, field: str) -> str:
    hidden = "".join(
        f'<input type=hidden name={name} value="{escape(value)}">' for name, value in (("rule", rule), ("key", key))
    )
    return f"<form method=post>{hidden}{field}<button name=action value={action}>{action}</button></form>"


def _time(seconds: float) -> str:
    if math.isinf(seconds):
        return "for ever"
    minutes = math.ceil(seconds / 60)
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"


if __name__ == "__main__":
    with make_server("127.0.0.1", int(os.environ.get("PORT", "8000")), app) as server:
        print(f"listening on http://localhost:{server.server_port}")
        server.serve_forever()
