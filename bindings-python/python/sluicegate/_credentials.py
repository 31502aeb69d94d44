"""User and password of new connections, as a function of the caller gives them."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

__all__ = ["on_loop", "starter"]

if TYPE_CHECKING:
    _Given: TypeAlias = str | tuple[str | None, str]
    # What `credentials` of asyncio may be.
    AsyncCredentialsFunction: TypeAlias = Callable[[], _Given | Awaitable[_Given]]


class _Reply(Protocol):
    def give(self, user: str | None, password: str) -> None: ...
    def refuse(self, reason: str) -> None: ...


def starter(function: Callable[[], object]) -> Callable[[_Reply], None]:
    """A function that has `function` called on a thread of its own, and the reply given what comes of it."""

    def start(reply: _Reply) -> None:
        # The program may end while it is at work.
        threading.Thread(target=_ask, args=(function, reply), name="sluicegate-credentials", daemon=True).start()

    return start


def _ask(function: Callable[[], object], reply: _Reply) -> None:
    try:
        answer = function()
    except BaseException as error:  # noqa: BLE001 - whatever it is, a call waits to hear of it
        # Its text may have secrets.
        reply.refuse(f"`credentials` raised {type(error).__name__}")
        return
    match answer:
        case str() as password:
            reply.give(None, password)
        case (None | str() as user, str() as password):
            reply.give(user, password)
        case _:
            if inspect.iscoroutine(answer):
                answer.close()
            kind = type(answer).__name__
            reply.refuse(f"`credentials` must return a password, or a tuple of user and password, not {kind}")


def on_loop(function: Any) -> Any:  # noqa: ANN401 - what is no function is refused later
    """The same function; if it is a coroutine function, it runs on the loop that runs now."""
    if not callable(function):
        return function
    loop = asyncio._get_running_loop()

    def call() -> object:
        answer = function()
        if not inspect.isawaitable(answer):
            return answer
        if loop is None:
            return asyncio.run(_awaited(answer))
        return asyncio.run_coroutine_threadsafe(_awaited(answer), loop).result()

    return call


async def _awaited(answer: Awaitable[object]) -> object:
    return await answer
