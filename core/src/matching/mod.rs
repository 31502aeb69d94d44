//! Which rules a request chooses, and for whom.

mod conditions;
mod facts;
mod failure;
mod index;
mod path;
mod pattern;
mod request;
mod source;
mod subnet;
#[cfg(test)]
mod tests;

use conditions::{Conditions, Counted};
use facts::{Facts, HeaderNames};
use index::Index;

pub(crate) use path::{Reading, decoded};
pub use request::Request;
pub(crate) use subnet::Subnet;

use crate::error::Result;
use crate::request::{Check, CheckOptions};
use crate::rules::{RuleId, Rules};

/// A rule that applies to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequestMatch {
    /// The rule's name.
    pub rule_id: RuleId,
    /// Who is counted.
    pub key: String,
    /// The resource that is used, for a rule that limits one.
    pub resource: Option<String>,
}

impl RequestMatch {
    pub(crate) fn check(&self) -> Check<'_> {
        let mut options = CheckOptions::new();
        options.resource = self.resource.as_deref();
        Check::new(&self.rule_id, &self.key).with(options)
    }
}

/// What a rule has to do with a request.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Explanation {
    /// The rule's name.
    pub rule_id: RuleId,
    /// Whether the rule applies.
    pub matched: bool,
    /// Who is counted, when it applies.
    pub key: Option<String>,
    /// The resource that is used, when it applies and limits one.
    pub resource: Option<String>,
    /// The first condition that does not hold, beginning with the field that states it; or
    /// `every condition holds`.
    pub reason: String,
}

/// All rules of a set, made ready for requests.
#[derive(Debug)]
pub(crate) struct Matcher {
    /// In order of priority, then of the file.
    rules: Vec<Conditions>,
    names: HeaderNames,
    index: Index,
}

impl Matcher {
    pub(crate) fn new(rules: &Rules) -> Self {
        let mut names = HeaderNames::default();
        let mut rules: Vec<_> = rules.iter().map(|rule| Conditions::new(rule, &mut names)).collect();
        rules.sort_by_key(|conditions| conditions.rule.priority);
        Self { index: Index::new(&rules), rules, names }
    }

    /// The rules that apply, in order of priority, then of their file.
    pub(crate) fn matches(&self, request: &Request<'_>) -> Result<Vec<RequestMatch>> {
        let facts = Facts::new(request, &self.names)?;
        let apply = |number| {
            let conditions = &self.rules[number as usize];
            let Counted { key, resource } = conditions.apply(&facts).ok()?;
            Some(RequestMatch { rule_id: conditions.rule.id.clone(), key, resource })
        };
        Ok(self.index.candidates(&facts).into_iter().filter_map(apply).collect())
    }

    /// What every rule has to do with the request, in the same order.
    pub(crate) fn explain(&self, request: &Request<'_>) -> Result<Vec<Explanation>> {
        let facts = Facts::new(request, &self.names)?;
        Ok(self.rules.iter().map(|conditions| explain(conditions, &facts)).collect())
    }
}

fn explain(conditions: &Conditions, facts: &Facts<'_>) -> Explanation {
    let rule_id = conditions.rule.id.clone();
    match conditions.apply(facts) {
        Ok(Counted { key, resource }) => {
            Explanation { rule_id, matched: true, key: Some(key), resource, reason: failure::NONE.to_owned() }
        }
        Err(failure) => Explanation {
            rule_id,
            matched: false,
            key: None,
            resource: None,
            reason: failure.reason(conditions, facts),
        },
    }
}
