"""A primary and two replicas, watched by three Sentinels, and what may happen to the primary."""

from __future__ import annotations

from faults import Kind
from history import now
from replicated import BUSY, Replicated
from servers import Server, wait_until

SERVICE = "service"
SENTINELS, REPLICAS = 3, 2
SETTINGS = {"down-after-milliseconds": BUSY, "failover-timeout": "5000"}


class Sentinel(Replicated):
    name = "Sentinel"
    dead = "1000"

    def __init__(self) -> None:
        first = Server()
        self.servers = [first, *(Server(f"replicaof {first.host_and_port}") for _ in range(REPLICAS))]
        lines = [f"sentinel monitor {SERVICE} {first.host_and_port} {SENTINELS // 2 + 1}"]
        lines += [f"sentinel {name} {SERVICE} {value}" for name, value in SETTINGS.items()]
        self.sentinels = [Server(*lines, is_sentinel=True) for _ in range(SENTINELS)]
        self.repair()

    @property
    def url(self) -> str:
        return f"redis-sentinel://{','.join(sentinel.address for sentinel in self.sentinels)}/{SERVICE}"

    def named_by(self, sentinel: Server) -> Server:
        _, port = sentinel.ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", SERVICE)
        return next(server for server in self.servers if server.port == int(port))

    @property
    def primary(self) -> Server:
        return self.named_by(self.sentinels[0])

    def suspect_after(self, milliseconds: str) -> None:
        for sentinel in self.sentinels:
            sentinel.ask("SENTINEL", "SET", SERVICE, "down-after-milliseconds", milliseconds)

    def wait_for_failover(self, old: Server) -> int:
        """When a server has taken over that all Sentinels name."""

        def is_over() -> bool:
            named = {self.named_by(sentinel).port for sentinel in self.sentinels}
            return len(named) == 1 and old.port not in named and self.primary.info("replication")["role"] == "master"

        wait_until("a failover by Sentinels", is_over)
        return now()

    def primaries(self) -> int:
        running = [server for server in self.servers if server.is_running]
        return sum(server.info("replication")["role"] == "master" for server in running)

    def is_failing_over(self) -> bool:
        masters = [sentinel.ask("SENTINEL", "MASTER", SERVICE) for sentinel in self.sentinels]
        return any(b"failover_in_progress" in master[master.index(b"flags") + 1] for master in masters)

    def repair(self) -> None:
        wait_until("the end of failovers", lambda: not self.is_failing_over())
        for server in self.servers:
            if not server.is_running:
                server.start()
        wait_until("Sentinels that know each other and all servers", self.is_whole)

    def is_whole(self) -> bool:
        for sentinel in self.sentinels:
            seen = sentinel.info("sentinel")["master0"]
            if "status=ok" not in seen or not seen.endswith(f"slaves={REPLICAS},sentinels={SENTINELS}"):
                return False
        primaries = {self.named_by(sentinel).port for sentinel in self.sentinels}
        states = {server.port: server.info("replication") for server in self.servers}
        linked = [port for port, state in states.items() if state["role"] == "slave" and state["master_link_status"] == "up"]
        return len(primaries) == 1 and {*linked, *primaries} == states.keys() and len(linked) == REPLICAS

    def close(self) -> None:
        for server in self.servers + self.sentinels:
            server.close()


def killed(sentinel: Sentinel, _: float) -> int:
    primary = sentinel.primary
    primary.kill()
    return sentinel.wait_for_takeover(primary)


def restarted(sentinel: Sentinel, _: float) -> int:
    """Empty, before the Sentinel that leads the failover is through: until then its `SENTINEL MASTER` describes the old primary."""
    primary = sentinel.primary
    primary.kill()
    healed = sentinel.wait_for_takeover(primary)
    primary.start()
    return healed


def stopped(sentinel: Sentinel, _: float) -> int:
    """The old primary comes back as one, until the Sentinels tell it otherwise."""
    primary = sentinel.primary
    primary.pause()
    healed = sentinel.wait_for_takeover(primary)
    primary.resume()
    return healed


def asked(sentinel: Sentinel, _: float) -> int:
    """The old primary goes on until the new one has taken over."""
    primary = sentinel.primary
    sentinel.sentinels[0].ask("SENTINEL", "FAILOVER", SERVICE)
    return sentinel.wait_for_failover(primary)


KINDS = [
    Kind("kill -9 of the primary", killed, forgets=1, is_short=True),
    Kind("kill -9 of the primary, restart empty during the failover", restarted, forgets=1),
    Kind("SIGSTOP of the primary until another has taken over", stopped, is_split=True),
    Kind("failover asked for (`SENTINEL FAILOVER`)", asked, is_split=True, is_noticed=False),
]
