from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from os import PathLike
from types import TracebackType
from typing import Any, Literal, NoReturn, TypeAlias, TypeVar, final

from typing_extensions import disjoint_base

from ._metrics import Metrics
from .errors import SluicegateError
from .rules import Rule

__all__ = [
    "Bridge",
    "Check",
    "Decision",
    "LabReport",
    "ManualClock",
    "Options",
    "Problem",
    "RateLimiter",
    "Refusal",
    "RequestMatch",
    "Reservation",
    "Reserved",
    "RulesStatus",
    "TrustedProxies",
    "address_key",
    "cli",
    "is_header_name",
    "lab_compare",
    "lab_run",
]

_R = TypeVar("_R", bound=Reserved)
_Path: TypeAlias = str | PathLike[str]
# Gives a password, or a user and a password, for each new connection.
_Credentials: TypeAlias = Callable[[], str | tuple[str | None, str]]
# Who or what is counted. An int, such as the primary key of a row, is its decimal text.
_Name: TypeAlias = str | int
_Key: TypeAlias = _Name | list[str] | list[int] | list[_Name] | tuple[_Name, ...]
# A path, JSON text, the address of a ZooKeeper, rules, or an object whose only field is `rules`.
_StatedRules: TypeAlias = (
    str | list[Rule] | tuple[Rule, ...] | list[dict[str, Any]] | tuple[dict[str, Any], ...] | dict[str, Any]
)
_Rules: TypeAlias = _Path | _StatedRules
# What was really used of a reservation: of all, of rules, or of the items at these places.
_Used: TypeAlias = int | Mapping[str, int] | Mapping[int, int] | None
# Names and values; in pairs a name may come several times.
_Headers: TypeAlias = Mapping[str, str] | Iterable[tuple[str, str]]
# The token of a call, and its answer or its error.
_Answered: TypeAlias = tuple[int, Decision | Reserved | bool | None, SluicegateError | None]

@disjoint_base
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
        source: str = "memory",
        parts: tuple[Decision, ...] = (),
        window: float = 0.0,
        shadow: bool = False,
        blocked: bool = False,
        replicated: bool = False,
    ) -> Decision: ...
    @property
    def allowed(self) -> bool:
        """Whether the cost was, or for a peek would be, admitted. Always true for a rule in shadow."""

    @property
    def rule(self) -> str:
        """The rule that decided: when denied, the one that makes the caller wait the longest.

        Empty when no rule applied to a request.
        """

    @property
    def rule_applied(self) -> bool:
        """Whether any rule applied. Only a request can find that none does; it is admitted."""

    @property
    def limit(self) -> int:
        """The most that the deciding limit admits at once from a key never seen, in units of cost."""

    @property
    def window(self) -> float:
        """Seconds in which `limit` is admitted anew, over and over; 0.0 for `decay`, which has no window."""

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
    def blocked(self) -> bool:
        """Whether the key is blocked: by an earlier denial, by this one, or by hand."""

    @property
    def shadow_denied(self) -> bool:
        """True when a rule in shadow would have denied."""

    @property
    def shadow(self) -> bool:
        """Whether nothing but rules in shadow decided."""

    @property
    def replicated(self) -> bool:
        """Whether as many replicas as the limiter's `replicas` asks for have what was charged.

        Where these are all, no failover loses it. Always false where none are asked for.
        """

    @property
    def source(self) -> Literal["server", "memory", "fallback", "cache", "lease", "allotment", "share"]:
        """Who decided."""

    @property
    def parts(self) -> tuple[Decision, ...]:
        """One decision per item of a `check_all`, in order; empty otherwise."""

    def headers(self, style: Literal["ietf", "ietf-draft-6", "ietf-draft-7", "ietf-draft-8", "x-ratelimit", "x-ratelimit-seconds", "none"] = "ietf") -> list[tuple[str, str]]:
        """The headers of the answer to an HTTP request, as names and values.

        `"ietf"`: `RateLimit-Policy` and `RateLimit`, with all rules that were applied. `"x-ratelimit"`:
        `X-RateLimit-Limit`, `-Remaining` and `-Reset` of the one that decided, `-Reset` as a Unix time by this
        machine's clock; `"x-ratelimit-seconds"`: the same, `-Reset` in seconds from now. `"none"`: none. A denial adds
        `Retry-After`, unless the cost never fits.
        """

    def __bool__(self) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __getnewargs_ex__(self) -> tuple[tuple[()], dict[str, Any]]: ...

