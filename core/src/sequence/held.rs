//! What the scripts for rules with reservations are sent and what they reply, as `holdings.lua` of the crate
//! `sluicegate-lua` states.

use redis::Value;
use sluicegate_lua::{Kernel, KernelSet};
use smallvec::{SmallVec, smallvec};

use super::key_records::{self, Whose};
use super::protocol::{
    self, Clocks, KeyRecordReply, LimitReply, SERVER_CLOCK, ScriptsOfSets, Step, bytes, doubles, unexpected,
};
use super::settings::CallSettings;
use crate::algorithm::{Demand, HoldId, Micros, Numbers, Policy, State, micros};
use crate::error::Result;
use crate::plan::{Charge, End, Holder, Op, Outcome, Plan, SmallList};
use crate::script::{Argument, Script, ScriptCall};

/// How the scripts call operations.
fn number(op: Op) -> f64 {
    match op {
        Op::Check => 1.0,
        Op::Peek => 2.0,
        Op::Refund => 3.0,
        Op::Charge => 4.0,
        Op::Reserve => 5.0,
    }
}

fn number_of_end(end: End) -> f64 {
    match end {
        End::Commit | End::Release => 6.0,
        End::Renew => 7.0,
    }
}

/// Each of some indices once, in order.
fn once_each(indices: impl Iterator<Item = usize>) -> SmallList<usize> {
    let mut indices: SmallList<usize> = indices.collect();
    indices.sort_unstable();
    indices.dedup();
    indices
}

/// Some charges of a plan, all in one slot, with the holders that are beside them.
pub(super) struct SlotPart<'a, 'b> {
    plan: &'b Plan<'a>,
    charges: SmallList<&'b Charge<'a>>,
    /// As indices of the plan's.
    pub(super) holders: SmallList<usize>,
    /// As indices of the plan's: what may stand beside the states.
    recorded_keys: SmallList<usize>,
    kernels: KernelSet,
}

impl<'a, 'b> SlotPart<'a, 'b> {
    pub(super) fn new(plan: &'b Plan<'a>, charges: &[usize]) -> Self {
        let charges: SmallList<_> = charges.iter().map(|&index| &plan.charges[index]).collect();
        let holders = once_each(charges.iter().filter_map(|charge| charge.holder));
        let recorded_keys = once_each(charges.iter().filter_map(|charge| charge.recorded_key));
        let kernels =
            charges.iter().fold(KernelSet::default(), |set, charge| set.with(charge.policy.kernel()));
        Self { plan, charges, holders, recorded_keys, kernels }
    }

    /// The call of the script for a step.
    pub(super) fn call(&self, step: &Step, id: &HoldId, clocks: Clocks, prefix: &str) -> ScriptCall {
        let script = match self.recorded_keys.is_empty() {
            true => script(&HELD, sluicegate_lua::held, self.kernels),
            false => script(&KEY_RECORD_HELD, sluicegate_lua::key_record::held, self.kernels),
        };
        let limit =
            |charge: &Charge<'_>, policy: &Policy, whose| self.limit(charge, (policy, whose), step, clocks);
        let header = self.header(clocks, number(step.op));
        let mut keys = self.names(prefix);
        if step.op == Op::Peek {
            let copies: Vec<_> = keys[..self.charges.len()].iter().map(|key| format!("{key}.p")).collect();
            keys.extend(copies);
        }
        keys.extend(self.record_names(prefix));
        ScriptCall::new(script, keys, self.args(header, limit, (id, id), 0))
    }

