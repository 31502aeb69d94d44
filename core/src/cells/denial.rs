//! A denial that is remembered.

use std::sync::Arc;
use std::time::Instant;

use crate::algorithm::Micros;
use crate::catalog::ReadyRule;
use crate::decision::Source;
use crate::plan::RawDecision;
use crate::tracking::{Agreement, Registration, TRUST};

/// What the server said when it denied a cost for which just one unit was missing. While nobody charges the key, `remaining`
/// stays what it is until that unit is there, whatever the algorithm; of larger costs this cannot be said.
#[derive(Debug)]
pub(super) struct Denial {
    cost: u64,
    /// The limit that the call gave.
    amount: Option<u64>,
    limit: u64,
    window_us: u64,
    /// When the call was sent: the server decided later, so everything ends a little too early, and never too late.
    sent_at: Micros,
    /// After `sent_at`: when the cost fits, when the key is as if never seen, and how long this is remembered.
    fits_after: u64,
    fresh_after: u64,
    age: u64,
    /// Whether a call is under way that has the server watch the key.
    is_asked: bool,
    /// Where it does.
    registration: Option<Arc<Registration>>,
}

/// When cells are asked: by the limiter's clock, and in truth.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Now {
    pub(crate) own: Micros,
    pub(crate) truly: Instant,
}

/// How long a denial is remembered of which no server says that it still holds, where that is to say it.
const FIRST_AGE: u64 = TRUST.as_micros() as u64;

/// How long denials are remembered at most.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ages {
    pub(super) longest: u64,
    /// Whether those older than [`TRUST`] have to be watched by the server.
    pub(super) is_tracking: bool,
}

impl Ages {
    /// The age of an answer, and what is to be kept of its registration.
    fn of(self, registration: Option<Arc<Registration>>) -> (u64, Option<Arc<Registration>>) {
        let first = if self.is_tracking { self.longest.min(FIRST_AGE) } else { self.longest };
        match registration.as_ref().map_or(Agreement::None, |registration| registration.agreement()) {
            Agreement::None => (first, None),
            Agreement::Refused => (self.longest, None),
            Agreement::Watched => (self.longest, registration),
        }
    }
}

impl Denial {
    /// `None`: it is not denied, or not for a single unit.
    pub(super) fn new(
        raw: &RawDecision<'_>,
        (cost, amount): (u64, Option<u64>),
        sent_at: Micros,
        (ages, registration): (Ages, Option<Arc<Registration>>),
    ) -> Option<Self> {
        let is_denied = !raw.allowed || raw.shadow_denied;
        let is_remembered = is_denied && !raw.blocked && cost == raw.remaining + 1;
        // A key without a state may be moved to another server unnoticed.
        let registration = registration.filter(|_| raw.reset_after_us > 0);
        let (age, registration) = ages.of(registration);
        is_remembered.then_some(Self {
            cost,
            amount,
            limit: raw.limit,
            window_us: raw.window_us,
            sent_at,
            fits_after: raw.retry_after_us,
            fresh_after: raw.reset_after_us,
            age,
            is_asked: false,
            registration,
        })
    }

    /// The same denial at a later time; `None`: the server has to be asked. (A clock that steps back shows an earlier one.)
    #[inline(always)]
    pub(super) fn at<'a>(
        &self,
        now: Now,
        (cost, amount): (u64, Option<u64>),
        rule: &'a ReadyRule,
    ) -> Option<RawDecision<'a>> {
        let passed = u64::try_from(now.own - self.sent_at).ok()?;
        if cost != self.cost || amount != self.amount || passed >= self.age || passed >= self.fits_after {
            return None;
        }
        if self.registration.as_ref().is_some_and(|kept| !kept.holds(passed >= FIRST_AGE, now.truly)) {
            return None;
        }
        let never = self.fits_after == RawDecision::NEVER;
        let shadow = rule.rule.shadow;
        Some(RawDecision {
            rule: &rule.rule.id,
            limit: self.limit,
            window_us: self.window_us,
            remaining: cost - 1,
            retry_after_us: if never { RawDecision::NEVER } else { self.fits_after - passed },
            reset_after_us: self.fresh_after.saturating_sub(passed),
            source: Source::Cache,
            shadow,
            shadow_denied: shadow,
            blocked: false,
            replicated: false,
            allowed: shadow,
        })
    }

    /// Whether the server is to watch the key, as it is asked again although the cost does not fit yet. Of several such calls
    /// one is enough.
    pub(super) fn asks(&mut self, now: Micros, asked: (u64, Option<u64>)) -> bool {
        let passed = u64::try_from(now - self.sent_at).unwrap_or(u64::MAX);
        let is_same = (self.cost, self.amount) == asked;
        is_same && passed < self.fits_after && !std::mem::replace(&mut self.is_asked, true)
    }

    /// Whether it says what another one says that was sent at about the same time, and for longer.
    pub(super) fn outlasts(&self, other: &Self, now: Instant) -> bool {
        let is_kept = self.registration.as_ref().is_some_and(|kept| kept.holds(true, now));
        is_kept && other.registration.is_none() && (self.cost, self.amount) == (other.cost, other.amount)
    }
}
