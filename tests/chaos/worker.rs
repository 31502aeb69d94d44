//! The worker in Rust, see README.md: on Tokio, in one thread.

use std::error::Error;
use std::io::{Write, stdout};
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use sluicegate::{AsyncRateLimiter, CheckOptions, Rules};
use tokio::io::{AsyncBufReadExt, BufReader, stdin};
use tokio::sync::watch;
use tokio::task::LocalSet;
use tokio::time::sleep;

const USAGE: &str =
    "usage: sluicegate-chaos-worker URL RULES_FILE PREFIX INSTANCES PAUSE_US (RULE KEY TIMEOUT_US)...";

struct Lane {
    number: usize,
    rule: String,
    key: String,
    /// None: that of the limiter.
    timeout: Option<Duration>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [url, rules, prefix, instances, pause, lanes @ ..] = arguments.as_slice() else {
        return Err(USAGE.into());
    };
    let pause = Duration::from_micros(pause.parse()?);
    let builder = AsyncRateLimiter::builder(url).rules(Rules::from_file(Path::new(rules))?).prefix(prefix);
    let limiter = Rc::new(builder.instances(instances.parse()?).lazy(true).connect().await?);
    say("ready")?;
    let mut input = BufReader::new(stdin()).lines();
    input.next_line().await?;
    let (over, is_over) = watch::channel(false);
    let checking = LocalSet::new();
    let mut running = Vec::new();
    for (number, words) in lanes.chunks(3).enumerate() {
        let [rule, key, timeout] = words else { return Err(USAGE.into()) };
        let micros = timeout.parse()?;
        let timeout = (micros > 0).then(|| Duration::from_micros(micros));
        let lane = Lane { number, rule: rule.clone(), key: key.clone(), timeout };
        running.push(checking.spawn_local(check(Rc::clone(&limiter), lane, pause, is_over.clone())));
    }
    let counts = checking.run_until(async {
        input.next_line().await?;
        over.send(true)?;
        let mut counts = String::new();
        for lane in running {
            counts += &format!(" {}", lane.await??);
        }
        Ok::<_, Box<dyn Error>>(counts)
    });
    say(&format!("done{}", counts.await?))?;
    Ok(())
}

/// Checks until it is over; returns how many calls there were.
async fn check(
    limiter: Rc<AsyncRateLimiter>,
    lane: Lane,
    pause: Duration,
    is_over: watch::Receiver<bool>,
) -> std::io::Result<u64> {
    let mut options = CheckOptions::new();
    if let Some(timeout) = lane.timeout {
        options = options.timeout(timeout);
    }
    let mut count = 0;
    while !*is_over.borrow() {
        let before = clock_us();
        let answer = limiter.check_with(&lane.rule, &lane.key, options).await;
        let after = clock_us();
        let said = match answer {
            Ok(decision) => {
                format!("{} {} {}", u8::from(decision.allowed), decision.source.name(), decision.remaining)
            }
            Err(error) => format!("- {} 0", error.kind().name()),
        };
        say(&format!("{} {count} {before} {after} {said}", lane.number))?;
        count += 1;
        sleep(pause).await;
    }
    Ok(count)
}

fn say(line: &str) -> std::io::Result<()> {
    let mut out = stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}

fn clock_us() -> i64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec * 1_000_000 + now.tv_nsec / 1000
}
