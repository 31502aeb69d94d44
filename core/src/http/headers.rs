//! HTTP headers from decisions.

use std::cmp::Reverse;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::decision::Decision;
use crate::error::{Error, ErrorKind};

/// The largest number that a structured field can hold (RFC 9651, 3.3.1).
const MAX_INTEGER: u64 = 999_999_999_999_999;

/// A name and its value.
type Header = (&'static str, String);

/// The header fields that state the limits to clients.
///
/// ```
/// use sluicegate::HeaderStyle;
///
/// assert_eq!("x-ratelimit".parse(), Ok(HeaderStyle::XRateLimit));
/// assert_eq!(HeaderStyle::Ietf.name(), "ietf");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HeaderStyle {
    /// `RateLimit-Policy` and `RateLimit`, as draft-ietf-httpapi-ratelimit-headers-10 has them: every rule
    /// that was applied.
    Ietf,
    /// `RateLimit-Policy`, and `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset` (seconds from now) of the rule
    /// that decided, as draft 6 had them.
    IetfDraft6,
    /// `RateLimit-Policy`, and `RateLimit` with limit, remaining and reset (seconds from now) of the rule that decided, as
    /// draft 7 had them.
    IetfDraft7,
    /// As draft 8 had them. What is sent is what draft 10 has.
    IetfDraft8,
    /// `X-RateLimit-Limit`, `X-RateLimit-Remaining` and `X-RateLimit-Reset` of the rule that decided. Reset is a Unix time in
    /// seconds, by this machine's clock, as with GitHub, express-rate-limit and Flask-Limiter.
    XRateLimit,
    /// The same, where `X-RateLimit-Reset` is the seconds from now.
    XRateLimitSeconds,
    /// None but `Retry-After` of a denial.
    None,
}

/// Whether a text can be the name of a header.
#[cfg(feature = "bridge")]
pub fn is_header_name(name: &str) -> bool {
    crate::rules::is_token(name)
}

impl HeaderStyle {
    const ALL: [Self; 7] = [
        Self::Ietf,
        Self::IetfDraft6,
        Self::IetfDraft7,
        Self::IetfDraft8,
        Self::XRateLimit,
        Self::XRateLimitSeconds,
        Self::None,
    ];

    /// `"ietf"`, `"ietf-draft-6"`, `"ietf-draft-7"`, `"ietf-draft-8"`, `"x-ratelimit"`, `"x-ratelimit-seconds"` or `"none"`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ietf => "ietf",
            Self::IetfDraft6 => "ietf-draft-6",
            Self::IetfDraft7 => "ietf-draft-7",
            Self::IetfDraft8 => "ietf-draft-8",
            Self::XRateLimit => "x-ratelimit",
            Self::XRateLimitSeconds => "x-ratelimit-seconds",
            Self::None => "none",
        }
    }
}

impl FromStr for HeaderStyle {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let known = Self::ALL.into_iter().find(|style| style.name() == name);
        let wrong = "style: it has to be \"ietf\", \"ietf-draft-6\", \"ietf-draft-7\", \"ietf-draft-8\", \"x-ratelimit\", \
                     \"x-ratelimit-seconds\" or \"none\"";
        known.ok_or_else(|| Error::new(ErrorKind::InvalidArgument, wrong))
    }
}

impl Decision {
    /// The fields of an answer to the request that was decided on, with `Retry-After` on a denial, unless
    /// the cost can never fit.
    ///
    /// Times are whole seconds, rounded up, and last from now on but for the Unix time of [`HeaderStyle::XRateLimit`]. Rules in shadow are not mentioned: clients are not to heed
    /// them. A decision to which no rule applied has no fields.
    ///
    /// ```
    /// use sluicegate::{HeaderStyle, RateLimiter, Rules};
    ///
    /// let rules = Rules::from_json(
    ///     r#"[{"rule_id": "login", "algorithm": "gcra", "limit": 5, "window_size_seconds": 60}]"#,
    /// )?;
    /// let limiter = RateLimiter::builder("memory://").rules(rules).build()?;
    /// let headers = limiter.check("login", "alice")?.headers(HeaderStyle::Ietf);
    /// assert_eq!(headers[0], ("RateLimit-Policy", r#""login";q=5;w=60"#.to_owned()));
    /// assert_eq!(headers[1], ("RateLimit", r#""login";r=4;t=12"#.to_owned()));
    /// # Ok::<(), sluicegate::Error>(())
    /// ```
    pub fn headers(&self, style: HeaderStyle) -> Vec<(&'static str, String)> {
        let mut headers = match style {
            _ if self.shadow || !self.rule_applied() => Vec::new(),
            HeaderStyle::Ietf | HeaderStyle::IetfDraft8 => self.ietf(),
            HeaderStyle::IetfDraft6 => self.draft_6(),
            HeaderStyle::IetfDraft7 => self.draft_7(),
            HeaderStyle::XRateLimit => self.x_ratelimit(unix_seconds(SystemTime::now(), self.reset_after)),
            HeaderStyle::XRateLimitSeconds => self.x_ratelimit(seconds(self.reset_after)),
            HeaderStyle::None => Vec::new(),
        };
        if !self.allowed && self.retry_after != Duration::MAX {
            headers.push(("Retry-After", seconds(self.retry_after).to_string()));
        }
        headers
    }

