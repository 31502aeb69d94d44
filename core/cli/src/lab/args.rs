//! The command line of the lab.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};
use sluicegate::Rules;
use sluicegate_lab::{CallDuration, compare, duration_us};

use crate::outcome::CommandError;
use crate::source::{Contents, faults, source};
use crate::stderr::warn;

/// What a request is made of, besides its headers.
pub(super) const NAMES: [&str; 7] = ["time", "method", "path", "ip", "user", "api_key", "duration"];

const AFTER_HELP: &str = "\
Traffic is WORD:NAME=VALUE,NAME=VALUE. What is left open follows the first rule.
  steady, poisson  rate=100/s
  day              rate=100/s,peak=20h        a curve over the day
  burst            size=50,every=10s,spread=1s
  edge             size=20,window=10s         bursts around every other edge of a window
  herd             keys=500,every=1m          many keys at once
  greedy           clients=5,pause=10ms       retry at once
  obedient         clients=5,rate=10/s        wait for retry_after
  all of them      for=1h,from=10m,keys=1000,zipf=1.1,pick=turn,cost=1..10,name=user,rule=RULE,resources=3,
                   duration=200ms             how long calls are under way, for rules of concurrency

Exit code: 0 done, 1 ended before its time, 2 error.";

#[derive(Debug, ClapArgs)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct LabArgs {
    /// Rules: a file, zookeeper://host1:port1,host2:port2/path, or JSON; comments allowed
    #[arg(required_unless_present = "compare", conflicts_with = "compare")]
    rules: Option<OsString>,
    /// Compare these algorithms at one limit instead: fixed_window,gcra,... or all
    #[arg(long, value_name = "ALGORITHMS", value_delimiter = ',')]
    compare: Vec<String>,
    /// The limit to compare at
    #[arg(long, value_name = "N", default_value_t = 10, conflicts_with = "rules")]
    limit: u64,
    /// The window to compare at
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = time, conflicts_with = "rules")]
    window: u64,
    /// Simulated traffic, as described below: poisson unless given; several are sent at once
    #[arg(long, value_name = "SPEC")]
    pub(super) traffic: Vec<String>,
    /// Replay the requests of an access log instead; - for standard input
    #[arg(long, value_name = "LOG", conflicts_with_all = ["traffic", "url"])]
    pub(super) replay: Option<PathBuf>,
    /// Format of the log
    #[arg(long, value_enum, default_value_t = LogFormat::Auto, requires = "replay")]
    pub(super) log_format: LogFormat,
    /// Names of the log's columns or JSON fields: time, method, path, ip, user, api_key, duration, header:NAME
    #[arg(long, value_name = "NAME=COLUMN", value_delimiter = ',', requires = "replay", value_parser = column)]
    pub(super) columns: Vec<(String, String)>,
    /// How long requests are under way whose line does not tell it, for rules of concurrency: 200ms, 50ms..2s,
    /// exp(500ms)
    #[arg(long, value_name = "TIME", requires = "replay")]
    pub(super) duration: Option<CallDuration>,
    /// What of a request is the key when algorithms are compared: ip_address, user_id, header:NAME, ...
    #[arg(
        long,
        value_name = "IDENTIFIER",
        default_value = "ip_address",
        requires = "replay",
        conflicts_with = "rules"
    )]
    key: String,
    /// Stop at a line of the log that cannot be read
    #[arg(long, requires = "replay")]
    pub(super) strict: bool,
    /// Folder for the page, the pictures and the figures
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
    /// Write every decision into the folder as well
    #[arg(long, value_enum, value_name = "FORMAT", requires = "out")]
    pub(super) decisions: Option<DecisionFormat>,
    /// Write into a folder that holds other files, and replace earlier records of --record
    #[arg(long)]
    pub(super) force: bool,
    /// Width of a bin, such as 1s
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(super) bin: Option<u64>,
    /// Seed of random traffic: the same seed gives the same run
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) seed: u64,
    /// How many processes borrow units of each rule with "lease", in virtual time: evenly and unevenly busy; 0 for none
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(..=1000), conflicts_with_all = ["url", "replay"])]
    pub(super) processes: u64,
    /// When virtual time begins, such as 2026-01-01T00:00:00Z
    #[arg(long, value_name = "TIME", value_parser = start, conflicts_with_all = ["url", "replay"])]
    pub(super) start: Option<u64>,
    /// Decide on a real server, in real time: redis://, rediss://, unix://, redis-cluster:// or
    /// redis-sentinel://
    #[arg(long)]
    pub(super) url: Option<String>,
    /// What every name on that server begins with; one of the run's own unless given
    #[arg(long, requires = "url")]
    pub(super) prefix: Option<String>,
    /// Record what was admitted on a Redis server: redis://host:port/db or unix:///path/to/socket
    #[arg(long, value_name = "URL")]
    pub(super) record: Option<String>,
    /// How to record
    #[arg(long, value_enum, default_value_t = RecordAs::Timeseries, requires = "record")]
    pub(super) record_as: RecordAs,
    /// What the names of the records begin with
    #[arg(long, value_name = "PREFIX", default_value = "sluicegate:lab", requires = "record")]
    pub(super) record_prefix: String,
    /// Print the figures as JSON
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum LogFormat {
    /// By the first line
    Auto,
    /// The combined (or common) log format of web servers
    Combined,
    /// One JSON object per line
    Json,
    /// Comma-separated, with a line of names first
    Csv,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum DecisionFormat {
    /// decisions.csv
    Csv,
    /// decisions.jsonl, one object per line
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum RecordAs {
    /// RedisTimeSeries: one series per strategy and resource
    Timeseries,
    /// Streams: one entry per admitted call
    Stream,
    /// Sorted sets: one member per admitted call, scored by milliseconds
    Zset,
}

impl LabArgs {
    pub(super) fn rules(&self) -> Result<Rules, CommandError> {
        if let Some(argument) = &self.rules {
            let contents = Contents::load(source(argument)?)?;
            faults(&contents.status).for_each(warn);
            return Ok(contents.rules);
        }
        let names: Vec<&str> = match self.compare.as_slice() {
            [all] if all == "all" => sluicegate_lab::ALGORITHMS.to_vec(),
            names => names.iter().map(String::as_str).collect(),
        };
        let key = self.replay.is_some().then_some(self.key.as_str());
        Ok(Rules::from_json(&compare(&names, self.limit, self.window, key)?)?)
    }

    /// Whether rules are compared with each other rather than used together.
    pub(super) fn compares(&self) -> bool {
        self.rules.is_none()
    }
}

fn time(text: &str) -> Result<u64, &'static str> {
    duration_us(text)
        .filter(|us| *us > 0)
        .ok_or("write a number above zero and a unit, as in 250ms, 10s or 1h")
}

fn start(text: &str) -> Result<u64, String> {
    let time = humantime::parse_rfc3339_weak(text).map_err(|error| error.to_string())?;
    let since = time.duration_since(std::time::UNIX_EPOCH).map_err(|_| "it is before 1970".to_owned())?;
    Ok(since.as_micros() as u64)
}

fn column(text: &str) -> Result<(String, String), String> {
    let (name, column) = text.split_once('=').ok_or("write NAME=COLUMN, as in time=ts")?;
    let known = NAMES.contains(&name) || name.strip_prefix("header:").is_some_and(|it| !it.is_empty());
    match known {
        true => Ok((name.to_owned(), column.to_owned())),
        false => Err(format!("{name:?} is none of {} and header:<name>", NAMES.join(", "))),
    }
}