    /// The call of the script that ends or renews a reservation; `names` are the reservation's and the call's.
    pub(super) fn ending(
        &self,
        end: End,
        names: (&HoldId, &HoldId),
        clocks: Clocks,
        wire: &CallSettings,
    ) -> ScriptCall {
        let script = match self.recorded_keys.is_empty() {
            true => script(&ENDING, sluicegate_lua::ending, self.kernels),
            false => script(&KEY_RECORD_ENDING, sluicegate_lua::key_record::ending, self.kernels),
        };
        let limit = |charge: &Charge<'_>, policy: &Policy, whose| {
            let cost = if end == End::Commit { charge.cost } else { 0.0 };
            let (units, amount) = policy.overcharged(cost);
            self.packed(charge, (policy, whose), [units, amount, cost], clocks)
        };
        let timeout = self.plan.timeout.map_or(wire.default_timeout, |timeout| timeout.as_micros() as Micros);
        let header = self.header(clocks, number_of_end(end));
        let mut keys = self.names(&wire.prefix);
        keys.extend(self.record_names(&wire.prefix));
        ScriptCall::new(script, keys, self.args(header, limit, names, timeout))
    }

    fn header(&self, clocks: Clocks, op: f64) -> [f64; 3] {
        [clocks.for_script(), op, self.charges.len() as f64]
    }

    fn names(&self, prefix: &str) -> SmallVec<[String; 1]> {
        let states = self.charges.iter().map(|charge| charge.name(prefix));
        states.chain(self.holders.iter().map(|&holder| self.plan.holders[holder].name(prefix))).collect()
    }

    fn record_names(&self, prefix: &str) -> impl Iterator<Item = String> {
        self.recorded_keys.iter().map(move |&recorded_key| self.plan.recorded_keys[recorded_key].name(prefix))
    }

    /// The arguments of a script; nearly always one text.
    fn args(
        &self,
        header: [f64; 3],
        limit: impl Fn(&Charge<'_>, &Policy, Whose) -> Argument,
        names: (&HoldId, &HoldId),
        timeout: Micros,
    ) -> SmallVec<[Argument; 1]> {
        let mut limits = self.charges.iter().map(|charge| limit(charge, &charge.policy, Whose::Call));
        let mut first = bytes(&header);
        let of_first = limits.next().unwrap_or_default();
        first.extend_from_slice(&of_first);
        if let ([Charge { amount: None, recorded_key: None, .. }], [holder]) =
            (self.charges.as_slice(), self.holders.as_slice())
        {
            first.extend_from_slice(&self.holder(*holder, names, timeout));
            return smallvec![first];
        }
        let mut args = smallvec![first, of_first];
        args.extend(limits);
        args.extend(
            self.charges
                .iter()
                .map(|charge| self.stated(charge, |policy| limit(charge, policy, Whose::Rule))),
        );
        args.extend(self.holders.iter().map(|&holder| self.holder(holder, names, timeout)));
        args
    }

    /// What the rule itself states, where the call brought another limit.
    fn stated(&self, charge: &Charge<'_>, pack: impl FnOnce(&Policy) -> Argument) -> Argument {
        if charge.amount.is_none() { Argument::new() } else { pack(&charge.limit.policy) }
    }

    fn limit(
        &self,
        charge: &Charge<'_>,
        (policy, whose): (&Policy, Whose),
        step: &Step,
        clocks: Clocks,
    ) -> Argument {
        let cost = charge.cost;
        let packed = |policy: &Policy, [units, extra]: [f64; 2]| {
            self.packed(charge, (policy, whose), [units, extra, cost], clocks)
        };
        match step.op {
            Op::Check | Op::Peek | Op::Reserve => packed(policy, [cost, protocol::NEWEST]),
            Op::Refund => {
                let charged_at = step.charged_at.map_or(protocol::NEWEST, |at| at as f64);
                packed(&policy.sparing_denied(), [cost, charged_at])
            }
            Op::Charge => {
                let (units, amount) = policy.overcharged(cost);
                packed(&policy.sparing_denied(), [units + protocol::PEEKED, amount])
            }
        }
    }

    fn packed(
        &self,
        charge: &Charge<'_>,
        (policy, whose): (&Policy, Whose),
        [units, extra, asked]: [f64; 3],
        clocks: Clocks,
    ) -> Argument {
        let holder = self.place(charge);
        let kind = match policy.kernel() {
            Kernel::Concurrency => -1.0,
            Kernel::Gcra => 1.0,
            Kernel::FixedWindowFirstRequest => 2.0,
            Kernel::SlidingLogList => 3.0,
            Kernel::SlidingLogSortedSet => 4.0,
            _ => 0.0,
        };
        let mut numbers = Numbers::from_slice(&[
            f64::from(self.kernels.place(policy.kernel())),
            charge.group as f64,
            holder.map_or(0.0, |place| (place + 1) as f64),
            policy.price(),
            units,
            extra,
            kind,
        ]);
        if self.recorded_keys.is_empty() {
            policy.numbers(units, || clocks.caller_now(), &mut numbers);
        } else {
            let place = self.recorded_key(charge);
            let recorded_key = charge.recorded_key.map(|own| &self.plan.recorded_keys[own]);
            let number = place.map_or(0.0, |place| (place + 1) as f64);
            numbers.extend(key_records::numbers(charge, (number, recorded_key), (policy, whose), asked));
            // Such a script knows by itself which denied costs count: none of a key that is blocked.
            let spared = if recorded_key.is_some() { &policy.sparing_denied() } else { policy };
            spared.numbers(units, || clocks.caller_now(), &mut numbers);
        }
        bytes(&numbers)
    }

    fn holder(&self, index: usize, (id, call_id): (&HoldId, &HoldId), timeout: Micros) -> Argument {
        let holder = &self.plan.holders[index];
        let own = self.charges.iter().filter(|charge| charge.holder == Some(index));
        let longest = own.map(|charge| charge.longest()).max().unwrap_or(0);
        let mut packed = bytes(&[
            holder.weight,
            holder.lease as f64,
            longest as f64,
            holder.group as f64,
            self.plan.own_price(index).unwrap_or(0.0),
            timeout as f64,
        ]);
        packed.push(b'r');
        packed.extend_from_slice(id);
        packed.extend_from_slice(&holder.weight.to_le_bytes());
        packed.extend_from_slice(call_id);
        packed
    }

    /// One reply per charge, and one per holder.
    pub(super) fn read(
        &self,
        (op, is_recorded): (Op, bool),
        reply: Value,
    ) -> Result<(SmallList<LimitReply>, SmallList<HolderReply>)> {
        if let (Value::Int(_), Op::Charge, Some(charge)) = (&reply, op, self.charges.first()) {
            return Err(charge.rule.overdrawn(charge.cost));
        }
        let mut key_records = SmallList::new();
        let (states, holders): (_, SmallList<_>) = match reply {
            Value::BulkString(one) => {
                let (holder, state) = HolderReply::before(one)?;
                (vec![Value::BulkString(state)], smallvec![holder])
            }
            Value::Array(mut states) => {
                let mut holders = states.split_off(self.charges.len().min(states.len()));
                let beside = holders.split_off(self.holders.len().min(holders.len()));
                key_records = beside.iter().map(KeyRecordReply::of).collect::<Result<_>>()?;
                (states, holders.iter().map(HolderReply::read).collect::<Result<_>>()?)
            }
            _ => return Err(unexpected("it is no list")),
        };
        let lengths = (states.len(), holders.len(), key_records.len());
        if lengths != (self.charges.len(), self.holders.len(), self.recorded_keys.len()) {
            return Err(unexpected("it is about another number of limits"));
        }
        let states = self.charges.iter().zip(&states).map(|(charge, state)| {
            let held = self.place(charge).map_or(0.0, |place| holders[place].held);
            let numbers = doubles(state).ok_or_else(protocol::no_numbers)?;
            let key_record =
                self.recorded_key(charge).map_or(KeyRecordReply::default(), |place| key_records[place]);
            protocol::read_one(charge, (op, is_recorded), &numbers, held, key_record)
        });
        Ok((states.collect::<Result<_>>()?, holders))
    }

    /// The place of a charge's holder among those of this part.
    pub(super) fn place(&self, charge: &Charge<'_>) -> Option<usize> {
        charge.holder.and_then(|holder| self.holders.iter().position(|own| *own == holder))
    }

    /// The place of a charge's recorded key among those of this part.
    fn recorded_key(&self, charge: &Charge<'_>) -> Option<usize> {
        charge
            .recorded_key
            .and_then(|recorded_key| self.recorded_keys.iter().position(|own| *own == recorded_key))
    }

    /// The plan's holder at a place of this part.
    pub(super) fn holder_at(&self, place: usize) -> &'b Holder<'a> {
        &self.plan.holders[self.holders[place]]
    }
}

