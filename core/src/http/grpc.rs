//! Answers of middleware to clients of gRPC. They take any status of HTTP but 200 for a broken server: a 429 is `UNAVAILABLE`,
//! which many retry at once.

use super::problem::Problem;
use crate::rules::is_token;

/// What a call of gRPC is denied with: a quota is used up.
const RESOURCE_EXHAUSTED: u8 = 8;
const INVALID_ARGUMENT: u8 = 3;
const INTERNAL: u8 = 13;
const UNAVAILABLE: u8 = 14;

#[cfg_attr(not(feature = "bridge"), allow(unreachable_pub, reason = "for bindings"))]
impl Problem {
    /// This answer, for a POST with this `Content-Type`: where that is gRPC's, a status of gRPC with 200 and without a body (what
    /// the protocol calls trailers-only), or else problem details. The headers of the decision are metadata.
    pub fn for_content_type(self, content_type: Option<&str>) -> Self {
        let Some(answered) = content_type.and_then(answered_type) else { return self };
        let status = match self.status {
            429 => RESOURCE_EXHAUSTED,
            400 => INVALID_ARGUMENT,
            500 => INTERNAL,
            _ => UNAVAILABLE,
        };
        let of_decision = self.headers.into_iter().filter(|(name, _)| *name != "Content-Type");
        let mut headers = vec![
            ("Content-Type", answered),
            ("grpc-status", status.to_string()),
            ("grpc-message", percent_encoded(&self.detail)),
        ];
        headers.extend(of_decision);
        Self { status: 200, title: "OK", headers, detail: self.detail, body: String::new() }
    }
}

/// The type of the answer to a request of this type; `None` where it is not one of gRPC. Clients of gRPC-Web get their own type.
fn answered_type(content_type: &str) -> Option<String> {
    let media_type = content_type.split(';').next()?.trim().to_ascii_lowercase();
    let rest = media_type.strip_prefix("application/grpc")?;
    match rest.as_bytes() {
        [] | [b'+', ..] => Some("application/grpc".to_owned()),
        _ if rest.starts_with("-web") && is_token(rest) => Some(media_type),
        _ => None,
    }
}

/// A message as `grpc-message` has it: visible ASCII and spaces, all else as the percent-encoded bytes of UTF-8.
fn percent_encoded(message: &str) -> String {
    let mut encoded = String::with_capacity(message.len());
    for byte in message.bytes() {
        match byte {
            b' '..=b'~' if byte != b'%' => encoded.push(char::from(byte)),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{Decision, HeaderStyle};

    fn denied() -> Problem {
        let mut decision = Decision::unruled(crate::Source::Memory);
        (decision.allowed, decision.rule, decision.limit) = (false, "orders".into(), 3);
        decision.retry_after = Duration::from_secs(2);
        Problem::denied(&decision, HeaderStyle::XRateLimit)
    }

    fn header(problem: &Problem, name: &str) -> Option<String> {
        problem.headers.iter().find(|(found, _)| *found == name).map(|(_, value)| value.clone())
    }

    #[test]
    fn a_denied_call_gets_a_status_of_its_protocol() {
        let answer = denied().for_content_type(Some("application/grpc"));
        assert_eq!((answer.status, answer.title, answer.body.as_str()), (200, "OK", ""));
        let of = |name| header(&answer, name);
        assert_eq!(of("Content-Type").as_deref(), Some("application/grpc"));
        assert_eq!(of("grpc-status").as_deref(), Some("8"));
        assert_eq!(of("grpc-message").as_deref(), Some("Try again in 2 seconds."));
        assert_eq!(
            (of("Retry-After").as_deref(), of("X-RateLimit-Limit").as_deref()),
            (Some("2"), Some("3"))
        );
        assert_eq!(answer.headers.iter().filter(|(name, _)| *name == "Content-Type").count(), 1);
    }

    #[test]
    fn each_problem_has_its_status() {
        let status = |problem: Problem| {
            header(&problem.for_content_type(Some("application/grpc+proto")), "grpc-status").unwrap()
        };
        assert_eq!(
            (status(Problem::undecided()), status(Problem::invalid("path"))),
            ("14".into(), "3".into())
        );
    }

    #[test]
    fn others_get_problem_details() {
        let types = [
            "application/json",
            "application/grpcx",
            "text/plain; application/grpc",
            "",
            "application/grpc-x",
        ];
        for content_type in types.map(Some).into_iter().chain([None]) {
            assert_eq!(denied().for_content_type(content_type), denied(), "{content_type:?}");
        }
    }

    #[test]
    fn the_type_of_the_answer_is_that_of_the_protocol() {
        for (asked, answered) in [
            ("application/grpc+proto", "application/grpc"),
            ("Application/gRPC; charset=utf-8", "application/grpc"),
            ("application/grpc-web", "application/grpc-web"),
            ("application/grpc-web-text+proto; a=b", "application/grpc-web-text+proto"),
        ] {
            assert_eq!(answered_type(asked).as_deref(), Some(answered));
        }
        assert_eq!(answered_type("application/grpc-web\r\nx: y"), None);
    }

    #[test]
    fn a_message_is_visible_ascii() {
        assert_eq!(percent_encoded("100% \u{e9}\n~"), "100%25 %C3%A9%0A~");
    }
}
