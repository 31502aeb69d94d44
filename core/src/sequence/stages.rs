//! Which charges go into one script.

use smallvec::smallvec;

use super::step::CallSettings;
use crate::keys::slots::slot_of;
use crate::plan::{ENFORCED, Plan, SmallList, gather};

/// One stage with everything: a single server does not mind slots.
#[inline(always)]
fn together(plan: &Plan<'_>) -> SmallList<SmallList<usize>> {
    SmallList::from_buf([gather(0..plan.charges.len())])
}

/// The stages of a plan.
#[inline(always)]
pub(super) fn of(plan: &Plan<'_>, wire: &CallSettings) -> SmallList<SmallList<usize>> {
    let is_one = plan.charges.len() == 1 || !wire.cluster && wire.regions.is_none();
    if is_one { together(plan) } else { apart(plan, wire) }
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
