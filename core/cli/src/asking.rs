//! A request on the command line, and the commands that take one.

use std::io::{self, Write};

use clap::Args as ClapArgs;
use serde_json::{Value, json};
use sluicegate::{Decision, Explanation, RateLimiter, Request, RequestMatch};

use crate::backend::BackendArgs;
use crate::outcome::{CommandError, ExitStatus};
use crate::show;
use crate::source::RulesArgs;
use crate::stderr::show_warnings;

/// A request.
#[derive(Debug, ClapArgs)]
pub(crate) struct RequestArgs {
    #[command(flatten)]
    rules: RulesArgs,
    /// Method of the request
    #[arg(long, default_value = "GET")]
    method: String,
    /// Path of the request, as its first line has it
    #[arg(long)]
    path: String,
    /// The authenticated user
    #[arg(long, value_name = "ID")]
    user: Option<String>,
    /// The client's address
    #[arg(long, value_name = "ADDRESS")]
    ip: Option<String>,
    /// The client's API key
    #[arg(long, value_name = "KEY")]
    api_key: Option<String>,
    /// A header; may be given several times
    #[arg(long = "header", value_name = "NAME: VALUE", value_parser = header)]
    headers: Vec<(String, String)>,
    /// One JSON object per line
    #[arg(long)]
    json: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct MatchArgs {
    #[command(flatten)]
    request: RequestArgs,
    /// Show for each rule whether it applies, and why
    #[arg(long)]
    explain: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct CheckRequest {
    #[command(flatten)]
    request: RequestArgs,
    #[command(flatten)]
    backend: BackendArgs,
    /// Show first for each rule whether it applies, and why
    #[arg(long)]
    explain: bool,
}

fn header(text: &str) -> Result<(String, String), &'static str> {
    let (name, value) = text.split_once(':').ok_or("a header is NAME: VALUE")?;
    Ok((name.to_owned(), value.trim().to_owned()))
}

impl RequestArgs {
    fn request(&self) -> Request<'_> {
        let mut request = Request::new(&self.method, &self.path);
        request.user_id = self.user.as_deref();
        request.ip = self.ip.as_deref();
        request.api_key = self.api_key.as_deref();
        request.headers = self.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        request
    }
}

/// Which rules apply; nothing is counted.
pub(crate) fn matching(args: &MatchArgs, out: &mut impl Write) -> Result<ExitStatus, CommandError> {
    let limiter = RateLimiter::builder("memory://").rules(args.request.rules.load()?).build()?;
    let request = args.request.request();
    if args.explain {
        show_explanations(out, &limiter.explain_request(&request)?, args.request.json)?;
    } else {
        show_matches(out, &limiter.match_request(&request)?, args.request.json)?;
    }
    Ok(ExitStatus::Yes)
}

/// Decides the request by all rules that apply.
pub(crate) fn check(args: &CheckRequest, out: &mut impl Write) -> Result<ExitStatus, CommandError> {
    // What matches and what is decided are to be of the same rules.
    let limiter = args.backend.limiter(args.request.rules.load()?)?;
    show_warnings();
    let request = args.request.request();
    if args.explain {
        show_explanations(out, &limiter.explain_request(&request)?, args.request.json)?;
    }
    let matches = limiter.match_request(&request)?;
    let decision = limiter.check_request(&request)?;
    if args.request.json {
        writeln!(out, "{}", show::json_line(&with_parts(&decision, &matches)))?;
    } else {
        show_parts(out, &decision, &matches)?;
    }
    Ok(ExitStatus::of(decision.allowed))
}

fn show_matches(out: &mut impl Write, matches: &[RequestMatch], json: bool) -> io::Result<()> {
    if matches.is_empty() && !json {
        return writeln!(out, "no rule applies");
    }
    let width = width(matches.iter().map(|it| it.rule_id.as_ref()));
    for RequestMatch { rule_id, key, resource, .. } in matches {
        if json {
            let object = json!({ "rule_id": rule_id.as_ref(), "key": key, "resource": resource });
            writeln!(out, "{}", show::json_line(&object))?;
        } else {
            writeln!(out, "{rule_id:width$}  {}", counted(key, resource.as_deref()))?;
        }
    }
    Ok(())
}

fn show_explanations(out: &mut impl Write, explanations: &[Explanation], json: bool) -> io::Result<()> {
    let width = width(explanations.iter().map(|it| it.rule_id.as_ref()));
    for Explanation { rule_id, matched, key, resource, reason, .. } in explanations {
        if json {
            let object = json!({
                "rule_id": rule_id.as_ref(), "matched": matched, "key": key, "resource": resource,
                "reason": reason,
            });
            writeln!(out, "{}", show::json_line(&object))?;
        } else {
            let word = if *matched { "applies" } else { "does not apply" };
            let key = key.as_deref().map(|key| format!(" to {}", counted(key, resource.as_deref())));
            writeln!(out, "{rule_id:width$}  {word}{}: {reason}", key.unwrap_or_default())?;
        }
    }
    Ok(())
}

fn show_parts(out: &mut impl Write, decision: &Decision, matches: &[RequestMatch]) -> io::Result<()> {
    if !decision.rule_applied() {
        return writeln!(out, "no rule applies\n{}", show::verdict(decision));
    }
    let names = width(matches.iter().map(|it| it.rule_id.as_ref()));
    let counted: Vec<_> = matches.iter().map(|it| counted(&it.key, it.resource.as_deref())).collect();
    let keys = width(counted.iter().map(String::as_str));
    for (part, (it, counted)) in decision.parts.iter().zip(matches.iter().zip(&counted)) {
        writeln!(out, "{:names$}  {counted:keys$}  {}", it.rule_id, show::line(part))?;
    }
    writeln!(out, "{}", show::verdict(decision))
}

fn with_parts(decision: &Decision, matches: &[RequestMatch]) -> Value {
    let part = |(part, it): (&Decision, &RequestMatch)| {
        let mut object = show::object(part);
        object["key"] = json!(it.key);
        object["resource"] = json!(it.resource);
        object
    };
    let mut object = show::object(decision);
    object["rule_applied"] = json!(decision.rule_applied());
    object["parts"] = decision.parts.iter().zip(matches).map(part).collect();
    object
}

/// Keys are the client's own text, which may hold what a terminal obeys.
fn counted(key: &str, resource: Option<&str>) -> String {
    match resource {
        Some(resource) => format!("{} on {}", key.escape_debug(), resource.escape_debug()),
        None => key.escape_debug().to_string(),
    }
}

fn width<'a>(names: impl Iterator<Item = &'a str>) -> usize {
    names.map(|name| name.chars().count()).max().unwrap_or_default()
}
