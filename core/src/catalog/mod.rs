//! The rules, made ready for deciding.

mod amount;
mod beside;
mod naming;
mod rule;
mod share;
mod suffix;

use std::borrow::Cow;
use std::hash::RandomState;
use std::sync::Arc;

use hashbrown::HashMap;

use crate::error::{Error, ErrorKind, Result};
use crate::keys::secret::SecretNames;
use crate::matching::Matcher;
use crate::metrics::RuleCounters;
use crate::request::{Check, CheckOptions};
use crate::rules::{Algorithm, Rule, RuleId, Rules};
use crate::text::words::quote;
pub(crate) use beside::{Holds, KeyRecordPolicy, LimitNumber, SHARD_SHIFT};
#[cfg(feature = "internal")]
pub(crate) use rule::remembers_denials;
pub(crate) use rule::{ReadyLimit, ReadyRule};
pub(crate) use share::Share;

/// So many names are compared sooner than one is hashed.
const FEW: usize = 8;

/// Every rule of a limiter by name.
#[derive(Debug)]
pub(crate) struct Catalog {
    rules: Rules,
    /// Those of them that the application added to what the source holds.
    added: Rules,
    ready: Vec<ReadyRule>,
    /// Where each of them is; the hash is a fast one, since names in it are the rules' own.
    places: HashMap<RuleId, usize>,
    matcher: Matcher,
    /// Whether units are borrowed under any of them.
    leases: bool,
    numbers: RandomState,
    secrets: SecretNames,
    /// The part of every limit that this limiter may use.
    share: Share,
    /// How many of the keys denied most are reported of each rule.
    reported: usize,
}

impl Catalog {
    /// What is too little of a `share` has been [refused](Share::validate).
    pub(crate) fn new(rules: Rules, secrets: SecretNames, share: Share) -> Self {
        Self::build((rules, Rules::default()), RandomState::new(), (secrets, share), |_| None)
    }

    /// The catalog that takes the place of this one when the source holds other rules.
    pub(crate) fn after(&self, rules: Rules) -> Self {
        self.replaced(rules.and(&self.added), self.added.clone())
    }

    /// The catalog that takes the place of this one when the application adds rules.
    ///
    /// # Errors
    /// [`InvalidRule`](ErrorKind::InvalidRule) when one has a name that is taken.
    pub(crate) fn with(&self, more: &Rules) -> Result<Self> {
        if let Some(taken) = more.iter().find(|rule| self.rules.get(&rule.id).is_some()) {
            let what = format!("add_rules: rule {}: the name is taken", quote(&taken.id));
            return Err(Error::new(ErrorKind::InvalidRule, what));
        }
        self.share.validate(more)?;
        Ok(self.replaced(self.rules.and(more), self.added.and(more)))
    }

    fn replaced(&self, rules: Rules, added: Rules) -> Self {
        // To find one that is not there is to look for the name that was probably meant.
        let known = |id: &str| self.rules.get(id).and_then(|_| self.find(id).ok());
        let counters = |id: &str| known(id).map(|rule| Arc::clone(&rule.counters));
        let settings = (self.secrets.clone(), self.share);
        let built = Self::build((rules, added), self.numbers.clone(), settings, counters);
        Self { matcher: built.matcher.after(&self.matcher), ..built }.reporting(self.reported)
    }

    /// The same, which reports so many of the keys denied most under each rule.
    pub(crate) fn reporting(self, reported: usize) -> Self {
        self.ready.iter().for_each(|rule| rule.counters.report_denied(reported));
        Self { reported, ..self }
    }

    fn build(
        (rules, added): (Rules, Rules),
        numbers: RandomState,
        (secrets, share): (SecretNames, Share),
        counters: impl Fn(&str) -> Option<Arc<RuleCounters>>,
    ) -> Self {
        let ready = rules
            .iter()
            .map(|rule| (rule, counters(&rule.id).unwrap_or_else(|| Arc::new(RuleCounters::of(&rule.id)))))
            .map(|(rule, counters)| ReadyRule::new(rule, share, &numbers, counters));
        let ready: Vec<_> = ready.collect();
        let places = rules.iter().enumerate().map(|(place, rule)| (rule.id.clone(), place)).collect();
        Self {
            leases: ready.iter().any(|rule| rule.lease.is_some()),
            ready,
            places,
            matcher: Matcher::new(&rules),
            rules,
            added,
            numbers,
            secrets,
            share,
            reported: 0,
        }
    }

    /// Whether units are borrowed under any rule.
    #[inline(always)]
    pub(crate) fn leases(&self) -> bool {
        self.leases
    }

