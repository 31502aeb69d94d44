//! HTTP headers from decisions.

use std::ffi::{CStr, c_char, c_void};
use std::marker::PhantomData;

use sluicegate::Source;
use sluicegate::bridge::RawDecision;

use crate::argument::{Argument, bounded};
use crate::callback::PairCallback;
use crate::decision::{Decision, SLUICEGATE_RULE_SIZE};
use crate::error::Failure;

export! {
    /// Computes the headers of the answer to a request, with one call of `header` for each; `style` is "ietf"
    /// (RateLimit-Policy and RateLimit, as draft-ietf-httpapi-ratelimit-headers-10 has them, with all the
    /// rules that were applied), "x-ratelimit" (X-RateLimit-Limit, -Remaining and -Reset of the rule that
    /// decided, -Reset as a Unix time in seconds) or "x-ratelimit-seconds" (the same, -Reset in seconds from now); "ietf-draft-6", "ietf-draft-7" and "ietf-draft-8" are for clients of earlier drafts; with "none" there are none. A denial adds Retry-After, unless the cost never fits.
    ///
    /// `parts` are those that came with the decision; NULL and 0 if there are none. Rules in shadow are not
    /// mentioned, and without a rule that applied there are no headers.
    fn sluicegate_decision_headers(
        decision: *const Decision,
        parts: *const Decision,
        parts_count: usize,
        style: *const c_char,
        header: PairCallback,
        context: *mut c_void,
    ) {
        let (header, style) = (header.required()?, style.parse()?);
        let mut decision = decision.one()?;
        decision.parts = parts.several(parts_count)?;
        for (name, value) in decision.headers(style) {
            header.tell(context, name, &value);
        }
        Ok(())
    }
}

/// Decisions that this library made: one, or as many as the next argument says.
pub(crate) struct GivenDecisions<'a> {
    start: *const Decision,
    name: &'static str,
    lifetime: PhantomData<&'a Decision>,
}

impl<'a> Argument<'a> for *const Decision {
    type Received = GivenDecisions<'a>;

    unsafe fn receive(self, name: &'static str) -> Result<GivenDecisions<'a>, Failure> {
        Ok(GivenDecisions { start: self, name, lifetime: PhantomData })
    }
}

impl GivenDecisions<'_> {
    fn one(&self) -> Result<sluicegate::Decision, Failure> {
        self.several(1)?.pop().ok_or_else(|| Failure::null(self.name))
    }

    fn several(&self, count: usize) -> Result<Vec<sluicegate::Decision>, Failure> {
        if count > 0 && self.start.is_null() {
            return Err(Failure::null(self.name));
        }
        let count = bounded::<Decision>(count, self.name)?;
        // SAFETY: promised when the argument was received.
        (0..count).map(|at| unsafe { returned(self.start.add(at), self.name) }).collect()
    }
}

/// Reads field by field: a caller may hand over what was never written, of which no `bool` may be made.
///
/// # Safety
/// As [`Argument::receive`].
unsafe fn returned(given: *const Decision, name: &str) -> Result<sluicegate::Decision, Failure> {
    // SAFETY: promised by the caller.
    unsafe {
        let flag = |flag: *const bool| flag.cast::<u8>().read() != 0;
        let rule = (&raw const (*given).rule).cast::<[u8; SLUICEGATE_RULE_SIZE]>().read();
        let rule = text(&rule).ok_or_else(|| Failure::argument(name, "is not one of this library"))?;
        let raw = RawDecision {
            allowed: flag(&raw const (*given).allowed),
            rule: &rule.into(),
            limit: (*given).limit,
            window_us: (*given).window_us,
            remaining: (*given).remaining,
            retry_after_us: (*given).retry_after_us,
            reset_after_us: (*given).reset_after_us,
            blocked: flag(&raw const (*given).blocked),
            shadow_denied: flag(&raw const (*given).shadow_denied),
            shadow: flag(&raw const (*given).shadow),
            // No header has these.
            replicated: false,
            source: Source::Memory,
        };
        Ok(raw.into())
    }
}

fn text(room: &[u8]) -> Option<&str> {
    CStr::from_bytes_until_nul(room).ok()?.to_str().ok()
}