@disjoint_base
class Reserved(Decision):
    """What both kinds of reservations have."""

    def __new__(cls: type[_R], reserved: Reserved) -> _R: ...
    @property
    def id(self) -> str | None:
        """What a limiter of any process and language needs to end the reservation; `None` when it was denied."""

    @property
    def token(self) -> int | None:
        """A fencing token: larger than that of every earlier reservation of the same key; `None` when denied."""

    @property
    def _lease(self) -> float | None: ...
    @property
    def _is_over(self) -> bool: ...
    def __reduce__(self) -> NoReturn: ...

@final
class Reservation(Reserved):
    """The answer to `reserve`: a decision and, when it was granted, what is held.

    Used in a `with` statement it is committed as it was reserved at a normal end of the block, and released by an
    exception, unless the block has tried to end it itself; a block that has outlived the lease is logged as a warning.
    Without either it is held until its lease ends, and charged in full then.
    """

    def commit(self, cost: _Used = None) -> bool:
        """Ends the reservation and charges what was really used, also beyond the limit: `cost`, or as was reserved.

        Of several items the cost of each by its rule, or by its place. Answers whether it took effect.
        """

    def release(self) -> bool:
        """Ends the reservation, of which nothing was used. Answers whether it took effect."""

    def renew(self) -> bool:
        """Renews the lease. Answers whether it took effect."""

    def __enter__(self) -> Reservation: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...

@final
class Check:
    """One item of a `check_all`: a rule, a key, and how much to admit."""

    def __new__(
        cls,
        rule: str,
        key: _Key,
        *,
        cost: int = 1,
        resource: _Name | None = None,
        limit: int | None = None,
        timeout: float | None = None,
    ) -> Check: ...
    @property
    def rule(self) -> str:
        """The rule's name."""

    @property
    def key(self) -> str:
        """Who is counted."""

    @property
    def cost(self) -> int:
        """How much is to be admitted."""

    @property
    def resource(self) -> str | None:
        """The resource that is used, for a rule that limits one."""

    @property
    def limit(self) -> int | None:
        """The limit in place of the rule's own; `None`: the rule's."""

    @property
    def timeout(self) -> float | None:
        """The whole time that the call may take, in seconds."""

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __getnewargs_ex__(self) -> tuple[tuple[str, str], dict[str, Any]]: ...

