//! Which routes lose their last rule when other rules take effect.

use std::collections::HashSet;

use super::pattern::Pattern;
use crate::rules::{Match, Rules};
use crate::text::spelling::canonical;

/// Of so many routes whose own rule is gone it is found out whether another rule matches them.
const MOST_COMPARED: usize = 100;

/// A pattern that stands for every path.
const EVERY_PATH: &str = "/*";

/// The routes that rules matched before and none matches after, such as `POST /login`. Of rules only paths and methods are
/// compared, so a rule with other conditions counts as one for its whole route.
pub(crate) fn uncovered(before: &Rules, after: &Rules) -> Vec<String> {
    let kept: HashSet<Route<'_>> = routes(after).collect();
    let mut seen = HashSet::new();
    let lost = routes(before).filter(|route| !kept.contains(route) && seen.insert(route.clone()));
    let lost: Vec<_> = lost.take(MOST_COMPARED).collect();
    if lost.is_empty() {
        return Vec::new();
    }
    let matching: Vec<_> = kept.iter().map(|route| (route, Pattern::new(route.path))).collect();
    let is_matched = |lost: &Route<'_>| {
        let path = canonical(lost.path);
        matching.iter().any(|(route, pattern)| route.has_methods_of(lost) && pattern.matches(&path))
    };
    lost.iter().filter(|route| !is_matched(route)).map(Route::name).collect()
}

/// A path pattern with one method, or with all.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Route<'a> {
    path: &'a str,
    method: Option<&'a str>,
}

impl Route<'_> {
    /// A route of all methods has still a rule if one of them has.
    fn has_methods_of(&self, other: &Self) -> bool {
        self.method.is_none() || other.method.is_none() || self.method == other.method
    }

    fn name(&self) -> String {
        self.method.map_or_else(|| self.path.to_owned(), |method| format!("{method} {}", self.path))
    }
}

fn routes(rules: &Rules) -> impl Iterator<Item = Route<'_>> {
    rules.iter().flat_map(|rule| rule.matches.iter().flat_map(routes_of))
}

fn routes_of(stated: &Match) -> Vec<Route<'_>> {
    let path = stated.path_pattern.as_deref().unwrap_or(EVERY_PATH);
    if stated.methods.is_empty() {
        return vec![Route { path, method: None }];
    }
    stated.methods.iter().map(|method| Route { path, method: Some(method) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(matches: &[&str]) -> Rules {
        let rule = |(at, stated): (usize, &&str)| {
            format!(r#"{{"rule_id": "{at}", "rate": "1/s", "identifier_type": "global", "match": {stated}}}"#)
        };
        let rules: Vec<_> = matches.iter().enumerate().map(rule).collect();
        Rules::from_json(&format!("[{}]", rules.join(","))).unwrap()
    }

    fn lost(before: &[&str], after: &[&str]) -> Vec<String> {
        uncovered(&rules(before), &rules(after))
    }

    #[test]
    fn a_route_without_a_rule_is_named_once() {
        let login = r#"{"path_pattern": "/login", "methods": ["POST"]}"#;
        let orders = r#"{"path_pattern": "/orders/{id}"}"#;
        assert_eq!(lost(&[login, orders, orders], &[]), ["POST /login", "/orders/{id}"]);
        assert_eq!(lost(&[login, orders], &[orders]), ["POST /login"]);
        assert_eq!(lost(&[login, login, orders], &[login]), ["/orders/{id}"]);
        assert_eq!(lost(&[r#"{"methods": ["POST"]}"#], &[login]), ["POST /*"]);
    }

    #[test]
    fn a_route_that_another_rule_matches_is_not_lost() {
        let login = r#"{"path_pattern": "/log%69n", "methods": ["POST"]}"#;
        for other in
            ["{}", r#"{"path_pattern": "*"}"#, r#"{"path_pattern": "/l*", "methods": ["POST", "PUT"]}"#]
        {
            assert_eq!(lost(&[login], &[other]), [""; 0], "{other}");
        }
        assert_eq!(
            lost(&[r#"{"path_pattern": "/a"}"#], &[r#"{"path_pattern": "/*", "methods": ["PUT"]}"#]),
            [""; 0]
        );
        assert_eq!(lost(&[login], &[r#"{"methods": ["GET"]}"#]), ["POST /log%69n"]);
        assert_eq!(lost(&["{}"], &[r#"{"path_pattern": "*"}"#]), [""; 0]);
    }

    #[test]
    fn other_conditions_leave_a_route_its_rule() {
        let path = r#""path_pattern": "/a""#;
        let narrower = format!(r#"{{{path}, "requires_authentication": true}}"#);
        assert_eq!(lost(&[&format!("{{{path}}}")], &[&narrower]), [""; 0]);
    }
}
