//! What the scripts are sent and what they reply: little-endian doubles, as `prelude.lua` of the crate
//! `sluicegate-lua` states.

use once_cell::race::OnceBox;
use redis::Value;
use sluicegate_lua::{Kernel, KernelSet};
use smallvec::{SmallVec, smallvec};

use crate::algorithm::{Demand, Micros, Numbers, Policy, State, micros};
use crate::callers;
use crate::error::{Error, ErrorKind, Result};
use crate::plan::{Charge, Op, Outcome, SmallList, gather};
use crate::script::{Argument, Script, ScriptCall};
use crate::time::clock::SystemClock;

/// Asks for the server's clock.
pub(super) const SERVER_CLOCK: f64 = -1.0;
/// How many times the cost is asked for.
const UNITS: f64 = 1.0;
/// The cost of the peek as which a charge answers: its script looks up what a cost of both would have to wait for.
pub(super) const PEEKED: f64 = 1.0;
/// In place of a grant: the call named no window of the calendar in which the server's time is.
const OUTSIDE: f64 = -1.0;
/// What `layout.lua` calls the same.
const UNSETTLED: i64 = -2;
/// Asks a refund to take the newest, whenever it was charged.
pub(super) const NEWEST: f64 = -1.0;

/// One script to send: an operation on some of the plan's charges, all in one slot.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) op: Op,
    pub(super) charges: SmallList<usize>,
    /// Of a compensation: when the charges were made. That of a `Reserve` is a release.
    pub(super) charged_at: Option<Micros>,
    /// Whether it was sent before, with windows of a calendar in which the server's time was not.
    pub(super) is_again: bool,
}

impl Step {
    pub(super) fn new(op: Op, charges: SmallList<usize>, charged_at: Option<Micros>) -> Self {
        Self { op, charges, charged_at, is_again: false }
    }
}

/// What a call is timed by.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clocks {
    /// A manual clock's time; `None` for the server's.
    pub(super) manual: Option<Micros>,
    /// The server's time, once it turned out to be far from that of this process.
    pub(super) server_now: Option<Micros>,
}

impl Clocks {
    /// The time by which windows of a calendar are named: a script chooses among neighbours.
    pub(super) fn caller_now(self) -> Micros {
        let system = || SystemClock::new().now();
        self.server_now.or(self.manual).unwrap_or_else(system)
    }

    /// As scripts receive it.
    pub(super) fn for_script(self) -> f64 {
        self.manual.map_or(SERVER_CLOCK, |now| now as f64)
    }
}