@final
class RequestMatch:
    """A rule that applies to a request or, when all rules are explained, one that does not."""

    @property
    def rule_id(self) -> str:
        """The rule's name."""

    @property
    def key(self) -> str | None:
        """Who is counted; `None` if the rule does not apply."""

    @property
    def resource(self) -> str | None:
        """The resource that is used, if the rule applies and limits one."""

    @property
    def matched(self) -> bool:
        """Whether the rule applies."""

    @property
    def reason(self) -> str | None:
        """The first condition that does not hold, beginning with the field that states it.

        `every condition holds` if the rule applies; `None` if no explanation was asked for.
        """

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class RulesStatus:
    """The rules in force: which, since when, and what was refused."""

    @property
    def source(self) -> str:
        """Where the rules come from, without passwords; `fixed` for rules that never change."""

    @property
    def version(self) -> str:
        """Identifies the rules in force."""

    @property
    def rules(self) -> int:
        """How many rules are in force."""

    @property
    def loaded_at(self) -> datetime:
        """When the rules in force were loaded, in UTC."""

    @property
    def updates(self) -> int:
        """How often rules took effect, those of the start included."""

    @property
    def refusals(self) -> int:
        """How many updates were refused since the start."""

    @property
    def refused(self) -> tuple[Refusal, ...]:
        """What is refused at present; its last good version, if there is one, is in force instead."""

    @property
    def reachable(self) -> bool:
        """Whether the source could be read the last time. Changes go unnoticed as long as it cannot."""

    @property
    def cached(self) -> bool:
        """Whether the rules are the copy of the cache, as the source could not be read yet."""

    @property
    def last_error(self) -> str | None:
        """What last went wrong, even if it is well again."""

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Refusal:
    """A unit of a source that is not in force as it stands there."""

    @property
    def unit(self) -> str:
        """The name of the rule, or of the source where that is updated as a whole."""

    @property
    def reason(self) -> str:
        """What is wrong with it, and where."""

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class ManualClock:
    """A clock that moves only when `advance` is called, for testing limits without waiting."""

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
        connect_timeout: float = 1.0,
        response_timeout: float = 0.5,
        breaker_failures: int = 5,
        breaker_probe: float = 0.1,
        tls_ca: _Path | None = None,
        tls_cert: _Path | None = None,
        tls_key: _Path | None = None,
        replicas: int = 0,
        replica_timeout: float = 0.005,
        credentials: _Credentials | None = None,
        prefix: str = "sluicegate",
        fallback: str = "error",
        instances: int = 1,
        clock: ManualClock | None = None,
        rules_cache: _Path | None = None,
        identifier_secret: str | None = None,
        max_keys: int | None = None,
        request_id_seconds: int = 60,
        regions: Mapping[str, str] | None = None,
        region: str | None = None,
        region_parts: Mapping[str, float] | None = None,
        share: float = 1.0,
        lazy: bool = False,
        remember_denials: float = 0.0,
        top_denied: int = 0,
    ) -> RateLimiter: ...
    def check(
        self,
        rule: str,
        key: _Key,
        *,
        cost: int = 1,
        resource: _Name | None = None,
        limit: int | None = None,
        timeout: float | None = None,
        request_id: str | None = None,
    ) -> Decision:
        """Admits a cost for `key` under `rule`, or denies it.

        `timeout` is the whole time that the call may take, in seconds; by default `connect_timeout` and
        `response_timeout` together. `request_id`, of 1 to 64 bytes, makes the call safe to repeat: later calls with the
        same id get the first answer, and charge nothing.
        """

    def check_all(self, checks: Iterable[Check], *, request_id: str | None = None) -> Decision:
        """Decides several checks together: all of them are charged, or none is.

        The decision is that of the deciding check; its `parts` hold one per item. `request_id` is as for `check`, of the
        call as a whole.
        """

    def reserve(
        self,
        rule: str,
        key: _Key,
        *,
        cost: int = 1,
        resource: _Name | None = None,
        limit: int | None = None,
        timeout: float | None = None,
        wait: float | None = None,
        renewed: bool = False,
    ) -> Reservation:
        """Reserves a cost for `key` under `rule`, or denies it.

        Room is held, and nothing is charged until it is committed. `wait` is how many seconds to wait for room at most,
        in the order of arrival. With `renewed` the lease is renewed in the background until the reservation is ended, or
        forgotten.
        """

    def reserve_all(
        self, checks: Iterable[Check], *, wait: float | None = None, renewed: bool = False
    ) -> Reservation:
        """Reserves several costs together: all of them, or none.

        Items whose rule has no reservations are charged at once. `wait` and `renewed` are as for `reserve`.
        """

    def reserve_request(
        self,
        method: str,
        path: str,
        *,
        user_id: _Name | None = None,
        ip: str | None = None,
        api_key: str | None = None,
        headers: _Headers | None = None,
        api_key_header: str | None = None,
        other_paths: Iterable[str] | None = None,
        ignore_case: bool = False,
        timeout: float | None = None,
    ) -> Reservation:
        """Decides a request as `check_request` does.

        It reserves under the rules that have reservations, and charges the others at once. Where there are none, nothing
        is held, and `id` is None.
        """

    def commit(self, reservation: str | Reserved, cost: _Used = None) -> bool:
        """Ends a reservation, given by itself or its id, and charges what was really used, also beyond the limit.

        That is `cost`, or as much as was reserved; of several items the cost of each by its rule, or by its place.
        Answers whether it took effect: not where the reservation had ended, expired or been denied.
        """

    def release(self, reservation: str | Reserved) -> bool:
        """Ends a reservation, given by itself or its id, of which nothing was used. Answers whether it took effect."""

    def renew(self, reservation: str | Reserved) -> bool:
        """Renews the lease of a reservation, given by itself or its id. Answers whether it took effect."""

    def check_request(
        self,
        method: str,
        path: str,
        *,
        user_id: _Name | None = None,
        ip: str | None = None,
        api_key: str | None = None,
        headers: _Headers | None = None,
        api_key_header: str | None = None,
        other_paths: Iterable[str] | None = None,
        ignore_case: bool = False,
        timeout: float | None = None,
    ) -> Decision:
        """Decides a request by all the rules that match it, together.

        The `parts` of the decision hold one per rule; if there is none, the request is admitted and `rule_applied`
        is false. The path is that of the request line, percent-encoded; `other_paths` are further ones that the
        application may act on, such as `PATH_INFO`, spelled likewise. `api_key_header` names the header that has the
        API key, each of whose values counts. `ignore_case`: the application routes without regard to capitals.
        """

    def match_request(
        self,
        method: str,
        path: str,
        *,
        user_id: _Name | None = None,
        ip: str | None = None,
        api_key: str | None = None,
        headers: _Headers | None = None,
        api_key_header: str | None = None,
        other_paths: Iterable[str] | None = None,
        ignore_case: bool = False,
        explain: bool = False,
    ) -> list[RequestMatch]:
        """The rules that `check_request` would apply, in order of priority; nothing is counted.

        With `explain` it answers all rules: whether each applies, and why.
        """

    def peek(
        self,
        rule: str,
        key: _Key,
        *,
        cost: int = 1,
        resource: _Name | None = None,
        limit: int | None = None,
        timeout: float | None = None,
    ) -> Decision:
        """What `check` would answer now; changes nothing."""

    def refund(
        self,
        rule: str,
        key: _Key,
        *,
        cost: int = 1,
        resource: _Name | None = None,
        limit: int | None = None,
        timeout: float | None = None,
        request_id: str | None = None,
    ) -> Decision:
        """Gives back a cost that turned out not to be used, the newest first; answers as `peek` would then."""

    def charge(
        self,
        rule: str,
        key: _Key,
        *,
        cost: int = 1,
        resource: _Name | None = None,
        limit: int | None = None,
        timeout: float | None = None,
        request_id: str | None = None,
    ) -> Decision:
        """Counts a cost that was used already, also beyond the limit, and answers as `peek` of 1 would then.

        A key that is overdrawn is denied until that has passed.
        """

    def reset(
        self, rule: str, key: _Key, *, resource: _Name | None = None, timeout: float | None = None
    ) -> None:
        """Forgets what was counted for `key` under `rule`, and nothing else."""

    def block(self, rule: str, key: _Key, seconds: float, *, timeout: float | None = None) -> None:
        """Blocks `key` under `rule` for so many seconds from now: every check of it is denied and counts nothing.

        Takes the place of a block that it has already.
        """

    def unblock(self, rule: str, key: _Key, *, timeout: float | None = None) -> bool:
        """Ends the block of `key` under `rule`. Answers whether there was one."""

    def set_limit(
        self,
        rule: str,
        key: _Key,
        limit: int,
        expires_in: float | None = None,
        *,
        timeout: float | None = None,
    ) -> None:
        """Stores a limit for `key` under `rule`, which every process uses from its next check on.

        It holds for `expires_in` seconds, or until it is cleared. The `limit` of a call still comes first.
        """

    def clear_limit(self, rule: str, key: _Key, *, timeout: float | None = None) -> bool:
        """Forgets the limit that is stored for `key` under `rule`. Answers whether there was one."""

    def wait(
        self,
        rule: str,
        key: _Key,
        *,
        timeout: float,
        cost: int = 1,
        resource: _Name | None = None,
        limit: int | None = None,
    ) -> Decision:
        """Waits until the cost is admitted, for `timeout` seconds at most.

        Waits for the same key take turns, in the order of their arrival. Returns the last decision: a denial as soon as
        it is known that the wait would be too long.
        """

    def wait_all(self, checks: Iterable[Check], *, timeout: float) -> Decision:
        """Waits until several checks are admitted together, for `timeout` seconds at most.

        They are decided as by `check_all`: all of them are charged, or none is.
        """

    def rules(self) -> list[Rule]:
        """The rules in force, as rule files state them: what is left to its default is left out."""

    def inspect(self, key: _Key, *, resource: _Name | None = None, timeout: float | None = None) -> Decision:
        """Looks at `key` under every rule; changes nothing.

        The `parts` of the decision hold, for each rule, what it would answer to a check of cost 1 now. Rules that
        limit a resource are left out unless one is given.
        """

    def reset_all(self, key: _Key, *, resource: _Name | None = None, timeout: float | None = None) -> None:
        """Forgets what was counted for `key` under every rule, one after the other.

        Rules that limit a resource are left out unless one is given.
        """

    def add_rules(self, rules: _StatedRules) -> None:
        """Adds rules of the application to those of the source: JSON text or a list of dict, as rule files state them.

        They stay whatever the source says later, and take effect with the next check; all of them, or none. A source that
        comes to hold a rule of the same name is refused as one with a mistake is. Does no I/O. Raises InvalidRuleError when
        a rule is not valid, or a rule in force has its name.
        """

    def set_instances(self, instances: int) -> None:
        """Changes how many processes share the limits while no server decides, as the option `instances` says at the start.

        For fleets that grow and shrink. Takes effect with the next call that falls back. Does no I/O. Raises
        InvalidArgumentError for 0, and for more than 1,000,000.
        """

    def metrics(self) -> Metrics:
        """What the limiter has counted since it was made, as a dict of plain values.

        Decisions by rule and who decided, their cost, errors by kind, how long servers took to answer, the circuit breaker
        of each server, the version of the rules, and, where the option `top_denied` asks for them, the keys denied most.
        Times are in seconds. Does no I/O.
        """

    def prometheus(self) -> str:
        """`metrics` in the text format of Prometheus (version 0.0.4), without any key. Does no I/O."""

    def rules_status(self) -> RulesStatus:
        """Which rules are in force, since when, and what was refused of their source."""

    def ping(self, *, timeout: float | None = None) -> None:
        """Tries the server."""

    def close(self) -> None:
        """Closes the connections. Final: later calls, and waits of other threads, raise `ClosedError`.

        `match_request` and `rules_status`, which only look at the rules, still answer.
        """

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
        connect_timeout: float = 1.0,
        response_timeout: float = 0.5,
        breaker_failures: int = 5,
        breaker_probe: float = 0.1,
        tls_ca: _Path | None = None,
        tls_cert: _Path | None = None,
        tls_key: _Path | None = None,
        replicas: int = 0,
        replica_timeout: float = 0.005,
        credentials: _Credentials | None = None,
        prefix: str = "sluicegate",
        fallback: str = "error",
        instances: int = 1,
        clock: ManualClock | None = None,
        rules_cache: _Path | None = None,
        identifier_secret: str | None = None,
        max_keys: int | None = None,
        request_id_seconds: int = 60,
        regions: Mapping[str, str] | None = None,
        region: str | None = None,
        region_parts: Mapping[str, float] | None = None,
        share: float = 1.0,
        lazy: bool = False,
        remember_denials: float = 0.0,
        top_denied: int = 0,
    ) -> Options: ...

