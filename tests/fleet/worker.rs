//! The worker in Rust, see README.md: with threads.

use std::env::{args, var};
use std::error::Error;
use std::io::{Write, stdin, stdout};
use std::path::Path;
use std::thread;
use std::time::{Duration, SystemTime};

use sluicegate::{Builder, CheckOptions, Decision, RateLimiter, Rules};

const USAGE: &str =
    "usage: sluicegate-fleet-worker URL RULES_FILE PREFIX LANES ROUNDS HEAVY PAUSE_US (RULE KEY)...";

/// Longer than anything takes here.
const LONG: Duration = Duration::from_secs(30);
/// Short enough for servers that go away.
const AWAY: Duration = Duration::from_millis(300);

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

struct Worker {
    limiter: RateLimiter,
    targets: Vec<(String, String)>,
    rounds: usize,
    heavy: usize,
    pause: Duration,
}

impl Worker {
    /// The line about a call.
    fn line(
        &self,
        target: usize,
        cost: u64,
        call: impl FnOnce(&str, &str) -> sluicegate::Result<Decision>,
    ) -> Result<String> {
        let (rule, key) = &self.targets[target];
        let before = clock_us()?;
        let decision = call(rule, key)?;
        let (allowed, remaining, after) = (u8::from(decision.allowed), decision.remaining, clock_us()?);
        let [retry_after, reset_after] = [decision.retry_after, decision.reset_after].map(time_or_never);
        Ok(format!("{target} {cost} {allowed} {remaining} {retry_after} {reset_after} {before} {after}"))
    }

    fn peek(&self) -> Result<Vec<String>> {
        let peek = |target| self.line(target, 1, |rule, key| self.limiter.peek(rule, key));
        (0..self.targets.len()).map(peek).collect()
    }

    fn check(&self, target: usize, cost: u64) -> Result<String> {
        self.line(target, cost, |rule, key| {
            self.limiter.check_with(rule, key, CheckOptions::new().cost(cost))
        })
    }

    fn hammer(&self, lane: usize) -> Result<Vec<String>> {
        let mut lines = Vec::new();
        for turn in 0..self.rounds {
            for at in 0..self.targets.len() {
                let cost = if turn < self.heavy { 2 } else { 1 };
                lines.push(self.check((lane + at) % self.targets.len(), cost)?);
            }
            thread::sleep(self.pause);
        }
        Ok(lines)
    }

    fn hammer_in_lanes(&self, lanes: usize) -> Result<Vec<String>> {
        let answers = thread::scope(|scope| {
            let lanes: Vec<_> = (0..lanes).map(|lane| scope.spawn(move || self.hammer(lane))).collect();
            lanes
                .into_iter()
                .map(|lane| lane.join().unwrap_or_else(|_| Err("a lane has panicked".into())))
                .collect()
        });
        Ok(Result::<Vec<_>>::from_iter::<Vec<_>>(answers)?.concat())
    }
}

fn clock_us() -> Result<u128> {
    Ok(SystemTime::UNIX_EPOCH.elapsed()?.as_micros())
}

fn time_or_never(time: Duration) -> String {
    if time == Duration::MAX { "-1".to_owned() } else { time.as_micros().to_string() }
}

/// Of a fleet over several regions, what the surroundings say of them.
fn over_regions(builder: Builder) -> Result<Builder> {
    let Ok(region) = var("FLEET_REGION") else {
        return Ok(builder.connect_timeout(LONG).response_timeout(LONG));
    };
    let seen: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&var("FLEET_REGIONS")?)?;
    let url = |(name, url): (&String, &serde_json::Value)| Some((name.clone(), url.as_str()?.to_owned()));
    let builder = builder.regions(seen.iter().filter_map(url)).region(region);
    Ok(builder.connect_timeout(AWAY).response_timeout(AWAY).fallback("deny"))
}

/// Says where it stands, and waits until it is to go on.
fn meet(word: &str) -> Result<()> {
    say(&[word.to_owned()])?;
    stdin().read_line(&mut String::new())?;
    Ok(())
}

fn say(lines: &[String]) -> Result<()> {
    let mut out = stdout().lock();
    lines.iter().try_for_each(|line| writeln!(out, "{line}"))?;
    Ok(out.flush()?)
}

fn main() -> Result<()> {
    let arguments: Vec<String> = args().skip(1).collect();
    let [url, rules, prefix, lanes, rounds, heavy, pause, names @ ..] = arguments.as_slice() else {
        return Err(USAGE.into());
    };
    let builder = RateLimiter::builder(url).rules(Rules::from_file(Path::new(rules))?).prefix(prefix);
    let worker = Worker {
        limiter: over_regions(builder.identifier_secret("known to the whole fleet"))?.build()?,
        targets: names.as_chunks::<2>().0.iter().map(|[rule, key]| (rule.clone(), key.clone())).collect(),
        rounds: rounds.parse()?,
        heavy: heavy.parse()?,
        pause: Duration::from_micros(pause.parse()?),
    };
    worker.peek()?;
    meet("ready")?;
    say(&worker.hammer_in_lanes(lanes.parse()?)?)?;
    meet("done")?;
    say(&worker.peek()?)
}
