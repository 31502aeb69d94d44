"""Keys that are addresses of clients: one for each client, however its address is written."""

import re
from ipaddress import IPv6Address, IPv6Network, ip_address

ADDRESS = "ip_address"


def read_addresses(
    key: str | list[str] | None, identifier: str | list[str] | None, prefix_length: int
) -> str | list[str] | None:
    """The key as a rule of this `identifier_type` counts it. What is not an address stays as it is."""
    if identifier == ADDRESS and isinstance(key, str):
        return client(key, prefix_length)
    if not isinstance(identifier, list) or ADDRESS not in identifier:
        return key
    parts = key if isinstance(key, list) else unjoined(key)
    if len(parts) != len(identifier):
        return key
    return [client(part, prefix_length) if of == ADDRESS else part for part, of in zip(parts, identifier, strict=True)]


def unjoined(key: str) -> list[str]:
    """The parts of a key that `joined` has made."""
    return [re.sub(r"\\(.)", r"\1", part) for part in re.findall(r"((?:[^,\\]|\\.)+)", key)]


def client(text: str, prefix_length: int) -> str:
    """The client that an address belongs to: of IPv6 a whole network."""
    address = address_of(text)
    if address is None:
        return text
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped:
            return str(address.ipv4_mapped)
        if prefix_length < 128:
            return str(IPv6Network((int(address), prefix_length), strict=False))
        return str(IPv6Address(int(address)))
    return str(address)


def address_of(text: str):
    """The address in a text, which may have a port, and brackets."""
    bracketed = re.fullmatch(r"\[(.*:.*)\](?::(\d+))?", text)
    ported = re.fullmatch(r"([\d.]+):(\d+)", text)
    host, port = bracketed.groups() if bracketed else ported.groups() if ported else (text, None)
    if int(port or 0) > 65535:
        return None
    try:
        return ip_address(host)
    except ValueError:
        return None
