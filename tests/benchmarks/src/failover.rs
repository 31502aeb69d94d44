//! What a failover loses of what callers were told.

use std::thread;
use std::time::Duration;

use sluicegate::{RateLimiter, Rules};
use sluicegate_test_servers::{Promoted, Replicated};

use crate::Result;
use crate::options::Options;
use crate::table::Table;

const RULES: &str =
    r#"[{"rule_id": "a", "algorithm": "fixed_window", "limit": 1000, "window_size_seconds": 86400}]"#;
/// Bytes take so long between the primary and each of two replicas, there and back.
const TRIPS: [Duration; 2] = [Duration::from_millis(4), Duration::from_millis(20)];
const REPLICA_TIMEOUT: Duration = Duration::from_millis(50);
const THREADS: usize = 4;
/// How long calls are made before the primary is killed.
const SPAN: Duration = Duration::from_millis(100);
const FAILOVERS: usize = 200;

/// Calls, and those that the new primary does not know.
#[derive(Default)]
struct Losses {
    admitted: usize,
    lost: usize,
    replicated: usize,
    replicated_lost: usize,
    rounds_with_loss: usize,
}

impl Losses {
    /// Takes up what callers of a round were told: each call's key, and whether replicas have it.
    fn add(&mut self, told: &[(String, bool)], after: &RateLimiter) -> Result<()> {
        let before = self.lost;
        for (key, is_replicated) in told {
            let is_lost = after.peek("a", key)?.remaining == 1000;
            self.admitted += 1;
            self.lost += usize::from(is_lost);
            self.replicated += usize::from(*is_replicated);
            self.replicated_lost += usize::from(*is_replicated && is_lost);
        }
        self.rounds_with_loss += usize::from(self.lost > before);
        Ok(())
    }
}

fn limiter(servers: &Replicated, replicas: u32) -> Result<RateLimiter> {
    let builder = RateLimiter::builder(servers.primary().url()).rules(Rules::from_json(RULES)?);
    Ok(builder.replicas(replicas).replica_timeout(REPLICA_TIMEOUT).build()?)
}

/// Checks a key after the other until the server is gone.
fn until_it_fails(limiter: &RateLimiter, name: &str) -> Vec<(String, bool)> {
    let keys = (0..).map(|call| format!("{name}-{call}"));
    let answers =
        keys.map_while(|key| limiter.check("a", &key).ok().map(|decision| (key, decision.replicated)));
    answers.collect()
}

/// A failover amid calls. Answers what callers were told.
fn round(
    servers: &mut Replicated,
    replicas: u32,
    promoted: Promoted,
    round: usize,
) -> Result<Vec<(String, bool)>> {
    let limiter = limiter(servers, replicas)?;
    let result = thread::scope(|scope| {
        let call = |thread: usize| {
            let (limiter, name) = (&limiter, format!("{replicas}-{promoted:?}-{round}-{thread}"));
            scope.spawn(move || until_it_fails(limiter, &name))
        };
        let calling: Vec<_> = (0..THREADS).map(call).collect();
        thread::sleep(SPAN);
        let failed_over = servers.fail_over(promoted);
        let told = calling.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect();
        failed_over.map(|()| told)
    });
    Ok(result?)
}

pub(crate) fn run(options: &Options) -> Result<()> {
    println!("\n## What a failover loses\n");
    println!(
        "{THREADS} threads check key after key; then the primary is killed with what is on its way to two replicas, \
         {} and {} ms away there and back.\n",
        TRIPS[0].as_millis(),
        TRIPS[1].as_millis()
    );
    let mut table = Table::new(&[
        "`replicas`",
        "promoted",
        "failovers",
        "with a loss",
        "admitted",
        "lost",
        "`replicated`",
        "lost of these",
    ]);
    let mut servers = Replicated::start(&TRIPS)?;
    let failovers = options.size(FAILOVERS);
    for (replicas, promoted) in [
        (0, Promoted::Foremost),
        (0, Promoted::Hindmost),
        (1, Promoted::Foremost),
        (1, Promoted::Hindmost),
        (2, Promoted::Foremost),
        (2, Promoted::Hindmost),
    ] {
        let mut losses = Losses::default();
        for place in 0..failovers {
            let told = round(&mut servers, replicas, promoted, place)?;
            losses.add(&told, &limiter(&servers, 0)?)?;
        }
        let numbers = [
            failovers,
            losses.rounds_with_loss,
            losses.admitted,
            losses.lost,
            losses.replicated,
            losses.replicated_lost,
        ];
        let head = [replicas.to_string(), format!("{promoted:?}").to_lowercase()];
        table.row(head.into_iter().chain(numbers.map(|number| number.to_string())));
    }
    println!("{table}");
    Ok(())
}