/// The call of the script for a step, whose charges are these.
pub(super) fn call(step: &Step, charges: &[&Charge<'_>], clocks: Clocks, prefix: &str) -> ScriptCall {
    let pack = |first: &[f64], policy: &Policy, cost| pack(first, policy, cost, clocks);
    let mode = f64::from(u8::from(step.op == Op::Check));
    let clock = clocks.for_script();
    let header = [clock, UNITS, mode];
    let keys = gather(charges.iter().map(|charge| charge.name(prefix)));
    if let ([charge], Op::Charge) = (charges, step.op) {
        let (units, amount) = charge.policy.overcharged(charge.cost);
        let args = smallvec![pack(&[clock, amount, mode], &charge.policy.sparing_denied(), units + PEEKED)];
        return ScriptCall::new(charge_one(charge.policy.kernel()), keys, args);
    }
    if let ([charge], Op::Check | Op::Peek) = (charges, step.op) {
        let script = one(charge.policy.kernel());
        let args = SmallList::from_buf([pack(&[clock, mode], &charge.policy, charge.cost)]);
        return ScriptCall::new(script, keys, args);
    }
    let kernels = charges.iter().fold(KernelSet::default(), |set, charge| set.with(charge.policy.kernel()));
    let mut args: SmallList<_> = smallvec![bytes(&header)];
    args.extend(charges.iter().map(|charge| {
        let place = f64::from(kernels.place(charge.policy.kernel()));
        let charged_at = step.charged_at.map_or(NEWEST, |at| at as f64);
        let first = [place, charge.group as f64, charged_at];
        match step.op {
            Op::Check | Op::Peek | Op::Reserve => pack(&first, &charge.policy, charge.cost),
            Op::Refund => pack(&first, &charge.policy.sparing_denied(), charge.cost),
            Op::Charge => {
                let (units, amount) = charge.policy.overcharged(charge.cost);
                let first = [place, charge.group as f64, amount];
                pack(&first, &charge.policy.sparing_denied(), units + PEEKED)
            }
        }
    }));
    ScriptCall::new(several(kernels, step.op), keys, args)
}

/// The argument of a script for several limits about one that is checked, among limits of these kernels.
pub(super) fn one_of_several(charge: &Charge<'_>, kernels: KernelSet, clocks: Clocks) -> Argument {
    let place = f64::from(kernels.place(charge.policy.kernel()));
    pack(&[place, charge.group as f64, NEWEST], &charge.policy, charge.cost, clocks)
}

/// What a script for several limits that checks them is called with.
pub(super) fn header_of_several(clocks: Clocks) -> Argument {
    bytes(&[clocks.for_script(), UNITS, 1.0])
}

/// Some doubles, then the limit's own.
fn pack(first: &[f64], policy: &Policy, cost: f64, clocks: Clocks) -> Argument {
    let mut numbers = Numbers::from_slice(first);
    policy.numbers(cost, || clocks.caller_now(), &mut numbers);
    bytes(&numbers)
}

pub(super) fn bytes(numbers: &[f64]) -> Argument {
    let mut bytes = Argument::new();
    bytes.resize(numbers.len() * 8, 0);
    for (chunk, number) in bytes.as_chunks_mut().0.iter_mut().zip(numbers) {
        *chunk = number.to_le_bytes();
    }
    bytes
}

/// Scripts by place, each made when it is first needed. Threads race for a cell and do not wait for each other: a
/// forked child would wait for ever for one that it does not have.
pub(super) type Scripts<const N: usize> = [OnceBox<Script>; N];

/// Scripts by the set of their kernels, in pages that are made when they are first needed: a process uses few sets.
pub(super) type ScriptsOfSets = [OnceBox<Scripts<256>>; 256];

fn one(kernel: Kernel) -> &'static Script {
    static SCRIPTS: Scripts<{ Kernel::ALL.len() }> = [const { OnceBox::new() }; _];
    let script = || {
        let one = Script::new(sluicegate_lua::one(kernel));
        one.with_each(sluicegate_lua::each(kernel)).with_up_to(sluicegate_lua::up_to(kernel))
    };
    SCRIPTS[kernel as usize].get_or_init(|| Box::new(script()))
}

fn charge_one(kernel: Kernel) -> &'static Script {
    static SCRIPTS: Scripts<{ Kernel::ALL.len() }> = [const { OnceBox::new() }; _];
    let script = || Script::new(sluicegate_lua::charge_one(kernel));
    SCRIPTS[kernel as usize].get_or_init(|| Box::new(script()))
}

pub(super) fn several(kernels: KernelSet, op: Op) -> &'static Script {
    static CHECKS: ScriptsOfSets = [const { OnceBox::new() }; _];
    static REFUNDS: ScriptsOfSets = [const { OnceBox::new() }; _];
    static CHARGES: ScriptsOfSets = [const { OnceBox::new() }; _];
    let (scripts, text): (_, fn(_) -> _) = match op {
        Op::Check | Op::Peek | Op::Reserve => (&CHECKS, sluicegate_lua::several),
        Op::Refund => (&REFUNDS, sluicegate_lua::refund),
        Op::Charge => (&CHARGES, sluicegate_lua::charge_several),
    };
    script(scripts, text, kernels)
}

pub(super) fn script(
    scripts: &'static ScriptsOfSets,
    text: fn(KernelSet) -> String,
    kernels: KernelSet,
) -> &'static Script {
    let [low, high] = kernels.bits().to_le_bytes().map(usize::from);
    let page = scripts[high].get_or_init(|| Box::new([const { OnceBox::new() }; _]));
    page[low].get_or_init(|| Box::new(Script::new(text(kernels))))
}

