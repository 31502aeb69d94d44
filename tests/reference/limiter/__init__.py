"""An exact, slow rate limiter written from the definitions, to make conformance vectors.

Nothing here is fast, shared or stored. Numbers are integers and fractions, so no result is ever
rounded. Whatever can be found by searching is searched rather than solved, so that a formula that is
wrong in the product is not wrong here too.
"""

from .errors import InvalidArgument, LimiterError, UnknownRule
from .latitude import Latitude
from .decision import Decision
from .items import Item
from .limiter import Limiter
from .reservations import Reservation

__all__ = ["Decision", "InvalidArgument", "Item", "Latitude", "Limiter", "LimiterError", "Reservation", "UnknownRule"]
