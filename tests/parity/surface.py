"""What a package offers, in the words of the Rust API."""

from __future__ import annotations

import re
from collections import defaultdict

# A parameter, and whether a call has to give it.
Parameters = dict[str, bool]
REQUIRED = " required"


class Surface(defaultdict[str, set[str]]):
    """Names by what they belong to: `package`, a class such as `Decision`, or a method such as `RateLimiter.check()`.

    What a method wants in any case stands once more in a part of its own: `RateLimiter.check() required`.
    """

    def __init__(self) -> None:
        super().__init__(set)

    def add_method(self, owner: str, name: str, parameters: Parameters) -> None:
        """Of a method with several forms, only what all of them want is required."""
        self[owner].add(name)
        part = f"{owner}.{name}()"
        required = {parameter for parameter, is_required in parameters.items() if is_required}
        self[part + REQUIRED] = self[part + REQUIRED] & required if part in self else required
        self[part] |= parameters.keys()


def word(name: str) -> str:
    """A name as Rust spells it; units at its end belong to the language."""
    name = re.sub(r"(?<=[a-z])(Ms|Us)$", "", name)
    return re.sub(r"(?<=[a-z])[A-Z]", lambda letter: "_" + letter[0], name).lower().removesuffix("_us")


def camel_case(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))
