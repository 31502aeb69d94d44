"""The names of rules that are stated at a route."""

from __future__ import annotations

import re
from hashlib import sha256

# What a rule_id may have.
_FOREIGN = re.compile(r"[^A-Za-z0-9_.:/-]")
_LONGEST = 128
_HASH = 8


def is_name(text: str) -> bool:
    """Whether a rule may have this name."""
    return 0 < len(text) <= _LONGEST and _FOREIGN.search(text) is None


def rule_name(*parts: str) -> str:
    """Parts with colons between them; altered where a rule_id must be, which a hash at its end then keeps unique."""
    whole = ":".join(parts)
    plain = _FOREIGN.sub("_", whole)
    if plain == whole and len(whole) <= _LONGEST:
        return whole
    return f"{plain[: _LONGEST - _HASH - 1]}-{sha256(whole.encode()).hexdigest()[:_HASH]}"
