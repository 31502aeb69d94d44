//! Decisions as a person, or a program, reads them.

use std::io::{self, Write};
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use humantime::format_duration;
use serde_json::{Value, json};
use sluicegate::Decision;

use crate::args::One;

const ADMITTED: Style = AnsiColor::Green.on_default();
const DENIED: Style = AnsiColor::Red.on_default();
const SHADOW: Style = AnsiColor::Yellow.on_default();

/// How the decisions of one command are shown.
pub(crate) struct Show<'a> {
    args: &'a One,
    /// Digits of the largest number of a check; 0 when there is only one.
    digits: usize,
}

impl<'a> Show<'a> {
    pub(crate) fn new(args: &'a One, times: u64) -> Self {
        Self { args, digits: if times > 1 { times.to_string().len() } else { 0 } }
    }

    pub(crate) fn decision(&self, out: &mut impl Write, number: u64, decision: &Decision) -> io::Result<()> {
        if self.args.json {
            return writeln!(out, "{}", self.object(decision));
        }
        if self.digits > 0 {
            write!(out, "{number:>width$}  ", width = self.digits)?;
        }
        writeln!(out, "{}", line(decision))
    }

    pub(crate) fn reset(&self, out: &mut impl Write) -> io::Result<()> {
        let One { rule, key, json, .. } = self.args;
        if *json {
            return writeln!(out, "{}", json!({ "rule": rule, "key": key, "reset": true }));
        }
        writeln!(out, "reset {} for {}", rule.escape_debug(), key.escape_debug())
    }

    fn object(&self, decision: &Decision) -> Value {
        let mut object = object(decision);
        object["key"] = json!(self.args.key);
        object
    }
}

pub(crate) fn object(decision: &Decision) -> Value {
    json!({
        "allowed": decision.allowed,
        "rule": decision.rule.as_ref(),
        "limit": decision.limit,
        "remaining": decision.remaining,
        "retry_after_us": micros(decision.retry_after),
        "reset_after_us": micros(decision.reset_after),
        "shadow_denied": decision.shadow_denied,
        "source": decision.source.name(),
    })
}

/// A decision with its figures.
pub(crate) fn line(decision: &Decision) -> String {
    let width = decision.limit.to_string().len();
    let retry = match decision.retry_after {
        Duration::ZERO => String::new(),
        Duration::MAX => "  never fits".to_owned(),
        retry_after => format!("  retry in {}", about(retry_after)),
    };
    let new = match decision.reset_after {
        Duration::ZERO => String::new(),
        reset_after => format!("  as new in {}", about(reset_after)),
    };
    let (style, word) = word(decision);
    let (remaining, limit) = (decision.remaining, decision.limit);
    format!("{style}{word:<8}{style:#}  {remaining:>width$} of {limit} left{retry}{new}")
}

/// The one word that counts.
pub(crate) fn verdict(decision: &Decision) -> String {
    let (style, word) = word(decision);
    format!("{style}{word}{style:#}")
}

fn word(decision: &Decision) -> (Style, &'static str) {
    match (decision.allowed, decision.shadow_denied) {
        (true, false) => (ADMITTED, "admitted"),
        (true, true) => (SHADOW, "shadow"),
        (false, _) => (DENIED, "denied"),
    }
}

/// A time in as many digits as a person cares for, rounded up: who waits that long has waited enough.
fn about(span: Duration) -> String {
    let up_to = |unit: u128| span.as_micros().div_ceil(unit);
    match span.as_micros() {
        0..1_000 => format!("{}us", up_to(1)),
        1_000..1_000_000 => format!("{}ms", up_to(1_000)),
        1_000_000..60_000_000 => format!("{:.1}s", up_to(100_000) as f64 / 10.0),
        _ => format_duration(Duration::from_secs(up_to(1_000_000) as u64)).to_string(),
    }
}

/// Whole microseconds; `null` for never.
fn micros(span: Duration) -> Option<u64> {
    (span != Duration::MAX).then_some(span.as_micros() as u64)
}
