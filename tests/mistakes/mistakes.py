"""Known mistakes: what a simulation, or the player of interleavings, has to find, one at a time."""

from borrowing import BORROWING
from driver import DRIVER

MISTAKES = [*DRIVER, *BORROWING]
