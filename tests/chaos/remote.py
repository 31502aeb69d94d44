"""A server behind an address that may lead to another one, over a network that may be bad."""

from __future__ import annotations

import time

from faults import Kind
from history import now
from relay import GOOD, Network, Relay
from servers import Server, wait_until


class Remote:
    name = "behind a network"

    def __init__(self) -> None:
        self.primary = Server()
        self.replica = Server(f"replicaof 127.0.0.1 {self.primary.port}")
        self.relay = Relay(self.primary.port)
        self.repair()

    @property
    def environment(self) -> dict[str, str]:
        return {}

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.relay.port}"

    def primaries(self) -> int:
        return sum(server.info("replication")["role"] == "master" for server in (self.primary, self.replica))

    def repair(self) -> None:
        wait_until("a linked replica", lambda: self.replica.info("replication").get("master_link_status") == "up")

    def close(self) -> None:
        self.relay.close()
        self.primary.close()
        self.replica.close()


def over(network: Network, then_abort: bool = False):
    def do(remote: Remote, seconds: float) -> int:
        remote.relay.network = network
        time.sleep(seconds)
        remote.relay.network = GOOD
        if then_abort:
            # What is still on its way there would take longer than anything else here.
            remote.relay.abort()
        return now()

    return do


def half_open(remote: Remote, seconds: float) -> int:
    remote.relay.silence()
    healed = now()
    time.sleep(seconds)
    return healed


def dropped(remote: Remote, seconds: float) -> int:
    remote.relay.drop()
    time.sleep(seconds)
    remote.relay.accept_again()
    return now()


def demoted(remote: Remote, seconds: float) -> int:
    """The address leads to the new primary; connections that are open still lead to the old one."""
    remote.replica.ask("REPLICAOF", "NO", "ONE")
    remote.primary.ask("REPLICAOF", "127.0.0.1", str(remote.replica.port))
    remote.primary, remote.replica = remote.replica, remote.primary
    remote.relay.target = remote.primary.port
    healed = now()
    time.sleep(seconds)
    return healed


KINDS = [
    Kind("latency of 300 ms", over(Network(delay=0.15)), is_noticed=False),
    Kind("answers byte by byte", over(Network(trickle=0.05), then_abort=True)),
    Kind("answers cut in the middle", over(Network(cut=3)), is_short=True),
    Kind("half-open connections", half_open, is_short=True),
    Kind("dropped SYNs", dropped, is_short=True),
    Kind("primary demoted behind a fixed address", demoted, is_split=True, is_noticed=False),
]
