//! Whether servers are fit for limits: each line is good, or says what to do.

mod region_maps;
mod region_rules;
mod report;

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::time::{Duration, Instant};

use clap::Args as ClapArgs;
use sluicegate::internal::{Examined, examine, may_watch};
use sluicegate::{RateLimiter, Rules};

use self::region_maps::region_maps;
use self::region_rules::region_rules;
use self::report::Report;
use crate::backend::{BackendArgs, builder};
use crate::outcome::{CommandError, ExitStatus};
use crate::remembering::RememberingArgs;
use crate::show::about;
use crate::source::load;

/// So often a round trip, and a script, is measured; the shortest counts.
const ROUNDS: usize = 20;
/// From here on what a server may keep is nearly full.
const FULL: f64 = 0.9;
/// From here on callers notice a round trip.
const SLOW: Duration = Duration::from_millis(5);
/// From here on the windows of a calendar, and tokens of other systems, begin visibly late.
const CLOCK_MS: u64 = 1_000;
const OLDEST: (u32, u32) = (6, 2);

/// The servers to look at.
#[derive(Debug, ClapArgs)]
pub(crate) struct DoctorArgs {
    /// The server, as --url
    #[arg(value_name = "URL")]
    server: Option<String>,
    /// The rules, as --rules
    #[arg(value_name = "RULES", conflicts_with = "rules")]
    stated: Option<OsString>,
    #[command(flatten)]
    backend: BackendArgs,
    #[command(flatten)]
    remembering: RememberingArgs,
    /// Look at the rules too: a file, zookeeper://... or JSON
    #[arg(long, value_name = "RULES")]
    rules: Option<OsString>,
    /// A region of a limit over several, and the URL of its servers; repeat it for each
    #[arg(long = "region", value_name = "NAME=URL", value_parser = region)]
    regions: Vec<(String, String)>,
    /// The rules that a region has, as --rules; repeat it for each. A region without has those of --rules
    #[arg(long = "region-rules", value_name = "NAME=RULES", value_parser = rules_of_region, requires = "regions")]
    region_rules: Vec<(String, String)>,
    /// The names of all regions in the configuration of one, as in eu=ap,eu,us; repeat it for each
    #[arg(long = "region-map", value_name = "NAME=NAMES", value_parser = map_of_region, requires = "regions")]
    region_maps: Vec<(String, String)>,
}

fn region(text: &str) -> Result<(String, String), String> {
    named(text, "it has to be NAME=URL, as in eu=redis://redis.eu.example")
}

fn rules_of_region(text: &str) -> Result<(String, String), String> {
    named(text, "it has to be NAME=RULES, as in eu=rules.jsonc")
}

fn map_of_region(text: &str) -> Result<(String, String), String> {
    named(text, "it has to be NAME=NAMES, as in eu=ap,eu,us")
}

fn named(text: &str, wanted: &'static str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or(wanted)?;
    if name.is_empty() {
        Err("the name is empty".to_owned())
    } else if name.contains("://") || name.contains('@') {
        Err(format!("the name is a URL; {wanted}"))
    } else {
        Ok((name.to_owned(), value.to_owned()))
    }
}

pub(crate) fn doctor(args: &DoctorArgs, out: &mut impl Write) -> Result<ExitStatus, CommandError> {
    let mut report = Report { out, is_good: true };
    names_of_regions(args)?;
    let rules = args.stated.as_ref().or(args.rules.as_ref());
    if let Some(rules) = rules {
        rules_of(rules, &mut report)?;
    }
    if !args.region_rules.is_empty() {
        let names = args.regions.iter().map(|(name, _)| name.as_str());
        region_rules(names, &args.region_rules, rules.map(OsString::as_os_str), &mut report)?;
    }
    if !args.region_maps.is_empty() {
        let names = args.regions.iter().map(|(name, _)| name.as_str()).collect();
        region_maps(&names, &args.region_maps, &mut report)?;
    }
    let mut known = HashMap::new();
    if args.regions.is_empty() {
        let backend = args.backend.at(args.server.as_ref());
        let limiter = backend.server("look at it", Rules::default())?;
        writeln!(report.out, "the server")?;
        server(&limiter, &mut report)?;
        watched(&limiter, args, &mut report)?;
    }
    for (name, url) in &args.regions {
        writeln!(report.out, "region {name}")?;
        let id = match builder(url).build() {
            Ok(limiter) => {
                let id = server(&limiter, &mut report)?;
                watched(&limiter, args, &mut report)?;
                id
            }
            Err(error) => {
                report.bad("url", error, "mend it")?;
                None
            }
        };
        if let Some(other) = id.and_then(|id| known.insert(id, name)) {
            let found = format!("the same server as that of region {other}");
            report.bad("server", found, "each region needs its own")?;
        }
    }
    Ok(ExitStatus::of(report.is_good))
}

