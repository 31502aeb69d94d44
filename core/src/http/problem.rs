//! The responses of middleware to denied, invalid and undecided requests: problem details (RFC 9457).

use std::time::Duration;

use serde_json::Value;

use super::headers::{HeaderStyle, seconds};
use crate::decision::Decision;

/// A complete HTTP response of middleware: problem details (RFC 9457), or a status of gRPC.
#[cfg_attr(not(feature = "bridge"), allow(unreachable_pub, reason = "for bindings"))]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The status: 429, 400, 500 or 503; to a client of gRPC always 200.
    pub status: u16,
    /// The reason phrase of the status.
    pub title: &'static str,
    /// Names and values. `Content-Length` is left to the framework.
    pub headers: Vec<(&'static str, String)>,
    /// What is wrong, in a sentence.
    pub detail: String,
    /// JSON; to a client of gRPC empty.
    pub body: String,
}

#[cfg_attr(not(feature = "bridge"), allow(unreachable_pub, reason = "for bindings"))]
impl Problem {
    /// The response to a denied request.
    pub fn denied(decision: &Decision, style: HeaderStyle) -> Self {
        let mut problem =
            Self::new(429, "Too Many Requests", when(decision.retry_after), Some(&decision.rule));
        problem.headers.extend(decision.headers(style));
        problem
    }

    /// The response to an invalid request: `message` is that of its `InvalidArgument`.
    pub fn invalid(message: &str) -> Self {
        Self::new(400, "Bad Request", message.to_owned(), None)
    }

    /// The response when the limiter could not decide. Log the reason; do not send it to the client.
    pub fn undecided() -> Self {
        let detail = "The rate limiter is unavailable; try again.";
        Self::new(503, "Service Unavailable", detail.to_owned(), None)
    }

    /// The response when a function of the application made a mistake. Log which one.
    #[cfg(feature = "tower")]
    pub(crate) fn failed() -> Self {
        let detail = "The request could not be decided, by a mistake of this service.";
        Self::new(500, "Internal Server Error", detail.to_owned(), None)
    }

    fn new(status: u16, title: &'static str, detail: String, rule: Option<&str>) -> Self {
        // Written by hand for the order of the members, which people read.
        let mut all = format!(
            r#""type":"about:blank","title":"{title}","status":{status},"detail":{}"#,
            Value::from(&*detail)
        );
        if let Some(rule) = rule {
            all.push_str(&format!(r#","rule":{}"#, Value::from(rule)));
        }
        // For one client, and for now.
        let headers = [("Content-Type", "application/problem+json"), ("Cache-Control", "no-store")];
        let headers = headers.map(|(name, value)| (name, value.to_owned())).to_vec();
        Self { status, title, headers, detail, body: format!("{{{all}}}") }
    }
}

fn when(retry_after: Duration) -> String {
    match seconds(retry_after) {
        _ if retry_after == Duration::MAX => "This is never admitted.".to_owned(),
        1 => "Try again in 1 second.".to_owned(),
        seconds => format!("Try again in {seconds} seconds."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn denied(retry_after: Duration) -> Problem {
        let mut decision = Decision::blank();
        (decision.allowed, decision.rule, decision.limit) = (false, "orders".into(), 3);
        decision.retry_after = retry_after;
        Problem::denied(&decision, HeaderStyle::XRateLimit)
    }

    #[test]
    fn a_denial_has_the_headers_of_the_decision() {
        let Problem { status, title, headers, body, .. } = denied(Duration::from_micros(1_000_001));
        assert_eq!((status, title), (429, "Too Many Requests"));
        assert_eq!(headers[0], ("Content-Type", "application/problem+json".to_owned()));
        assert_eq!(headers[1], ("Cache-Control", "no-store".to_owned()));
        assert_eq!(headers.last().unwrap(), &("Retry-After", "2".to_owned()));
        let members = r#""status":429,"detail":"Try again in 2 seconds.","rule":"orders""#;
        assert_eq!(body, format!(r#"{{"type":"about:blank","title":"Too Many Requests",{members}}}"#));
    }

    #[test]
    fn a_denied_client_gets_the_retry_time() {
        let detail = |wait| {
            let problem: Value = serde_json::from_str(&denied(wait).body).unwrap();
            problem["detail"].as_str().unwrap().to_owned()
        };
        assert_eq!(detail(Duration::from_micros(1)), "Try again in 1 second.");
        assert_eq!(detail(Duration::MAX), "This is never admitted.");
    }

    #[test]
    fn texts_are_escaped() {
        let Problem { body, .. } = Problem::invalid("path \"\u{e9}\n\" has to be");
        assert!(body.ends_with(",\"detail\":\"path \\\"\u{e9}\\n\\\" has to be\"}"), "{body}");
    }
}