/// What a script says of what is held.
#[derive(Debug, Clone, Copy)]
pub(super) struct HolderReply {
    /// The weight before the call.
    pub(super) held: f64,
    /// When a reservation more fits; 0 where it does.
    pub(super) full_until: Micros,
    /// The fencing token of what was reserved.
    pub(super) token: Option<u64>,
}

/// How the answer about one limit begins beside which something is held: then follow the weight before the call, and
/// the token.
const BESIDE: f64 = -2.0;

impl HolderReply {
    /// The answer about one limit, with what stands before it of what is held.
    fn before(mut answer: Vec<u8>) -> Result<(Self, Vec<u8>)> {
        let beside: SmallVec<[f64; 3]> =
            answer.as_chunks::<8>().0.iter().take(3).map(|&bytes| f64::from_le_bytes(bytes)).collect();
        let [BESIDE, held, token] = *beside else { return Ok((Self::sound(0.0, 0.0, 0.0)?, answer)) };
        answer.drain(..24);
        Ok((Self::sound(held, 0.0, token)?, answer))
    }

    fn read(reply: &Value) -> Result<Self> {
        match doubles(reply).as_deref() {
            Some(&[held, full_until, token]) => Self::sound(held, full_until, token),
            _ => Err(unexpected("what it says is held makes no sense")),
        }
    }

