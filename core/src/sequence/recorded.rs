//! Scripts whose answers are stored, so that they may be sent again: `repeatable.lua` of the crate `sluicegate-lua`.

use redis::Value;
use smallvec::SmallVec;

use super::protocol::unexpected;
use super::{DecisionSequence, Micros, Op, Step, protocol};
use crate::algorithm::Terms;
use crate::error::Result;
use crate::keys::key;
use crate::plan::{Fingerprint, RequestRecord, SmallList};
use crate::script::{Argument, ScriptCall};

/// What a record begins with, and no other answer of a script.
const MARK: &[u8; 4] = b"once";
/// Under a manual clock real time passes on its own: the server keeps a record for so much longer, in milliseconds.
const SLACK_OF_MANUAL: u64 = 60_000;

impl DecisionSequence<'_> {
    /// Whether the answer to a step is stored: that of a call with a request id and, in a call that reserves, of what is
    /// charged at once where nothing can be held, or given back there.
    pub(super) fn is_recorded(&self, step: &Step) -> bool {
        self.plan.request.is_some() || self.is_reserving && matches!(step.op, Op::Check | Op::Refund)
    }

    /// The call of a step, with its record if its answer is stored; `now` is a manual clock's.
    pub(super) fn recorded(&self, step: &Step, call: ScriptCall, now: Option<Micros>) -> ScriptCall {
        if !self.is_recorded(step) {
            return call;
        }
        let name = match (&self.plan.request, step.charges.first()) {
            (Some(request), _) => request.name(&self.wire.prefix),
            // No other call has the random name of a reservation.
            (None, Some(&first)) => self.reserving_record(step.op, first),
            (None, None) => return call,
        };
        let kept = self.kept(now);
        call.recorded(name, self.head(step, now, kept), kept)
    }

    fn reserving_record(&self, op: Op, charge: usize) -> String {
        let charge = &self.plan.charges[charge];
        let suffix = key::hexadecimal(if op == Op::Refund { "q-u" } else { "q-" }, &self.id);
        key::name(&self.wire.prefix, &charge.rule.rule.id, &charge.tag, charge.member.as_deref(), &suffix)
    }

    fn fingerprint(&self) -> &Fingerprint {
        self.plan.request.as_ref().map_or(&self.id, |request| &request.fingerprint)
    }

    /// What the record begins with: when it ends by a manual clock, how long it is kept in microseconds, which call it is of,
    /// and the terms of its limits.
    fn head(&self, step: &Step, now: Option<Micros>, kept: u64) -> Argument {
        let ends = now.map_or(f64::INFINITY, |now| (now + self.wire.request_lifetime) as f64);
        let length = now.map_or(kept as f64 * 1e3, |_| self.wire.request_lifetime as f64);
        let terms: Vec<_> =
            step.charges.iter().flat_map(|&index| self.plan.charges[index].policy.terms()).collect();
        let terms = protocol::bytes(&terms);
        let size = (terms.len() as u32).to_le_bytes();
        [MARK.as_slice(), &ends.to_le_bytes(), &length.to_le_bytes(), self.fingerprint(), &size, &terms]
            .concat()
            .into()
    }

    /// How long the server keeps the record, in milliseconds: never shorter than the call itself may take.
    fn kept(&self, now: Option<Micros>) -> u64 {
        let timeout =
            self.plan.timeout.map_or(self.wire.default_timeout, |timeout| timeout.as_micros() as Micros);
        let slack = if now.is_some() { SLACK_OF_MANUAL } else { 1 };
        (self.wire.request_lifetime.max(timeout) as u64).div_ceil(1000) + slack
    }

    /// The answer in a reply. That of an earlier call may be on other terms, where the rules were changed since.
    pub(super) fn first_answer(&self, step: &Step, reply: Value) -> Result<Value> {
        let record = match &reply {
            Value::BulkString(bytes) => bytes.strip_prefix(MARK),
            _ => None,
        };
        let Some(record) = record else { return Ok(reply) };
        let record = Record::read(record).ok_or_else(|| unexpected("it is a record of nothing"))?;
        if record.fingerprint != self.fingerprint() {
            let of_another = self.plan.request.as_deref().map(RequestRecord::of_another);
            return Err(of_another.unwrap_or_else(|| unexpected("it is a record of another call")));
        }
        let charges = step.charges.iter().map(|&index| &self.plan.charges[index]);
        if record.terms.len() != charges.len()
            || !charges.zip(record.terms).all(|(charge, terms)| charge.answered_on(terms))
        {
            return Err(unexpected("it is on terms of no limit"));
        }
        Ok(record.answer)
    }
}

/// What `repeatable.lua` stores, taken apart.
struct Record<'a> {
    fingerprint: &'a [u8],
    terms: SmallList<Terms>,
    answer: Value,
}

impl<'a> Record<'a> {
    /// What stands behind the mark.
    fn read(bytes: &'a [u8]) -> Option<Self> {
        // The script knows when it ends, and how long it lasts.
        let (_, rest) = bytes.split_at_checked(2 * size_of::<f64>())?;
        let (fingerprint, mut rest) = rest.split_at_checked(size_of::<Fingerprint>())?;
        let (doubles, []) = counted(&mut rest)?.as_chunks::<8>() else { return None };
        let doubles: SmallVec<[f64; 6]> = doubles.iter().map(|&bytes| f64::from_le_bytes(bytes)).collect();
        let (terms, []) = doubles.as_chunks::<3>() else { return None };
        let answer = match rest.split_first()? {
            (b's', answer) => Value::BulkString(answer.to_vec()),
            (b'l', mut answers) => {
                let mut list = Vec::new();
                while !answers.is_empty() {
                    list.push(Value::BulkString(counted(&mut answers)?.to_vec()));
                }
                Value::Array(list)
            }
            _ => return None,
        };
        Some(Self { fingerprint, terms: terms.iter().copied().collect(), answer })
    }
}

/// Takes from the front of some bytes a string that stands after its length.
fn counted<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (size, rest) = bytes.split_first_chunk()?;
    let (string, rest) = rest.split_at_checked(u32::from_le_bytes(*size) as usize)?;
    *bytes = rest;
    Some(string)
}
