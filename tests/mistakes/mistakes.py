"""Known mistakes: what a simulation, the player of interleavings, or the vectors of allotments have to find, one at a
time."""

from borrowing import BORROWING
from driver import DRIVER

MISTAKES = [*DRIVER, *BORROWING]
