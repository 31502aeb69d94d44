"""Finding an instant by trying instants."""

from collections.abc import Callable


def first_wait(holds: Callable[[int], bool]) -> int:
    """The smallest wait >= 0, in microseconds, at which `holds` is true; it must stay true from there on."""
    if holds(0):
        return 0
    too_short, enough = 0, 1
    while not holds(enough):
        too_short, enough = enough, enough * 2
    while enough - too_short > 1:
        middle = (too_short + enough) // 2
        if holds(middle):
            enough = middle
        else:
            too_short = middle
    return enough
