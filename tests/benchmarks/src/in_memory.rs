//! The in-memory engine against `governor`, the in-process limiter that Rust programs use.

use std::hint::black_box;
use std::num::NonZeroU32;
use std::thread;
use std::time::Duration;

use governor::clock::{Clock, MonotonicClock, QuantaClock};
use governor::middleware::NoOpMiddleware;
use governor::state::keyed::DashMapStateStore;
use governor::{Quota, RateLimiter as Governor};
use rustix::time::{ClockId, clock_gettime};
use sluicegate::{RateLimiter, Rules};

use crate::Result;
use crate::options::Options;
use crate::recording::key;
use crate::samples::{Samples, verdict};
use crate::table::Table;

const CALLS: usize = 500_000;
const KEYS: usize = 1_000_000;
const RULE: &str = "twelve-bytes";
/// A billion an hour: nothing is denied.
const LIMIT: u32 = 1_000_000_000;
const UNIT: Duration = Duration::from_nanos(3600);

/// Something that admits keys.
trait Limiter: Sync {
    #[expect(clippy::ptr_arg, reason = "governor is asked with a reference to its own type of key")]
    fn admits(&self, key: &String) -> bool;
}

impl Limiter for RateLimiter {
    fn admits(&self, key: &String) -> bool {
        self.check(RULE, key).is_ok_and(|decision| decision.allowed)
    }
}

impl<C> Limiter for Governor<String, DashMapStateStore<String>, C, NoOpMiddleware<C::Instant>>
where
    C: Clock + Sync,
    C::Instant: Sync,
{
    fn admits(&self, key: &String) -> bool {
        self.check_key(key).is_ok()
    }
}

struct Contender {
    name: &'static str,
    make: fn() -> Result<Box<dyn Limiter>>,
    /// What of governor's time one thread may take.
    target: Option<f64>,
    nanos: [Samples; SETTINGS.len()],
}

/// Threads and keys.
const SETTINGS: [(usize, usize); 4] = [(1, 1), (2, 1), (1, KEYS), (2, KEYS)];

