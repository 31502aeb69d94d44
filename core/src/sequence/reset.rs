//! What a reset sends.

use super::held;
use super::settings::CallSettings;
use crate::algorithm::Micros;
use crate::plan::{Plan, SmallList};
use crate::script::ScriptCall;

/// What a reset sends.
pub(crate) enum Reset {
    /// Deletes the names of these states; all of one check share a slot.
    Delete(Vec<String>),
    /// Calls a script, for a rule with reservations, blocks or limits of single keys.
    Forget(ScriptCall),
}

impl Reset {
    /// The names of what it is about.
    pub(crate) fn keys(&self) -> SmallList<String> {
        match self {
            Self::Delete(names) => names.as_slice().into(),
            Self::Forget(call) => call.keys.clone(),
        }
    }
}

/// The names of what this region was lent of these states.
pub(crate) fn lent_names(plan: &Plan<'_>, wire: &CallSettings) -> Vec<String> {
    plan.to_reset().map(|charge| charge.name_of_allotment(&wire.prefix)).collect()
}

/// What a reset of a plan sends.
pub(crate) fn reset(plan: &Plan<'_>, wire: &CallSettings, clock: Option<Micros>) -> Reset {
    if !plan.is_beside() {
        let states = plan.to_reset().map(|charge| charge.name(&wire.prefix));
        return Reset::Delete(
            states.chain(plan.stranded().map(|stranded| stranded.name(&wire.prefix))).collect(),
        );
    }
    Reset::Forget(held::forget(plan, wire, clock))
}
