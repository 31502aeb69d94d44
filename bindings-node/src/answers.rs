//! From answers to rows.

use napi_derive::napi;
use sluicegate::bridge::{Answer, RawDecision, Reserved};
use sluicegate::{Decision, Source};

use crate::failure::Failure;
use crate::mailbox::{AnswerRow, Mailbox};
use crate::names::Names;

/// The outcomes, as `lib/mailbox.js` has them: a decision is a sum of flags.
mod outcome {
    pub(super) const ALLOWED: i32 = 1;
    pub(super) const SHADOW_DENIED: i32 = 2;
    pub(super) const IN_MEMORY: i32 = 4;
    pub(super) const SHADOW: i32 = 8;
    pub(super) const RESERVED: i32 = 16;
    pub(super) const BLOCKED: i32 = 32;
    pub(super) const FALLBACK: i32 = 64;
    pub(super) const ALLOTMENT: i32 = 128;
    pub(super) const SHARE: i32 = 256;
    pub(super) const CACHE: i32 = 512;
    pub(super) const REPLICATED: i32 = 1024;
    pub(super) const LEASE: i32 = 2048;
    pub(super) const DONE: i32 = -1;
    pub(super) const FAILED: i32 = -2;
    pub(super) const ENDED: i32 = -3;
    pub(super) const NOT_ENDED: i32 = -4;
}

/// What of a reservation does not fit into a row.
#[napi(object, object_from_js = false)]
pub struct Held {
    /// What it is ended by.
    pub id: Option<String>,
    /// Microseconds, or a little more; a double counts them in ones.
    pub token: Option<f64>,
    /// How soon it ends unless it is renewed.
    pub lease_ms: Option<f64>,
}

/// Writes answers to a mailbox, from its first row on.
pub(crate) struct Writer<'a> {
    mailbox: &'a mut Mailbox,
    names: &'a mut Names,
    row: usize,
    /// What does not fit into the rows of reservations, in order.
    held: Vec<Held>,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(mailbox: &'a mut Mailbox, names: &'a mut Names) -> Self {
        Self { mailbox, names, row: 0, held: Vec::new() }
    }

    /// How many rows were written.
    pub(crate) fn written(&self) -> usize {
        self.row
    }

    /// What does not fit into the rows that were written.
    pub(crate) fn held(self) -> Vec<Held> {
        self.held
    }

    /// Whether there is room for an answer.
    pub(crate) fn has_room(&self, result: &sluicegate::Result<Answer>) -> bool {
        self.row + rows(result) <= self.mailbox.rows()
    }

    /// An answer, and the failure that does not fit into a row.
    pub(crate) fn answer(&mut self, token: u64, result: &sluicegate::Result<Answer>) -> Option<Failure> {
        match result {
            Ok(Answer::Decision(decision)) => self.decision(token, decision, 0),
            Ok(Answer::Reserved(reserved)) => self.reserved(token, reserved),
            Ok(Answer::Ended(true)) => self.put(&empty(token, outcome::ENDED)),
            Ok(Answer::Ended(false)) => self.put(&empty(token, outcome::NOT_ENDED)),
            Ok(Answer::Done) => self.put(&empty(token, outcome::DONE)),
            Err(error) => {
                self.put(&empty(token, outcome::FAILED));
                return Some(Failure::from(error));
            }
        }
        None
    }

    /// A decision, with its parts in the rows after it, and one flag more.
    fn decision(&mut self, token: u64, decision: &Decision, flag: i32) {
        let rule = self.names.number(&decision.rule);
        let row = single(token, rule, &decision.into());
        self.put(&AnswerRow { parts: decision.parts.len(), outcome: row.outcome + flag, ..row });
        for part in &decision.parts {
            self.decision(token, part, 0);
        }
    }

    fn reserved(&mut self, token: u64, reserved: &Reserved) {
        self.decision(token, &reserved.decision, outcome::RESERVED);
        let whole = |token: u64| token as f64;
        self.held.push(Held {
            id: reserved.id.clone(),
            token: reserved.token.map(whole),
            lease_ms: reserved.lease.map(|lease| lease.as_secs_f64() * 1e3),
        });
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
        Ok(Answer::Reserved(reserved)) => 1 + reserved.decision.parts.len(),
        Ok(Answer::Done | Answer::Ended(_)) | Err(_) => 1,
    }
}

/// The row of a decision by a rule of which the number is known.
#[inline(always)]
pub(crate) fn single(token: u64, rule: usize, raw: &RawDecision<'_>) -> AnswerRow {
    AnswerRow {
        outcome: flags(raw),
        rule,
        limit: whole(raw.limit),
        window_ms: milliseconds(raw.window_us),
        remaining: whole(raw.remaining),
        retry_after_ms: milliseconds(raw.retry_after_us),
        reset_after_ms: milliseconds(raw.reset_after_us),
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

fn flags(raw: &RawDecision<'_>) -> i32 {
    // Without branches, of which there would be one per flag.
    let flag = |is_set, flag| i32::from(is_set) * flag;
    flag(raw.allowed, outcome::ALLOWED)
        + flag(raw.shadow_denied, outcome::SHADOW_DENIED)
        + flag(raw.source == Source::Memory, outcome::IN_MEMORY)
        + flag(raw.source == Source::Fallback, outcome::FALLBACK)
        + flag(raw.source == Source::Allotment, outcome::ALLOTMENT)
        + flag(raw.source == Source::Share, outcome::SHARE)
        + flag(raw.source == Source::Cache, outcome::CACHE)
        + flag(raw.source == Source::Lease, outcome::LEASE)
        + flag(raw.shadow, outcome::SHADOW)
        + flag(raw.blocked, outcome::BLOCKED)
        + flag(raw.replicated, outcome::REPLICATED)
}

/// Divided once, so that the result is the double nearest to the exact figure.
fn milliseconds(us: u64) -> f64 {
    if us == RawDecision::NEVER { f64::INFINITY } else { whole(us) / 1e3 }
}

/// A number below 2^53. Processors convert signed numbers in one step.
fn whole(number: u64) -> f64 {
    number.cast_signed() as f64
}
