"""Vectors of what regions lend to each other, and how they spend it; the README in `tests/vectors/allotments` describes them."""

from . import histories, lent, spent
from .play import vector

_FILES = {
    "allotments/spent": ("A region spends what it was lent of a key, and borrows.", spent.SCENARIOS),
    "allotments/random": ("The same in random histories.", histories.SCENARIOS),
    "allotments/lent": ("The region in charge of a key lends.", lent.SCENARIOS),
}


def files() -> dict[str, dict]:
    """The content of each file, by its name without the ending."""
    return {
        name: {"description": description, "vectors": [vector(scenario) for scenario in scenarios]}
        for name, (description, scenarios) in _FILES.items()
    }
