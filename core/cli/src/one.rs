//! The arguments of commands about one rule and key.

use std::time::Duration;

use clap::Args as ClapArgs;

use super::backend::BackendArgs;
use super::source::RulesArgs;

/// One rule and key.
#[derive(Debug, ClapArgs)]
pub(crate) struct One {
    #[command(flatten)]
    pub(crate) rules: RulesArgs,
    /// Name of the rule
    pub(crate) rule: String,
    /// Who is counted: a user, an address, an API key
    pub(crate) key: String,
    #[command(flatten)]
    pub(crate) backend: BackendArgs,
    /// How much to admit
    #[arg(long, default_value_t = 1)]
    pub(crate) cost: u64,
    /// The resource that is used, for rules that limit one
    #[arg(long)]
    pub(crate) resource: Option<String>,
    /// Limit to use instead of the rule's
    #[arg(long)]
    pub(crate) limit: Option<u64>,
    /// One JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
}

/// What may be repeated.
#[derive(Debug, ClapArgs)]
pub(crate) struct Repeatable {
    #[command(flatten)]
    pub(crate) one: One,
    /// Id of the call: with the same one within a minute it gets the first answer again and counts nothing
    #[arg(long, value_name = "ID")]
    pub(crate) request_id: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) call: Repeatable,
    /// How many checks to make; rules that change meanwhile are followed
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) times: u64,
    /// Time between two checks, such as 100ms or 1s
    #[arg(long, default_value = "0s", value_name = "TIME", value_parser = humantime::parse_duration)]
    pub(crate) every: Duration,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct WaitArgs {
    #[command(flatten)]
    pub(crate) one: One,
    /// The longest time to wait, such as 500ms or 1m
    #[arg(long, default_value = "10s", value_name = "TIME", value_parser = humantime::parse_duration)]
    pub(crate) timeout: Duration,
}
