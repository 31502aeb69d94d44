//! A call, worked out before anything is asked of a backend: which states it touches, and by how much.

mod answer;
mod charge;
mod forecast;
mod held;
mod key_records;
mod list;
mod loaded_holdings;
mod loaded_states;
mod repeat;
mod repeatable;
mod shares;

use std::borrow::Cow;
use std::collections::HashMap;
use std::ptr;
use std::time::Duration;

use smallvec::{SmallVec, smallvec};
use smol_str::SmolStr;

use crate::catalog::{Catalog, LimitNumber, ReadyRule};
use crate::error::{Error, ErrorKind, Result};
use crate::request::Check;
use crate::reservation::{Ticket, TicketItem};
use crate::rules::{Algorithm, MAX_MICROS, Scope};

pub(crate) use crate::algorithm::Outcome;
#[cfg_attr(not(feature = "bridge"), allow(unreachable_pub, reason = "for bindings"))]
pub use crate::algorithm::{KeyRecordChange, Op, Span};
#[cfg_attr(not(feature = "bridge"), allow(unreachable_pub, reason = "for bindings"))]
pub use answer::{Form, RawDecision};
pub(crate) use answer::{answer, answer_of};
use charge::Target;
pub(crate) use charge::{Charge, Holder, RecordedKey, Stranded, ruled};
pub(crate) use forecast::Forecast;
#[cfg_attr(not(feature = "bridge"), allow(unreachable_pub, reason = "for bindings"))]
pub use held::End;
pub(crate) use held::SingleLimit;
use list::List;
pub(crate) use list::{SmallList, gather};
pub(crate) use loaded_states::LoadedStates;
pub(crate) use repeat::{Fingerprint, RequestRecord};

/// The group of the limits that are enforced. Every other group is a rule in shadow.
pub(crate) const ENFORCED: usize = 0;

/// What a call touches.
#[derive(Debug)]
pub(crate) struct Plan<'a> {
    /// Each state once, with the sum of what the items ask of it.
    pub(crate) charges: List<Charge<'a>>,
    pub(crate) items: List<Item<'a>>,
    /// What rules with reservations hold, each once.
    pub(crate) holders: Vec<Holder<'a>>,
    /// The keys of rules with blocks or limits of single keys, each once.
    pub(crate) recorded_keys: List<RecordedKey<'a>>,
    /// The whole time that the call may take: the shortest that an item states.
    pub(crate) timeout: Option<Duration>,
    /// Where the answer is kept, of a call that may be repeated.
    pub(crate) request: Option<Box<RequestRecord<'a>>>,
    groups: usize,
    /// Whether the answer is counted: it is none that only looks.
    is_counted: bool,
}

/// One (rule, key, cost) of a call.
#[derive(Debug, Clone)]
pub(crate) struct Item<'a> {
    pub(crate) rule: &'a ReadyRule,
    /// The charges of its limits, as indices.
    pub(crate) charges: SmallList<usize>,
    /// What it costs.
    pub(crate) cost: u64,
}

impl<'a> Plan<'a> {
    /// The key of an item, as it is stored.
    pub(crate) fn key_of(&self, item: &Item<'_>) -> &str {
        item.charges.first().map_or("", |charge| &self.charges[*charge].tag)
    }

