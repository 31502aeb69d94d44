//! The rules by which a route is limited: some are stated there, others are in the file.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use http::Method;
use serde_json::{Map, Value};

use super::naming::rule_name;
use super::options::Options;
use super::stated::{Limits, Stated};
use crate::rules::{Identifier, Rule, RuleBuilder, Rules};
use crate::{AsyncRateLimiter, Error, ErrorKind, Result};

/// The template of requests that no route matches.
const UNMATCHED: &str = "404";

/// What a route states; none where it is the name of a rule, which may change.
type Made = Option<Arc<Rule>>;

/// The rules of a route.
pub(super) struct RouteRules {
    stated: Vec<Stated>,
    /// By the template of the route: one layer may serve several.
    made: ArcSwap<HashMap<String, Arc<[Made]>>>,
}

impl RouteRules {
    /// What is not valid is an error now rather than with the first request.
    pub(super) fn new(limits: Limits, options: &Options) -> Result<Self> {
        let Limits(stated) = limits;
        if stated.is_empty() {
            let missing = "a limit is missing (state a rate such as \"5/minute\", or the name of a rule)";
            return Err(Error::new(ErrorKind::InvalidArgument, missing));
        }
        let in_force = options.limiter.rules();
        for each in &stated {
            match each {
                Stated::Name(name) => drop(named(&in_force, name, options)?),
                Stated::Rate(_) if options.template.is_none() && options.shared.is_none() => {
                    let unknown = "template: a rate is limited by route, whose template is not known (set \
                                   RouteLimits::template or RouteLimits::shared)";
                    return Err(Error::new(ErrorKind::InvalidArgument, unknown));
                }
                Stated::Rate(_) | Stated::Rule(_) => {
                    let rule = first(&rule(each, "/", options)?)?;
                    ensure_fit(&rule)?;
                }
            }
        }
        Ok(Self { stated, made: ArcSwap::default() })
    }

    /// The rules for a request. Those that are stated here are added to the limiter first.
    pub(super) fn of(
        &self,
        method: &Method,
        template: Option<&str>,
        options: &Options,
    ) -> Result<Vec<Arc<Rule>>> {
        let place = place(method, template.unwrap_or(UNMATCHED), options);
        let known = self.made.load().get(&*place).cloned();
        let made = match known {
            Some(made) => made,
            None => self.make(&place, options)?,
        };
        if made.iter().all(Option::is_some) {
            return Ok(made.iter().flatten().cloned().collect());
        }
        let in_force = options.limiter.rules();
        let rules = made.iter().zip(&self.stated).map(|(made, stated)| match (made, stated) {
            (Some(rule), _) => Ok(Arc::clone(rule)),
            (None, Stated::Name(name)) => named(&in_force, name, options),
            (None, _) => Err(Error::new(ErrorKind::InvalidRule, "a rule of the route is not made")),
        });
        rules.collect()
    }

    fn make(&self, place: &str, options: &Options) -> Result<Arc<[Made]>> {
        let made = self.stated.iter().map(|stated| match stated {
            Stated::Name(_) => Ok(None),
            stated => added(&options.limiter, &rule(stated, place, options)?).map(Some),
        });
        let made = made.collect::<Result<Arc<[Made]>>>()?;
        self.made.rcu(|known| {
            let mut known = HashMap::clone(known);
            known.insert(place.to_owned(), Arc::clone(&made));
            known
        });
        Ok(made)
    }
}

/// What shares a rate: all methods of a route, unless options say otherwise. HEAD counts with GET.
fn place<'a>(method: &Method, template: &'a str, options: &'a Options) -> Cow<'a, str> {
    match &options.shared {
        Some(shared) => Cow::Borrowed(shared),
        None if options.per_method => {
            let method = if method == Method::HEAD { &Method::GET } else { method };
            Cow::Owned(format!("{method} {template}"))
        }
        None => Cow::Borrowed(template),
    }
}

/// The rule that is stated, alone in its set.
fn rule(stated: &Stated, place: &str, options: &Options) -> Result<Rules> {
    let count = options.common.count.word();
    let reserved = |rule: RuleBuilder| if count.is_some() { rule.reservations(true) } else { rule };
    match stated {
        Stated::Rule(rule) => Rules::build([reserved(rule.clone())]),
        Stated::Rate(rate) => {
            let words = [&*options.name, place].into_iter().chain(count).chain([&**rate]);
            let mut fields = Map::new();
            fields.insert("rule_id".to_owned(), rule_name(words).into());
            fields.insert("rate".to_owned(), rate.as_str().into());
            if count.is_some() {
                fields.insert("reservations".to_owned(), true.into());
            }
            Rules::from_json(&Value::from(vec![Value::Object(fields)]).to_string())
        }
        Stated::Name(name) => options.limiter.rules().find(name).map(|_| Rules::default()),
    }
}

fn first(rules: &Rules) -> Result<Arc<Rule>> {
    let missing = || Error::new(ErrorKind::InvalidRule, "a limit of the route is no rule");
    rules.iter().next().cloned().ok_or_else(missing)
}

/// Adds a rule to a limiter, unless another layer has stated the same.
fn added(limiter: &AsyncRateLimiter, rules: &Rules) -> Result<Arc<Rule>> {
    let rule = first(rules)?;
    match limiter.add_rules(rules) {
        Err(error) if limiter.rules().get(&rule.id) != Some(&rule) => Err(error),
        _ => Ok(rule),
    }
}

/// A rule of the file. Without reservations it would charge every request, whatever its response.
fn named(in_force: &Rules, name: &str, options: &Options) -> Result<Arc<Rule>> {
    let rule = in_force.find(name)?;
    if options.common.count.word().is_some() && rule.lease_us.is_none() {
        let wrong = format!(
            "rule \"{name}\": count by the response needs reservations (add \"reservations\": true to the rule)"
        );
        return Err(Error::new(ErrorKind::InvalidRule, wrong));
    }
    ensure_fit(rule)?;
    Ok(Arc::clone(rule))
}

/// Names in path patterns are known only where rules match requests.
fn ensure_fit(rule: &Rule) -> Result<()> {
    let is_of_path = |identifier: &Identifier| matches!(identifier, Identifier::Path(_));
    let is_wrong = match &rule.identifier_type {
        Some(Identifier::Composite(parts)) => parts.iter().any(is_of_path),
        Some(identifier) => is_of_path(identifier),
        None => false,
    };
    if !is_wrong {
        return Ok(());
    }
    let wrong = format!(
        "rule \"{}\": its key is a part of the path, which a route does not know (use RouteLimits::key and a rule without \
         \"identifier_type\")",
        rule.id
    );
    Err(Error::new(ErrorKind::InvalidRule, wrong))
}
