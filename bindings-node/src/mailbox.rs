//! The memory through which calls and answers pass: rows of numbers that both sides read and write, since
//! making a JavaScript value for each number would cost more than a check.
//!
//! `lib/mailbox.js` is the other side.

use std::time::Duration;

use napi::bindgen_prelude::Float64Array;
use sluicegate::bridge::Span;

use crate::options::milliseconds;

/// Numbers in a row.
const ROW: usize = 10;

/// A call: what is asked, with the lengths of its texts in UTF-16 units.
pub(crate) struct CallRow {
    pub(crate) token: u64,
    pub(crate) op: u8,
    pub(crate) rule: usize,
    pub(crate) key_length: usize,
    pub(crate) resource_length: Option<usize>,
    pub(crate) cost: u64,
    pub(crate) limit: Option<u64>,
    /// Milliseconds for a `wait` or a `reserve`; for a `checkAll` or a `checkRequest`, how many rows follow.
    pub(crate) extra: f64,
    /// Milliseconds for the whole call; negative where none are given.
    timeout: f64,
    pub(crate) request_id_length: Option<usize>,
}

impl CallRow {
    #[inline]
    pub(crate) fn timeout(&self) -> Option<Duration> {
        (self.timeout >= 0.0).then(|| milliseconds(self.timeout))
    }

    /// How long a block, or a stored limit, is to last.
    pub(crate) fn span(&self) -> Span {
        Span::from_seconds(self.extra / 1e3)
    }
}

/// An answer.
pub(crate) struct AnswerRow {
    pub(crate) token: u64,
    pub(crate) outcome: i32,
    pub(crate) rule: usize,
    pub(crate) limit: f64,
    pub(crate) window_ms: f64,
    pub(crate) remaining: f64,
    pub(crate) retry_after_ms: f64,
    pub(crate) reset_after_ms: f64,
    /// How many rows follow that belong to this one.
    pub(crate) parts: usize,
}

/// Rows, counted from 0.
pub(crate) struct Mailbox(Float64Array);

impl Mailbox {
    pub(crate) fn new(numbers: Float64Array) -> Self {
        Self(numbers)
    }

    /// How many rows there is room for.
    pub(crate) fn rows(&self) -> usize {
        self.0.len() / ROW
    }

    /// Writes after the rows how many were fetched, and how many the next answer takes.
    #[allow(unsafe_code)]
    pub(crate) fn put_fetched(&mut self, rows: usize, more: usize) {
        // SAFETY: as in `answer`.
        if let Some(numbers) = unsafe { self.0.as_mut() }.last_chunk_mut() {
            *numbers = [rows as f64, more as f64];
        }
    }

    /// A row that JavaScript wrote.
    #[inline]
    pub(crate) fn call(&self, row: usize) -> Option<CallRow> {
        let numbers = self.0.get(row * ROW..(row + 1) * ROW)?;
        let &[token, op, rule, key_length, resource_length, cost, limit, extra, timeout, request_id_length] =
            numbers
        else {
            return None;
        };
        Some(CallRow {
            token: whole(token),
            op: op as u8,
            rule: whole(rule) as usize,
            key_length: whole(key_length) as usize,
            resource_length: given(resource_length).map(|length| length as usize),
            cost: whole(cost),
            limit: given(limit),
            extra,
            timeout,
            request_id_length: given(request_id_length).map(|length| length as usize),
        })
    }

    /// Writes a row for JavaScript, if there is room. Inline, so that a row need not be put together first.
    #[inline(always)]
    #[allow(unsafe_code)]
    pub(crate) fn answer(&mut self, row: usize, answer: &AnswerRow) {
        // SAFETY: this runs on the thread of the JavaScript that owns the memory, which runs none
        // meanwhile; and that JavaScript neither detaches nor resizes it.
        let numbers = unsafe { self.0.as_mut() };
        if let Some(numbers) = numbers.get_mut(row * ROW..(row + 1) * ROW) {
            numbers.copy_from_slice(&[
                answer.token as f64,
                f64::from(answer.outcome),
                answer.rule as f64,
                answer.limit,
                answer.window_ms,
                answer.remaining,
                answer.retry_after_ms,
                answer.reset_after_ms,
                answer.parts as f64,
                0.0,
            ]);
        }
    }
}

/// What is not given is passed as a negative number.
fn given(number: f64) -> Option<u64> {
    (number >= 0.0).then(|| whole(number))
}

/// A number from 0 to below 2^63, as JavaScript writes them. Processors convert to signed numbers in one step.
fn whole(number: f64) -> u64 {
    (number as i64).cast_unsigned()
}
