"""User and password of new connections, as a function of the caller gives them."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol, TypeAlias

__all__ = ["on_loop", "starter"]

# More than this of a name is not repeated in a message.
_SHOWN_CHARS = 64

if TYPE_CHECKING:
    _Given: TypeAlias = str | tuple[str | None, str]
    # What `credentials` of asyncio may be.
    _AsyncCredentials: TypeAlias = Callable[[], _Given | Awaitable[_Given]]


class _Reply(Protocol):
    def give(self, user: str | None, password: str) -> None: ...
    def refuse(self, reason: str) -> None: ...


def starter(function: Callable[[], object]) -> Callable[[_Reply], None]:
    """A function that has `function` called on a thread of its own, and the reply given what comes of it."""

    def start(reply: _Reply) -> None:
        # The program may end while it is at work.
        thread = threading.Thread(target=_ask, args=(function, reply), name="sluicegate-credentials", daemon=True)
        try:
            thread.start()
        except (RuntimeError, MemoryError):
            reply.refuse("no thread can be started to call `credentials` (raise the limit on threads)")

    return start


def _ask(function: Callable[[], object], reply: _Reply) -> None:
    try:
        _answer(function(), reply)
    except BaseException as error:  # noqa: BLE001 - whatever it is, a call waits to hear of it
        # Its text may have secrets.
        reply.refuse(f"`credentials` raised {_name(error)}")


def _answer(answer: object, reply: _Reply) -> None:
    match answer:
        case str() as password:
            reply.give(None, password)
        case (None | str() as user, str() as password):
            reply.give(user, password)
        case _:
            if inspect.iscoroutine(answer):
                answer.close()
            kind = _name(answer)
            reply.refuse(f"`credentials` must return a password, or a tuple of user and password, not {kind}")


def _name(thing: object) -> str:
    # A metaclass may have a property of that name, which may raise.
    name = str(type.__dict__["__name__"].__get__(type(thing)))
    return name if len(name) <= _SHOWN_CHARS else name[: _SHOWN_CHARS - 1] + "…"


def on_loop(function: _AsyncCredentials | None) -> Callable[[], _Given] | None:
    """The same function; if it is a coroutine function, it runs on the loop that runs now."""
    if not callable(function):
        # What is no function is refused later.
        return function
    loop = asyncio._get_running_loop()

    def call() -> _Given:
        answer = function()
        if not inspect.isawaitable(answer):
            return answer
        if loop is None:
            return asyncio.run(_awaited(answer))
        return asyncio.run_coroutine_threadsafe(_awaited(answer), loop).result()

    return call


async def _awaited(answer: Awaitable[_Given]) -> _Given:
    return await answer