@final
class Bridge:
    """What `AsyncRateLimiter` calls.

    A method answers with its result, or with the token of a call that is sent by the next `flush` at the
    latest and answered by some later `drain`.
    """

    OPENED: int
    """The token of an answer that nobody asked for: whether the limiter is connected."""

    @staticmethod
    def open(options: Options) -> Bridge: ...
    def check(
        self,
        rule: str,
        key: _Key,
        cost: int,
        resource: _Name | None,
        limit: int | None,
        timeout: float | None,
        request_id: str | None,
    ) -> Decision | int: ...
    def check_all(self, checks: Iterable[Check], request_id: str | None) -> Decision | int: ...
    def check_request(
        self,
        method: str,
        path: str,
        user_id: _Name | None,
        ip: str | None,
        api_key: str | None,
        headers: _Headers | None,
        api_key_header: str | None,
        other_paths: Iterable[str] | None,
        ignore_case: bool,
        timeout: float | None,
    ) -> Decision | int: ...
    def match_request(
        self,
        method: str,
        path: str,
        user_id: _Name | None,
        ip: str | None,
        api_key: str | None,
        headers: _Headers | None,
        api_key_header: str | None,
        other_paths: Iterable[str] | None,
        ignore_case: bool,
        explain: bool,
    ) -> list[RequestMatch]: ...
    def add_rules(self, rules: _StatedRules) -> None: ...
    def set_instances(self, instances: int) -> None: ...
    def metrics(self) -> Metrics: ...
    def prometheus(self) -> str: ...
    def rules_status(self) -> RulesStatus: ...
    def rules(self) -> list[Rule]: ...
    def inspect(self, key: _Key, resource: _Name | None, timeout: float | None) -> Decision | int: ...
    def reset_all(self, key: _Key, resource: _Name | None, timeout: float | None) -> int | None: ...
    def decide(
        self,
        method: str,
        rule: str,
        key: _Key,
        cost: int,
        resource: _Name | None,
        limit: int | None,
        timeout: float | None,
        request_id: str | None,
    ) -> Decision | int: ...
    def reserve(
        self,
        rule: str,
        key: _Key,
        cost: int,
        resource: _Name | None,
        limit: int | None,
        timeout: float | None,
        wait: float | None,
    ) -> Reserved | int: ...
    def reserve_all(self, checks: Iterable[Check], wait: float | None) -> Reserved | int: ...
    def reserve_request(
        self,
        method: str,
        path: str,
        user_id: _Name | None,
        ip: str | None,
        api_key: str | None,
        headers: _Headers | None,
        api_key_header: str | None,
        other_paths: Iterable[str] | None,
        ignore_case: bool,
        timeout: float | None,
    ) -> Reserved | int: ...
    def end(self, method: str, reservation: str | Reserved, cost: _Used) -> int: ...
    def reset(self, rule: str, key: _Key, resource: _Name | None, timeout: float | None) -> int | None: ...
    def block(self, rule: str, key: _Key, seconds: float, timeout: float | None) -> int | None: ...
    def change(self, method: str, rule: str, key: _Key, timeout: float | None) -> int: ...
    def set_limit(
        self, rule: str, key: _Key, limit: int, expires_in: float | None, timeout: float | None
    ) -> int | None: ...
    def wait(
        self, rule: str, key: _Key, timeout: float, cost: int, resource: _Name | None, limit: int | None
    ) -> int: ...
    def wait_all(self, checks: Iterable[Check], timeout: float) -> int: ...
    def ping(self, timeout: float | None) -> int | None: ...
    def ensure_at_home(self) -> None: ...
    @property
    def has_answers(self) -> bool: ...
    def flush(self) -> list[_Answered]: ...
    def drain(self) -> list[_Answered]: ...
    def new_socket(self) -> int | None: ...
    @property
    def is_socket_over(self) -> bool: ...
    def end_socket(self) -> None: ...
    @property
    def is_hurried(self) -> bool: ...
    def read_socket(self) -> list[_Answered]: ...
    def expire(self) -> float | None: ...
    def give_up(self, token: int) -> bool: ...
    def shut(self) -> SluicegateError | None: ...
    @property
    def is_releasing(self) -> bool: ...
    def close(self) -> None: ...
    @property
    def closed(self) -> bool: ...
    @property
    def doorbell(self) -> int | None: ...
    def end_doorbell(self) -> None: ...
    def silence(self) -> bool: ...
    def listen(self) -> bool: ...

