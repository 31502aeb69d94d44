from collections.abc import Iterable
from os import PathLike
from types import TracebackType
from typing import Any, Literal, TypeAlias, final

from .errors import SluicegateError

__all__ = ["Bridge", "Check", "Decision", "ManualClock", "Options", "RateLimiter"]

_Path: TypeAlias = str | PathLike[str]
# A path, JSON text, rules, or an object whose only field is `rules`.
_Rules: TypeAlias = _Path | list[dict[str, Any]] | tuple[dict[str, Any], ...] | dict[str, Any]

@final
class Decision:
    """Whether a cost is admitted. True or false like `allowed`."""

    def __new__(
        cls,
        *,
        allowed: bool,
        rule: str,
        limit: int,
        remaining: int,
        retry_after: float = 0.0,
        reset_after: float = 0.0,
        shadow_denied: bool = False,
        source: str = "embedded",
        parts: tuple[Decision, ...] = (),
    ) -> Decision: ...
    @property
    def allowed(self) -> bool:
        """Whether the cost was, or for a peek would be, admitted. Always true for a rule in shadow."""

    @property
    def rule(self) -> str:
        """The rule that decided: when denied, the one that makes the caller wait the longest."""

    @property
    def limit(self) -> int:
        """The most that the deciding limit admits at once from a key never seen, in units of cost."""

    @property
    def remaining(self) -> int:
        """The most cost that would still be admitted now."""

    @property
    def retry_after(self) -> float:
        """Seconds after which the same cost would be admitted if nobody else came.

        0.0 when it fits, `math.inf` when it never can.
        """

    @property
    def reset_after(self) -> float:
        """Seconds until the key is as if never seen."""

    @property
    def shadow_denied(self) -> bool:
        """True when a rule in shadow would have denied."""

    @property
    def source(self) -> Literal["server", "embedded"]:
        """Who decided."""

    @property
    def parts(self) -> tuple[Decision, ...]:
        """One decision per item of a `check_all`, in order; empty otherwise."""

    def __bool__(self) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __getnewargs_ex__(self) -> tuple[tuple[()], dict[str, Any]]: ...

@final
class Check:
    """One item of a `check_all`: a rule, a key, and how much to admit."""

    def __new__(
        cls, rule: str, key: str, *, cost: int = 1, resource: str | None = None, limit: int | None = None
    ) -> Check: ...
    @property
    def rule(self) -> str: ...
    @property
    def key(self) -> str: ...
    @property
    def cost(self) -> int: ...
    @property
    def resource(self) -> str | None: ...
    @property
    def limit(self) -> int | None: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __getnewargs_ex__(self) -> tuple[tuple[str, str], dict[str, Any]]: ...

@final
class ManualClock:
    """A clock that stands still until it is told to move, for testing limits without waiting."""

    def __new__(cls, now_us: int = 0) -> ManualClock: ...
    @property
    def now_us(self) -> int:
        """What the clock shows, in microseconds since 1970."""

    def advance(self, seconds: float) -> None:
        """Moves the clock forward, to the nearest microsecond."""

    def set(self, now_us: int) -> None:
        """Sets the clock, also backwards: how a server's clock looks after a failover."""

@final
class RateLimiter:
    """Decides whether a cost is admitted; blocks the calling thread for one round trip."""

    def __new__(
        cls,
        url: str,
        *,
        rules: _Rules,
        prefix: str = "sluicegate",
        clock: ManualClock | None = None,
        connect_timeout: float = 1.0,
        response_timeout: float = 0.5,
        pool_size: int = 16,
        tls_ca: _Path | None = None,
        tls_cert: _Path | None = None,
        tls_key: _Path | None = None,
    ) -> RateLimiter: ...
    def check(
        self, rule: str, key: str, *, cost: int = 1, resource: str | None = None, limit: int | None = None
    ) -> Decision:
        """Admits a cost for `key` under `rule`, or denies it."""

    def check_all(self, checks: Iterable[Check]) -> Decision:
        """Decides several checks together: all of them are charged, or none is.

        The decision is that of the deciding check; its `parts` hold one per item.
        """

    def peek(
        self, rule: str, key: str, *, cost: int = 1, resource: str | None = None, limit: int | None = None
    ) -> Decision:
        """What `check` would answer now; changes nothing."""

    def refund(
        self, rule: str, key: str, *, cost: int = 1, resource: str | None = None, limit: int | None = None
    ) -> Decision:
        """Gives back a cost that turned out not to be used, the newest first; answers as `peek` would then."""

    def reset(self, rule: str, key: str, *, resource: str | None = None) -> None:
        """Forgets what was counted for `key` under `rule`, and nothing else."""

    def wait(
        self,
        rule: str,
        key: str,
        *,
        timeout: float,
        cost: int = 1,
        resource: str | None = None,
        limit: int | None = None,
    ) -> Decision:
        """Checks until the cost is admitted, sleeping for `retry_after` in between, for `timeout` seconds at most.

        Returns the last decision: a denial as soon as it is known that the wait would be too long.
        """

    def ping(self) -> None:
        """Tries the server."""

    def close(self) -> None:
        """Closes the connections. Final: later calls raise `ClosedError`."""

    def __enter__(self) -> RateLimiter: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...

@final
class Options:
    """Where a limiter keeps its counts, and by which rules it decides."""

    def __new__(
        cls,
        url: str,
        *,
        rules: _Rules,
        prefix: str = "sluicegate",
        clock: ManualClock | None = None,
        connect_timeout: float = 1.0,
        response_timeout: float = 0.5,
        pool_size: int = 16,
        tls_ca: _Path | None = None,
        tls_cert: _Path | None = None,
        tls_key: _Path | None = None,
    ) -> Options: ...

@final
class Bridge:
    """What `AsyncRateLimiter` calls.

    A method answers with its result, or with the token of a call that is sent by the next `flush` and answered
    by some later `drain`.
    """

    OPENED: int
    """The token of an answer that nobody asked for: whether the limiter is connected."""

    @staticmethod
    def open(options: Options) -> Bridge: ...
    def check(self, rule: str, key: str, cost: int, resource: str | None, limit: int | None) -> Decision | int: ...
    def check_all(self, checks: Iterable[Check]) -> Decision | int: ...
    def peek(self, rule: str, key: str, cost: int, resource: str | None, limit: int | None) -> Decision | int: ...
    def refund(self, rule: str, key: str, cost: int, resource: str | None, limit: int | None) -> Decision | int: ...
    def reset(self, rule: str, key: str, resource: str | None) -> int | None: ...
    def wait(
        self, rule: str, key: str, timeout: float, cost: int, resource: str | None, limit: int | None
    ) -> int: ...
    def ping(self) -> int | None: ...
    def flush(self) -> None: ...
    def drain(self) -> list[tuple[int, Decision | SluicegateError | None]]: ...
    def give_up(self, token: int) -> None: ...
    def close(self) -> SluicegateError | None: ...
    @property
    def closed(self) -> bool: ...
    @property
    def doorbell(self) -> int | None: ...
    def silence(self) -> bool: ...
    def listen(self) -> bool: ...