/// What a script says about one limit.
pub(super) struct LimitReply {
    pub(super) fits: bool,
    pub(super) now: Micros,
    pub(super) state: State,
    /// What stands beside the state.
    pub(super) key_record: KeyRecordReply,
}

/// What a script says of what stands beside a state.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct KeyRecordReply {
    /// Until when the key is blocked, and whether it was before.
    pub(super) blocked: Option<(Micros, bool)>,
    /// The limit that is stored for the key, if it is in force; else 0.
    pub(super) stored_limit: u64,
    /// Whether that one ends.
    pub(super) stored_ends: bool,
}

impl KeyRecordReply {
    /// From a reply about nothing else.
    pub(super) fn of(reply: &Value) -> Result<Self> {
        Self::read(&doubles(reply).ok_or_else(no_numbers)?)
    }

    /// From its numbers: until when (negative: by this call), and the limit (negative: it ends).
    pub(super) fn read(numbers: &[f64]) -> Result<Self> {
        let senseless = || unexpected("what it says of a block or a stored limit makes no sense");
        let &[block, stored] = numbers else { return Err(senseless()) };
        let until = micros_at_most(block.abs()).ok_or_else(senseless)?;
        let stored_limit = micros(stored.abs()).ok_or_else(senseless)?.unsigned_abs();
        let blocked = (until > 0).then_some((until, block > 0.0));
        Ok(Self { blocked, stored_limit, stored_ends: stored < 0.0 })
    }

    /// What it changes about an operation: a key that was blocked counts nothing.
    pub(super) fn op(self, op: Op) -> Op {
        match (op, self.blocked) {
            (Op::Check, Some((_, true))) => Op::Peek,
            _ => op,
        }
    }

    /// What it changes about an outcome.
    pub(super) fn outcome(self, outcome: Outcome, now: Micros) -> Outcome {
        let blocked_for = self.blocked.map_or(0, |(until, _)| until - now);
        let Self { stored_limit, stored_ends, .. } = self;
        Outcome { stored_limit, stored_ends, blocked_for, ..outcome }
    }
}

/// The end of a block: a time, and the longest block more.
fn micros_at_most(number: f64) -> Option<Micros> {
    (0.0..2.0 * 9_007_199_254_740_992.0).contains(&number).then_some(number as Micros)
}

impl LimitReply {
    /// The reply for the caller so far behind the first that this one is about: all before it were charged, or none was.
    fn behind(mut self, place: usize, charge: &Charge<'_>, op: Op) -> Result<Self> {
        if place > 0 && op == Op::Check && self.fits {
            charge.policy.charge_times(&mut self.state, self.now, charge.cost, place);
            if !charge.policy.may_have_charged(&self.state, charge.cost) {
                return Err(unexpected("it charges more than can be counted"));
            }
        }
        Ok(self)
    }

    /// Whether the cost may be charged, as far as this limit and a block go.
    pub(super) fn has_room(&self) -> bool {
        self.fits && !matches!(self.key_record.blocked, Some((_, true)))
    }

    /// Follows the script's steps, so that the state is the one it left behind, which it answers with the outcome.
    pub(super) fn outcome(mut self, charge: &Charge<'_>, op: Op, permitted: bool) -> (Outcome, State) {
        let policy = charge.policy_at(self.key_record.stored_limit);
        let demand = Demand { op: self.key_record.op(op), cost: charge.cost, now: self.now };
        let outcome = policy.apply(&mut self.state, demand, self.fits, permitted);
        (self.key_record.outcome(outcome, self.now), self.state)
    }
}