fn contenders() -> Vec<Contender> {
    let new = |name, target, make| Contender { name, make, target, nanos: Default::default() };
    vec![
        new("governor, clock of the standard library", None, || governor(MonotonicClock)),
        new("governor, clock of its own", None, || governor(QuantaClock::default())),
        new("gcra", Some(1.0), || ours(r#""algorithm": "gcra""#, LIMIT)),
        new("fixed_window, aligned", Some(2.0), || ours(r#""algorithm": "fixed_window""#, LIMIT)),
        new("fixed_window, first_request", Some(2.0), || {
            ours(r#""algorithm": "fixed_window", "window_start": "first_request""#, LIMIT)
        }),
        new("sliding_window", Some(2.0), || ours(r#""algorithm": "sliding_window""#, LIMIT)),
        new("decay", Some(2.0), || ours(r#""algorithm": "decay", "resolution_seconds": 3600"#, LIMIT)),
        new("sliding_buckets", None, || ours(r#""algorithm": "sliding_buckets""#, LIMIT)),
        new("sliding_log, window 5 ms", None, || ours(r#""algorithm": "sliding_log""#, 100_000)),
    ]
}

fn ours(fields: &str, limit: u32) -> Result<Box<dyn Limiter>> {
    let window = match fields {
        fields if fields.contains("decay") => "",
        fields if fields.contains("sliding_log") => r#", "window_size_seconds": 0.005"#,
        _ => r#", "window_size_seconds": 3600"#,
    };
    let rules = format!(r#"[{{"rule_id": "{RULE}", {fields}, "limit": {limit}{window}}}]"#);
    Ok(Box::new(RateLimiter::builder("memory://").rules(Rules::from_json(&rules)?).build()?))
}

fn governor<C>(clock: C) -> Result<Box<dyn Limiter>>
where
    C: Clock + Sync + 'static,
    C::Instant: Sync + Send,
{
    let burst = NonZeroU32::new(LIMIT).ok_or("a limit is not zero")?;
    let quota = Quota::with_period(UNIT).ok_or("a period is not zero")?.allow_burst(burst);
    Ok(Box::new(Governor::dashmap_with_clock(quota, clock)))
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let (calls, keys) = (options.size(CALLS), options.size(KEYS));
    let names: Vec<String> = (0..keys).map(key).collect();
    let mut contenders = contenders();
    let count = contenders.len();
    for round in 0..options.rounds() {
        // Each round begins with another one: what is freed before shapes the memory that comes next.
        for at in (0..count).map(|place| (place + 2 * round) % count) {
            let contender = &mut contenders[at];
            let limiter = (contender.make)()?;
            for (setting, samples) in SETTINGS.iter().zip(&mut contender.nanos) {
                let (threads, many) = (setting.0, setting.1 > 1);
                let names = if many { &names[..] } else { &names[..1] };
                // Every key exists before any is measured.
                if many && threads == 1 {
                    names.iter().for_each(|name| _ = black_box(limiter.admits(name)));
                }
                samples.push(nanos_per_call(limiter.as_ref(), names, threads, calls)?);
            }
        }
    }
    println!("\n## In-memory engine\n");
    println!(
        "Nanoseconds per admitted check, {calls} per thread; ratios to governor with the same clock. One thread:"
    );
    println!(
        "processor time. Two: time until both have made all their calls, divided by the calls of one.\n"
    );
    print(&contenders, keys);
    Ok(())
}

fn print(contenders: &[Contender], keys: usize) {
    let many = format!("{keys} keys");
    let columns =
        ["", "1 key, 1 thread", "ratio", "1 key, 2 threads", "ratio", &many, "ratio", "2 threads", "ratio"];
    let mut table = Table::new(&[columns.as_slice(), &["target on one thread"]].concat());
    for contender in contenders {
        let ratios: Vec<_> =
            contender.nanos.iter().zip(&contenders[0].nanos).map(|(own, other)| own.over(other)).collect();
        let figures = contender.nanos.iter().zip(&ratios);
        let figures =
            figures.flat_map(|(nanos, ratio)| [format!("{nanos:.0}"), format!("{:.2}", ratio.median())]);
        let target = contender.target.map_or("none".to_owned(), |target| {
            let worst = ratios[0].median().max(ratios[2].median());
            verdict(worst, target)
        });
        table.row([contender.name.to_owned()].into_iter().chain(figures).chain([target]));
    }
    println!("{table}");
}

fn nanos_per_call(limiter: &dyn Limiter, names: &[String], threads: usize, calls: usize) -> Result<f64> {
    // One thread waits for nobody, so its processor time is its time on a machine that does nothing else.
    let time = if threads == 1 { ClockId::ProcessCPUTime } else { ClockId::Monotonic };
    let start = clock_gettime(time);
    let denied: usize = thread::scope(|scope| {
        let run = |thread| scope.spawn(move || denied_of(limiter, names, thread, calls));
        let running: Vec<_> = (0..threads).map(run).collect();
        running.into_iter().map(|running| running.join().unwrap_or(calls)).sum()
    });
    let end = clock_gettime(time);
    // Of a log, some may be: its limit cannot be out of reach.
    if denied * 2 > calls {
        return Err("more was denied than was to be measured".into());
    }
    let nanos = (end.tv_sec - start.tv_sec) as f64 * 1e9 + (end.tv_nsec - start.tv_nsec) as f64;
    Ok(nanos / calls as f64)
}

/// Checks keys in an order that no cache foresees; counts denials.
fn denied_of(limiter: &dyn Limiter, names: &[String], thread: usize, calls: usize) -> usize {
    let mut place = thread;
    let mut denied = 0;
    for _ in 0..calls {
        // A linear congruential generator: cheap, and the same for all.
        place = place.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let name = &names[((place >> 33) * names.len()) >> 31];
        denied += usize::from(!limiter.admits(name));
    }
    denied
}
