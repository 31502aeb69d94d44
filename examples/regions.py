"""One limit over three regions, through a partition and back: starts the servers, the distance between them and the traffic, and
draws what is admitted.

    pip install sluicegate       (and redis-server on the PATH)
    python regions.py [PICTURE.svg]
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

from sluicegate import AsyncRateLimiter, SluicegateError

REGIONS = ["ap", "eu", "us"]
LIMIT = 1000  # a second, over all regions
RULES = [{"rule_id": "tenant", "limit": LIMIT, "window_size_seconds": 1, "burst": 200, "global": {}}]
KEY = "acme"
ONE_WAY = 0.02  # seconds between two regions
DEMAND = 500  # calls a second, in each region
PHASES = {"connected": 4, "cut off": 4, "connected again": 4}  # seconds
STEP = 0.25  # seconds of a point of the picture


class Link:
    """The way from other regions to the server of one: bytes take their time, and none pass while it is cut."""

    def __init__(self, port: int) -> None:
        self.server, self.is_cut = port, False

    async def listen(self) -> int:
        listening = await asyncio.start_server(self.connect, "127.0.0.1", 0)
        return listening.sockets[0].getsockname()[1]

    async def connect(self, client: asyncio.StreamReader, answers: asyncio.StreamWriter) -> None:
        # Those that are open at the end are cancelled.
        with contextlib.suppress(asyncio.CancelledError):
            replies, server = await asyncio.open_connection("127.0.0.1", self.server)
            await asyncio.gather(self.carry(client, server), self.carry(replies, answers))

    async def carry(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await source.read(1 << 16):
                asyncio.get_running_loop().call_later(ONE_WAY, self.arrive, target, data)
        target.close()

    def arrive(self, target: asyncio.StreamWriter, data: bytes) -> None:
        if self.is_cut:
            target.close()
        elif not target.is_closing():
            target.write(data)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def servers(folder: Path):
    """The port of a server for each region."""
    ports = [free_port() for _ in REGIONS]
    command = ["redis-server", "--bind", "127.0.0.1", "--save", "", "--logfile", "/dev/null", "--dir", str(folder)]
    processes = [subprocess.Popen([*command, "--port", str(port)]) for port in ports]
    try:
        for port in ports:
            while True:
                with contextlib.suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
                    break
                time.sleep(0.01)
        yield ports
    finally:
        for process in processes:
            process.terminate()
            process.wait()


@contextlib.asynccontextmanager
async def limiters(ports: list[int]) -> AsyncIterator[tuple[list[AsyncRateLimiter], list[Link]]]:
    """A limiter in each region, and the links to each."""
    links = [Link(port) for port in ports]
    far = [await link.listen() for link in links]
    async with contextlib.AsyncExitStack() as stack:
        opened = []
        for own in range(len(REGIONS)):
            seen = {name: f"redis://127.0.0.1:{ports[at] if at == own else far[at]}" for at, name in enumerate(REGIONS)}
            limiter = AsyncRateLimiter.connect("", rules=RULES, regions=seen, region=REGIONS[own], response_timeout=0.2)
            opened.append(await stack.enter_async_context(limiter))
        yield opened, links


async def ask(limiter: AsyncRateLimiter, began: float, counts: Counter) -> None:
    """Checks at a steady pace, and counts what is admitted by time and source."""

    async def check() -> None:
        try:
            decision = await limiter.check("tenant", KEY)
        except SluicegateError:
            return  # A machine that is busy with other things: not admitted.
        if decision.allowed:
            counts[int((time.monotonic() - began) / STEP), decision.source] += 1

    calls = []
    for call in range(DEMAND * sum(PHASES.values())):
        await asyncio.sleep(began + call / DEMAND - time.monotonic())
        calls.append(asyncio.create_task(check()))
    await asyncio.gather(*calls)


async def owner(opened: list[AsyncRateLimiter]) -> int:
    """The region in charge of the key: there, what many callers ask for is not decided by a loan."""
    for place, limiter in enumerate(opened):
        sources = [(await limiter.check("tenant", KEY)).source for _ in range(30)]
        if set(sources) == {"server"} and place:
            return place
    return 0


async def play(ports: list[int]) -> tuple[list[Counter], str]:
    async with limiters(ports) as (opened, links):
        in_charge = await owner(opened)
        counts = [Counter() for _ in REGIONS]
        began = time.monotonic()

        async def disturb() -> None:
            await asyncio.sleep(PHASES["connected"])
            links[in_charge].is_cut = True
            await asyncio.sleep(PHASES["cut off"])
            links[in_charge].is_cut = False

        await asyncio.gather(disturb(), *(ask(*pair) for pair in zip(opened, [began] * len(opened), counts)))
        return counts, REGIONS[in_charge]


def per_second(counts: Counter) -> list[float]:
    points = int(sum(PHASES.values()) / STEP)
    return [sum(count for (at, _), count in counts.items() if at == point) / STEP for point in range(points)]


def report(counts: list[Counter], in_charge: str) -> None:
    print(f"{in_charge} is in charge of {KEY}; admitted per second, of a limit of {LIMIT}, asked for {DEMAND * len(REGIONS)}:")
    start = 0.0
    for phase, seconds in PHASES.items():
        cells = []
        for region, counted in zip(REGIONS, counts):
            inside = Counter()
            for (at, source), count in counted.items():
                if start <= at * STEP < start + seconds:
                    inside[source] += count
            cells.append(f"{region} {sum(inside.values()) / seconds:.0f} ({', '.join(source for source, _ in inside.most_common())})")
        print(f"  {phase}: {'; '.join(cells)}")
        start += seconds


def drawn(counts: list[Counter]) -> str:
    """The picture, as SVG."""
    width, height, most = 720, 300, LIMIT * 1.8
    seconds = sum(PHASES.values())
    x = lambda at: 50 + (width - 60) * at / seconds  # noqa: E731
    y = lambda rate: height - 30 - (height - 50) * min(rate, most) / most  # noqa: E731
    series = [per_second(counted) for counted in counts]
    lines = [*zip(REGIONS, ["#c2571a", "#2a6fb0", "#3c8a4d"], series), ("together", "#222", [sum(all_) for all_ in zip(*series)])]
    cut, healed = PHASES["connected"], PHASES["connected"] + PHASES["cut off"]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
        f'<rect x="{x(cut):.1f}" y="20" width="{x(healed) - x(cut):.1f}" height="{height - 50}" fill="#f3e3d8"/>',
        f'<text x="{x(cut) + 6:.1f}" y="34">the region in charge is cut off</text>',
        f'<path d="M50 {y(LIMIT):.1f}H{width - 10}" stroke="#888" stroke-dasharray="5 4"/>',
        f'<text x="54" y="{y(LIMIT) - 5:.1f}" fill="#555">the limit: {LIMIT} a second</text>',
    ]
    for name, color, rates in lines:
        points = " ".join(f"{x((at + 0.5) * STEP):.1f},{y(rate):.1f}" for at, rate in enumerate(rates))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="2"/>')
        parts.append(f'<text x="{x(seconds) - 4:.1f}" y="{y(rates[-1]) - 6:.1f}" text-anchor="end" fill="{color}">{name}</text>')
    for second in range(0, seconds + 1, 2):
        parts.append(f'<text x="{x(second):.1f}" y="{height - 12}" text-anchor="middle" fill="#555">{second} s</text>')
    for rate in range(0, int(most), 500):
        parts.append(f'<text x="44" y="{y(rate) + 4:.1f}" text-anchor="end" fill="#555">{rate}</text>')
    return "\n".join([*parts, "</svg>\n"])


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, servers(Path(folder)) as ports:
        counts, in_charge = asyncio.run(play(ports))
    report(counts, in_charge)
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(drawn(counts), encoding="utf-8")


if __name__ == "__main__":
    main()
