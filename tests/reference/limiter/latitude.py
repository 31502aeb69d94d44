"""What the definitions leave open, so that no vector depends on it by accident.

An implementation may throw expired usage away early or late, may keep the spacing of the gcra family on
a grid finer than a microsecond, and may compute in doubles decay and
what was counted at another limit, and may forget the last token of a key once nothing was held for
`lease_seconds`. The contract does not say which of two limits a reservation is charged under that expired before the
other was stored. A history is a fair vector only if none of these choices shows. The maker plays each vector once per
choice that its rules leave and compares.
"""

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Latitude:
    sweep_always: bool = False
    """Forget expired usage whenever its key is touched, even by a peek (else: never, it just stops counting)."""

    gcra_grid: int | None = None
    """Round the microseconds per unit down to a multiple of 1/gcra_grid."""

    gcra_drift: Fraction = Fraction(0)
    """Relative error of a debt that was counted at another limit, where doubles do not hold it."""

    decay_drift: Fraction = Fraction(0)
    """Relative error of a decay factor that is no power of two (doubles hold the others exactly)."""

    limit_at_expiry: bool = False
    """Charge an expired reservation under the limit that was stored when it expired (else: when it is charged)."""

    ids_descend: bool = False
    """Ids of reservations are random: two that expire together are charged in any order."""


EXACT = Latitude()

OF_ALL = (EXACT, Latitude(sweep_always=True))
OF_RESERVATIONS = (Latitude(ids_descend=True), Latitude(limit_at_expiry=True))
OF_GCRA = (
    Latitude(gcra_grid=2**20),
    Latitude(gcra_drift=Fraction(1, 10**12)),
    Latitude(gcra_drift=Fraction(-1, 10**12)),
)
OF_DECAY = (Latitude(decay_drift=Fraction(1, 10**12)), Latitude(decay_drift=Fraction(-1, 10**12)))
