"""What a region was lent of one key, and how it spends that: exact, from the definition."""

from dataclasses import dataclass, field
from fractions import Fraction

PACE = 20_000
"""Between two requests for a loan."""
LEAST_SPAN = 2_000_000
"""The rate is taken over the time that a loan lasts, and over this at least."""
QUARTERS = 4
LEAST_SPENT = 10
"""A rate at which fewer units are spent before a loan ends is none to lend for."""
TRIPS, AHEAD = 4, 50_000
"""A region borrows what its callers ask for in so many round trips, and in this time."""
MOST_LOANS = 16


class Unfair(Exception):
    """The answer depends on how a fraction is rounded."""


def is_less(one: Fraction | int, other: Fraction | int) -> bool:
    if abs(one - other) < Fraction(1, 10**6):
        raise Unfair(f"{one} or {other}")
    return one < other


def whole(number: Fraction) -> int:
    """A number rounded down."""
    if abs(number - round(number)) < Fraction(1, 10**6):
        raise Unfair(f"{number} rounded down")
    return number.numerator // number.denominator


@dataclass(frozen=True)
class Terms:
    """What stays the same from call to call, in microseconds."""

    most: int
    """The largest cost that fits at once."""
    age: int
    """How long a loan lasts."""
    trip: int
    """To the region in charge and back."""

    @property
    def span(self) -> int:
        return max(self.age, LEAST_SPAN)


@dataclass(frozen=True)
class Loan:
    units: int
    valid_until: int
    granted_at: int


@dataclass(frozen=True)
class Denial:
    """What the region in charge has denied: a cost, until when it need not be asked again, and when it has room."""

    cost: int
    until: int
    fits_at: int


@dataclass
class Allotment:
    begun: int
    """When the quarter of a span began in which the last call was counted."""
    asked: list[tuple[int, int]] = field(default_factory=list)
    """Units that were asked for, each with the beginning of its quarter."""
    requested_at: int | None = None
    denial: Denial | None = None
    contended_until: int = 0
    fresh_at: int = 0
    loans: list[Loan] = field(default_factory=list)

    def heal(self, now: int, age: int) -> None:
        """After a step of the clock back nothing lasts longer than it may, and nothing else is known."""
        if self.denial and self.denial.until > now + age:
            self.denial = Denial(self.denial.cost, now + age, self.denial.fits_at)
        self.loans = [Loan(loan.units, min(loan.valid_until, now + age), loan.granted_at) for loan in self.loans]
        if self.begun > now:
            self.begun, self.asked, self.requested_at, self.contended_until, self.fresh_at = now, [], None, 0, 0
            self.denial = self.denial and Denial(self.denial.cost, self.denial.until, 0)

    def rate(self, now: int, span: int) -> Fraction:
        """Units per microsecond: of the quarter under way and of the three before whole, of the one before those what lies in the span."""
        quarter = Fraction(span, QUARTERS)
        passed = (now - self.begun) // quarter
        self.begun += int(passed * quarter)
        into = Fraction(now - self.begun, quarter)

        def weight(began: int) -> Fraction:
            age = (self.begun - began) / quarter
            return Fraction(age < QUARTERS) if age != QUARTERS else 1 - into

        return sum((units * weight(began) for began, units in self.asked), Fraction()) / span

    def deposit(self, now: int, terms: Terms, said: dict) -> int:
        """Keeps what the region in charge has lent and said. Answers how many units came too late."""
        self.heal(now, terms.age)
        loan = Loan(said.get("granted", 0), said.get("valid_until", 0), said.get("granted_at", 0))
        is_late = loan.units > 0 and loan.valid_until <= now
        if loan.units > 0 and not is_late:
            self.keep(loan, terms.age)
        if "denied_until" in said:
            self.denial = Denial(said["denied_cost"], said["denied_until"], said["fits_at"])
        self.contended_until = max(self.contended_until, said.get("contended_until", 0))
        self.fresh_at = said["fresh_at"]
        return loan.units if is_late else 0

    def keep(self, loan: Loan, age: int) -> None:
        """Loans of about one time are one: it ends with the first of them."""
        last = self.loans[-1] if self.loans else None
        if last and (len(self.loans) == MOST_LOANS or 8 * abs(last.valid_until - loan.valid_until) < age):
            both = zip((last.valid_until, last.granted_at), (loan.valid_until, loan.granted_at))
            self.loans[-1] = Loan(last.units + loan.units, *map(min, both))
        else:
            self.loans.append(loan)


def left(allotment: Allotment, now: int) -> int:
    return sum(loan.units for loan in allotment.loans if loan.valid_until > now)
