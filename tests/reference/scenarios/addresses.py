"""Keys that are addresses, under rules that count addresses."""

from .script import (
    S,
    Scenario,
    block,
    charge,
    check,
    check_all,
    clear_limit,
    inspect,
    item,
    no,
    out,
    peek,
    refund,
    release,
    reserve,
    reserve_request,
    reset,
    reset_all,
    rule,
    set_limit,
    unblock,
    yes,
)

DESCRIPTION = "Keys that are addresses: a client has one key, however its address is written and whoever asks."

NETWORK = ["2001:db8::1", "2001:DB8:0:0:ffff::2", "[2001:db8::3]", "[2001:db8::4]:443", "2001:db8::5%eth0", "2001:db8::/64"]
IPV4 = ["203.0.113.9", "203.0.113.9:8080", "::ffff:203.0.113.9", "::FFFF:cb00:7109", "[::ffff:203.0.113.9]:80"]
NO_ADDRESS = ["alice", "203.0.113.256", "203.0.113.9:http", "[2001:db8::1", " 2001:db8::1", "2001:db8::1/64", "unix:"]


def counted(limit: int = 10, **others) -> dict:
    return rule("fixed_window", limit, 10, **{"identifier_type": "ip_address"} | others)


def one_key(name: str, note: str, spellings: list[str], **others) -> Scenario:
    checks = [check(0, 1, yes(9 - at, 10 * S), key=key) for at, key in enumerate(spellings)]
    return Scenario(f"addresses/{name}", note, [counted(**others)], checks)


def apart(name: str, note: str, keys: list, **others) -> Scenario:
    return Scenario(f"addresses/{name}", note, [counted(**others)], [check(0, 1, yes(9, 10 * S), key=key) for key in keys])


FIRST, SECOND = "2001:db8::1", "[2001:db8::2]:443"
PAIR = {"identifier_type": ["user_id", "ip_address"]}

SCENARIOS = [
    one_key("network", "All addresses of a network are one client, and so is the key that a request has", NETWORK),
    one_key("ipv4", "An IPv4 address is the same with a port, and written as an IPv6 one", IPV4),
    one_key(
        "prefix-length", "The rule says how large a network is", ["2001:db8::1", "2001:db8:0:ff::1"], ipv6_prefix_length=56
    ),
    apart("whole-address", "Each address is a client", ["2001:db8::1", "2001:db8::2"], ipv6_prefix_length=128),
    apart("networks", "Other networks, and other IPv4 addresses, are other clients", [
        "2001:db8::1", "2001:db8:0:1::1", "203.0.113.9", "203.0.113.10",
    ]),  # fmt: skip
    apart("no-address", "A key that is not an address stays as it is", NO_ADDRESS),
    Scenario(
        "addresses/other-rules",
        "A rule that does not count addresses takes keys as they are",
        [rule("fixed_window", 10, 10, identifier_type="user_id")],
        [check(0, 1, yes(9, 10 * S), key=key) for key in NETWORK + IPV4],
    ),
    Scenario(
        "addresses/parts",
        "An address that is a part of a key is read, and what stands in another place is not",
        [counted(**PAIR)],
        [
            check(0, 1, yes(9, 10 * S), key=["alice", "2001:db8::1"]),
            check(0, 1, yes(8, 10 * S), key=["alice", "[2001:db8::2]:443"]),
            check(0, 1, yes(7, 10 * S), key="alice,2001:db8::3"),
            check(0, 1, yes(9, 10 * S), key=["::1", "2001:db8::1"]),
            check(0, 1, yes(9, 10 * S), key=["::2", "2001:db8::1"]),
            check(0, 1, yes(9, 10 * S), key=["a,b\\", "2001:db8::1"]),
            check(0, 1, yes(8, 10 * S), key=["a,b\\", "2001:db8::2"]),
            check(0, 1, yes(9, 10 * S), key="2001:db8::1"),
            check(0, 1, yes(9, 10 * S), key=["alice", "nobody"]),
        ],
    ),
    Scenario(
        "addresses/resource",
        "A resource that is an address is read as well",
        [
            rule(
                "fixed_window",
                limits=[{"limit": 10, "window_size_seconds": 10, "scope": "resource"}],
                resource_identifier_type="ip_address",
            )
        ],
        [
            check(0, 1, yes(9, 10 * S), resource="2001:db8::1"),
            check(0, 1, yes(8, 10 * S), resource="[2001:db8::2]:443", key="bob"),
            check(0, 1, yes(9, 10 * S), resource="203.0.113.9"),
        ],
    ),
    Scenario(
        "addresses/every-call",
        "Every call reads the key",
        [counted(overrides=True, block={"seconds": 5})],
        [
            check(0, 4, yes(6, 10 * S), key=FIRST),
            charge(0, 3, yes(3, 10 * S), key=SECOND),
            refund(0, 2, yes(5, 10 * S), key="2001:db8::3"),
            check_all(0, item(key=FIRST), item(key=SECOND)),
            peek(0, 1, yes(3, 10 * S), key=SECOND),
            inspect(0, key=SECOND),
            set_limit(0, 20, key=FIRST),
            peek(0, 1, yes(13, 10 * S), key=SECOND),
            clear_limit(0, key=SECOND),
            peek(0, 1, yes(3, 10 * S), key=FIRST),
            block(0, 5, key=FIRST),
            check(0, 1, out(5 * S, 10 * S), key=SECOND),
            unblock(0, key=SECOND),
            check(0, 1, yes(2, 10 * S), key=FIRST),
            reset(0, key=SECOND),
            peek(0, 1, yes(10, 0), key=FIRST),
            check(0, 1, yes(9, 10 * S), key=FIRST),
            reset_all(0, key=SECOND),
            peek(0, 1, yes(10, 0), key=FIRST),
        ],
    ),
    Scenario(
        "addresses/repeated",
        "A call that is repeated with another spelling is the same call",
        [counted()],
        [
            check(0, 4, yes(6, 10 * S), key=FIRST, request_id="one"),
            check(0, 4, yes(6, 10 * S), key=SECOND, request_id="one"),
            peek(0, 1, yes(6, 10 * S), key=FIRST),
        ],
    ),
    Scenario(
        "addresses/request",
        "A request and a call speak of one client",
        [rule("concurrency", 2, identifier_type="ip_address", match={})],
        [
            reserve_request(0, name="a", ip=FIRST),
            reserve(0, 1, name="b", key=SECOND),
            reserve(0, 1, no(0, 60 * S, 60 * S), name="c", key="2001:db8::3"),
            release(0, name="a"),
            reserve(0, 1, name="d", key="2001:db8::3"),
        ],
    ),
]
