//! Plans of calls that may be repeated.

use super::repeat::{RequestRecord, Statement, not_repeatable};
use super::{Form, Op, Plan, Target, nothing_to};
use crate::algorithm::Terms;
use crate::catalog::Catalog;
use crate::error::Result;
use crate::request::Check;

impl<'a> Plan<'a> {
    /// [`new`](Self::new) for a call that has an id, or may have one.
    pub(crate) fn repeatable(
        catalog: &'a Catalog,
        checks: &[Check<'a>],
        (op, form): (Op, Form),
        id: Option<&'a str>,
    ) -> Result<Self> {
        let mut plan = Self::new(catalog, checks, op);
        if let (Ok(plan), Some(id)) = (&mut plan, id) {
            plan.request = Some(Box::new(record(catalog, checks, (op, form), id)?));
        }
        plan
    }

    /// Takes note that the answer is that of an earlier call, on these terms of its limits.
    pub(super) fn answered_on(&self, terms: &[Terms]) -> bool {
        self.charges.iter().zip(terms).all(|(charge, terms)| charge.answered_on(*terms))
    }
}

fn record<'a>(
    catalog: &'a Catalog,
    checks: &[Check<'a>],
    (op, form): (Op, Form),
    id: &'a str,
) -> Result<RequestRecord<'a>> {
    let targets = checks.iter().map(|check| Target::new(catalog, check)).collect::<Result<Vec<_>>>()?;
    let mut statement = Statement::of(op.name(), form == Form::WithParts);
    for Target { rule, tag, member, cost, limit, .. } in &targets {
        statement.add_item(rule, (tag, member.as_deref()), *cost, *limit);
    }
    let Some(Target { rule, tag, member, .. }) = targets.into_iter().next() else {
        return Err(nothing_to(Op::Check));
    };
    if !matches!(op, Op::Check | Op::Charge | Op::Refund) {
        return Err(not_repeatable(rule));
    }
    RequestRecord::new(rule, (tag, member), id, statement.fingerprint())
}

#[cfg(test)]
mod tests {
    use super::super::repeat::Fingerprint;
    use super::*;
    use crate::catalog::Share;
    use crate::keys::secret::SecretNames;
    use crate::request::CheckOptions;
    use crate::rules::Rules;

    const RULES: &str = r#"[
        {"rule_id": "a", "rate": "5/minute"},
        {"rule_id": "b", "rate": "5/minute"},
        {"rule_id": "p", "algorithm": "fixed_window",
         "limits": [{"limit": 5, "window_size_seconds": 60, "scope": "resource"}]}
    ]"#;

    fn fingerprint_of(checks: &[Check<'_>], op: Op, form: Form) -> Fingerprint {
        let catalog =
            Catalog::new(Rules::from_json(RULES).unwrap(), SecretNames::default(), Share::default());
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
    fn what_the_answer_of_a_script_consists_of_tells_calls_apart() {
        let fields = ["", r#", "block": {}"#, r#", "overrides": true"#, r#", "reservations": true"#];
        let fingerprints = fields.map(|field| {
            let rules = format!(r#"[{{"rule_id": "a", "rate": "5/minute"{field}}}]"#);
            let catalog =
                Catalog::new(Rules::from_json(&rules).unwrap(), SecretNames::default(), Share::default());
            let check = [Check::new("a", "k")];
            let plan = Plan::repeatable(&catalog, &check, (Op::Check, Form::Single), Some("id")).unwrap();
            plan.request.unwrap().fingerprint
        });
        let [plain, block, overrides, reservations] = fingerprints;
        assert!(plain != block && plain != reservations && block != reservations);
        assert_eq!(block, overrides);
    }

    #[test]
    fn no_id_is_the_name_of_a_state() {
        let catalog =
            Catalog::new(Rules::from_json(RULES).unwrap(), SecretNames::default(), Share::default());
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