/// Refuses names of regions that are there twice, or are none.
fn names_of_regions(args: &DoctorArgs) -> Result<(), CommandError> {
    let mut names = HashSet::new();
    if let Some((twice, _)) = args.regions.iter().find(|(name, _)| !names.insert(name)) {
        return Err(CommandError::Other(format!("--region {twice} is there twice: each region has one URL")));
    }
    of_known_regions("--region-rules", &args.region_rules, &names)?;
    of_known_regions("--region-map", &args.region_maps, &names)
}

/// Refuses what is stated of a region that is none, or twice.
fn of_known_regions(
    option: &str,
    stated: &[(String, String)],
    names: &HashSet<&String>,
) -> Result<(), CommandError> {
    let mut known = HashSet::new();
    for (name, _) in stated {
        if !names.contains(name) {
            return Err(CommandError::Other(format!("{option} {name}: there is no --region {name}")));
        }
        if !known.insert(name) {
            return Err(CommandError::Other(format!("{option} {name} is there twice: each region has one")));
        }
    }
    Ok(())
}

fn rules_of(rules: &OsStr, report: &mut Report<'_, impl Write>) -> Result<(), CommandError> {
    writeln!(report.out, "the rules")?;
    match load(rules) {
        Ok(rules) => report.good("rules", format!("{} of version {}", rules.len(), rules.version())),
        Err(error) => report.bad("rules", error, "mend them (sluicegate rules validate shows each fault)"),
    }
}

/// Answers by what the server may be known.
fn server(
    limiter: &RateLimiter,
    report: &mut Report<'_, impl Write>,
) -> Result<Option<String>, CommandError> {
    if let Err(error) = limiter.ping() {
        report.bad("reached", error, "start it, or mend URL, password and network")?;
        return Ok(None);
    }
    let trip = least(|| limiter.ping().map(|()| None))?.0;
    let slow = (trip > SLOW).then_some("move it nearer to its callers, or use regions");
    report.judge("round trip", about(trip), slow)?;
    match examine(limiter) {
        // Asked once: what a user may not do is in the server's log of refusals.
        Ok(Some(examined)) if examined.info.is_empty() => {
            report.good("script", "is run")?;
            clock(&examined, report)?;
            let unknown =
                "INFO is not allowed (+info): version, role, replicas, memory and eviction are not known";
            report.note("server", unknown)?;
            return Ok(None);
        }
        Ok(Some(_)) => {}
        Ok(None) => return Ok(None),
        Err(error) => {
            let is_lacking_rights = error.message().contains("rules acl");
            let rights = "allow EVAL, EVALSHA and TIME (sluicegate rules acl prints what rules need)";
            let server =
                "limits need a server that runs scripts; of a Cluster the URL begins with redis-cluster://";
            report.bad("script", error, if is_lacking_rights { rights } else { server })?;
            return Ok(None);
        }
    }
    let (took, examined) = least(|| examine(limiter))?;
    if let Some(examined) = examined {
        report.good("script", format!("{} longer than a ping", about(took.saturating_sub(trip))))?;
        clock(&examined, report)?;
        return described(&examined, report).map(Some);
    }
    Ok(None)
}

