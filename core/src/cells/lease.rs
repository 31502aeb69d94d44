//! Units that a process has borrowed of its server, for one rule and key. A state machine without I/O and clock.

use crate::algorithm::Micros;
use crate::regions::Deposit;
use crate::rules::LeaseTerms;

/// The rate is taken over this time: a quarter each, and the one that is not over yet.
const SPAN: Micros = 500_000;
const QUARTERS: usize = 4;
const QUARTER: Micros = SPAN / QUARTERS as Micros;
/// A rate at which fewer units are spent before a lease ends is none to borrow for.
const LEAST_SPENT: f64 = 10.0;
/// After a loan that others left too little for, nobody asks more than once a pace for so long, and for so many round trips.
const LEAST_CONTENTION: Micros = 1_000_000;
const TRIPS: Micros = 4;

/// What becomes of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spending {
    /// Units were spent; so many are left, and the key is as if never seen after so long.
    Spent { left: u64, fresh_after: Micros },
    /// Others use up the limit too: it is denied until the next request.
    Denied { left: u64, retry_after: Micros, fresh_after: Micros },
    /// The server decides.
    Elsewhere,
}

/// Units that were not spent, and when they were granted by the server's clock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Unspent {
    pub(crate) units: u64,
    pub(crate) granted_at: f64,
}

/// Times are by the limiter's clock but for `granted_at`, in microseconds.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Lease {
    begun: Micros,
    /// What was asked for since it began, and in each quarter of the span before that.
    counts: [u64; QUARTERS + 1],
    units: u64,
    /// How many there were of the last loan, until it was seen how many of them were spent, and how many were not.
    lent: u64,
    unspent: u64,
    /// As much as is needed while a loan lasts, as far as loans tell.
    enough: u64,
    valid_until: Micros,
    granted_at: f64,
    next_request: Micros,
    /// How much was asked for last, and whether that was spent in half of the time that it lasts.
    last_want: u64,
    is_spent_early: bool,
    contended_until: Micros,
    fits_at: Micros,
    fresh_at: Micros,
}

impl Lease {
    pub(crate) fn new(now: Micros) -> Self {
        Self {
            begun: now,
            counts: [0; QUARTERS + 1],
            units: 0,
            lent: 0,
            unspent: 0,
            enough: u64::MAX,
            valid_until: now,
            granted_at: 0.0,
            next_request: now,
            last_want: 0,
            is_spent_early: false,
            contended_until: now,
            fits_at: now,
            fresh_at: now,
        }
    }

    /// Spends a cost, denies it, or leaves it to the server: then the call is counted when it [asks](Self::ask). `most` is the largest cost that can ever fit.
    #[inline(always)]
    pub(crate) fn spend(&mut self, now: Micros, (cost, most): (u64, u64), terms: &LeaseTerms) -> Spending {
        let spending = self.look(now, (cost, most), terms);
        self.note(spending, (cost, most));
        spending
    }

    /// What [`spend`](Self::spend) would do. Nothing is spent or counted.
    #[inline(always)]
    pub(crate) fn look(&mut self, now: Micros, (cost, most): (u64, u64), terms: &LeaseTerms) -> Spending {
        self.keep_up(now, terms);
        let fresh_after = (self.fresh_at - now).max(0);
        if now < self.valid_until && cost <= self.units {
            return Spending::Spent { left: self.units - cost, fresh_after };
        }
        self.deny(now, (cost, most), terms).map_or(Spending::Elsewhere, |retry_after| {
            let left = if now < self.valid_until { self.units } else { 0 };
            Spending::Denied { left, retry_after, fresh_after }
        })
    }

    /// Does what was found by a [look](Self::look).
    #[inline(always)]
    pub(crate) fn note(&mut self, spending: Spending, (cost, most): (u64, u64)) {
        match spending {
            Spending::Spent { .. } => {
                self.units -= cost;
                self.counts[0] += cost;
            }
            Spending::Denied { .. } => self.counts[0] += cost.min(most),
            Spending::Elsewhere => {}
        }
    }

    /// How long a cost has to wait that the server is not asked about.
    fn deny(&self, now: Micros, (cost, most): (u64, u64), terms: &LeaseTerms) -> Option<Micros> {
        if now >= self.contended_until || now >= self.next_request || cost > most {
            return None;
        }
        // What is larger than what is asked for in a pace, the server decides.
        let rate = self.rate(now);
        let is_shared = is_worth(rate, terms) && cost as f64 <= rate * terms.pace_us as f64;
        is_shared.then(|| self.fits_at.max(self.next_request) - now)
    }

    /// Units per microsecond. One that is not yet known for the whole span counts as less, not as more.
    fn rate(&self, now: Micros) -> f64 {
        let [count, whole @ .., last] = &self.counts;
        let whole = whole.iter().sum::<u64>() + count;
        let part = 1.0 - (now - self.begun) as f64 / QUARTER as f64;
        (whole as f64 + *last as f64 * part.max(0.0)) / SPAN as f64
    }

    #[inline(always)]
    fn keep_up(&mut self, now: Micros, terms: &LeaseTerms) {
        if self.has_stepped_back(now, terms) || now - self.begun >= QUARTER {
            self.turn(now, terms);
        }
    }

    /// Whether this is a time from before the quarter or the loan began, as far as can be told.
    #[inline(always)]
    fn has_stepped_back(&self, now: Micros, terms: &LeaseTerms) -> bool {
        now < self.begun.max(self.valid_until - terms.age())
    }

