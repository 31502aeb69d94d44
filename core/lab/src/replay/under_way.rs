//! Requests of a replay that are under way, for rules that limit how many are.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use sluicegate::internal;
use sluicegate::internal::quote;
use sluicegate::rules::{Algorithm, RuleId, Rules};
use sluicegate::{RequestMatch, Reservation, Result};

use crate::random::Random;
use crate::traffic::CallDuration;

/// What a request holds.
pub(super) struct HeldByRequest {
    pub(super) reservation: Reservation,
    pub(super) items: Vec<HeldItem>,
}

/// What it counts for under one rule.
pub(super) struct HeldItem {
    pub(super) rule: RuleId,
    pub(super) key: String,
    pub(super) resource: Option<String>,
    pub(super) cost: u64,
}

pub(super) struct UnderWay {
    /// Rules that limit how many requests are under way.
    limiting: Vec<RuleId>,
    /// Of requests that do not tell it.
    duration: Option<CallDuration>,
    random: Random,
    ends: BinaryHeap<Reverse<(u64, u64)>>,
    held: HashMap<u64, HeldByRequest>,
    number: u64,
}

impl UnderWay {
    pub(super) fn new(rules: &Rules, duration: Option<CallDuration>) -> Self {
        let limiting = rules.iter().filter(|rule| rule.algorithm == Algorithm::Concurrency);
        Self {
            limiting: limiting.map(|rule| rule.id.clone()).collect(),
            duration,
            random: Random::stream(1, 0),
            ends: BinaryHeap::new(),
            held: HashMap::new(),
            number: 0,
        }
    }

    /// Whether a rule limits how many requests are under way.
    pub(super) fn limits(&self, rule: &RuleId) -> bool {
        self.limiting.contains(rule)
    }

    /// How long a request is under way that these rules apply to; `None` where none of them needs to know.
    pub(super) fn duration_us(
        &mut self,
        matches: &[RequestMatch],
        stated: Option<u64>,
    ) -> Result<Option<u64>> {
        let Some(needing) = matches.iter().find(|it| self.limits(&it.rule_id)) else { return Ok(None) };
        let drawn = || self.duration.map(|duration| duration.draw_us(&mut self.random));
        stated.or_else(drawn).map(Some).ok_or_else(|| {
            let reason = format!(
                "it has no duration, and rule {} limits how many requests are under way",
                quote(&needing.rule_id)
            );
            internal::invalid_argument(reason)
        })
    }

    pub(super) fn hold(&mut self, end_us: u64, held: HeldByRequest) {
        self.number += 1;
        self.ends.push(Reverse((end_us, self.number)));
        self.held.insert(self.number, held);
    }

    /// What ends next, if it ends by then, and when.
    pub(super) fn ended(&mut self, now_us: u64) -> Option<(u64, HeldByRequest)> {
        let Reverse((end_us, number)) = *self.ends.peek().filter(|end| end.0.0 <= now_us)?;
        self.ends.pop();
        self.held.remove(&number).map(|held| (end_us, held))
    }
}

impl std::fmt::Debug for UnderWay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UnderWay").field("held", &self.held.len()).finish_non_exhaustive()
    }
}
