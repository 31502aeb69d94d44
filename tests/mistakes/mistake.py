"""What a known mistake is."""

from typing import NamedTuple


class Mistake(NamedTuple):
    """A change of one place in the source of core that is wrong."""

    name: str
    file: str
    right: str
    wrong: str
    found_by: str