@final
class LabReport:
    """What a run showed, for `sluicegate.lab`."""

    @property
    def keys(self) -> list[str]:
        """The keys, which columns tell by number."""

    def column(self, strategy: int, name: str) -> bytes:
        """A column of a strategy, as the bytes of its numbers."""

    def html(self) -> str:
        """The page of HTML."""

    def json(self) -> str:
        """The report as JSON."""

    def svg(self, picture: str) -> str:
        """One of the pictures."""

@final
class Problem:
    """A complete HTTP response of middleware: problem details (RFC 9457), or a status of gRPC."""

    @staticmethod
    def denied(decision: Decision, headers: str) -> Problem:
        """To a denied request: 429."""

    @staticmethod
    def invalid(message: str) -> Problem:
        """To an invalid request: 400."""

    @staticmethod
    def undecided() -> Problem:
        """When the limiter could not decide and middleware fails closed: 503."""

    def for_content_type(self, content_type: str | None) -> Problem:
        """The same for a request with this `Content-Type`: to gRPC a status of its own, with 200."""

    @property
    def status(self) -> int: ...
    @property
    def title(self) -> str:
        """The reason phrase of the status."""

    @property
    def headers(self) -> list[tuple[str, str]]: ...
    @property
    def body(self) -> bytes: ...