    /// The rules that it decides by, each once.
    pub(crate) fn rules(&self) -> impl Iterator<Item = &'a ReadyRule> {
        let is_new = |at: usize| !self.items[..at].iter().any(|item| ptr::eq(item.rule, self.items[at].rule));
        (0..self.items.len()).filter(move |at| is_new(*at)).map(|at| self.items[at].rule)
    }

    /// What `op` touches.
    #[inline(always)]
    pub(crate) fn new(catalog: &'a Catalog, checks: &[Check<'a>], op: Op) -> Result<Self> {
        let timeout = checks.iter().filter_map(|check| check.options.timeout).min();
        let targets = checks.iter().map(|check| Target::new(catalog, check));
        let plan = match checks {
            [] => Err(nothing_to(op)),
            [check] => Target::new(catalog, check).and_then(|target| Self::of_one(&target, timeout)),
            // A binding may look for the rules of all items before it asks: so they come first everywhere.
            _ => Self::of_several(targets, timeout).map_err(|error| {
                checks.iter().find_map(|check| catalog.find(check.rule).err()).unwrap_or(error)
            }),
        };
        let mut plan = plan;
        if let Ok(plan) = &mut plan {
            plan.is_counted = matches!(op, Op::Check | Op::Reserve);
        }
        match plan.as_ref().map(|plan| plan.refuse_wrong(op)) {
            Ok(Err(error)) => Err(error),
            // Not taken apart and put together again: a plan is several hundred bytes.
            _ => plan,
        }
    }

    /// What a reservation was made of, with what is to be charged of each of its items.
    #[inline]
    pub(crate) fn of_ticket(catalog: &'a Catalog, ticket: &'a Ticket, costs: &[u64]) -> Result<Self> {
        if let ([item], [cost]) = (ticket.items.as_slice(), costs) {
            return Self::of_one(&Target::stored(catalog, item, *cost)?, None);
        }
        let targets = ticket.items.iter().zip(costs).map(|(item, &cost)| Target::stored(catalog, item, cost));
        Self::of_several(targets, None)
    }

    /// What the id of a reservation says of these checks: of those whose rules have reservations.
    #[inline]
    pub(crate) fn ticket_items(catalog: &Catalog, checks: &[Check<'_>]) -> Result<SmallVec<[TicketItem; 1]>> {
        let mut items: SmallVec<[TicketItem; 1]> = SmallVec::with_capacity(checks.len());
        for (place, check) in checks.iter().enumerate() {
            let Target { rule, tag, member, limit, .. } = Target::new(catalog, check)?;
            if rule.holds.is_none() {
                continue;
            }
            let (tag, member) = (SmolStr::from(tag), member.map(SmolStr::from));
            let (rule, cost) = (SmolStr::from(rule.rule.id.as_str()), check.options.cost);
            match items
                .iter_mut()
                .find(|item| (&item.rule, &item.tag, &item.member) == (&rule, &tag, &member))
            {
                Some(same) => {
                    same.cost += cost;
                    same.places.push(place);
                }
                None => items.push(TicketItem { places: smallvec![place], rule, tag, member, cost, limit }),
            }
        }
        Ok(items)
    }

    /// Refuses what rules with reservations have to be asked otherwise, and the others cannot be asked.
    #[inline]
    fn refuse_wrong(&self, op: Op) -> Result<()> {
        if op == Op::Reserve && self.holders.is_empty() {
            return Err(self.holds_nothing());
        }
        let takes_places = |item: &&Item<'_>| item.rule.rule.algorithm == Algorithm::Concurrency;
        match self.items.iter().find(takes_places) {
            Some(item) if !matches!(op, Op::Reserve | Op::Peek) => {
                let suffix = if self.items.len() > 1 { "_all" } else { "" };
                Err(item.rule.takes_places(op.name(), suffix))
            }
            _ => Ok(()),
        }
    }

    /// Counts that no decision was made.
    #[cold]
    pub(crate) fn count_failure(&self) {
        self.items.iter().filter(|_| self.is_counted).for_each(|item| item.rule.counters.failed());
    }

    /// The error for a reservation under rules without any.
    #[cold]
    fn holds_nothing(&self) -> Error {
        match &*self.items {
            [item] => item.rule.refused(
                "reserve works with rules that have reservations (add \"reservations\": true to the rule)",
            ),
            _ => Error::new(
                ErrorKind::InvalidArgument,
                "none of the rules has reservations (add \"reservations\": true to one, or use check_all)",
            ),
        }
    }

    /// The limits of one rule are states apart; there is nothing to merge.
    #[inline(always)]
    fn of_one(target: &Target<'a>, timeout: Option<Duration>) -> Result<Self> {
        let limits = &target.rule.limits;
        let group = if target.rule.rule.shadow { ENFORCED + 1 } else { ENFORCED };
        let holders: Vec<_> = target.holders(group).collect();
        let places = gather(0..holders.len());
        let recorded_key = target.recorded_key();
        let place = recorded_key.as_ref().map(|_| 0);
        let charge = |limit| target.charge(limit, group, (&places, &holders), place);
        let charges = match limits.as_slice() {
            [limit] => List::One(charge(limit)?),
            _ => limits.iter().map(charge).collect::<Result<_>>()?,
        };
        Ok(Self {
            charges,
            holders,
            recorded_keys: recorded_key.into_iter().collect(),
            items: List::One(Item {
                rule: target.rule,
                charges: gather(0..limits.len()),
                cost: target.cost as u64,
            }),
            timeout,
            request: None,
            groups: group + 1,
            is_counted: false,
        })
    }

    #[inline]
    fn of_several(
        targets: impl ExactSizeIterator<Item = Result<Target<'a>>>,
        timeout: Option<Duration>,
    ) -> Result<Self> {
        let (charges, items) = (List::with_capacity(targets.len()), List::with_capacity(targets.len()));
        let (holders, recorded_keys) = (Vec::new(), List::new());
        let mut plan = Self {
            charges,
            items,
            holders,
            recorded_keys,
            timeout,
            request: None,
            groups: 1,
            is_counted: false,
        };
        let (mut places, mut shadows) = (HashMap::new(), HashMap::new());
        for target in targets {
            let target = target?;
            let group = plan.group(&target, &mut shadows);
            let holders = plan.hold(&target, group);
            let recorded_key = target.recorded_key().map(|recorded_key| plan.stand(recorded_key));
            let mut charges = SmallList::with_capacity(target.rule.limits.len());
            for limit in &target.rule.limits {
                let charge = target.charge(limit, group, (&holders, &plan.holders), recorded_key)?;
                charges.push(plan.add(charge, &mut places)?);
            }
            plan.items.push(Item { rule: target.rule, charges, cost: target.cost as u64 });
        }
        Ok(plan)
    }

    /// A rule in shadow is decided apart from all others, per hash tag: its own limits are charged
    /// together or not at all.
    #[inline]
    fn group(
        &mut self,
        target: &Target<'a>,
        shadows: &mut HashMap<(LimitNumber, Cow<'a, str>), usize>,
    ) -> usize {
        let rule = target.rule;
        if !rule.rule.shadow {
            return ENFORCED;
        }
        let next = self.groups;
        let group = *shadows.entry((rule.limits[0].number, target.tag.clone())).or_insert(next);
        self.groups = self.groups.max(group + 1);
        group
    }

    /// Adds what an item holds; two of one key become one.
    fn hold(&mut self, target: &Target<'a>, group: usize) -> SmallList<usize> {
        let mut place = |holder: Holder<'a>| {
            let is_same = |other: &Holder<'_>| {
                (other.number, &other.tag, &other.member) == (holder.number, &holder.tag, &holder.member)
            };
            let found = self.holders.iter().position(is_same);
            match found {
                Some(place) => self.holders[place].weight += holder.weight,
                None => self.holders.push(holder),
            }
            found.unwrap_or(self.holders.len() - 1)
        };
        target.holders(group).map(&mut place).collect()
    }

    /// Adds a key beside whose states something may stand, once.
    fn stand(&mut self, recorded_key: RecordedKey<'a>) -> usize {
        let is_same = |other: &RecordedKey<'_>| {
            (other.key_records.number, &other.tag) == (recorded_key.key_records.number, &recorded_key.tag)
        };
        let found = self.recorded_keys.iter().position(is_same);
        found.unwrap_or_else(|| {
            self.recorded_keys.push(recorded_key);
            self.recorded_keys.len() - 1
        })
    }

    /// Adds a charge; two of one state become one.
    #[inline]
    fn add(&mut self, charge: Charge<'a>, places: &mut HashMap<StateId<'a>, usize>) -> Result<usize> {
        let id = (charge.limit.number, charge.tag.clone(), charge.member.clone());
        let place = *places.entry(id).or_insert(self.charges.len());
        let Some(same) = self.charges.get_mut(place) else {
            self.charges.push(charge);
            return Ok(place);
        };
        if same.amount != charge.amount {
            return Err(charge.rule.refused("one key was given two different limits in one call"));
        }
        same.cost += charge.cost;
        if same.cost >= MAX_MICROS as f64 {
            return Err(charge.rule.refused("the costs of one key add up to 2^53 or more"));
        }
        Ok(place)
    }

    /// Whether anything is held, or may stand, beside the states.
    #[inline]
    pub(crate) fn is_beside(&self) -> bool {
        !self.holders.is_empty() || !self.recorded_keys.is_empty()
    }

    /// The charges whose states a reset forgets: those that count keys. What a resource was used in all
    /// is the matter of every key, and forgotten only where a rule counts nothing else.
    pub(crate) fn to_reset(&self) -> impl Iterator<Item = &Charge<'a>> {
        let any = self.counts_keys();
        self.charges.iter().filter(move |charge| !any || charge.limit.scope == Scope::Key)
    }

    /// What a reset of the one key forgets that its rule has lost.
    pub(crate) fn stranded(&self) -> Option<Stranded<'_>> {
        self.charges.first().and_then(Stranded::of)
    }

    /// Whether there is a limit that counts keys.
    pub(crate) fn counts_keys(&self) -> bool {
        self.charges.iter().any(|charge| charge.limit.scope == Scope::Key)
    }

    /// What a reset forgets of what is held: what is the key's own.
    pub(crate) fn holders_to_reset(&self) -> impl Iterator<Item = &Holder<'a>> {
        self.holders.iter().filter(|holder| holder.scope == Scope::Key)
    }

    /// The price of a unit that a holder's limit has by the limit that the call gave.
    #[inline]
    pub(crate) fn own_price(&self, holder: usize) -> Option<f64> {
        let own = self.charges.iter().find(|charge| charge.holder == Some(holder))?;
        let is_own = own.amount.is_some() && own.policy.has_price();
        is_own.then(|| own.policy.price())
    }

    /// Which of some charges may be made when `fits` says which of them have room: all the enforced ones
    /// or none, and each rule in shadow when it has room itself and the enforced ones are admitted.
    #[inline]
    pub(crate) fn permitted(&self, charges: &[usize], fits: &[bool]) -> SmallList<bool> {
        if let [fits] = fits {
            return SmallList::from_buf([*fits]);
        }
        let group = |index: &usize| self.charges[*index].group;
        let mut group_fits: SmallList<bool> = smallvec![true; self.groups];
        for (index, fits) in charges.iter().zip(fits) {
            group_fits[group(index)] &= fits;
        }
        charges.iter().map(|index| group_fits[ENFORCED] && group_fits[group(index)]).collect()
    }
}

#[cold]
fn nothing_to(op: Op) -> Error {
    let what = if op == Op::Reserve { "reserve" } else { "check" };
    Error::new(ErrorKind::InvalidArgument, format!("there is nothing to {what}: the list is empty"))
}

/// What distinguishes one state from another.
type StateId<'a> = (LimitNumber, Cow<'a, str>, Option<Cow<'a, str>>);