    /// Begins another quarter. After a step of the clock back nothing lasts longer than it may.
    #[cold]
    fn turn(&mut self, now: Micros, terms: &LeaseTerms) {
        if self.has_stepped_back(now, terms) {
            let valid_until = self.valid_until.min(now + terms.age());
            *self = Self { units: self.units, granted_at: self.granted_at, valid_until, ..Self::new(now) };
            return;
        }
        let passed = (now - self.begun) / QUARTER;
        self.begun += passed * QUARTER;
        for _ in 0..passed.min(self.counts.len() as Micros) {
            self.counts.rotate_right(1);
            self.counts[0] = 0;
        }
    }

    /// How much to borrow with a call that the server decides, sent `now`; `None`: nothing. Takes note that it is asked for.
    pub(crate) fn ask(&mut self, now: Micros, (cost, most): (u64, u64), terms: &LeaseTerms) -> Option<u64> {
        self.keep_up(now, terms);
        // A cost that can never fit says nothing of what is needed.
        self.counts[0] += cost.min(most);
        let has_enough = now < self.valid_until && cost <= self.units;
        let is_half_over = now + terms.age() / 2 >= self.valid_until;
        self.is_spent_early |= !is_half_over && self.units < cost;
        let rate = self.rate(now);
        if now < self.next_request || has_enough || !is_worth(rate, terms) {
            return None;
        }
        self.next_request = now + terms.pace_us as Micros;
        // A rate that rises is not known for half a second: so long all calls would wait for the server.
        let is_rising = self.is_spent_early && now >= self.contended_until;
        let least = if is_rising { 2 * self.last_want } else { 0 };
        self.learn(now);
        self.last_want = least.max(self.enough.min((rate * terms.max_age_us as f64) as u64));
        Some(self.last_want)
    }

    /// Learns from the last loan how much is needed: what is not spent in its time, others lack. After a spike, the rate still
    /// counts it for a while.
    fn learn(&mut self, now: Micros) {
        let unspent = self.unspent + if now >= self.valid_until { self.units } else { 0 };
        match std::mem::take(&mut self.lent) {
            0 => {}
            lent if unspent > 0 => self.enough = lent.saturating_sub(unspent).max(LEAST_SPENT as u64),
            _ => self.enough = self.enough.saturating_add(self.enough / 4 + 1),
        }
    }

    /// Keeps what the server has lent to a request of `want` units, `sent_at`. Answers what was not spent of the last loan,
    /// or what came too late.
    pub(crate) fn deposit(
        &mut self,
        now: Micros,
        (want, sent_at): (u64, Micros),
        lent: &Deposit,
        terms: &LeaseTerms,
    ) -> Option<Unspent> {
        let trip = (now - sent_at).max(0);
        self.fits_at = lent.fits_at as Micros;
        self.fresh_at = lent.fresh_at as Micros;
        let loan = Unspent { units: lent.granted as u64, granted_at: lent.granted_at };
        // Not longer than agreed by the clock of this process, whatever the reply says.
        let valid_until = (lent.valid_until as Micros).min(sent_at + terms.age());
        if lent.granted < want as f64 {
            let until_next = (terms.pace_us as Micros).min(valid_until - now);
            self.note_shortage(now, lent.granted, until_next, sent_at + LEAST_CONTENTION.max(TRIPS * trip));
        } else {
            // The lender has kept as much as all that was asked for: what others used up is there again.
            self.contended_until = now;
        }
        if loan.units == 0 {
            return None;
        }
        if now < sent_at || now >= valid_until {
            // A server that takes so long is not asked at every pace.
            self.next_request = self.next_request.max(now + TRIPS * trip);
            return Some(loan);
        }
        let before = self.end();
        self.is_spent_early = false;
        // One that ends with its window tells nothing.
        let is_whole = valid_until == sent_at + terms.age();
        (self.lent, self.unspent) = (if is_whole { loan.units } else { 0 }, 0);
        (self.units, self.granted_at, self.valid_until) = (loan.units, loan.granted_at, valid_until);
        before
    }

    /// Less was lent than asked for. The lender kept as much as it lent: where both together do not last `until_next` request,
    /// others use up the limit. Else this process may be alone, and asks for the rest as soon as it needs that.
    fn note_shortage(&mut self, now: Micros, granted: f64, until_next: Micros, contended_until: Micros) {
        let needed = self.rate(now) * until_next.max(0) as f64;
        if granted == 0.0 || 2.0 * granted + 1.0 < needed {
            // What was used up in a window says nothing of the next.
            self.contended_until = contended_until.min(self.fresh_at);
        } else if now >= self.contended_until {
            self.next_request = now;
        }
    }

    pub(crate) fn valid_until(&self) -> Micros {
        self.valid_until
    }

    /// Takes back what is not spent.
    pub(crate) fn end(&mut self) -> Option<Unspent> {
        let units = std::mem::take(&mut self.units);
        self.unspent += units;
        (units > 0).then_some(Unspent { units, granted_at: self.granted_at })
    }
}

fn is_worth(rate: f64, terms: &LeaseTerms) -> bool {
    rate * terms.max_age_us as f64 >= LEAST_SPENT
}

impl LeaseTerms {
    fn age(&self) -> Micros {
        self.max_age_us as Micros
    }
}