/// Whether a server says when denials end that are remembered for long. One that does not answer has its line already.
fn watched(
    limiter: &RateLimiter,
    args: &DoctorArgs,
    report: &mut Report<'_, impl Write>,
) -> Result<(), CommandError> {
    if !args.remembering.are_watched() {
        return Ok(());
    }
    match may_watch(limiter) {
        Ok(Some(true)) => report.good("denials", "the server may be asked to watch keys"),
        Ok(Some(false)) => report.bad(
            "denials",
            "the user may not have the server watch keys: they hold for remember_denials, whatever others give back",
            "allow CLIENT TRACKING and CLIENT CACHING (+client|tracking +client|caching)",
        ),
        Ok(None) => report.bad(
            "denials",
            "they hold for remember_denials, whatever others give back",
            "add ?protocol=resp3 to the URL: the server says then what changes",
        ),
        Err(_) => Ok(()),
    }
}

fn clock(examined: &Examined, report: &mut Report<'_, impl Write>) -> Result<(), CommandError> {
    let ahead_ms = examined.clock_ahead_us.unsigned_abs() / 1_000;
    let far = (ahead_ms >= CLOCK_MS).then_some("synchronize the clocks (NTP): limits go by the server's");
    report.judge("clock", format!("{ahead_ms} ms from that of this machine"), far)
}

/// The shortest of several, and what it answered.
fn least(
    mut call: impl FnMut() -> sluicegate::Result<Option<Examined>>,
) -> Result<(Duration, Option<Examined>), CommandError> {
    let mut best = (Duration::MAX, None);
    for _ in 0..ROUNDS {
        let began = Instant::now();
        let answer = call()?;
        if began.elapsed() < best.0 {
            best = (began.elapsed(), answer);
        }
    }
    Ok(best)
}

fn described(examined: &Examined, report: &mut Report<'_, impl Write>) -> Result<String, CommandError> {
    let info: HashMap<&str, &str> =
        examined.info.lines().filter_map(|line| line.trim_end().split_once(':')).collect();
    let of = |name: &str| info.get(name).copied().unwrap_or("");
    let version = of("redis_version");
    let mut numbers = version.split('.').map(|number| number.parse().unwrap_or(0));
    let is_old = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) < OLDEST;
    let name = if of("valkey_version").is_empty() { version } else { of("valkey_version") };
    report.judge("version", name, is_old.then_some("run Redis 6.2 or newer, or Valkey"))?;
    let role = of("role");
    let is_replica = role != "master";
    report.judge(
        "role",
        role,
        is_replica.then_some("name the primary, or Sentinels: a replica takes no writes"),
    )?;
    report.good("replicas", of("connected_slaves"))?;
    let (most, policy) = (of("maxmemory_human"), of("maxmemory_policy"));
    let bytes = |name: &str| of(name).parse::<f64>().unwrap_or(0.0);
    let bound = if bytes("maxmemory") == 0.0 { "no bound".to_owned() } else { format!("{most} at most") };
    let evicts = policy != "noeviction" && bytes("maxmemory") != 0.0;
    let is_full = bytes("maxmemory") > 0.0 && bytes("used_memory") >= bytes("maxmemory") * FULL && !evicts;
    let to_do = is_full.then_some("raise maxmemory: a full server refuses to count (OOM)");
    report.judge("memory", format!("{}, {bound}", of("used_memory_human")), to_do)?;
    let keys: u64 = info.iter().filter_map(|(name, value)| keys_of(name, value)).sum();
    match keys {
        0 => report.good("memory per key", "no keys yet")?,
        keys => {
            let bytes = bytes("used_memory_dataset") / keys as f64;
            report.good("memory per key", format!("about {bytes:.0} bytes, of {keys} keys"))?;
        }
    }
    report.judge(
        "eviction",
        policy,
        evicts.then_some("set maxmemory-policy noeviction: what is evicted is not counted"),
    )?;
    Ok(of("run_id").to_owned())
}

/// How many keys a database has: `db0:keys=1,expires=1`.
fn keys_of(name: &str, value: &str) -> Option<u64> {
    name.strip_prefix("db")?.parse::<u32>().ok()?;
    value.strip_prefix("keys=")?.split(',').next()?.parse().ok()
}
