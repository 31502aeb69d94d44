//! Calls that may be repeated: what tells them from others, and where their answers are kept.

use std::borrow::Cow;

use sha2::{Digest, Sha256};

use super::{Form, Op, Plan, Target};
use crate::catalog::{Catalog, LimitNumber, ReadyRule};
use crate::error::{Error, Result};
use crate::key;
use crate::request::Check;

/// The most bytes of an id.
const LONGEST: usize = 64;

/// Tells the calls with one id apart: 128 bits of a hash over all that the caller stated. Times are none of it.
pub(crate) type Fingerprint = [u8; 16];

/// Where the answer of a call with a request id is kept.
#[derive(Debug)]
pub(crate) struct RequestRecord<'a> {
    rule: &'a ReadyRule,
    tag: Cow<'a, str>,
    member: Option<Cow<'a, str>>,
    id: &'a str,
    pub(crate) fingerprint: Fingerprint,
}

impl<'a> Plan<'a> {
    /// [`new`](Self::new) for a call that has an id, or may have one.
    pub(crate) fn repeatable(
        catalog: &'a Catalog,
        checks: &[Check<'a>],
        (op, form): (Op, Form),
        id: Option<&'a str>,
    ) -> Result<Self> {
        let mut plan = Self::new(catalog, checks, op)?;
        if let Some(id) = id {
            plan.request = Some(RequestRecord::new(catalog, checks, (op, form), id)?);
        }
        Ok(plan)
    }
}

impl<'a> RequestRecord<'a> {
    fn new(catalog: &'a Catalog, checks: &[Check<'a>], (op, form): (Op, Form), id: &'a str) -> Result<Self> {
        let targets = checks.iter().map(|check| Target::new(catalog, check)).collect::<Result<Vec<_>>>()?;
        let fingerprint = fingerprint(op, form, &targets);
        let Some(Target { rule, tag, member, .. }) = targets.into_iter().next() else {
            return Err(super::nothing_to_check());
        };
        if !(1..=LONGEST).contains(&id.len()) {
            let what = format!("request_id: must have 1 to {LONGEST} bytes; it has {}", id.len());
            return Err(rule.refused(&what));
        }
        if !matches!(op, Op::Check | Op::Charge | Op::Refund) {
            return Err(not_repeatable(rule));
        }
        Ok(Self { rule, tag, member, id, fingerprint })
    }

    /// The name of the record in Redis.
    pub(crate) fn name(&self, prefix: &str) -> String {
        let suffix = key::request_suffix(self.id);
        key::name(prefix, &self.rule.rule.id, &self.tag, self.member.as_deref(), &suffix)
    }

    /// Its number in memory, as those of limits, and the name among those of that number.
    pub(crate) fn local_name(&self) -> (LimitNumber, String) {
        let member = self.member.as_deref().unwrap_or_default();
        // A brace ends the tag, and the key, for it is escaped in both.
        (self.rule.requests, format!("{}}}{member}}}{}", self.tag, self.id))
    }

    /// The error for an id that another call had.
    #[cold]
    pub(crate) fn of_another(&self) -> Error {
        self.rule.refused(
            "request_id: another call had it: another operation, item, cost or limit, or before the rule was changed (use \
             a new one for each call, and the same one only to repeat it)",
        )
    }

    /// The error for items that one script cannot decide.
    #[cold]
    pub(crate) fn of_several_slots(&self) -> Error {
        self.rule.refused(
            "request_id: the items lie in several hash slots of the Cluster, which have no record in common (leave it \
             out, or give each item a call and an id of its own)",
        )
    }
}

/// The error for an id where none is taken.
#[cold]
pub(super) fn not_repeatable(rule: &ReadyRule) -> Error {
    rule.refused("request_id: this call takes none (check, charge and refund do, and check_all as a whole)")
}

