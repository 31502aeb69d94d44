"""Finds circles among imports: of files, and of what stands in one folder."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import TypeVar

# Of every file, the files that it imports from, and what.
Imports = dict[Path, dict[Path, set[str]]]

Node = TypeVar("Node", bound=Hashable)


def faults(sources: Path, imports: Imports) -> list[str]:
    """Each circle, by what ties it together."""
    found = []
    for circle in circles({file: set(others) for file, others in imports.items()}):
        found.append(described("files", ties(imports, circle, lambda file: file), sources))
    folders = {parent for file in imports for parent in file.parents if sources in (parent, *parent.parents)}
    for folder in sorted(folders):

        def inside(file: Path, folder: Path = folder) -> Path | None:
            return folder / file.relative_to(folder).parts[0] if folder in file.parents else None

        graph: dict[Path, set[Path]] = {}
        for file, others in imports.items():
            if (place := inside(file)) is not None:
                graph.setdefault(place, set()).update(it for other in others if (it := inside(other)) not in (None, place))
        for circle in circles(graph):
            # One of files alone was found already.
            if any(place.is_dir() for place in circle):
                found.append(described(f"what {folder.relative_to(sources.parent)} holds", ties(imports, circle, inside), sources))
    return found


def ties(imports: Imports, circle: set[Path], place_of) -> list[tuple[Path, Path, set[str]]]:
    return [
        (file, other, names)
        for file, others in sorted(imports.items())
        for other, names in sorted(others.items())
        if {place_of(file), place_of(other)} <= circle and place_of(file) != place_of(other)
    ]


def described(what: str, tied: list[tuple[Path, Path, set[str]]], sources: Path) -> str:
    lines = [
        f"  {file.relative_to(sources)} -> {other.relative_to(sources)}: {', '.join(sorted(names)[:4])}"
        for file, other, names in tied
    ]
    return "\n".join([f"{sources}: a circle of {what}:", *lines])


def circles(graph: Mapping[Node, set[Node]]) -> list[set[Node]]:
    """What can reach itself, each with all that it reaches and that reaches it."""
    reached = {node: reach(node, graph) for node in graph}
    found: list[set[Node]] = []
    for node in graph:
        if node in reached[node] and not any(node in circle for circle in found):
            found.append({other for other in reached[node] if node in reached.get(other, set())})
    return found


def reach(start: Node, graph: Mapping[Node, set[Node]]) -> set[Node]:
    seen: set[Node] = set()
    waiting = list(graph.get(start, ()))
    while waiting:
        node = waiting.pop()
        if node not in seen:
            seen.add(node)
            waiting.extend(graph.get(node, ()))
    return seen
