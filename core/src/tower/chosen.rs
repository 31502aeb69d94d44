//! The rules of a request where the application chooses some of them, or says what it costs or what the limit is.

use std::borrow::Cow;
use std::sync::Arc;

use http::request::Parts;

use super::answer::{Find, find};
use super::common::Common;
use super::keys::{Keys, NoAddress, NoKey};
use super::named::{self, mistake};
use super::refusal::Refusal;
use crate::rules::{Rule, Rules};
use crate::{AsyncRateLimiter, Check, Request, RequestMatch, Reservation};

/// Which rules may be applied.
#[derive(Clone)]
pub(super) enum Names {
    /// Those that match.
    All,
    These(Arc<[String]>),
    /// Those that a function names, or all.
    By(Find<Vec<String>>),
}

impl Names {
    /// The names for a request; `None`: all rules that match.
    async fn of(&self, parts: &Parts) -> Result<Option<Cow<'_, [String]>>, Refusal> {
        match self {
            Self::All => Ok(None),
            Self::These(names) => Ok(Some(Cow::Borrowed(names))),
            Self::By(function) => match find(&Some(Arc::clone(function)), parts).await {
                Some(names) if names.is_empty() => Err(no_names()),
                names => Ok(names.map(Cow::Owned)),
            },
        }
    }
}

/// An empty list of names would leave the request unlimited.
fn no_names() -> Refusal {
    let wrong =
        "rules_by returned an empty list (return `None` for all rules that match; `skip` exempts requests)";
    Refusal::Broken(wrong.to_owned())
}

/// Decides a request whose user is known; `None` where no rule is to be applied.
pub(super) async fn decide(
    limiter: &AsyncRateLimiter,
    (common, names): (&Common, &Names),
    (request, parts): (&Request<'_>, &Parts),
) -> Result<Option<Reservation>, Refusal> {
    let (cost, limit) = (common.cost(parts).await?, common.limit(parts).await?);
    let names = names.of(parts).await?;
    let in_force = limiter.rules();
    let mut chosen = matching(limiter.match_request(request)?, &in_force, names.as_deref());
    let mut keys = Keys::new(common, NoAddress::Shared, parts).of_user(request.user_id);
    for name in names.iter().flat_map(|names| names.iter()) {
        let rule = in_force.find(name).map_err(mistake)?;
        if rule.matches.is_none() {
            chosen.extend(unmatched(rule, &mut keys).await?);
        }
    }
    if chosen.is_empty() {
        return Ok(None);
    }
    chosen.sort_by_key(|(rule, _)| rule.priority);
    let (rules, matches): (Vec<_>, Vec<_>) = chosen.into_iter().unzip();
    let checks: Vec<Check<'_>> = matches
        .iter()
        .map(|found| {
            let mut check = found.check(None);
            check.options.cost = cost.unwrap_or(check.options.cost);
            check.options.limit = limit;
            check
        })
        .collect();
    named::decide(limiter, &rules, &checks).await.map(Some)
}

/// The rules that match and may be applied.
fn matching(
    matches: Vec<RequestMatch>,
    in_force: &Rules,
    names: Option<&[String]>,
) -> Vec<(Arc<Rule>, RequestMatch)> {
    let may_be = |id: &str| names.is_none_or(|names| names.iter().any(|name| name == id));
    let chosen = matches.into_iter().filter(|found| may_be(&found.rule_id));
    // One that has just been removed is not applied any more.
    chosen.filter_map(|found| Some((Arc::clone(in_force.get(&found.rule_id)?), found))).collect()
}

/// A rule that is named and matches no requests by itself.
async fn unmatched(
    rule: &Arc<Rule>,
    keys: &mut Keys<'_>,
) -> Result<Option<(Arc<Rule>, RequestMatch)>, Refusal> {
    match keys.of(rule).await {
        Ok(key) => {
            let found = RequestMatch { rule_id: rule.id.clone(), key, resource: None, cost: rule.cost };
            Ok(Some((Arc::clone(rule), found)))
        }
        Err(NoKey::Exempt) => Ok(None),
        Err(NoKey::Refused(refusal)) => Err(refusal),
    }
}
