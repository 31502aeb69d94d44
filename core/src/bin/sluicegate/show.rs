//! Decisions as a person, or a program, reads them.

use std::io::{self, Write};
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use humantime::format_duration;
use serde_json::{Value, json};
use sluicegate::Decision;

use crate::args::One;

pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();
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
        let (style, word) = word(decision);
        let width = decision.limit.to_string().len();
        write!(out, "{style}{word:<8}{style:#}  {:>width$} of {} left", decision.remaining, decision.limit)?;
        match decision.retry_after {
            Duration::ZERO => {}
            Duration::MAX => write!(out, "  never fits")?,
            retry_after => write!(out, "  retry in {}", about(retry_after))?,
        }
        match decision.reset_after {
            Duration::ZERO => writeln!(out),
            reset_after => writeln!(out, "  as new in {}", about(reset_after)),
        }
    }

    pub(crate) fn reset(&self, out: &mut impl Write) -> io::Result<()> {
        let One { rule, key, json, .. } = self.args;
        if *json {
            return writeln!(out, "{}", json!({ "rule": rule, "key": key, "reset": true }));
        }
        writeln!(out, "reset {} for {}", rule.escape_debug(), key.escape_debug())
    }

    fn object(&self, decision: &Decision) -> Value {
        json!({
            "allowed": decision.allowed,
            "rule": decision.rule.as_ref(),
            "key": self.args.key,
            "limit": decision.limit,
            "remaining": decision.remaining,
            "retry_after_us": micros(decision.retry_after),
            "reset_after_us": micros(decision.reset_after),
            "shadow_denied": decision.shadow_denied,
            "source": decision.source.name(),
        })
    }
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
