"""What transports of httpx and of its successor httpx2 have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._outgoing import AsyncCalls, BlockingCalls, Paced


class PacedTransport(Paced):
    """A transport around another."""

    # Of the library.
    _make: Callable[[], Any]

    def _open(self, *, transport: Any = None) -> None:
        self._transport = type(self)._make() if transport is None else transport

    @staticmethod
    def _host(request: Any) -> str:
        host: str = request.url.host
        return host


class BlockingTransport(PacedTransport):
    """For `Client`."""

    _kind = BlockingCalls

    def handle_request(self, request: Any) -> Any:
        """Sends a request when it may be sent."""
        return self._calls.send(self._transport.handle_request, request)

    def close(self) -> None:
        """Closes the transport inside."""
        self._transport.close()


class AsyncTransport(PacedTransport):
    """For `AsyncClient`."""

    _kind = AsyncCalls

    async def handle_async_request(self, request: Any) -> Any:
        """Sends a request when it may be sent."""
        return await self._calls.send(self._transport.handle_async_request, request)

    async def aclose(self) -> None:
        """Closes the transport inside."""
        await self._transport.aclose()
