//! One page with everything that a run showed; it needs nothing from anywhere else.

use super::figures::{count, date, decimal, span};
use super::frame::limits;
use super::{Picture, escaped, style};
use crate::{LimitReport, Report, Requests, StrategyReport};

const CSS: &str = "\
:root{color-scheme:light dark}
body{margin:0 auto;padding:24px 20px 60px;max-width:940px;line-height:1.5;color:#24292f;background:#fff;\
font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Liberation Sans','DejaVu Sans',sans-serif}
h1{font-size:26px;margin:0 0 4px}
p{margin:4px 0}
code{font-size:13px;background:#f0f3f6;padding:1px 5px;border-radius:4px}
.muted{color:#57606a}
.scroll{overflow-x:auto}
table{border-collapse:collapse;margin:20px 0;font-size:13px;font-variant-numeric:tabular-nums}
th,td{text-align:right;padding:5px 8px;border-bottom:1px solid #d8dee4;white-space:nowrap}
th:first-child,td:first-child{text-align:left;padding-left:0}
.over{font-weight:600;color:#b34700}
figure{margin:22px 0;break-inside:avoid;border:1px solid #d8dee4;border-radius:8px;overflow:hidden}
svg{display:block;width:100%;height:auto}
";

const DARK: &str = "\
body{color:#e6edf3;background:#010409}
code{background:#21262d}
.muted{color:#9198a1}
th,td,figure{border-color:#30363d}
.over{color:#f0883e}
";

/// A page of HTML. A run without a call gets one that says so.
pub fn page(report: &Report) -> String {
    let pictures = Picture::ALL.into_iter().filter(|picture| picture.applies(report));
    let figures: String =
        pictures.map(|picture| format!("<figure>\n{}</figure>\n", picture.inline(report))).collect();
    let body = match report.has_traffic() {
        false => "<p><strong>There was no traffic: no call came, so there is nothing to show.</strong></p>\n"
            .to_owned(),
        true => format!("{}{}{figures}", table(report), denied_keys(report)),
    };
    let (sheet, plots) = (style::sheet(), DARK);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>Sluicegate lab</title>\n\
         <style>\n{CSS}@media screen and (prefers-color-scheme:dark){{\n{plots}}}\n{sheet}</style>\n</head>\n<body>\n\
         <h1>What each rule lets through</h1>\n{}{body}</body>\n</html>\n",
        introduction(report)
    )
}

fn introduction(report: &Report) -> String {
    let specs: Vec<_> = report.specs.iter().map(|spec| format!("<code>{}</code>", escaped(spec))).collect();
    let (year, month, day) = date(report.start_us);
    let traffic = match (&report.requests, specs.is_empty()) {
        (Some(requests), _) if requests.total == 0 => "0 requests replayed".to_owned(),
        (Some(requests), _) => format!(
            "{} requests replayed, from {year}-{month:02}-{day:02} on: {}{} that no rule matches",
            count(requests.total),
            decided_together(requests),
            count(requests.unmatched)
        ),
        (None, true) => "Given calls".to_owned(),
        (None, false) => format!("Traffic {}", specs.join(" and ")),
    };
    let ended = if report.interrupted { " The run was ended before its time." } else { "" };
    let seed = report.seed.map_or(String::new(), |seed| format!(", seed {seed}"));
    format!("<p class=\"muted\">{traffic}{seed}; {} in all.{ended}</p>\n", span(report.length_us))
}

/// What all rules made of requests together, if they decided together.
fn decided_together(requests: &Requests) -> String {
    match requests.apart {
        true => String::new(),
        false => format!("{} admitted, {} denied, ", count(requests.admitted), count(requests.denied)),
    }
}

fn table(report: &Report) -> String {
    let waits = report.strategies.iter().any(|strategy| strategy.waits.is_some());
    let wait_head = if waits { "<th>wait p50</th><th>wait p99</th>" } else { "" };
    let rows: String = report.strategies.iter().map(|strategy| row(strategy, waits)).collect();
    format!(
        "<div class=\"scroll\"><table>\n<tr><th>rule</th><th>limits</th><th>admitted</th><th>denied</th>\
         <th>fullest window</th><th>longest denial run</th><th>Jain</th>{wait_head}</tr>\n{rows}</table></div>\n"
    )
}

fn row(strategy: &StrategyReport, waits: bool) -> String {
    let name = format!("<td>{}</td><td>{}</td>", escaped(&strategy.name), limits(strategy));
    if strategy.calls() == 0 {
        let columns = if waits { 7 } else { 5 };
        return format!("<tr>{name}<td colspan=\"{columns}\" class=\"muted\">matches nothing</td></tr>\n");
    }
    let worst = strategy.worst();
    let class = if worst.ratio > 1.0 { " class=\"over\"" } else { "" };
    let at_once = if strategy.limits.iter().any(LimitReport::is_of_concurrency) { " at once" } else { "" };
    let jain = strategy.fairness.jain.map_or("-".to_owned(), decimal);
    let waited = match (waits, strategy.waits) {
        (false, _) => String::new(),
        (true, None) => "<td>-</td><td>-</td>".to_owned(),
        (true, Some(it)) => format!("<td>{}</td><td>{}</td>", span(it.p50_us), span(it.p99_us)),
    };
    format!(
        "<tr>{name}<td>{}</td><td>{}</td><td{class}>{}× ({}{at_once})</td><td>{}</td><td>{jain}</td>{waited}</tr>\n",
        count(strategy.admitted),
        count(strategy.denied),
        decimal(worst.ratio),
        count(worst.count),
        count(strategy.longest_denial_run)
    )
}

/// Of a replay: who would have been denied.
fn denied_keys(report: &Report) -> String {
    if report.requests.is_none() {
        return String::new();
    }
    let of = |strategy: &StrategyReport| {
        let keys: Vec<_> = strategy
            .most_denied
            .iter()
            .map(|it| format!("{} ({})", escaped(&it.key), count(it.denied)))
            .collect();
        match keys.is_empty() {
            true => String::new(),
            false => format!("<p>{} denies most: {}</p>\n", escaped(&strategy.name), keys.join(", ")),
        }
    };
    report.strategies.iter().map(of).collect()
}
