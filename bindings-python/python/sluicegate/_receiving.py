"""What a client sends of a request, read ahead so that its hanging up is noticed."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Message = MutableMapping[str, Any]

# As much as servers themselves read ahead.
_MOST = 65_536


def expects_to_be_asked(scope: MutableMapping[str, Any]) -> bool:
    """Whether the client sends its body only once the application asks for it."""
    return any(name.lower() == b"expect" for name, _ in scope["headers"])


class WatchedReceive:
    """The `receive` of an application that may never call it: a server tells by it alone that a client has hung up.

    Messages are kept until the application asks for them. Once there are 64 KiB, the next one is read only when it has
    asked for these; where the client expects to be asked for its body, none is read before that.
    """

    __slots__ = ("_changed", "_error", "_gone", "_is_wanted", "_kept", "_messages", "_reader", "_receive")

    def __init__(
        self, receive: Callable[[], Awaitable[Message]], gone: Callable[[], None], *, expects_to_be_asked: bool
    ) -> None:
        self._receive = receive
        self._gone = gone
        self._messages: deque[Message] = deque()
        self._kept = 0
        self._error: BaseException | None = None
        self._changed = asyncio.Event()
        self._is_wanted = asyncio.Event()
        if not expects_to_be_asked:
            self._is_wanted.set()
        self._reader = asyncio.get_running_loop().create_task(self._read())

    async def __call__(self) -> Message:
        self._is_wanted.set()
        while not self._messages:
            if self._error is not None:
                raise self._error
            self._changed.clear()
            await self._changed.wait()
        message = self._messages[0]
        # A client that has hung up stays away, however often the application asks.
        if message["type"] != "http.disconnect":
            self._messages.popleft()
            self._kept -= len(message.get("body", b""))
        return message

    def stop(self) -> None:
        """The application has returned."""
        self._reader.cancel()

    async def _read(self) -> None:
        try:
            while not self._messages or self._messages[-1]["type"] != "http.disconnect":
                await self._is_wanted.wait()
                self._take(await self._receive())
        except Exception as error:
            self._error = error
            self._changed.set()

    def _take(self, message: Message) -> None:
        self._messages.append(message)
        self._kept += len(message.get("body", b""))
        if self._kept >= _MOST:
            self._is_wanted.clear()
        if message["type"] == "http.disconnect":
            self._gone()
        self._changed.set()


class LateReceive:
    """The `receive` of an application that is watched only once something is held for the request: most never need it."""

    __slots__ = ("_is_asked", "_receive", "_scope", "_waiting", "_watched")

    def __init__(self, scope: MutableMapping[str, Any], receive: Callable[[], Awaitable[Message]]) -> None:
        self._scope = scope
        self._receive = receive
        self._watched: WatchedReceive | None = None
        self._waiting = 0
        self._is_asked = False

    async def __call__(self) -> Message:
        if self._watched is not None:
            return await self._watched()
        self._is_asked = True
        self._waiting += 1
        try:
            return await self._receive()
        finally:
            self._waiting -= 1

    def watch(self, gone: Callable[[], None]) -> None:
        """Calls `gone` when the client hangs up. Whoever waits for a message already will see it by itself."""
        if self._watched is not None or self._waiting or self._scope["type"] != "http":
            return
        asks_first = not self._is_asked and expects_to_be_asked(self._scope)
        self._watched = WatchedReceive(self._receive, gone, expects_to_be_asked=asks_first)

    def stop(self) -> None:
        """The application has returned."""
        if self._watched is not None:
            self._watched.stop()
