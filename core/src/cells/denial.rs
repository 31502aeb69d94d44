//! A denial that is remembered.

use crate::algorithm::Micros;
use crate::catalog::ReadyRule;
use crate::decision::Source;
use crate::plan::RawDecision;

/// What the server said when it denied a cost for which just one unit was missing. While nobody charges the key, `remaining`
/// stays what it is until that unit is there, whatever the algorithm; of larger costs this cannot be said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
}

impl Denial {
    /// `None`: it is not denied, or not for a single unit.
    pub(super) fn new(
        raw: &RawDecision<'_>,
        (cost, amount): (u64, Option<u64>),
        sent_at: Micros,
        age: u64,
    ) -> Option<Self> {
        let is_denied = !raw.allowed || raw.shadow_denied;
        let is_remembered = is_denied && !raw.blocked && cost == raw.remaining + 1;
        is_remembered.then_some(Self {
            cost,
            amount,
            limit: raw.limit,
            window_us: raw.window_us,
            sent_at,
            fits_after: raw.retry_after_us,
            fresh_after: raw.reset_after_us,
            age,
        })
    }

    /// The same denial at a later time; `None`: the server has to be asked. (A clock that steps back shows an earlier one.)
    #[inline(always)]
    pub(super) fn at<'a>(
        &self,
        now: Micros,
        (cost, amount): (u64, Option<u64>),
        rule: &'a ReadyRule,
    ) -> Option<RawDecision<'a>> {
        let passed = u64::try_from(now - self.sent_at).ok()?;
        if cost != self.cost || amount != self.amount || passed >= self.age || passed >= self.fits_after {
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
}