def address_key(ip: str, prefix_length: int = 64) -> str:
    """The key of the client with an address, for rules whose `identifier_type` is not `ip_address`.

    An IPv6 address is cut to its network of `prefix_length` bits, from 1 to 128, since one client has all addresses of it.
    An IPv4 address written as an IPv6 one is an IPv4 address. A port, brackets and a zone are left out. Raises
    `InvalidArgumentError` for what is not an address.
    """

def cli(arguments: list[str]) -> int:
    """Runs the command-line tool with these arguments, the first of which is its name; returns the exit code."""

@final
class TrustedProxies:
    """The proxies in front of a service that are believed about the client."""

    def __new__(cls, trusted_proxies: int | list[str] | tuple[str, ...], forwarded_header: str) -> TrustedProxies:
        """Their number, or their networks; and the header that they write."""

    @property
    def header(self) -> str:
        """The name of the header to be read, in small letters."""

    def client(self, peer: str | None, lines: list[str]) -> str | None:
        """The address of the client, by these lines of the header, or else the peer's."""

def is_header_name(name: str) -> bool:
    """Whether a text can be the name of an HTTP header."""

def lab_compare(algorithms: list[str], limit: int, window_us: int) -> str:
    """Rules that keep one limit by each of these algorithms, as JSON."""

def lab_run(
    rules: object,
    specs: list[str] | None,
    calls: list[tuple[int, str, int, int | None]] | None,
    seed: int,
    bin_us: int | None,
    start_us: int | None,
    processes: int,
) -> LabReport:
    """Runs traffic, given as specs or as calls of (microseconds, key, cost, microseconds under way), through every rule."""
