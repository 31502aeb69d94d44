//! Calls that take several scripts: one for each hash slot and region that they touch.
//!
//! A `check_all` of several hash slots of a Cluster looks at them, and if all have room they are charged
//! one after the other in order of priority. When one denies all the same, since another call came first,
//! those before it are compensated: given back what they were charged. In between a third caller may be denied
//! needlessly; nobody is ever admitted wrongly. For a compensation says when the charge was made, and takes
//! back what is surely left of that one: never what another call was charged in the meantime, rather too
//! little where that cannot be known, and that is why slots are looked at first: callers who are denied all the
//! time would leave something behind all the time. (A reset, or a refund by its user, of the same key in
//! between is not noticed.)

use smallvec::smallvec;

use super::protocol::Step;
use super::settings::CallSettings;
use super::{DecisionSequence, is_taking, own_op};
use crate::algorithm::Micros;
use crate::error::Error;
use crate::keys::slots::slot_of;
use crate::plan::{ENFORCED, Op, Outcome, Plan, RequestRecord, SmallList, gather};

impl DecisionSequence<'_> {
    /// Has every slot asked by itself; those that charge are looked at before.
    pub(super) fn divide(&mut self, op: Op) {
        let (plan, stages) = (self.plan, apart(self.plan, self.wire));
        if stages.len() == 1 {
            return;
        }
        self.pending.clear();
        if let Some(record) = plan.request.as_deref() {
            self.failure = Some(refused(record, plan, self.wire));
            return;
        }
        let steps = |op| {
            let step =
                move |charges: &SmallList<usize>| Step::new(own_op(plan, op, charges), charges.clone(), None);
            stages.iter().map(step)
        };
        if is_taking(op) {
            self.pending.extend(steps(Op::Peek));
        }
        self.pending.extend(steps(op));
    }

    /// What a denial in another slot would have to undo.
    pub(super) fn note_charged(&mut self, stage: &[usize], now: Micros) {
        let is_charged = |outcome: &Outcome| outcome.fits && outcome.changed;
        let charged = |index: &usize| self.outcomes[*index].as_ref().is_some_and(is_charged);
        let charged: SmallList<usize> = stage.iter().copied().filter(charged).collect();
        let holds = |index: &usize| self.plan.charges[*index].holder.is_some();
        let held: SmallList<usize> = stage.iter().copied().filter(holds).collect();
        for (op, charges) in [(Op::Refund, charged), (Op::Reserve, held)] {
            if !charges.is_empty() && (op == Op::Refund || self.token.is_some()) {
                self.compensations.push(Step::new(op, charges, Some(now)));
            }
        }
    }

    /// When all stages were looked at, one without room is asked first: it will deny, and may count that.
    pub(super) fn looked(&mut self, stage: &[usize], denied: bool) {
        if denied && self.full.is_none() {
            self.full = stage.first().copied();
        }
        let Some(full) = self.full else { return };
        let is_full = |step: &Step| is_taking(step.op) && step.charges.first() == Some(&full);
        if self.pending.first().is_some_and(|step| is_taking(step.op))
            && let Some(place) = self.pending.iter().position(is_full)
        {
            let step = self.pending.remove(place);
            self.pending.insert(0, step);
        }
    }
}

/// The charges of each script that a plan takes.
pub(super) fn of(plan: &Plan<'_>, wire: &CallSettings) -> SmallList<SmallList<usize>> {
    if wire.take_one_script(plan) {
        return SmallList::from_buf([gather(0..plan.charges.len())]);
    }
    apart(plan, wire)
}

/// A region, where that is not the own one, and a hash slot.
type Place = (Option<usize>, u16);

/// A stage per region and hash slot in order of priority; those with nothing but rules in shadow come last, when
/// it is known whether the others admit.
fn apart(plan: &Plan<'_>, wire: &CallSettings) -> SmallList<SmallList<usize>> {
    let mut stages: SmallList<(Place, SmallList<usize>)> = SmallList::new();
    for (index, charge) in plan.charges.iter().enumerate() {
        let slot = if wire.cluster { slot_of(charge.tag.as_bytes()) } else { 0 };
        let place = (wire.region_of(charge), slot);
        match stages.iter_mut().find(|stage| stage.0 == place) {
            Some((_, charges)) => charges.push(index),
            None => stages.push((place, smallvec![index])),
        }
    }
    // The sort is stable: of one priority, the first item comes first.
    stages.sort_by_key(|(_, charges)| {
        let enforced =
            charges.iter().map(|&index| &plan.charges[index]).filter(|charge| charge.group == ENFORCED);
        let priority = enforced.map(|charge| charge.rule.rule.priority).min();
        (priority.is_none(), priority)
    });
    stages.into_iter().map(|(_, charges)| charges).collect()
}

/// The error for a request id of a call that takes several scripts.
#[cold]
fn refused(record: &RequestRecord<'_>, plan: &Plan<'_>, wire: &CallSettings) -> Error {
    let mut regions = plan.charges.iter().map(|charge| wire.region_of(charge));
    let first = regions.next();
    if regions.all(|region| Some(region) == first) {
        record.of_several_slots()
    } else {
        record.of_several_regions()
    }
}
