//! Decisions as a person, or a program, reads them.

use std::io::{self, Write};
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use humantime::format_duration;
use serde_json::{Value, json};
use sluicegate::{Decision, Reservation};

const ADMITTED: Style = AnsiColor::Green.on_default();
const DENIED: Style = AnsiColor::Red.on_default();
const SHADOW: Style = AnsiColor::Yellow.on_default();

/// How the decisions of one command are shown.
pub(crate) struct Show<'a> {
    rule: &'a str,
    key: &'a str,
    json: bool,
    /// Digits of the largest number of a check; 0 when there is only one.
    digits: usize,
}

impl<'a> Show<'a> {
    pub(crate) fn new(rule: &'a str, key: &'a str, json: bool) -> Self {
        Self { rule, key, json, digits: 0 }
    }

    /// Numbers the decisions, if there are several.
    pub(crate) fn times(self, times: u64) -> Self {
        Self { digits: if times > 1 { times.to_string().len() } else { 0 }, ..self }
    }

    pub(crate) fn decision(&self, out: &mut impl Write, number: u64, decision: &Decision) -> io::Result<()> {
        if self.json {
            return writeln!(out, "{}", json_line(&self.object(decision)));
        }
        if self.digits > 0 {
            write!(out, "{number:>width$}  ", width = self.digits)?;
        }
        writeln!(out, "{}", line(decision))
    }

    pub(crate) fn reset(&self, out: &mut impl Write) -> io::Result<()> {
        let Self { rule, key, json, .. } = *self;
        if json {
            return writeln!(out, "{}", json_line(&json!({ "rule": rule, "key": key, "reset": true })));
        }
        writeln!(out, "reset {} for {}", rule.escape_debug(), key.escape_debug())
    }

    /// What is left after a refund, and whether there was anything to give back.
    pub(crate) fn refund(
        &self,
        out: &mut impl Write,
        was_counted: bool,
        decision: &Decision,
    ) -> io::Result<()> {
        if self.json {
            let mut object = self.object(decision);
            object["refunded"] = json!(was_counted);
            return writeln!(out, "{object}");
        }
        if was_counted {
            // Not the wait for a cost as large as the refund, which nobody is about to use.
            return writeln!(out, "refunded  {}{}", left(decision), reset(decision));
        }
        let (rule, key) = (self.rule.escape_debug(), self.key.escape_debug());
        writeln!(out, "nothing to refund: {rule} has counted nothing for {key}")
    }

    /// What is left after a charge.
    pub(crate) fn charge(&self, out: &mut impl Write, decision: &Decision) -> io::Result<()> {
        if self.json {
            return writeln!(out, "{}", json_line(&self.object(decision)));
        }
        writeln!(out, "charged  {}", figures(decision))
    }

    /// What is held and by which id it is ended.
    pub(crate) fn reservation(&self, out: &mut impl Write, reservation: &Reservation) -> io::Result<()> {
        if self.json {
            let mut object = self.object(reservation);
            object["id"] = json!(reservation.id());
            object["token"] = json!(reservation.token());
            return writeln!(out, "{}", json_line(&object));
        }
        writeln!(out, "{}", line(reservation))?;
        match (reservation.id(), reservation.token()) {
            (Some(id), Some(token)) => writeln!(out, "token     {token}\nid        {id}"),
            _ => Ok(()),
        }
    }

    fn object(&self, decision: &Decision) -> Value {
        let mut object = object(decision);
        object["key"] = json!(self.key);
        object
    }
}

/// One line of JSON. What a terminal would obey, and JSON allows as it is, is escaped.
pub(crate) fn json_line(value: &Value) -> String {
    let mut line = String::new();
    for character in value.to_string().chars() {
        if character == '\u{7f}' || !character.is_ascii() && character.escape_debug().len() > 1 {
            line.extend(character.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")));
        } else {
            line.push(character);
        }
    }
    line
}

pub(crate) fn object(decision: &Decision) -> Value {
    json!({
        "allowed": decision.allowed,
        "rule": decision.rule.as_ref(),
        "limit": decision.limit,
        "remaining": decision.remaining,
        "retry_after_us": micros(decision.retry_after),
        "reset_after_us": micros(decision.reset_after),
        "blocked": decision.blocked,
        "shadow_denied": decision.shadow_denied,
        "source": decision.source.name(),
    })
}

/// A decision with its figures.
pub(crate) fn line(decision: &Decision) -> String {
    let (style, word) = word(decision);
    format!("{style}{word:<8}{style:#}  {}", figures(decision))
}

fn figures(decision: &Decision) -> String {
    let retry = match decision.retry_after {
        Duration::ZERO => String::new(),
        Duration::MAX => "  never fits".to_owned(),
        retry_after => format!("  retry in {}", about(retry_after)),
    };
    format!("{}{retry}{}", left(decision), reset(decision))
}

fn left(decision: &Decision) -> String {
    let (remaining, limit) = (decision.remaining, decision.limit);
    let width = limit.to_string().len();
    format!("{remaining:>width$} of {limit} left")
}

fn reset(decision: &Decision) -> String {
    match decision.reset_after {
        Duration::ZERO => String::new(),
        reset_after => format!("  resets in {}", about(reset_after)),
    }
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
        (false, _) if decision.blocked => (DENIED, "blocked"),
        (false, _) => (DENIED, "denied"),
    }
}

/// A time in as many digits as a person cares for, rounded up, so that this wait is long enough.
pub(crate) fn about(span: Duration) -> String {
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
