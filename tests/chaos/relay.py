"""An address in front of a server, and a network between them that can be made bad."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Coroutine
from dataclasses import dataclass
from threading import Thread

# Connections that wait until they are accepted.
BACKLOG = 128
# A system that does not answer a connection for so many seconds drops what is sent to it.
DROPPED = 0.3
CHUNK = 1 << 16


@dataclass(frozen=True)
class Network:
    """How bytes travel. All of it is about connections that are open as well as about those to come."""

    # In each direction, in seconds.
    delay: float = 0
    # Between two bytes of an answer, in seconds.
    trickle: float = 0
    # After so many bytes of an answer its connection breaks; 0: never.
    cut: int = 0


GOOD = Network()


class Link:
    """One connection, and the one to the server that it goes on to."""

    def __init__(self, relay: Relay, client: asyncio.StreamWriter, server: asyncio.StreamWriter) -> None:
        self.relay = relay
        self.ends = [client, server]
        # Whatever comes is dropped without an error.
        self.is_silent = False

    def abort(self) -> None:
        for end in self.ends:
            end.transport.abort()


class Relay:
    """Listens on a free port, in a thread of its own, until it is closed."""

    def __init__(self, target: int) -> None:
        self.target = target
        self.network = GOOD
        self.links: set[Link] = set()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=BACKLOG)
        self.listener.setblocking(False)
        self.port: int = self.listener.getsockname()[1]
        self.loop = asyncio.new_event_loop()
        self.thread = Thread(target=self.loop.run_forever)
        self.thread.start()
        self.tasks: set[asyncio.Task] = set()
        self.accepting = self.within(self.start(self.accept()))
        self.waiting: list[socket.socket] = []

    # What the faults call, from another thread.

    def within(self, coroutine: Coroutine) -> object:
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result()

    def silence(self) -> None:
        """Connections that are open stay open, and nothing comes through; new ones work."""
        self.within(self.each("silence"))

    def abort(self) -> None:
        """Ends all connections."""
        self.within(self.each("abort"))

    def drop(self) -> None:
        """Connections end, and whoever connects hears nothing."""
        self.within(self.stop_accepting())
        self.listener.listen(0)
        for _ in range(BACKLOG):
            waiting = socket.socket()
            waiting.setblocking(False)
            waiting.connect_ex(("127.0.0.1", self.port))
            self.waiting.append(waiting)
            end = time.monotonic() + DROPPED
            while waiting.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1) != b"\1":
                if time.monotonic() > end:
                    return self.abort()
                time.sleep(0.01)
        raise RuntimeError("this system takes connections that nobody accepts")

    def accept_again(self) -> None:
        self.listener.listen(BACKLOG)
        for waiting in self.waiting:
            waiting.close()
        self.waiting = []
        self.accepting = self.within(self.start(self.accept()))

    def close(self) -> None:
        self.within(self.stop_accepting())
        self.abort()
        for waiting in self.waiting:
            waiting.close()
        self.within(self.end_tasks())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()
        self.listener.close()

    # What happens in the thread.

    async def start(self, coroutine: Coroutine) -> asyncio.Task:
        task = asyncio.create_task(coroutine)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return task

    async def end_tasks(self) -> None:
        tasks = self.tasks - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def each(self, what: str) -> None:
        for link in list(self.links):
            if what == "silence":
                link.is_silent = True
            else:
                link.abort()

    async def stop_accepting(self) -> None:
        self.accepting.cancel()
        await asyncio.gather(self.accepting, return_exceptions=True)

    async def accept(self) -> None:
        while True:
            client, _ = await self.loop.sock_accept(self.listener)
            await self.start(self.connect(client))

    async def connect(self, client: socket.socket) -> None:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        from_client, to_client = await asyncio.open_connection(sock=client)
        try:
            from_server, to_server = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            to_client.transport.abort()
            return
        link = Link(self, to_client, to_server)
        self.links.add(link)
        asking = carry(link, from_client, to_server, is_answer=False)
        answering = carry(link, from_server, to_client, is_answer=True)
        try:
            await asyncio.gather(asking, answering)
        finally:
            link.abort()
            self.links.discard(link)


async def carry(link: Link, source: asyncio.StreamReader, target: asyncio.StreamWriter, is_answer: bool) -> None:
    """In one direction, until either end is gone: then the other one is ended, too."""
    due: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
    delivering = asyncio.create_task(deliver(link, due, target, is_answer))
    try:
        while data := await source.read(CHUNK):
            due.put_nowait((time.monotonic() + link.relay.network.delay, data))
    except OSError:
        pass
    if not link.is_silent:
        due.put_nowait((time.monotonic(), b""))
        await delivering
        link.abort()
    delivering.cancel()


async def deliver(link: Link, due: asyncio.Queue[tuple[float, bytes]], target: asyncio.StreamWriter, is_answer: bool) -> None:
    while True:
        at, data = await due.get()
        if not data:
            return
        await asyncio.sleep(at - time.monotonic())
        network = link.relay.network
        if target.is_closing():
            return
        if link.is_silent:
            continue
        if is_answer and network.cut:
            target.write(data[: network.cut])
            # What was written is sent before the end.
            target.close()
            return
        elif is_answer and network.trickle:
            await trickle(link, target, data)
        else:
            target.write(data)


async def trickle(link: Link, target: asyncio.StreamWriter, data: bytes) -> None:
    for at in range(len(data)):
        if target.is_closing():
            return
        target.write(data[at : at + 1])
        await asyncio.sleep(link.relay.network.trickle)