    fn ietf(&self) -> Vec<Header> {
        vec![
            ("RateLimit-Policy", self.listed(Self::policy_item)),
            ("RateLimit", self.listed(Self::limit_item)),
        ]
    }

    fn draft_6(&self) -> Vec<Header> {
        vec![
            ("RateLimit-Policy", self.listed(Self::quota_item)),
            ("RateLimit-Limit", integer(self.limit).to_string()),
            ("RateLimit-Remaining", integer(self.remaining).to_string()),
            ("RateLimit-Reset", seconds(self.reset_after).to_string()),
        ]
    }

    fn draft_7(&self) -> Vec<Header> {
        let (limit, remaining, reset) =
            (integer(self.limit), integer(self.remaining), seconds(self.reset_after));
        let figures = format!("limit={limit}, remaining={remaining}, reset={reset}");
        vec![("RateLimit-Policy", self.listed(Self::quota_item)), ("RateLimit", figures)]
    }

    /// An item for every rule that was applied, but those in shadow.
    fn listed(&self, item: fn(&Self) -> String) -> String {
        let parts = if self.parts.is_empty() { std::slice::from_ref(self) } else { &self.parts };
        let shown = once_per_rule(parts.iter().filter(|part| !part.shadow));
        shown.into_iter().map(item).collect::<Vec<_>>().join(", ")
    }

    /// `5;w=60`, without a name, as earlier drafts had it.
    fn quota_item(&self) -> String {
        let window = seconds(self.window);
        let limit = integer(self.limit);
        if window == 0 { limit.to_string() } else { format!("{limit};w={}", integer(window)) }
    }

    /// `"login";q=5;w=60`. A window is optional and at least a second.
    fn policy_item(&self) -> String {
        let item = format!("{};q={}", quoted(&self.rule), integer(self.limit));
        match seconds(self.window) {
            0 => item,
            window => format!("{item};w={}", integer(window)),
        }
    }

    /// `"login";r=4;t=12`. When more will be admitted is left out where it never will.
    fn limit_item(&self) -> String {
        let item = format!("{};r={}", quoted(&self.rule), integer(self.remaining));
        match self.more_after() {
            Duration::MAX => item,
            time => format!("{item};t={}", integer(seconds(time))),
        }
    }

    fn x_ratelimit(&self, reset: u64) -> Vec<Header> {
        vec![
            ("X-RateLimit-Limit", self.limit.to_string()),
            ("X-RateLimit-Remaining", self.remaining.to_string()),
            ("X-RateLimit-Reset", reset.to_string()),
        ]
    }

    /// What a client waits for: until the same cost fits or, where it does, until all of it is back.
    fn more_after(&self) -> Duration {
        if self.retry_after.is_zero() { self.reset_after } else { self.retry_after }
    }
}

/// One part of each rule: of a rule that counts a request under several keys, the one that decides.
fn once_per_rule<'a>(parts: impl Iterator<Item = &'a Decision>) -> Vec<&'a Decision> {
    let mut shown: Vec<&Decision> = Vec::new();
    for part in parts {
        match shown.iter_mut().find(|other| other.rule == part.rule) {
            Some(other) if rank(part) < rank(other) => *other = part,
            Some(_) => {}
            None => shown.push(part),
        }
    }
    shown
}

/// What decides comes first: what waits longest, or else has the least left.
fn rank(part: &Decision) -> (Reverse<Duration>, u64) {
    (Reverse(part.retry_after), part.remaining)
}

/// Whole seconds, rounded up.
pub(super) fn seconds(span: Duration) -> u64 {
    span.as_secs().saturating_add(u64::from(span.subsec_nanos() > 0))
}

