//! Rules as a table.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use humantime::format_duration;
use serde_json::{Value, json};
use sluicegate::internal::{identifier, object};
use sluicegate::rules::{Algorithm, Limit, Match, Rule, Scope};

use crate::outcome::{CommandError, ExitStatus};
use crate::show::json_line;
use crate::source::{Contents, source};

const HEADING: Style = Style::new().bold();
const REFUSED: Style = AnsiColor::Red.on_default();

const COLUMNS: [&str; 5] = ["RULE", "ALGORITHM", "LIMITS", "REQUESTS", "PRIORITY"];

type Row = [String; COLUMNS.len()];

pub(super) fn list(argument: &OsStr, json: bool, out: &mut impl Write) -> Result<ExitStatus, CommandError> {
    let contents = Contents::load(source(argument)?)?;
    if json {
        objects(&contents, out)?
    } else {
        table(&contents, out)?
    }
    Ok(ExitStatus::Yes)
}

fn objects(contents: &Contents, out: &mut impl Write) -> io::Result<()> {
    for rule in contents.rules.iter() {
        writeln!(out, "{}", json_line(&Value::Object(object(rule))))?;
    }
    for refusal in &contents.status.refused {
        writeln!(out, "{}", json_line(&json!({ "refused": refusal.unit, "reason": refusal.reason })))?;
    }
    Ok(())
}

fn table(contents: &Contents, out: &mut impl Write) -> io::Result<()> {
    let rows: Vec<Row> = contents.rules.iter().map(|rule| row(rule)).collect();
    let heading = COLUMNS.map(str::to_owned);
    let width = |column: usize| {
        let cells = rows.iter().chain([&heading]).map(|row| row[column].chars().count());
        cells.max().unwrap_or_default()
    };
    let widths: [usize; COLUMNS.len()] = std::array::from_fn(width);
    writeln!(out, "{HEADING}{}{HEADING:#}", line(&heading, &widths))?;
    for row in &rows {
        writeln!(out, "{}", line(row, &widths))?;
    }
    for refusal in &contents.status.refused {
        let (unit, reason) = (refusal.unit.escape_debug(), &refusal.reason);
        writeln!(out, "{REFUSED}refused{REFUSED:#}  {unit}: {reason}")?;
    }
    Ok(())
}

fn line(row: &Row, widths: &[usize; COLUMNS.len()]) -> String {
    let [texts @ .., priority] = row;
    let cells = texts.iter().zip(widths).map(|(text, width)| format!("{text:width$}  "));
    format!("{}{priority:>width$}", cells.collect::<String>(), width = widths[COLUMNS.len() - 1])
}

fn row(rule: &Rule) -> Row {
    [
        rule.id.to_string(),
        format!("{}{}", rule.algorithm.name(), if rule.shadow { " (shadow)" } else { "" }),
        limits(rule),
        requests(rule),
        rule.priority.to_string(),
    ]
}

/// What is admitted at most.
pub(super) fn limits(rule: &Rule) -> String {
    let limits = rule.limits.iter().map(|limit| one_limit(rule.algorithm, limit));
    limits.collect::<Vec<_>>().join(", ")
}

fn one_limit(algorithm: Algorithm, limit: &Limit) -> String {
    let time = |us| format_duration(Duration::from_micros(us)).to_string();
    let scope = if limit.scope == Scope::Resource { " per resource" } else { "" };
    let number = limit.limit;
    if let Some(calendar) = limit.calendar {
        return format!("{number} per {} of {}{scope}", calendar.unit.name(), calendar.time_zone);
    }
    match algorithm {
        Algorithm::Decay { factor } => {
            format!("{number}, by {factor} every {}{scope}", time(limit.resolution_us))
        }
        Algorithm::Concurrency => format!("{number} in flight{scope}"),
        Algorithm::Gcra { burst: Some(burst), .. } => {
            format!("{number} in {}, {burst} at once{scope}", time(limit.window_us))
        }
        _ => format!("{number} in {}{scope}", time(limit.window_us)),
    }
}

/// Which requests the rule applies to, and who is counted.
fn requests(rule: &Rule) -> String {
    let Some(matches) = &rule.matches else { return "by name".to_owned() };
    let mut words = conditions(matches);
    words.extend(rule.unless.iter().map(|it| format!("unless {}", conditions(it).join(" "))));
    match rule.identifier_type.as_ref().map(identifier) {
        Some(Value::String(identifier)) => words.push(format!("per {identifier}")),
        Some(Value::Array(parts)) => {
            let parts: Vec<_> = parts.iter().filter_map(Value::as_str).collect();
            words.push(format!("per {}", parts.join(" and ")));
        }
        _ => {}
    }
    words.join(", ")
}

fn conditions(matches: &Match) -> Vec<String> {
    let methods = if matches.methods.is_empty() { "any".to_owned() } else { matches.methods.join("|") };
    let path = matches.path_pattern.as_deref().unwrap_or("*");
    let mut words = vec![format!("{methods} {}", path.escape_debug())];
    if matches.requires_authentication {
        words.push("authenticated".to_owned());
    }
    let headers = matches.required_headers.iter();
    words.extend(headers.map(|(name, value)| format!("{name}: {}", value.escape_debug())));
    if !matches.ip_subnet.is_empty() {
        words.push(format!("from {}", matches.ip_subnet.join("|")));
    }
    words
}
