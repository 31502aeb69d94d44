//! What a route states: rates, names of rules, rules.

use crate::rules::RuleBuilder;

/// A limit of a route: a rate, such as `5/minute`, the name of a rule of the limiter, or a rule.
#[derive(Debug, Clone, PartialEq)]
pub struct RouteLimit(pub(super) Stated);

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Stated {
    Rate(String),
    Name(String),
    Rule(RuleBuilder),
}

impl From<&str> for RouteLimit {
    fn from(text: &str) -> Self {
        let text = text.trim();
        Self(if is_rate(text) {
            Stated::Rate(text.split_whitespace().collect())
        } else {
            Stated::Name(text.to_owned())
        })
    }
}

impl From<RuleBuilder> for RouteLimit {
    fn from(rule: RuleBuilder) -> Self {
        Self(Stated::Rule(rule))
    }
}

/// Whether it begins as a rate does, and no name of a rule that anybody would give: `5/minute`.
fn is_rate(text: &str) -> bool {
    let after =
        text.trim_start_matches(|character: char| character.is_ascii_digit() || "_ ".contains(character));
    text.starts_with(|character: char| character.is_ascii_digit()) && after.starts_with('/')
}

/// The limits of a route. Several are decided together: all of them admit a request, or none is charged.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits(pub(super) Vec<Stated>);

impl From<&str> for Limits {
    fn from(limit: &str) -> Self {
        Self::from([limit])
    }
}

impl From<RuleBuilder> for Limits {
    fn from(rule: RuleBuilder) -> Self {
        Self::from([rule])
    }
}

impl<T: Into<RouteLimit>, const N: usize> From<[T; N]> for Limits {
    fn from(limits: [T; N]) -> Self {
        Self(limits.into_iter().map(|limit| limit.into().0).collect())
    }
}

impl<T: Into<RouteLimit>> From<Vec<T>> for Limits {
    fn from(limits: Vec<T>) -> Self {
        Self(limits.into_iter().map(|limit| limit.into().0).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_a_rate_or_the_name_of_a_rule() {
        for rate in ["5/minute", " 1_000 / hour", "5/", "10/30s"] {
            assert!(matches!(RouteLimit::from(rate).0, Stated::Rate(_)), "{rate}");
        }
        for name in ["login", "a/b", "/5", "5", "5x/minute", ""] {
            assert!(matches!(RouteLimit::from(name).0, Stated::Name(_)), "{name}");
        }
        assert_eq!(RouteLimit::from(" 1_000 / hour").0, Stated::Rate("1_000/hour".to_owned()));
    }
}