/// The Unix time after a span, in whole seconds, rounded up.
fn unix_seconds(now: SystemTime, span: Duration) -> u64 {
    // A clock before 1970 is not set.
    seconds(now.duration_since(UNIX_EPOCH).unwrap_or_default().saturating_add(span))
}

fn integer(number: u64) -> u64 {
    number.min(MAX_INTEGER)
}

/// A string of a structured field: names of rules are visible ASCII, so these two are all there is to
/// escape.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Check, CheckOptions, ManualClock, RateLimiter, Request, Rules};

    const RULES: &str = r#"[
        {"rule_id": "minute", "algorithm": "fixed_window", "limit": 50, "window_size_seconds": 60},
        {"rule_id": "burst", "algorithm": "gcra", "limit": 100, "burst": 10, "window_size_seconds": 60},
        {"rule_id": "short", "algorithm": "sliding_window", "limit": 3, "window_size_seconds": 0.25},
        {"rule_id": "level", "algorithm": "decay", "limit": 4, "resolution_seconds": 1},
        {"rule_id": "trial", "algorithm": "gcra", "limit": 1, "window_size_seconds": 60, "shadow": true},
        {"rule_id": "huge", "algorithm": "fixed_window", "limit": 9007199254740991, "window_size_seconds": 1}
    ]"#;

    fn limiter() -> RateLimiter {
        let rules = Rules::from_json(RULES).unwrap();
        RateLimiter::builder("memory://").rules(rules).clock(ManualClock::new(29_500_000)).build().unwrap()
    }

    fn shown(decision: &Decision, style: HeaderStyle) -> String {
        let headers = decision.headers(style).into_iter();
        headers.map(|(name, value)| format!("{name}: {value}")).collect::<Vec<_>>().join("\n")
    }

    fn of(rule: &str, cost: u64, style: HeaderStyle) -> String {
        shown(&limiter().check_with(rule, "k", CheckOptions::new().cost(cost)).unwrap(), style)
    }

    #[test]
    fn policies_and_what_is_left_of_them() {
        let of = |rule, cost| of(rule, cost, HeaderStyle::Ietf);
        assert_eq!(
            of("minute", 38),
            "RateLimit-Policy: \"minute\";q=50;w=60\nRateLimit: \"minute\";r=12;t=31"
        );
        // A burst of 10 comes back in 6 seconds.
        assert_eq!(of("burst", 3), "RateLimit-Policy: \"burst\";q=10;w=6\nRateLimit: \"burst\";r=7;t=2");
        assert_eq!(of("short", 1), "RateLimit-Policy: \"short\";q=3;w=1\nRateLimit: \"short\";r=2;t=1");
        assert!(of("level", 1).starts_with("RateLimit-Policy: \"level\";q=4\nRateLimit: \"level\";r=3;t="));
        let most = "999999999999999";
        assert_eq!(
            of("huge", 1),
            format!("RateLimit-Policy: \"huge\";q={most};w=1\nRateLimit: \"huge\";r={most};t=1")
        );
    }

    #[test]
    fn a_denial_says_when_to_retry() {
        let limiter = limiter();
        limiter.check_with("minute", "k", CheckOptions::new().cost(50)).unwrap();
        let denied = limiter.check("minute", "k").unwrap();
        let ietf = "RateLimit-Policy: \"minute\";q=50;w=60\nRateLimit: \"minute\";r=0;t=31\nRetry-After: 31";
        assert_eq!(shown(&denied, HeaderStyle::Ietf), ietf);
        let x = "X-RateLimit-Limit: 50\nX-RateLimit-Remaining: 0\nX-RateLimit-Reset: 31\nRetry-After: 31";
        assert_eq!(shown(&denied, HeaderStyle::XRateLimitSeconds), x);
        assert_eq!(shown(&denied, HeaderStyle::None), "Retry-After: 31");
        assert_eq!(of("burst", 3, HeaderStyle::None), "");
    }

    #[test]
    fn earlier_drafts_are_spoken_as_well() {
        let checks = ["minute", "trial", "burst"].map(|rule| Check::new(rule, "k"));
        let decision = limiter().check_all(&checks).unwrap();
        let policy = "RateLimit-Policy: 50;w=60, 10;w=6\n";
        let figures = "RateLimit-Limit: 10\nRateLimit-Remaining: 9\nRateLimit-Reset: 31";
        assert_eq!(shown(&decision, HeaderStyle::IetfDraft6), format!("{policy}{figures}"));
        let figures = "RateLimit: limit=10, remaining=9, reset=31";
        assert_eq!(shown(&decision, HeaderStyle::IetfDraft7), format!("{policy}{figures}"));
        assert_eq!(
            of("level", 5, HeaderStyle::IetfDraft7),
            "RateLimit-Policy: 4\nRateLimit: limit=4, remaining=4, reset=0"
        );
        assert_eq!(shown(&decision, HeaderStyle::IetfDraft8), shown(&decision, HeaderStyle::Ietf));
    }

    #[test]
    fn a_reset_is_a_unix_time_rounded_up() {
        let at = |micros| UNIX_EPOCH + Duration::from_micros(micros);
        assert_eq!(unix_seconds(at(1_700_000_000_000_000), Duration::from_secs(31)), 1_700_000_031);
        assert_eq!(unix_seconds(at(1_700_000_000_600_000), Duration::from_millis(400)), 1_700_000_001);
        assert_eq!(unix_seconds(at(1_700_000_000_600_000), Duration::from_millis(401)), 1_700_000_002);
        assert_eq!(unix_seconds(at(0), Duration::MAX), u64::MAX);
        let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let (before, headers, after) = (now(), of("minute", 50, HeaderStyle::XRateLimit), now());
        let reset: u64 = headers.rsplit(' ').next().unwrap().parse().unwrap();
        assert!((before + 31..=after + 32).contains(&reset), "{headers}");
    }

    #[test]
    fn a_cost_that_never_fits_has_no_retry_time() {
        let ietf = "RateLimit-Policy: \"minute\";q=50;w=60\nRateLimit: \"minute\";r=50";
        assert_eq!(of("minute", 51, HeaderStyle::Ietf), ietf);
        let x = "X-RateLimit-Limit: 50\nX-RateLimit-Remaining: 50\nX-RateLimit-Reset: 0";
        assert_eq!(of("minute", 51, HeaderStyle::XRateLimitSeconds), x);
    }

    #[test]
    fn every_part_is_listed_but_those_in_shadow() {
        let checks = ["minute", "trial", "burst"].map(|rule| Check::new(rule, "k"));
        let decision = limiter().check_all(&checks).unwrap();
        assert_eq!(
            shown(&decision, HeaderStyle::Ietf),
            "RateLimit-Policy: \"minute\";q=50;w=60, \"burst\";q=10;w=6\n\
             RateLimit: \"minute\";r=49;t=31, \"burst\";r=9;t=1"
        );
        assert_eq!(of("trial", 1, HeaderStyle::Ietf), "");
        assert_eq!(of("trial", 1, HeaderStyle::XRateLimit), "");
    }

    #[test]
    fn a_rule_that_counts_several_keys_is_listed_once() {
        let limiter = limiter();
        limiter.check_with("minute", "b", CheckOptions::new().cost(10)).unwrap();
        let checks = ["a", "b", "c"].map(|key| Check::new("minute", key));
        let shown = |decision| shown(&decision, HeaderStyle::Ietf);
        let least = shown(limiter.check_all(&checks).unwrap());
        assert!(least.ends_with("\nRateLimit: \"minute\";r=39;t=31"), "{least}");
        limiter.check_with("minute", "c", CheckOptions::new().cost(49)).unwrap();
        let denied = shown(limiter.check_all(&checks).unwrap());
        assert!(denied.contains("\nRateLimit: \"minute\";r=0;t=31\n"), "{denied}");
    }

    #[test]
    fn without_a_rule_there_is_nothing_to_say() {
        let decision = limiter().check_request(&Request::new("GET", "/")).unwrap();
        assert!(decision.allowed && !decision.rule_applied() && decision.parts.is_empty());
        assert_eq!((decision.limit, decision.remaining), ((1 << 53) - 1, (1 << 53) - 1));
        assert_eq!(shown(&decision, HeaderStyle::Ietf) + &shown(&decision, HeaderStyle::XRateLimit), "");
    }

    #[test]
    fn strings_are_escaped() {
        assert_eq!(quoted(r#"a"b\c"#), r#""a\"b\\c""#);
    }

    #[test]
    fn styles_have_names() {
        for style in HeaderStyle::ALL {
            assert_eq!(style.name().parse(), Ok(style));
        }
        let error = "X-RateLimit".parse::<HeaderStyle>().unwrap_err();
        assert_eq!(
            (error.kind(), error.message()),
            (
                ErrorKind::InvalidArgument,
                "style: it has to be \"ietf\", \"ietf-draft-6\", \"ietf-draft-7\", \"ietf-draft-8\", \"x-ratelimit\", \
                 \"x-ratelimit-seconds\" or \"none\""
            )
        );
    }
}
