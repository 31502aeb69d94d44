//! Denials that limiters remember: servers are to say when that ends.

use std::time::Duration;

use clap::Args;
use sluicegate::Rules;
use sluicegate::internal::remembers_denials;

/// Up to this age nobody asks a server.
const UNWATCHED: Duration = Duration::from_secs(1);
const LONGEST: f64 = 86_400.0;

#[derive(Debug, Clone, Args)]
pub(crate) struct RememberingArgs {
    /// The option remember_denials of limiters of asyncio, Node and Tokio whose URL says protocol=resp3
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "0", hide_default_value = true)]
    remember_denials: Duration,
}

impl RememberingArgs {
    /// Whether servers are asked to watch keys that were denied.
    pub(crate) fn are_watched(&self) -> bool {
        self.remember_denials > UNWATCHED
    }

    /// The same, where there are such keys.
    pub(crate) fn are_watched_for(&self, rules: &Rules) -> bool {
        self.are_watched() && rules.iter().any(|rule| remembers_denials(rule))
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|seconds: &f64| (0.0..=LONGEST).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| format!("must be 0 to {LONGEST} seconds"))
}
