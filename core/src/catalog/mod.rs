//! The rules, made ready for deciding.

mod amount;
mod beside;
mod share;
mod suffix;

use std::borrow::Cow;
use std::hash::RandomState;
use std::sync::Arc;

use hashbrown::HashMap;

use crate::algorithm::{KeyRecordChange, Policy, Span};
use crate::error::{Error, ErrorKind, Result};
use crate::keys::address::AddressKeys;
use crate::keys::key::canonical;
use crate::keys::secret::SecretNames;
use crate::matching::Matcher;
use crate::metrics::RuleCounters;
use crate::request::{Check, CheckOptions};
use crate::rules::{
    Algorithm, Identifier, LeaseTerms, Limit, MAX_BURST, MAX_LOG, MAX_WINDOW_US, Rule, RuleId, Rules, Scope,
};
use crate::text::words::quote;
use amount::refusal;
pub(crate) use beside::{Holds, KeyRecordPolicy, LimitNumber, SHARD_SHIFT};
pub(crate) use share::Share;
use suffix::suffix;

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

/// A rule with the policies of its limits.
#[derive(Debug)]
pub(crate) struct ReadyRule {
    pub(crate) rule: Arc<Rule>,
    pub(crate) limits: Vec<ReadyLimit>,
    /// Set where the rule has reservations.
    pub(crate) holds: Option<Holds>,
    /// Set where keys may be blocked, or have limits of their own.
    pub(crate) key_records: Option<KeyRecordPolicy>,
    /// The number of what stands, or stood before the rule was changed, beside the states of a key.
    pub(crate) key_record: LimitNumber,
    /// The number of the records of requests, as those of limits.
    pub(crate) requests: LimitNumber,
    /// Whether a denial may be remembered: it changes nothing, and ends by the passing of time alone, unless somebody gives back.
    pub(crate) remembers_denials: bool,
    /// How a process borrows units, of a rule that does not only look on.
    pub(crate) lease: Option<LeaseTerms>,
    /// Whether a limit counts a resource, so that a check has to name one.
    pub(crate) needs_resource: bool,
    /// Whether the key, and whether the resource, is a secret, which is hashed before it is stored.
    secret_key: bool,
    secret_resource: bool,
    /// Set where keys, and where resources, are, or have as a part, the address of a client.
    key_addresses: Option<AddressKeys>,
    resource_addresses: Option<AddressKeys>,
    /// What is counted of it, also under earlier catalogs.
    pub(crate) counters: Arc<RuleCounters>,
    /// The part of every limit that this limiter may use; `rule` and `limits` are by this part.
    share: Share,
}

/// A limit with its policy.
#[derive(Debug)]
pub(crate) struct ReadyLimit {
    /// Identifies the limit, also in later catalogs.
    pub(crate) number: LimitNumber,
    pub(crate) policy: Policy,
    pub(crate) scope: Scope,
    /// The last part of the state's name: algorithm and window, so that state of one shape is never
    /// read as another.
    pub(crate) suffix: String,
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
        let counters = |id: &str| self.find(id).ok().map(|rule| Arc::clone(&rule.counters));
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
        self.stored_name(key, rule.key_addresses.as_ref(), rule.secret_key)
    }

    /// How a rule stores a resource.
    #[inline]
    pub(crate) fn resource_name<'a>(&self, rule: &ReadyRule, resource: &'a str) -> Cow<'a, str> {
        self.stored_name(resource, rule.resource_addresses.as_ref(), rule.secret_resource)
    }

    /// How a key or a resource is stored, of which an address is read as that of a request is.
    #[inline]
    fn stored_name<'a>(
        &self,
        given: &'a str,
        addresses: Option<&AddressKeys>,
        is_secret: bool,
    ) -> Cow<'a, str> {
        let Some(addresses) = addresses else { return self.stored(given, is_secret) };
        match addresses.read(given) {
            Cow::Borrowed(given) => self.stored(given, is_secret),
            Cow::Owned(read) => Cow::Owned(self.stored(&read, is_secret).into_owned()),
        }
    }

    #[inline]
    fn stored<'a>(&self, text: &'a str, is_secret: bool) -> Cow<'a, str> {
        if is_secret { self.secrets.name(text).into() } else { canonical(text) }
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

