"""A Cluster of three primaries with a replica each, and what may happen to the primary in charge of the keys."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass

from faults import Kind
from history import now
from limits import LANES
from replicated import BUSY, Replicated
from servers import Server, wait_until

PRIMARIES, REPLICAS = 3, 3
NODES = PRIMARIES + REPLICAS
CONFIG = [
    "cluster-enabled yes",
    f"cluster-node-timeout {BUSY}",
    # A replica takes over however long it has not heard of its primary.
    "cluster-replica-validity-factor 0",
    # No replica moves to another primary.
    f"cluster-migration-barrier {NODES}",
]


@dataclass(frozen=True)
class Member:
    """A line of `CLUSTER NODES`."""

    id: str
    port: int
    flags: list[str]
    primary: str
    epoch: int
    slots: list[str]

    def serves(self, slot: int) -> bool:
        # Slots that are on the move stand in brackets.
        ranges = (part.split("-") for part in self.slots if not part.startswith("["))
        return "fail" not in self.flags and any(int(ends[0]) <= slot <= int(ends[-1]) for ends in ranges)


class Cluster(Replicated):
    name = "Cluster"
    dead = "2000"

    def __init__(self) -> None:
        self.nodes = [Server(*CONFIG) for _ in range(NODES)]
        command = [os.environ.get("SLUICEGATE_REDIS_CLI", "redis-cli"), "--cluster-replicas", "1", "--cluster-yes"]
        addresses = [node.address for node in self.nodes]
        subprocess.run([*command, "--cluster", "create", *addresses], check=True, stdout=subprocess.DEVNULL)
        # All rules have the same key, which is the tag.
        self.slot = self.nodes[0].ask("CLUSTER", "KEYSLOT", LANES[0].key)
        self.stopped: Server | None = None
        self.repair()

    @property
    def url(self) -> str:
        return f"redis-cluster://{','.join(node.address for node in self.nodes[:PRIMARIES])}"

    def awake(self) -> list[Server]:
        return [node for node in self.nodes if node.is_running and node is not self.stopped]

    def node(self, member: Member) -> Server:
        return next(node for node in self.nodes if node.port == member.port)

    def in_charge(self) -> Member:
        """Of the keys. Where nodes disagree, as after a failover, the latest configuration counts."""
        seen = [member for node in self.awake() for member in members(node) if member.serves(self.slot)]
        return max(seen, key=lambda member: member.epoch)

    @property
    def primary(self) -> Server:
        return self.node(self.in_charge())

    @property
    def replica(self) -> Server:
        primary = self.in_charge()
        return next(self.node(member) for member in members(self.node(primary)) if member.primary == primary.id)

    def suspect_after(self, milliseconds: str) -> None:
        for node in self.awake():
            node.ask("CONFIG", "SET", "cluster-node-timeout", milliseconds)

    def wait_for_failover(self, old: Server) -> int:
        """When every node knows that another one has taken over."""

        def is_over() -> bool:
            for node in self.awake():
                serving = [member.port for member in members(node) if member.serves(self.slot)]
                if node is not old and (not serving or old.port in serving or not is_ok(node)):
                    return False
            return True

        wait_until("a failover in the Cluster", is_over)
        return now()

    def primaries(self) -> int:
        views = [members(node) for node in self.awake()]
        own = [member for view in views for member in view if "myself" in member.flags]
        return sum("master" in member.flags and member.serves(self.slot) for member in own)

    def repair(self) -> None:
        for node in self.nodes:
            if not node.is_running:
                node.start()
        wait_until("a complete Cluster", self.is_whole)

    def is_whole(self) -> bool:
        views = [members(node) for node in self.nodes]
        in_charge = {tuple(member.port for member in view if member.serves(self.slot)) for view in views}
        parts = [sum("slave" in member.flags for member in view) for view in views]
        links = [node.info("replication").get("master_link_status", "up") for node in self.nodes]
        return (
            len(in_charge) == 1
            and all(len(view) == NODES for view in views)
            and parts == [REPLICAS] * NODES
            and links == ["up"] * NODES
            and all(map(is_ok, self.nodes))
        )

    def move(self, target: Member) -> None:
        """The slot of the keys, with all that is in it, from the node in charge to another one."""
        source = self.in_charge()
        giving, taking, slot = self.node(source), self.node(target), str(self.slot)
        taking.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", source.id)
        giving.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", target.id)
        while keys := giving.ask("CLUSTER", "GETKEYSINSLOT", slot, "1"):
            giving.ask("MIGRATE", "127.0.0.1", str(target.port), "", "0", "60000", "KEYS", *keys)
        for node in [taking, giving, *self.nodes]:
            if "master" in node.info("replication")["role"]:
                node.ask("CLUSTER", "SETSLOT", slot, "NODE", target.id)

    def close(self) -> None:
        for node in self.nodes:
            node.close()


def members(witness: Server) -> list[Member]:
    return list(parsed(witness.ask("CLUSTER", "NODES").decode()))


def parsed(text: str) -> Iterator[Member]:
    for line in text.splitlines():
        name, address, flags, primary, _, _, epoch, _, *slots = line.split()
        port = address.split("@")[0].rsplit(":", 1)[1]
        yield Member(name, int(port), flags.split(","), primary, int(epoch), slots)


def is_ok(node: Server) -> bool:
    return b"cluster_state:ok" in node.ask("CLUSTER", "INFO")


def killed(cluster: Cluster, _: float) -> int:
    primary = cluster.primary
    primary.kill()
    return cluster.wait_for_takeover(primary)


def restarted(cluster: Cluster, _: float) -> int:
    """Sooner than its replica takes over."""
    primary = cluster.primary
    primary.kill()
    primary.start()
    wait_until("a Cluster that is well", lambda: is_ok(primary))
    return now()


def stopped(cluster: Cluster, _: float) -> int:
    """The old primary comes back as one, until it hears of the new one."""
    primary = cluster.primary
    cluster.stopped = primary
    primary.pause()
    try:
        return cluster.wait_for_takeover(primary)
    finally:
        primary.resume()
        cluster.stopped = None


def asked(cluster: Cluster, _: float) -> int:
    primary = cluster.primary
    # Within twice this time nodes do not vote for a server again.
    cluster.suspect_after(cluster.dead)
    cluster.replica.ask("CLUSTER", "FAILOVER")
    return cluster.wait_for_takeover(primary)


def forced(cluster: Cluster, _: float) -> int:
    """The replica takes over without a word to its primary."""
    primary = cluster.primary
    cluster.replica.ask("CLUSTER", "FAILOVER", "TAKEOVER")
    return cluster.wait_for_failover(primary)


def resharded(cluster: Cluster, seconds: float) -> int:
    """The keys move to the next primary, over and over."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        source = cluster.in_charge()
        others = [member for member in members(cluster.node(source)) if "master" in member.flags and member.id != source.id]
        cluster.move(min(others, key=lambda member: (member.port < source.port, member.port)))
        time.sleep(0.1)
    return now()


KINDS = [
    Kind("kill -9 of a primary", killed, forgets=1, is_short=True),
    Kind("kill -9, restart empty", restarted, forgets=1),
    Kind("SIGSTOP of a primary until its replica has taken over", stopped, is_split=True),
    Kind("failover asked for (`CLUSTER FAILOVER`)", asked, is_noticed=False),
    Kind("failover forced (`CLUSTER FAILOVER TAKEOVER`)", forced, is_split=True, is_noticed=False),
    Kind("resharding under load", resharded, is_noticed=False, is_short=True),
]
