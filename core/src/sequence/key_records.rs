//! What the scripts for rules with blocks and limits of single keys are sent and what they reply, as `key_records.lua` of
//! the crate `sluicegate-lua` states.

use once_cell::race::OnceBox;
use redis::Value;
use sluicegate_lua::{Kernel, key_record};
use smallvec::smallvec;

use super::protocol::{self, Clocks, KeyRecordReply, SERVER_CLOCK, Scripts, bytes, doubles, unexpected};
use super::settings::CallSettings;
use crate::algorithm::{Micros, Numbers, Policy};
use crate::error::Result;
use crate::plan::{Charge, KeyRecordChange, Op, Outcome, Plan, RecordedKey, SmallList};
use crate::rules::MAX_MICROS;
use crate::script::{Script, ScriptCall};

/// In place of the time until a limit expires: it does not.
const EVER: f64 = -1.0;

/// The call of the script for one limit.
pub(super) fn call(
    charge: &Charge<'_>,
    recorded_key: &RecordedKey<'_>,
    looks: bool,
    clocks: Clocks,
    prefix: &str,
) -> ScriptCall {
    static SCRIPTS: Scripts<{ Kernel::ALL.len() }> = [const { OnceBox::new() }; _];
    let kernel = charge.policy.kernel();
    let script = SCRIPTS[kernel as usize].get_or_init(|| Box::new(Script::new(key_record::one(kernel))));
    let blocking = recorded_key.blocking();
    let mut numbers = Numbers::from_slice(&[
        clocks.for_script(),
        f64::from(u8::from(!looks)),
        f64::from(u8::from(charge.takes_stored())),
        blocking.first_block as f64,
        blocking.growth,
        blocking.longest_block as f64,
    ]);
    if kernel == Kernel::Gcra {
        numbers.push(charge.cost);
        numbers.extend(refill(charge));
    }
    charge.policy.numbers(charge.cost, || clocks.caller_now(), &mut numbers);
    let keys = smallvec![charge.name(prefix), recorded_key.name(prefix)];
    ScriptCall::new(script, keys, smallvec![bytes(&numbers)])
}

/// What the interval of a debt follows from at a limit that is stored: the time in which the limit is admitted anew, and
/// the burst (0: as much as the limit).
fn refill(charge: &Charge<'_>) -> [f64; 2] {
    let window = charge.rule.rule.limits.first().map_or(0, |limit| limit.window_us);
    [window as f64, charge.burst().unwrap_or(0) as f64]
}

/// The time of the reply to that call, and the outcome.
pub(super) fn read(
    charge: &Charge<'_>,
    (op, is_recorded): (Op, bool),
    reply: &Value,
) -> Result<(Micros, SmallList<Outcome>)> {
    let numbers = doubles(reply).ok_or_else(protocol::no_numbers)?;
    let (key_record, numbers) = numbers.split_at_checked(2).ok_or_else(|| unexpected("it is too short"))?;
    let reply =
        protocol::read_one(charge, (op, is_recorded), numbers, 0.0, KeyRecordReply::read(key_record)?)?;
    let (now, permitted) = (reply.now, reply.fits);
    Ok((now, smallvec![reply.outcome(charge, op, permitted).0]))
}

/// Whose limit a policy is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    /// The call's: that of the rule, unless the call brought another.
    Call,
    /// The rule's, which gives way to a stored one.
    Rule,
}

/// How many numbers a limit has for what stands beside its state, in a script for several.
pub(super) const NUMBERS: usize = 10;

/// Those of a charge; `recorded_key` is the number of its key's among those of the script, 0 for none.
pub(super) fn numbers(
    charge: &Charge<'_>,
    (number, recorded_key): (f64, Option<&RecordedKey<'_>>),
    (policy, whose): (&Policy, Whose),
    asked: f64,
) -> [f64; NUMBERS] {
    let Some(recorded_key) = recorded_key else { return [0.0; NUMBERS] };
    let takes_stored = charge.takes_stored() || whose == Whose::Rule && recorded_key.key_records.overrides;
    let blocking = recorded_key.blocking();
    let [refill, burst] = refill(charge);
    [
        number,
        f64::from(u8::from(takes_stored)),
        f64::from(u8::from(charge.rule.rule.count_denied)),
        blocking.first_block as f64,
        blocking.growth,
        blocking.longest_block as f64,
        asked,
        policy.most_charged_in_limits(),
        refill,
        burst,
    ]
}

/// The call that changes by hand what stands beside the states of the one key of a plan.
pub(crate) fn change(
    plan: &Plan<'_>,
    wire: &CallSettings,
    change: KeyRecordChange,
    clock: Option<Micros>,
) -> Option<ScriptCall> {
    static CHANGE: OnceBox<Script> = OnceBox::new();
    let script = CHANGE.get_or_init(|| Box::new(Script::new(key_record::change())));
    let recorded_key = plan.recorded_keys.first()?;
    let (op, limit, span) = match change {
        KeyRecordChange::Block(span) => (1.0, 0, span.micros() as f64),
        KeyRecordChange::Unblock => (2.0, 0, 0.0),
        KeyRecordChange::SetLimit(limit, expires_in) => {
            (3.0, limit, expires_in.map_or(EVER, |span| span.micros() as f64))
        }
        KeyRecordChange::ClearLimit => (4.0, 0, 0.0),
    };
    let (clock, blocking) = (clock.map_or(SERVER_CLOCK, |now| now as f64), recorded_key.blocking());
    let limit = limit.min(MAX_MICROS) as f64;
    let numbers = [clock, op, limit, span, blocking.growth, blocking.longest_block as f64];
    let keys = smallvec![recorded_key.name(&wire.prefix)];
    Some(ScriptCall::new(script, keys, smallvec![bytes(&numbers)]))
}

/// Whether it took effect.
pub(crate) fn changed(reply: &Value) -> Result<bool> {
    match reply {
        Value::Int(took @ 0..=1) => Ok(*took == 1),
        _ => Err(unexpected("it does not say whether the change took effect")),
    }
}