    fn sound(held: f64, full_until: f64, token: f64) -> Result<Self> {
        let is_sound = (0.0..1e18).contains(&held);
        let (Some(full_until), Some(token), true) = (micros(full_until), micros(token), is_sound) else {
            return Err(unexpected("what it says is held makes no sense"));
        };
        Ok(Self { held, full_until, token: (token > 0).then_some(token.unsigned_abs()) })
    }
}

impl LimitReply {
    /// [`outcome`](LimitReply::outcome) where something may be held.
    pub(super) fn apply_beside(
        mut self,
        charge: &Charge<'_>,
        op: Op,
        permitted: bool,
        holder: Option<(&Holder<'_>, &HolderReply)>,
    ) -> Outcome {
        let Some((holder, reply)) = holder else {
            // What has nothing to hold is charged at once.
            return self.outcome(charge, if op == Op::Reserve { Op::Check } else { op }, permitted).0;
        };
        let is_held = op == Op::Reserve && reply.token.is_some() && permitted;
        let held = reply.held + if is_held { holder.weight } else { 0.0 };
        if let (State::Leases(leases), true) = (&mut self.state, is_held) {
            leases.last_at = leases.last_at.max(self.now + holder.lease);
        }
        let policy = charge.policy_at(self.key_record.stored_limit);
        let demand = Demand { op: self.key_record.op(op), cost: charge.cost, now: self.now };
        let is_full = op == Op::Reserve && !self.fits && reply.full_until > 0;
        // A limit that has room has nothing to wait for but a lease.
        let has_room = self.fits || is_full && policy.fits(&self.state, self.now, charge.cost + held);
        let mut outcome = policy.apply_beside(&mut self.state, demand, has_room, permitted, held);
        if is_full {
            outcome = outcome.until(reply.full_until - self.now);
        }
        self.key_record.outcome(outcome, self.now)
    }
}

/// The call of the script that resets keys for which something may be held.
pub(super) fn forget(plan: &Plan<'_>, wire: &CallSettings, clock: Option<Micros>) -> ScriptCall {
    static FORGET: once_cell::race::OnceBox<Script> = once_cell::race::OnceBox::new();
    static FORGET_KEY_RECORD: once_cell::race::OnceBox<Script> = once_cell::race::OnceBox::new();
    let script = match plan.recorded_keys.is_empty() {
        true => FORGET.get_or_init(|| Box::new(Script::new(sluicegate_lua::forget()))),
        false => {
            FORGET_KEY_RECORD.get_or_init(|| Box::new(Script::new(sluicegate_lua::key_record::forget())))
        }
    };
    let states = plan.to_reset().filter(|charge| charge.policy.keeps_state());
    let mut keys: SmallVec<[String; 1]> = states.map(|charge| charge.name(&wire.prefix)).collect();
    let clock = clock.map_or(SERVER_CLOCK, |now| now as f64);
    keys.extend(plan.stranded().map(|stranded| stranded.name(&wire.prefix)));
    let keeps_limits = plan.recorded_keys.iter().all(|recorded_key| recorded_key.key_records.overrides);
    let recorded_keys = plan.recorded_keys.len() as f64 * if keeps_limits { 1.0 } else { -1.0 };
    let mut args = SmallVec::from_elem(bytes(&[clock, recorded_keys, keys.len() as f64]), 1);
    for holder in plan.holders_to_reset() {
        keys.push(holder.name(&wire.prefix));
        args.push(bytes(&[holder.lease as f64]));
    }
    keys.extend(plan.recorded_keys.iter().map(|recorded_key| recorded_key.name(&wire.prefix)));
    ScriptCall::new(script, keys, args)
}

static HELD: ScriptsOfSets = [const { once_cell::race::OnceBox::new() }; _];
static KEY_RECORD_HELD: ScriptsOfSets = [const { once_cell::race::OnceBox::new() }; _];
static KEY_RECORD_ENDING: ScriptsOfSets = [const { once_cell::race::OnceBox::new() }; _];
static ENDING: ScriptsOfSets = [const { once_cell::race::OnceBox::new() }; _];

fn script(
    scripts: &'static ScriptsOfSets,
    text: fn(KernelSet) -> String,
    kernels: KernelSet,
) -> &'static Script {
    protocol::script(scripts, text, kernels)
}
