"""Requests full of tricks, as bytes: the same for the same seed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

# `T` is a name that no other request has, so that nobody else can have charged it.
PATHS = [
    b"/login", b"/status", b"/a", b"/api/T/x", b"/api/T/x/y", b"/items/T", b"/files/x", b"/d/x/download", b"/graphql",
    b"/graphql/x", b"/sub/inner/T", b"/keys",
]  # fmt: skip
BEFORE = [
    b"//h", b"/", b"//", b"\\", b"/\\h", b"http://h", b"http://h?", b"http://h#", b"http://h\\", b"HTTP://u@h:1", b"foo://h",
    b"http:", b"http:///", b"foo:", b"/x/..", b"/x/%2e%2e", b"/..", b"/./", b"/%2f", b"/;", b"/x;/..", b"/%5c..", b"/x1",
]  # fmt: skip
BETWEEN = [
    b"/", b"/.", b"/..", b"/x/..", b"/%2e", b"/%2E%2e", b"/x/%2e.", b"\\", b"%5c", b"%2f", b"%2F", b"/..%2fother", b"/../other",
    b"/..\\other", b"/..%5Cother", b"/..;/other", b";", b";x", b";x=1/y", b"%3b", b"%3B/..", b"#", b"#/", b"%23", b"?", b"%3f",
    b"%00", b"%0a", b"//", b"/;/", b".", b"..", b"%20", b"+", b"%25", b"%252f", b"%252e%252e/", b"%c0%ae%c0%ae/", b"%c0%af",
    b"%e0%80%af", b"%u002f", b"%", b"%2", b"%zz", b"%ff", b"\xff", b"\xc3\xa9", b"%c3%a9", b"\xe9", b"\xa0", b"%e2%84%aa",
    b"%ef%bc%8f", b"%EF%BB%BF", b"\t", b"\x0b", b"\x01", b"\"", b"<", b"^", b"`", b"{", b"|", b"}", b"~", b"@", b":", b"*", b"$",
]  # fmt: skip
AFTER = [
    b"%0a", b"%0A", b"%0d", b"%0d%0a", b"%0a%0a", b"%09", b"%0b", b"%0c", b"%20", b"%85", b"%c2%85", b"%a0", b"%c2%a0", b"\xa0",
    b"%e2%80%a8", b"%1c", b"%00", b"%00.png", b"%00/x", b".", b"..", b"...", b"/", b"//", b"/.", b"/./", b"/..", b"/x/..",
    b"/%2e", b"/%2e%2e", b"%2f", b"%5c", b"\\", b";", b";/x", b";x", b"%3b", b"%3bx", b"#", b"#x", b"#/download", b"%23", b"?",
    b"?x", b"??", b"?/../x", b"%3f", b"%3fx", b"%", b"%2", b"\t", b"\x0b", b"\x85", b"\xff", b"%ff", b"~", b"%ef%bb%bf",
]  # fmt: skip
# Where a client says that the application is.
MOUNT = b"/x1"
LONG = [b"x", b"/", b"/;", b"/x/..", b"%2f", b"/.", b"\\", b"%61", b"."]


# What slipped past once; each with the method.
KNOWN = [
    (b"POST", b"/login%0A"), (b"GET", b"/files/../a"), (b"GET", b"/graphql/../x"), (b"GET", b"/api/victim/../other/q"),
    (b"GET", b"/api/victim/..%2fother/q"), (b"POST", b"/LOGIN"), (b"POST", b"/login;/x"), (b"GET", b"/d/a#/download"),
    (b"GET", b"/a%0a"), (b"POST", b"http://a?/login"), (b"POST", b"/login%20"), (b"POST", b"/login/"),
    (b"GET", b"/items/"), (b"GET", b"/api//x"), (b"GET", b"/items//"), (b"GET", b"/sub/inner/"), (b"GET", b"/api//x/y"), (b"GET", b"/items/;x"),
    (b"GET", b"/items/#x"), (b"POST", b"/x1/login"), (b"POST", b"foo:/login%23y"), (b"POST", b"foo://h/login%3fy"),
]  # fmt: skip


@dataclass(frozen=True)
class Request:
    """A request, and the bytes of it."""

    method: bytes
    target: bytes
    headers: tuple[tuple[bytes, bytes], ...]

    def sent(self) -> bytes:
        lines = [b"%s %s HTTP/1.1" % (self.method, self.target), b"Host: h"]
        lines += [b"%s: %s" % header for header in self.headers]
        length = [b"Content-Length: 0"] if self.method == b"POST" else []
        return b"\r\n".join(lines + length + [b"", b""])


def requests(seed: int, count: int) -> Iterator[Request]:
    """First every path as it is and what slipped past once, then every single trick, and then several at random."""
    random = Random(seed)
    gets = [Request(_method(path), path.replace(b"T", b"plain"), _headers(path, random)) for path in PATHS]
    heads = [Request(b"HEAD", get.target, get.headers) for get in gets if get.method == b"GET"]
    lines = [Request(b"GET", b"/keys", tuple((b"X-Api-Key", key) for key in (b"real", b"junk", b"real")))]
    mounted = [Request(b"POST", MOUNT + b"/login", ((b"SCRIPT_NAME", MOUNT),))]
    plain = gets + heads + lines + mounted + [Request(method, target, ()) for method, target in KNOWN]
    yield from plain
    tricks = [(b"", trick) for trick in AFTER] + [(trick, b"") for trick in BEFORE]
    for number in range(count - len(plain)):
        path = random.choice(PATHS).replace(b"T", b"t%d" % number)
        if number < len(tricks):
            before, after = tricks[number]
            target = before + path + after
        else:
            target = _tricked(path, random)
        headers = _headers(path, random)
        if (b"SCRIPT_NAME", MOUNT) in headers:
            # A server that heeds it refuses other paths.
            target = MOUNT + target
        yield Request(_method(path, random), target, headers)


def _method(path: bytes, random: Random | None = None) -> bytes:
    if path == b"/login":
        return b"POST"
    return random.choice([b"GET", b"GET", b"GET", b"HEAD"]) if random else b"GET"


def _headers(path: bytes, random: Random) -> tuple[tuple[bytes, bytes], ...]:
    headers: list[tuple[bytes, bytes]] = []
    if path == b"/keys":
        # Some servers leave out a name with an underscore, and who sends no key is not counted.
        names = [b"X-Api-Key", *random.choices([b"X-Api-Key", b"x-api-key", b"x_api_key"], k=random.choice([0, 1, 2]))]
        headers += [(name, random.choice([b"real", b"j%d" % random.randrange(10**9)])) for name in names]
        random.shuffle(headers)
    if random.random() < 0.05:
        headers.append((b"SCRIPT_NAME", random.choice([MOUNT, MOUNT, path])))
    if random.random() < 0.02:
        headers.append((b"PATH_INFO", b"/login"))
    return tuple(headers)


def _tricked(path: bytes, random: Random) -> bytes:
    for _ in range(random.choice([0, 1, 1, 2, 2, 3, 4])):
        path = random.choice(MUTATIONS)(path, random)
    if random.random() < 0.4:
        path += random.choice(AFTER)
    if random.random() < 0.3:
        path = random.choice(BEFORE) + path
    if random.random() < 0.05:
        path += random.choice(AFTER)
    return path


def _inserted(path: bytes, random: Random) -> bytes:
    at = random.choice([place for place in range(1, len(path) + 1) if path[place - 1 : place] == b"/" or path[place : place + 1] in (b"/", b"")] + [random.randrange(len(path) + 1)])
    return path[:at] + random.choice(BETWEEN) + path[at:]


def _escaped(path: bytes, random: Random) -> bytes:
    at = random.randrange(len(path))
    form = random.choice([b"%%%02x", b"%%%02X", b"%%%02x", b"%%25%02x"])
    return path[:at] + form % path[at] + path[at + 1 :]


def _in_capitals(path: bytes, random: Random) -> bytes:
    at = random.randrange(len(path))
    return random.choice([path.upper(), path[:at] + path[at : at + 1].swapcase() + path[at + 1 :]])


def _longer(path: bytes, random: Random) -> bytes:
    if random.random() < 0.8:
        return path
    at = random.randrange(1, len(path) + 1)
    trick = random.choice(LONG)
    return path[:at] + trick * (random.choice([20, 300, 7000]) // len(trick)) + path[at:]


MUTATIONS = [_inserted, _inserted, _inserted, _escaped, _escaped, _in_capitals, _longer]
