//! Scripts whose answers are stored, so that they may be sent again: `repeatable.lua` of the crate `sluicegate-lua`.

use redis::Value;

use super::{Micros, Op, Step, Transaction, protocol};
use crate::error::Result;
use crate::key;
use crate::script::{Argument, ScriptCall};

/// Under a manual clock real time passes on its own: the server keeps a record for so much longer, in milliseconds.
const SLACK_OF_MANUAL: Micros = 60_000;

impl Transaction<'_> {
    /// Whether the answer to a step is stored: that of a call with a request id and, in a call that reserves, of what is
    /// charged at once where nothing can be held, or given back there.
    pub(super) fn is_recorded(&self, step: &Step) -> bool {
        self.plan.request.is_some() || self.is_reserving && matches!(step.op, Op::Check | Op::Refund)
    }

    /// The call of a step, with its record if its answer is stored.
    pub(super) fn recorded(&self, step: &Step, call: ScriptCall) -> ScriptCall {
        if !self.is_recorded(step) {
            return call;
        }
        match &self.plan.request {
            Some(request) => {
                call.recorded(request.name(&self.wire.prefix), self.known_by(step, &request.fingerprint))
            }
            None => match step.charges.first() {
                // No other call has the random name of a reservation.
                Some(&first) => {
                    call.recorded(self.reserving_record(step.op, first), self.known_by(step, &self.id))
                }
                None => call,
            },
        }
    }

    fn reserving_record(&self, op: Op, charge: usize) -> String {
        let charge = &self.plan.charges[charge];
        let suffix = key::hexadecimal(if op == Op::Refund { "q-u" } else { "q-" }, &self.id);
        key::name(&self.wire.prefix, &charge.rule.rule.id, &charge.tag, charge.member.as_deref(), &suffix)
    }

    /// What identifies the call, how long the record is kept (never shorter than the call itself may take), and the
    /// terms of the limits.
    fn known_by(&self, step: &Step, fingerprint: &[u8; 16]) -> Argument {
        let lifetime = self.wire.request_lifetime;
        let timeout =
            self.plan.timeout.map_or(self.wire.default_timeout, |timeout| timeout.as_micros() as Micros);
        let slack = if self.clock.is_some() { SLACK_OF_MANUAL } else { 1 };
        let kept = lifetime.max(timeout) as u64;
        let keep = kept.div_ceil(1000) as f64 + slack as f64;
        let terms = step.charges.iter().flat_map(|&index| self.plan.charges[index].policy.terms());
        let numbers: Vec<_> = [lifetime as f64, keep].into_iter().chain(terms).collect();
        let mut known_by = Argument::from_slice(fingerprint);
        known_by.extend_from_slice(&protocol::bytes(&numbers));
        known_by
    }

    /// The answer in a reply. That of an earlier call may come with its terms, where the rules were changed since.
    pub(super) fn answer_on_terms(&self, step: &Step, reply: Value) -> Result<Value> {
        let Value::Array(mut both) = reply else { return Ok(reply) };
        let [Value::Array(terms), _] = both.as_slice() else { return Ok(Value::Array(both)) };
        let terms = terms.first().and_then(protocol::doubles).ok_or_else(protocol::no_numbers)?;
        let charges = step.charges.iter().map(|&index| &self.plan.charges[index]);
        let terms = terms.as_chunks::<3>().0;
        if terms.len() != charges.len()
            || !charges.zip(terms).all(|(charge, terms)| charge.answered_on(*terms))
        {
            return Err(protocol::unexpected("it is on terms of no limit"));
        }
        Ok(both.swap_remove(1))
    }
}
