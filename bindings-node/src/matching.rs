//! Which rules a request chooses, as JavaScript receives it.

use napi_derive::napi;
use sluicegate::{AsyncRateLimiter, Explanation, Request, RequestMatch, Result};

/// A rule that applies to a request or, where all are explained, may not.
#[napi(object, object_from_js = false)]
pub struct Match {
    /// The rule's name.
    pub rule_id: String,
    /// Whether it applies; only where all are explained.
    pub matched: Option<bool>,
    /// Who is counted.
    pub key: Option<String>,
    /// The resource that is used.
    pub resource: Option<String>,
    /// Why it applies or not; only where all are explained.
    pub reason: Option<String>,
}

pub(crate) fn matches(
    limiter: &AsyncRateLimiter,
    request: &Request<'_>,
    explain: bool,
) -> Result<Vec<Match>> {
    if explain {
        Ok(limiter.explain_request(request)?.into_iter().map(Match::from).collect())
    } else {
        Ok(limiter.match_request(request)?.into_iter().map(Match::from).collect())
    }
}

impl From<RequestMatch> for Match {
    fn from(it: RequestMatch) -> Self {
        let rule_id = it.rule_id.to_string();
        Self { rule_id, matched: None, key: Some(it.key), resource: it.resource, reason: None }
    }
}

impl From<Explanation> for Match {
    fn from(it: Explanation) -> Self {
        let rule_id = it.rule_id.to_string();
        let (matched, reason) = (Some(it.matched), Some(it.reason));
        Self { rule_id, matched, key: it.key, resource: it.resource, reason }
    }
}