impl ReadyRule {
    fn new(stated: &Arc<Rule>, share: Share, numbers: &RandomState, counters: Arc<RuleCounters>) -> Self {
        let rule = &share.of_rule(stated);
        let number = |suffix: &str| beside::number(numbers, &rule.id, suffix);
        let addresses = |identifier| addresses(identifier, rule.ipv6_prefix_length);
        let limits = rule.limits.iter().map(|limit| {
            let suffix = suffix(rule, limit);
            let number = number(&suffix);
            ReadyLimit { number, policy: Policy::new(rule, limit, None), scope: limit.scope, suffix }
        });
        let needs_resource = rule.limits.iter().any(|limit| limit.scope == Scope::Resource);
        let holds = Holds::new(rule, number);
        let writes_denials = rule.count_denied || rule.block.is_some();
        Self {
            limits: limits.collect(),
            remembers_denials: !needs_resource && holds.is_none() && !writes_denials,
            lease: rule.lease.filter(|_| !rule.shadow),
            holds,
            key_records: KeyRecordPolicy::new(rule, number),
            key_record: number(KeyRecordPolicy::SUFFIX),
            requests: number("q"),
            needs_resource,
            secret_key: is_secret(rule.identifier_type.as_ref()),
            secret_resource: is_secret(rule.resource_identifier_type.as_ref()),
            key_addresses: addresses(rule.identifier_type.as_ref()),
            resource_addresses: addresses(rule.resource_identifier_type.as_ref()),
            rule: rule.clone(),
            counters,
            share,
        }
    }

    /// Whether the name of a state is made of the key alone, and nothing is held or stands beside the state.
    #[inline(always)]
    pub(crate) fn is_plain(&self) -> bool {
        !self.needs_resource && self.holds.is_none() && self.key_records.is_none()
    }

    /// Whether a key that is [canonical](crate::keys::key::is_canonical) is stored as it is.
    #[inline(always)]
    pub(crate) fn keeps_keys(&self) -> bool {
        !self.secret_key && self.key_addresses.is_none()
    }

    /// The limit of a rule that has no other, which counts keys and beside whose states nothing stands, and how it is held.
    #[inline]
    pub(crate) fn held_alone(&self) -> Option<(&ReadyLimit, &Holds)> {
        match (self.limits.as_slice(), &self.holds) {
            ([limit], Some(holds)) if !self.needs_resource && self.key_records.is_none() => {
                Some((limit, holds))
            }
            _ => None,
        }
    }

    /// The policy of the rule's single limit for a call that gives another amount.
    pub(crate) fn with_limit(&self, amount: u64) -> Result<Policy> {
        let [stated] = self.rule.limits.as_slice() else {
            return Err(self.refused("a limit can be given only for a rule with a single limit"));
        };
        if let Some(reason) = refusal(&self.rule, stated, amount) {
            return Err(self.refused(&format!("limit {amount}: {reason}")));
        }
        Ok(self.with_stored(stated, self.share.of_amount(amount)))
    }

    /// The same with a limit that was stored for a key, perhaps when the rule had another algorithm: one that this one
    /// could not count is the largest that it can.
    fn with_stored(&self, stated: &Limit, amount: u64) -> Policy {
        let amount = match self.rule.algorithm {
            Algorithm::SlidingLog { .. } => amount.min(MAX_LOG as u64),
            Algorithm::Gcra { burst: None, .. } => amount.min(MAX_BURST),
            _ => amount,
        };
        let policy = self.limits.first().and_then(|limit| limit.policy.with_limit(amount));
        policy.unwrap_or_else(|| Policy::new(&self.rule, stated, Some(amount)))
    }

    /// The policy of the rule's single limit where `stored` is in force; `None`: where that is 0.
    pub(crate) fn policy_at(&self, stored: u64) -> Option<Policy> {
        let stated = self.rule.limits.first().filter(|_| stored > 0)?;
        Some(self.with_stored(stated, stored))
    }

    /// The policy of a share of a limit, or of the `amount` that a call gave in its place; `None` where that leaves less than
    /// 1. A burst is shared likewise, and at least 1.
    pub(crate) fn share(&self, limit: &ReadyLimit, amount: Option<u64>, share: f64) -> Option<Policy> {
        let shared = self.shared(limit, amount, share)?;
        (shared.0.limit >= 1.0).then(|| Policy::new(&shared.1, &shared.0, None))
    }

    /// The same of the part of a region, which has at least 1.
    pub(crate) fn part(&self, limit: &ReadyLimit, amount: Option<u64>, part: f64) -> Policy {
        let shared = self.shared(limit, amount, part);
        shared.map_or_else(
            || limit.policy.clone(),
            |(limit, rule)| Policy::new(&rule, &Limit { limit: limit.limit.max(1.0), ..limit }, None),
        )
    }

    fn shared(&self, limit: &ReadyLimit, amount: Option<u64>, share: f64) -> Option<(Limit, Rule)> {
        let at = self.limits.iter().position(|known| std::ptr::eq(known, limit))?;
        let stated = self.rule.limits.get(at)?;
        let share = Share::new(share);
        let mut rule = Rule::clone(&self.rule);
        if let Algorithm::Gcra { burst: Some(burst), .. } = &mut rule.algorithm {
            *burst = (share.of(*burst as f64) as u64).max(1);
        }
        let whole = amount.map_or(stated.limit, |amount| self.share.of_amount(amount) as f64);
        Some((Limit { limit: share.of(whole), ..*stated }, rule))
    }

