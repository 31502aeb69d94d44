//! A lease under a clock that steps, as manual ones do.

use super::*;
use crate::cells::{Lease, Spending};
use crate::regions::Deposit;
use crate::rules::LeaseTerms;

const TERMS: LeaseTerms = LeaseTerms { max_age_us: 20_000, pace_us: 10_000 };
const AGE: Micros = TERMS.max_age_us as Micros;
const BEGIN: Micros = 1_700_000_000_000_000;
const MS: Micros = 1_000;
const MOST: u64 = 1_000;

/// Calls from `now` on that the server decides, each as it comes, until one of them asks for units. Answers when, and for how
/// many.
fn ask(lease: &mut Lease, mut now: Micros) -> (Micros, u64) {
    loop {
        assert_eq!(lease.spend(now, (1, MOST), &TERMS), Spending::Elsewhere);
        if let Some(want) = lease.ask(now, (1, MOST), &TERMS) {
            return (now, want);
        }
        now += MS / 2;
    }
}

fn loan(granted: u64, sent_at: Micros) -> Deposit {
    let (granted, granted_at) = (granted as f64, sent_at as f64);
    let fresh_at = (sent_at + AGE) as f64;
    Deposit { granted, granted_at, valid_until: fresh_at, fresh_at, ..Deposit::default() }
}

/// A lease with units, and when they were asked for.
fn lent() -> (Lease, Micros) {
    let mut lease = Lease::new(BEGIN);
    let (sent_at, want) = ask(&mut lease, BEGIN);
    assert_eq!(lease.deposit(sent_at + 1, (want, sent_at), &loan(MOST, sent_at), &TERMS), None);
    (lease, sent_at)
}

fn is_spent(lease: &mut Lease, now: Micros) -> bool {
    matches!(lease.spend(now, (1, MOST), &TERMS), Spending::Spent { .. })
}

#[test]
fn a_step_back_lets_no_unit_last_longer_than_agreed() {
    for back in [1, 5 * MS, 19 * MS, 21 * MS, 100 * MS, 124 * MS, 126 * MS, 10_000 * MS] {
        for passed in [1, 5 * MS, 19 * MS] {
            let (mut lease, sent_at) = lent();
            assert!(is_spent(&mut lease, sent_at + passed));
            let stepped = sent_at + passed - back;
            assert!(is_spent(&mut lease, stepped), "they are not lost: {passed} us, then {back} back");
            for now in (stepped + AGE..stepped + 200 * MS).step_by(MS as usize) {
                assert!(!is_spent(&mut lease, now), "after {passed} us, {back} back: {} on", now - stepped);
            }
            assert!(lease.end().is_some_and(|unspent| unspent.granted_at == sent_at as f64));
        }
    }
}

#[test]
fn a_step_forward_ends_what_was_borrowed() {
    for forward in [AGE, 200 * MS, 3_600_000 * MS] {
        let (mut lease, sent_at) = lent();
        assert!(!is_spent(&mut lease, sent_at + forward));
        assert!(lease.valid_until() <= sent_at + forward, "what is left is given back");
        let (asked_at, _) = ask(&mut lease, sent_at + forward);
        assert!(asked_at < sent_at + forward + 600 * MS);
    }
}

/// How long ago it was asked for, nobody knows.
#[test]
fn a_loan_that_comes_before_it_was_asked_for_is_given_back() {
    let (mut lease, sent_at) = (Lease::new(BEGIN), BEGIN + 600 * MS);
    for back in [1, 600 * MS, 10_000 * MS] {
        let unspent = lease.deposit(sent_at - back, (20, sent_at), &loan(20, sent_at), &TERMS);
        assert_eq!(unspent.map(|unspent| unspent.units), Some(20), "{back} back");
        assert!(!is_spent(&mut lease, sent_at - back));
    }
}

#[test]
fn after_a_step_back_it_borrows_again() {
    let (mut lease, sent_at) = lent();
    let stepped = sent_at - 3_600_000 * MS;
    while is_spent(&mut lease, stepped) {}
    let (asked_at, want) = ask(&mut lease, stepped);
    assert!(asked_at < stepped + 600 * MS, "{} us on", asked_at - stepped);
    lease.deposit(asked_at + 1, (want, asked_at), &loan(want, asked_at), &TERMS);
    assert!(is_spent(&mut lease, asked_at + 2));
}
