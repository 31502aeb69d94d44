//! From answers to rows.

use std::time::Duration;

use sluicegate::bridge::Answer;
use sluicegate::{Decision, Source};

use crate::failure::Failure;
use crate::mailbox::{AnswerRow, Mailbox};
use crate::names::Names;

/// The outcomes, as `lib/mailbox.js` has them: a decision is a sum of flags.
mod outcome {
    pub(super) const ALLOWED: i32 = 1;
    pub(super) const SHADOW_DENIED: i32 = 2;
    pub(super) const EMBEDDED: i32 = 4;
    pub(super) const SHADOW: i32 = 8;
    pub(super) const DONE: i32 = -1;
    pub(super) const FAILED: i32 = -2;
}

/// Writes answers to a mailbox, from its first row on.
pub(crate) struct Writer<'a> {
    mailbox: &'a mut Mailbox,
    names: &'a mut Names,
    row: usize,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(mailbox: &'a mut Mailbox, names: &'a mut Names) -> Self {
        Self { mailbox, names, row: 0 }
    }

    /// How many rows were written.
    pub(crate) fn written(&self) -> usize {
        self.row
    }

    /// Whether there is room for an answer.
    pub(crate) fn has_room(&self, result: &sluicegate::Result<Answer>) -> bool {
        self.row + rows(result) <= self.mailbox.rows()
    }

    /// An answer, and the failure that does not fit into a row.
    pub(crate) fn answer(&mut self, token: u64, result: &sluicegate::Result<Answer>) -> Option<Failure> {
        match result {
            Ok(Answer::Decision(decision)) => self.decision(token, decision),
            Ok(Answer::Done) => self.put(&empty(token, outcome::DONE)),
            Err(error) => {
                self.put(&empty(token, outcome::FAILED));
                return Some(Failure::from(error));
            }
        }
        None
    }

    /// A decision, with its parts in the rows after it.
    fn decision(&mut self, token: u64, decision: &Decision) {
        let rule = self.names.number(&decision.rule);
        self.put(&single(token, rule, decision));
        for part in &decision.parts {
            self.decision(token, part);
        }
    }

    fn put(&mut self, row: &AnswerRow) {
        self.mailbox.answer(self.row, row);
        self.row += 1;
    }
}

/// How many rows an answer takes.
pub(crate) fn rows(result: &sluicegate::Result<Answer>) -> usize {
    match result {
        Ok(Answer::Decision(decision)) => 1 + decision.parts.len(),
        Ok(Answer::Done) | Err(_) => 1,
    }
}

/// The row of a decision by a rule of which the number is known.
#[inline(always)]
pub(crate) fn single(token: u64, rule: usize, decision: &Decision) -> AnswerRow {
    AnswerRow {
        outcome: flags(decision),
        rule,
        limit: whole(decision.limit),
        window_ms: finite_milliseconds(decision.window),
        remaining: whole(decision.remaining),
        retry_after_ms: milliseconds(decision.retry_after),
        reset_after_ms: finite_milliseconds(decision.reset_after),
        parts: decision.parts.len(),
        ..empty(token, 0)
    }
}

fn empty(token: u64, outcome: i32) -> AnswerRow {
    AnswerRow {
        token,
        outcome,
        rule: 0,
        limit: 0.0,
        window_ms: 0.0,
        remaining: 0.0,
        retry_after_ms: 0.0,
        reset_after_ms: 0.0,
        parts: 0,
    }
}

fn flags(decision: &Decision) -> i32 {
    // Without branches, of which there would be one per flag.
    let flag = |is_set, flag| i32::from(is_set) * flag;
    flag(decision.allowed, outcome::ALLOWED)
        + flag(decision.shadow_denied, outcome::SHADOW_DENIED)
        + flag(decision.source == Source::Embedded, outcome::EMBEDDED)
        + flag(decision.shadow, outcome::SHADOW)
}

fn milliseconds(span: Duration) -> f64 {
    if span == Duration::MAX { f64::INFINITY } else { finite_milliseconds(span) }
}

/// Whole microseconds divided once, so that the result is the double nearest to the exact figure.
fn finite_milliseconds(span: Duration) -> f64 {
    // Less than 2^53; 64 bits are converted many times faster than the 128 of `as_micros`.
    whole(span.as_secs() * 1_000_000 + u64::from(span.subsec_micros())) / 1e3
}

/// A number below 2^53. Processors convert signed numbers in one step.
fn whole(number: u64) -> f64 {
    number.cast_signed() as f64
}