/// The parts are told apart by their lengths. The names of states are among them, so that what one algorithm answered
/// is not read as the answer of another one.
fn fingerprint(op: Op, form: Form, targets: &[Target<'_>]) -> Fingerprint {
    let mut hash = Sha256::new();
    let mut add = |part: &[u8]| {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    };
    add(op.name().as_bytes());
    add(&[u8::from(form == Form::WithParts)]);
    for Target { rule, tag, member, cost, limit, .. } in targets {
        add(rule.rule.id.as_bytes());
        add(tag.as_bytes());
        add(member.as_deref().unwrap_or_default().as_bytes());
        add(&cost.to_le_bytes());
        add(&limit.unwrap_or_default().to_le_bytes());
        for limit in &rule.limits {
            add(limit.suffix.as_bytes());
        }
    }
    let mut fingerprint = [0; 16];
    fingerprint.copy_from_slice(&hash.finalize()[..16]);
    fingerprint
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::CheckOptions;
    use crate::rules::Rules;
    use crate::secret::SecretNames;

    const RULES: &str = r#"[
        {"rule_id": "a", "rate": "5/minute"},
        {"rule_id": "b", "rate": "5/minute"},
        {"rule_id": "p", "algorithm": "fixed_window",
         "limits": [{"limit": 5, "window_size_seconds": 60, "scope": "resource"}]}
    ]"#;

    fn fingerprint_of(checks: &[Check<'_>], op: Op, form: Form) -> Fingerprint {
        let catalog = Catalog::new(Rules::from_json(RULES).unwrap(), SecretNames::default());
        Plan::repeatable(&catalog, checks, (op, form), Some("id")).unwrap().request.unwrap().fingerprint
    }

    #[test]
    fn whatever_a_caller_states_tells_calls_apart() {
        let plain = CheckOptions::new();
        let a = |key| Check::new("a", key);
        let calls = [
            (vec![a("k")], Op::Check, Form::Single),
            (vec![a("k")], Op::Charge, Form::Single),
            (vec![a("k")], Op::Refund, Form::Single),
            (vec![a("k")], Op::Check, Form::WithParts),
            (vec![a("other")], Op::Check, Form::Single),
            (vec![Check::new("b", "k")], Op::Check, Form::Single),
            (vec![a("k").with(plain.cost(2))], Op::Check, Form::Single),
            (vec![a("k").with(plain.limit(5))], Op::Check, Form::Single),
            (vec![a("k").with(plain.limit(6))], Op::Check, Form::Single),
            (vec![a("k"), a("l")], Op::Check, Form::WithParts),
            (vec![a("l"), a("k")], Op::Check, Form::WithParts),
            (vec![Check::new("p", "k").with(plain.resource("r"))], Op::Check, Form::Single),
            (vec![Check::new("p", "r").with(plain.resource("k"))], Op::Check, Form::Single),
        ];
        let all: Vec<_> = calls.iter().map(|(checks, op, form)| fingerprint_of(checks, *op, *form)).collect();
        for (place, one) in all.iter().enumerate() {
            assert!(!all[..place].contains(one), "{place}");
            assert_eq!(*one, fingerprint_of(&calls[place].0, calls[place].1, calls[place].2));
        }
    }

    #[test]
    fn no_id_is_the_name_of_a_state() {
        let catalog = Catalog::new(Rules::from_json(RULES).unwrap(), SecretNames::default());
        let name = |key, id| {
            let check = [Check::new("p", key).with(CheckOptions::new().resource("r"))];
            let plan = Plan::repeatable(&catalog, &check, (Op::Check, Form::Single), Some(id)).unwrap();
            plan.request.unwrap().name("s")
        };
        assert_eq!(name("bob", "order-1"), "s:p:{r}:bob:q-order-1");
        // Whatever stands behind the last colon is of the record.
        let longest = "x".repeat(64);
        for id in ["f1m", "x:f1m.r", "}:{", "a b", "\n", "%", "Grüße", &longest] {
            let name = name("bob", id);
            let suffix = name.strip_prefix("s:p:{r}:bob:q").unwrap();
            assert!(
                suffix.len() <= 65 && suffix.starts_with(['-', '%']) && !suffix.contains([':', '{', '}']),
                "{name}"
            );
        }
        assert_ne!(name("bob", "a:b"), name("bob", "a b"));
    }
}