    /// What is counted of each rule, in their order.
    pub(crate) fn counters(&self) -> Vec<(&str, &RuleCounters)> {
        self.ready.iter().map(|rule| (rule.rule.id.as_str(), &*rule.counters)).collect()
    }

    pub(crate) fn share(&self) -> Share {
        self.share
    }

    /// Those of the source, and those that the application added.
    pub(crate) fn rules(&self) -> &Rules {
        &self.rules
    }

    /// The rules by the part of this limiter.
    pub(crate) fn in_force(&self) -> impl Iterator<Item = &Rule> {
        self.ready.iter().map(|ready| &*ready.rule)
    }

    /// Those that the application added.
    pub(crate) fn added(&self) -> &Rules {
        &self.added
    }

    #[inline]
    pub(crate) fn matcher(&self) -> &Matcher {
        &self.matcher
    }

    /// How a rule stores a key.
    #[inline]
    pub(crate) fn key_name<'a>(&self, rule: &ReadyRule, key: &'a str) -> Cow<'a, str> {
        rule.key.name(&self.secrets, key)
    }

    /// How a rule stores a resource.
    #[inline]
    pub(crate) fn resource_name<'a>(&self, rule: &ReadyRule, resource: &'a str) -> Cow<'a, str> {
        rule.resource.name(&self.secrets, resource)
    }

    /// A check of cost 1 under every rule that can be checked with a key alone, and by a resource if there is one.
    pub(crate) fn checks_of<'a>(&'a self, key: &'a str, options: CheckOptions<'a>) -> Vec<Check<'a>> {
        let rules = self.ready.iter().filter(|rule| !rule.needs_resource || options.resource.is_some());
        let check = |rule: &'a ReadyRule| {
            let resource = options.resource.filter(|_| rule.needs_resource);
            let options = CheckOptions { cost: 1, limit: None, resource, ..options };
            Check::new(&rule.rule.id, key).with(options)
        };
        rules.map(check).collect()
    }

    #[inline(always)]
    pub(crate) fn find(&self, id: &str) -> Result<&ReadyRule> {
        if self.ready.len() > FEW {
            let place = self.places.get(id).ok_or_else(|| self.rules.unknown(id))?;
            return Ok(&self.ready[*place]);
        }
        // Not by an iterator's method, which would be a call.
        for ready in &self.ready {
            if ready.rule.id == *id {
                return Ok(ready);
            }
        }
        Err(self.rules.unknown(id))
    }

    /// Whether a rule of these checks has reservations.
    #[inline]
    pub(crate) fn holds_any(&self, checks: &[Check<'_>]) -> bool {
        checks.iter().any(|check| self.find(check.rule).is_ok_and(|rule| rule.holds.is_some()))
    }

    /// Refuses a request that takes places, which can only be reserved.
    #[inline]
    pub(crate) fn ensure_no_places(&self, checks: &[Check<'_>]) -> Result<()> {
        let takes_places = |rule: &&ReadyRule| rule.rule.algorithm == Algorithm::Concurrency;
        match checks.iter().flat_map(|check| self.find(check.rule)).find(takes_places) {
            Some(rule) => Err(rule.takes_places("check", "_request")),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::time::{Duration, Instant};

    use super::*;
    use crate::effort::by_day;

    #[test]
    fn limits_keep_their_numbers_while_rules_come_and_go() {
        let rules = |id: &str| {
            let rule = format!(
                r#"{{ "rule_id": "{id}", "algorithm": "gcra", "limit": 1, "window_size_seconds": 1 }}"#
            );
            Rules::from_json(&format!("[{rule}]")).unwrap()
        };
        let number = |catalog: &Catalog| catalog.ready[0].limits[0].number;
        let mut catalog = Catalog::new(rules("first"), SecretNames::default(), Share::default());
        let first = number(&catalog);
        let mut seen = HashSet::from([first]);
        for other in 0..by_day(200_000) {
            catalog = catalog.after(rules(&other.to_string()));
            assert!(seen.insert(number(&catalog)));
        }
        assert_eq!(number(&catalog.after(rules("first"))), first);
    }

    /// To look for the name that was probably meant, for each, would take minutes.
    #[test]
    fn many_rules_take_the_place_of_many_others_soon() {
        let rules = |of: &str| {
            let rule = |number| format!(r#"{{"rule_id": "{of}-{number}", "rate": "1/s"}}"#);
            let all: Vec<_> = (0..20_000).map(rule).collect();
            Rules::from_json(&format!("[{}]", all.join(","))).unwrap()
        };
        let [before, after] = ["before", "after"].map(rules);
        let catalog = Catalog::new(before, SecretNames::default(), Share::default());
        let began = Instant::now();
        assert_eq!(catalog.after(after).rules().len(), 20_000);
        assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    }
}