/// The server's time, where a reply says that it is in none of the windows of a calendar that the call named: then
/// the script did nothing.
pub(super) fn outside(reply: &Value) -> Option<Micros> {
    let reply = match reply {
        // To a caller behind the first.
        Value::Array(parts) => parts.get(1)?,
        reply => reply,
    };
    let Value::BulkString(bytes) = reply else { return None };
    match bytes.as_chunks::<8>() {
        ([grant, now], []) if f64::from_le_bytes(*grant) == OUTSIDE => micros(f64::from_le_bytes(*now)),
        _ => None,
    }
}

/// Whether a script did nothing but charge leases that have ended, and has more of them to charge.
#[inline(always)]
pub(super) fn unsettled(reply: &Result<Value>) -> bool {
    matches!(reply, Ok(Value::Int(UNSETTLED)))
}

/// One reply per charge; also whether it may be that of an earlier call.
pub(super) fn read(
    charges: &[&Charge<'_>],
    (op, is_recorded): (Op, bool),
    reply: Value,
) -> Result<SmallList<LimitReply>> {
    if let (Value::Int(_), Op::Charge, Some(charge)) = (&reply, op, charges.first()) {
        return Err(charge.rule.overdrawn(charge.cost));
    }
    let one = |charge: &Charge<'_>, reply: &Value| {
        let numbers = doubles(reply).ok_or_else(no_numbers)?;
        read_one(charge, (op, is_recorded), &numbers, 0.0, KeyRecordReply::default())
    };
    let (place, reply) = callers::place(reply);
    match (charges, reply) {
        (_, Value::Array(replies)) if replies.len() == charges.len() => {
            charges.iter().zip(&replies).map(|(charge, reply)| one(charge, reply)).collect()
        }
        ([charge], reply) if !matches!(reply, Value::Array(_)) => {
            Ok(SmallList::from_buf([one(charge, &reply)?.behind(place, charge, op)?]))
        }
        _ => Err(unexpected("it is about another number of limits")),
    }
}

/// The numbers of a reply; `None` where it is no string of them.
pub(super) fn doubles(reply: &Value) -> Option<SmallVec<[f64; 8]>> {
    let Value::BulkString(bytes) = reply else { return None };
    let (doubles, rest) = bytes.as_chunks::<8>();
    rest.is_empty().then(|| doubles.iter().map(|&bytes| f64::from_le_bytes(bytes)).collect())
}

pub(super) fn no_numbers() -> Error {
    unexpected("it is not a string of numbers")
}

/// The reply about one limit, beside which weight is `held`.
pub(super) fn read_one(
    charge: &Charge<'_>,
    (op, is_recorded): (Op, bool),
    numbers: &[f64],
    held: f64,
    key_record: KeyRecordReply,
) -> Result<LimitReply> {
    match numbers {
        [grant, numbers @ ..] if !numbers.is_empty() => {
            let policy = charge.policy_at(key_record.stored_limit);
            let now = micros(numbers[0]).ok_or_else(|| unexpected("its time makes no sense"))?;
            // What lies after the time of the reply would overflow what is computed from it.
            let asked = match op {
                Op::Charge => policy.overcharged(charge.cost).0 + PEEKED,
                Op::Check | Op::Peek | Op::Refund | Op::Reserve => charge.cost,
            };
            let state = policy.parse(numbers, asked + held);
            let state = state.filter(|state| !policy.is_ahead(state, now));
            let state = state.ok_or_else(|| unexpected("its state makes no sense"))?;
            let fits = *grant >= UNITS;
            // The limit may have been lowered since an earlier call was granted it.
            if fits && charge.cost > policy.most() as f64 && !is_recorded {
                return Err(unexpected("it grants what can never fit"));
            }
            if (fits || op == Op::Charge) && !policy.may_have_charged(&state, charge.cost) {
                return Err(unexpected("it charges more than can be counted"));
            }
            Ok(LimitReply { fits, now, state, key_record })
        }
        _ => Err(unexpected("it is too short")),
    }
}

/// An error for a reply that no script of ours gives.
pub(super) fn unexpected(what: &str) -> Error {
    Error::new(ErrorKind::Server, format!("the script's reply is not one of this limiter's: {what}"))
}
