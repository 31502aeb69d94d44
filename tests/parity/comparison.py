"""What one language has and another has not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import c
import node
import python
import rust
from exceptions import ALONE, IDIOMS, MISSING, READ_OTHERWISE
from sources import Sources
from surface import REQUIRED, Surface

READERS = {"rust": rust.surface, "python": python.surface, "node": node.surface, "c": c.surface}
# A language, a part of its surface, a name in it.
Place = tuple[str, str, str]


@dataclass(frozen=True)
class Difference:
    """One name of one part."""

    having: frozenset[Place]
    lacking: frozenset[Place]

    def is_alone(self) -> bool:
        return len(self.having) == 1 and self.having <= ALONE.keys()


def read(sources: Sources) -> dict[str, Surface]:
    return {language: surface(sources) for language, surface in READERS.items()}


def unexcused(surfaces: dict[str, Surface]) -> set[Place]:
    """What is missing where, and no exception says so."""
    found = (one for one in differences(surfaces) if not one.is_alone())
    missing = {place for one in found for place in one.lacking} - MISSING.keys()
    return {(language, part, name) for language, part, name in missing if part not in READ_OTHERWISE}


def unneeded(surfaces: dict[str, Surface]) -> set[Place | tuple[str, str] | str]:
    """Exceptions that are none."""
    found = list(differences(surfaces))
    alone = {place for one in found if one.is_alone() for place in one.having}
    missing = {place for one in found if not one.is_alone() for place in one.lacking}
    idioms = {(language, name) for language, surface in surfaces.items() for name in set().union(*surface.values())}
    parts = {part for _, part, _ in missing}
    excused = alone | missing | idioms | parts
    return (ALONE.keys() | MISSING.keys() | IDIOMS.keys() | READ_OTHERWISE.keys()) - excused


def differences(surfaces: dict[str, Surface]) -> Iterator[Difference]:
    for part in set().union(*surfaces.values()):
        languages = {language for language, surface in surfaces.items() if has_part(surface, part)}
        names = {language: own_names(language, surfaces[language], part) for language in languages}
        for name in set().union(*names.values()):
            having = {language for language in languages if name in names[language]}
            lacking = {language for language in languages - having if can_lack(surfaces[language], part, name)}
            if lacking:
                yield Difference(
                    frozenset((language, part, name) for language in having),
                    frozenset((language, part, name) for language in lacking),
                )


def own_names(language: str, surface: Surface, part: str) -> set[str]:
    """Without what belongs to the language rather than to the package."""
    return {name for name in surface.get(part, set()) if (language, name) not in IDIOMS}


def has_part(surface: Surface, part: str) -> bool:
    """Where a class or a method is missing as a whole, that is one difference, and not one for each name in it."""
    owner, _, method = part.partition(".")
    if method:
        return method.removesuffix(REQUIRED).removesuffix("()") in surface.get(owner, set())
    return part in surface or part in surface["package"]


def can_lack(surface: Surface, part: str, name: str) -> bool:
    """What a method does not take at all need not be said to be not required."""
    return not part.endswith(REQUIRED) or name in surface.get(part.removesuffix(REQUIRED), set())
