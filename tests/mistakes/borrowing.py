"""Mistakes in what regions and processes borrow, spend and give back."""

from mistake import Mistake


def in_lending(name: str, file: str, right: str, wrong: str, test: str = "") -> Mistake:
    """A mistake in what regions lend, found by one test of the simulation or by any."""
    return Mistake(name, file, right, wrong, "sequence::tests::lending" + test)


def in_allotments(name: str, right: str, wrong: str) -> Mistake:
    """A mistake in what an allotment answers that breaks no bound: the vectors have it."""
    return Mistake(name, "regions/allotment.rs", right, wrong, "sequence::tests::allotment_vectors")


def in_leases(name: str, right: str, wrong: str) -> Mistake:
    """A mistake in what processes borrow of their server."""
    return Mistake(name, "cells/lease.rs", right, wrong, "sequence::tests::leases")


BORROWING = [
    in_lending(
        "a loan that comes too late is kept, and counts from then on",
        "regions/allotment.rs",
        "let is_late = granted > 0.0 && valid_until <= now;",
        "let (is_late, valid_until) = (false, now + terms.age);",
    ),
    in_lending(
        "a loan lasts from the time of the region in charge, whose clock is another one",
        "sequence/borrower.rs",
        "let asked_at = asked_at as f64;",
        "let asked_at = (asked_at as f64).max(granted_at as f64);",
    ),
    in_lending(
        "what is lent is not charged",
        "regions/lending.rs",
        "    check(state, lent);\n",
        "",
    ),
    in_lending(
        "what is spent stays in the allotment",
        "regions/allotment.rs",
        "            loan.units -= taken;\n",
        "",
    ),
    in_lending(
        "loans that have ended are spent for a while",
        "regions/allotment.rs",
        "|loan| loan.valid_until <= now);",
        "|loan| loan.valid_until + 4.0 * terms.age <= now);",
    ),
    in_lending(
        "of two loans that become one, the later end counts",
        "regions/allotment.rs",
        "last.valid_until = last.valid_until.min(valid_until);",
        "last.valid_until = last.valid_until.max(now + terms.age);",
    ),
    in_lending(
        "what is counted in a window is lent into the next one",
        "sequence/borrower.rs",
        "Policy::FixedWindow(_) => self.age.min(rest.reset_after as f64),\n            _ => self.age,",
        "_ => self.age,",
    ),
    in_lending(
        "what a region has charged for a call that is admitted is lent as well",
        "regions/deposit.rs",
        "if is_charged && !is_admitted {",
        "if is_charged {",
    ),
    in_lending(
        "a denial holds as long as the region in charge says",
        "sequence/borrower.rs",
        "until(wait.min(self.age))",
        "until(wait)",
    ),
    in_lending(
        "a region that is cut off decides by the whole limit",
        "catalog/rule.rs",
        "map(|amounts| Share::new(part).of_amounts(amounts));",
        "map(|amounts| Share::new(part.max(1.0)).of_amounts(amounts));",
    ),
    in_lending(
        "more is lent than there is",
        "regions/lending.rs",
        "let lent = want.min((room / 2.0).floor().max(1.0));",
        "let lent = want.max(1.0);",
        "::two_maps_at_once_add_one_full_bound",
    ),
    in_lending(
        "a request that nobody answers keeps a region from asking again",
        "regions/allotment.rs",
        "            self.asked_at = now;\n",
        "            self.asked_at = now + 1e9;\n",
        "::a_region_borrows_again_after_its_processes_were_restarted",
    ),
    in_allotments(
        "a region borrows for calls that its own limits refuse",
        "            self.counts[0] -= asked.demand;\n",
        "",
    ),
    in_leases(
        "borrowed units are spent after their end",
        "if now < self.valid_until && cost <= self.units {",
        "if cost <= self.units {",
    ),
    in_leases(
        "what is spent stays in the lease",
        "            self.units -= cost;\n",
        "",
    ),
    in_leases(
        "borrowed units last from the reply on, not from the request",
        "(lent.valid_until as Micros).min(sent_at + terms.age());",
        "now + terms.age();",
    ),
    in_leases(
        "others are said to use up the limit although there is as much as was asked for",
        "            self.contended_until = now;\n",
        "",
    ),
    in_leases(
        "what was not spent of a loan says nothing of the next one",
        "least.max(self.enough.min((rate * terms.max_age_us as f64) as u64))",
        "least.max((rate * terms.max_age_us as f64) as u64)",
    ),
    in_leases(
        "what is given back may be spent too",
        "std::mem::take(&mut self.units);",
        "self.units;",
    ),
]
