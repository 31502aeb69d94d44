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

/// A call as JavaScript wrote it. A number is converted where it is asked for: a struct of them all would be copied through
/// memory before the first is used, for which an in-memory check has no time.
pub(crate) struct CallRow<'a>(&'a [f64; ROW]);

impl CallRow<'_> {
    #[inline]
    pub(crate) fn token(&self) -> u64 {
        whole(self.0[0])
    }

    #[inline]
    pub(crate) fn op(&self) -> u8 {
        self.0[1] as u8
    }

    #[inline]
    pub(crate) fn rule(&self) -> usize {
        whole(self.0[2]) as usize
    }

    /// In UTF-16 units, as every length.
    #[inline]
    pub(crate) fn key_length(&self) -> usize {
        whole(self.0[3]) as usize
    }

    pub(crate) fn resource_length(&self) -> Option<usize> {
        given(self.0[4]).map(|length| length as usize)
    }

    /// A row without a cost has no options, and what stands in their places means nothing.
    #[inline]
    pub(crate) fn cost(&self) -> Option<u64> {
        given(self.0[5])
    }

    pub(crate) fn limit(&self) -> Option<u64> {
        given(self.0[6])
    }

    /// Milliseconds for a `wait` or a `reserve`; for a `checkAll` or a `checkRequest`, how many rows follow.
    pub(crate) fn extra(&self) -> f64 {
        self.0[7]
    }

    /// How long a block, or a stored limit, is to last.
    pub(crate) fn span(&self) -> Span {
        Span::from_seconds(self.extra() / 1e3)
    }

    /// For the whole call.
    pub(crate) fn timeout(&self) -> Option<Duration> {
        let timeout = self.0[8];
        (timeout >= 0.0).then(|| milliseconds(timeout))
    }

    pub(crate) fn request_id_length(&self) -> Option<usize> {
        given(self.0[9]).map(|length| length as usize)
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
    pub(crate) fn call(&self, row: usize) -> Option<CallRow<'_>> {
        self.0.get(row * ROW..)?.first_chunk().map(CallRow)
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