    /// What a change by hand stores: of a limit, the part of this limiter.
    pub(crate) fn shared_change(&self, change: KeyRecordChange) -> KeyRecordChange {
        match change {
            KeyRecordChange::SetLimit(limit, span) => {
                KeyRecordChange::SetLimit(self.share.of_amount(limit), span)
            }
            change => change,
        }
    }

    /// Refuses a change by hand that the rule does not allow, or whose numbers make no sense.
    pub(crate) fn validate_change(&self, change: KeyRecordChange) -> Result<()> {
        let key_records = self.key_records.as_ref();
        let (is_allowed, field, value) = if change.is_block() {
            (key_records.is_some_and(|key_records| key_records.blocking.is_some()), "block", "{}")
        } else {
            (key_records.is_some_and(|key_records| key_records.overrides), "overrides", "true")
        };
        if !is_allowed {
            return Err(self.refused(&format!(
                "{} works with rules that have \"{field}\" (add \"{field}\": {value} to the rule)",
                change.name()
            )));
        }
        if let Some(limit) = change.limit() {
            self.with_limit(limit)?;
        }
        change.span().map_or(Ok(()), |(name, span)| self.validate_span(name, span))
    }

    fn validate_span(&self, name: &str, span: Span) -> Result<()> {
        if (1..=MAX_WINDOW_US).contains(&span.micros()) {
            return Ok(());
        }
        let seconds = span.seconds();
        let given = if seconds.abs() < 1e16 { seconds.to_string() } else { format!("{seconds:e}") };
        Err(self.refused(&format!(
            "{name} {given} seconds: must be from 0.000001 to 315360000 seconds (10 years)"
        )))
    }

    /// The error for a charge that no double could count.
    #[cold]
    pub(crate) fn overdrawn(&self, cost: f64) -> Error {
        self.refused(&format!(
            "cost {cost}: it would overdraw the limit by more than 2^53 units or microseconds"
        ))
    }

    /// The error for a call that takes no places, about a rule that counts nothing else.
    #[cold]
    pub(crate) fn takes_places(&self, method: &str, suffix: &str) -> Error {
        self.refused(&format!(
            "{method}{suffix} does not work with algorithm \"concurrency\" (use reserve{suffix})"
        ))
    }

    /// An `InvalidArgument` that names this rule.
    #[cold]
    pub(crate) fn refused(&self, reason: &str) -> Error {
        Error::new(ErrorKind::InvalidArgument, format!("rule \"{}\": {reason}", self.rule.id))
    }
}

/// Whether who knows an identifier may act as the client.
fn is_secret(identifier: Option<&Identifier>) -> bool {
    match identifier {
        Some(Identifier::ApiKey | Identifier::Header(_)) => true,
        Some(Identifier::Composite(parts)) => parts.iter().any(|part| is_secret(Some(part))),
        Some(Identifier::UserId | Identifier::IpAddress | Identifier::Path(_) | Identifier::Global)
        | None => false,
    }
}

/// Where in the keys of an identifier there are addresses; `None`: nowhere.
fn addresses(identifier: Option<&Identifier>, ipv6_prefix_length: u8) -> Option<AddressKeys> {
    match identifier? {
        Identifier::IpAddress => Some(AddressKeys::whole(ipv6_prefix_length)),
        Identifier::Composite(parts) if parts.contains(&Identifier::IpAddress) => {
            let are_addresses = parts.iter().map(|part| *part == Identifier::IpAddress).collect();
            Some(AddressKeys::parts(ipv6_prefix_length, are_addresses))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::rules::MAX_MICROS;

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
        for other in 0..100_000 {
            catalog = catalog.after(rules(&other.to_string()));
            assert!(seen.insert(number(&catalog)));
        }
        assert_eq!(number(&catalog.after(rules("first"))), first);
    }

    #[test]
    fn a_stored_limit_that_is_too_large_for_the_rule_is_its_largest() {
        let most_at = |algorithm: &str, stored| {
            let rule = format!(
                r#"[{{"rule_id": "a", "algorithm": {algorithm}, "limit": 1, "window_size_seconds": 60, "overrides": true}}]"#
            );
            let catalog =
                Catalog::new(Rules::from_json(&rule).unwrap(), SecretNames::default(), Share::default());
            catalog.ready[0].policy_at(stored).unwrap().most()
        };
        assert_eq!(most_at(r#""sliding_log""#, 100_000), 100_000);
        for log in [r#""sliding_log""#, r#""sliding_log", "structure": "sorted_set""#] {
            assert_eq!(most_at(log, MAX_MICROS - 1), 100_000);
        }
        assert_eq!(most_at(r#""gcra""#, MAX_MICROS - 1), 1 << 32);
        assert_eq!(most_at(r#""fixed_window""#, MAX_MICROS - 1), MAX_MICROS - 1);
    }
}
