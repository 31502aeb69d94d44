//! Failovers by Sentinels and by a Cluster amid calls of a limiter that asks for replicas: no charge that all of them have is
//! lost, and calls resume by themselves.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use log::{LevelFilter, Log, Metadata, Record};
use sluicegate::{CheckOptions, RateLimiter, Rules};
use sluicegate_conformance::{Driver, Limiter};
use sluicegate_test_servers::{Cluster, Node, Sentinel, Transport, finally};

/// What is charged stays charged for longer than a test takes.
const RULES: &str = r#"[{"rule_id": "a", "rate": "1000/d"}]"#;
const LIMIT: u64 = 1000;
const COST: u64 = 100;

const CALLERS: usize = 3;
/// Long enough for a machine that does much else.
const LONG: Duration = Duration::from_secs(60);

/// Keeps what limiters say of primaries that change.
struct Listener;

static CHANGES: Mutex<Vec<String>> = Mutex::new(Vec::new());

impl Log for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "sluicegate::events::topology_changed"
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            CHANGES.lock().unwrap().push(record.args().to_string());
        }
    }

    fn flush(&self) {}
}

/// Whether an event says that this server is no primary any more.
fn is_said(old: &Node) -> bool {
    let is_of = |change: &String| change.rsplit("no longer").next().unwrap().contains(&old.address());
    CHANGES.lock().unwrap().iter().any(is_of)
}

/// A key, and whether replicas have its charge; nothing if the call failed.
type Told = (String, Option<bool>);

/// A limiter that callers use without pause.
struct Traffic {
    limiter: Limiter,
    told: Mutex<Vec<Told>>,
    is_over: AtomicBool,
}

impl Traffic {
    fn of(driver: Driver, url: &str, replicas: u32) -> Self {
        // Another test may have done so.
        let _ = log::set_logger(&Listener);
        log::set_max_level(LevelFilter::Info);
        let builder = RateLimiter::builder(url).rules(Rules::from_json(RULES).unwrap());
        let builder = builder.replicas(replicas).replica_timeout(Duration::from_millis(50));
        let builder = builder.response_timeout(Duration::from_millis(400));
        let limiter = Limiter::new(driver, builder).unwrap();
        Self { limiter, told: Mutex::default(), is_over: AtomicBool::new(false) }
    }

    /// Checks key after key until the end, whatever becomes of the calls.
    fn call(&self, caller: usize) {
        for call in 0.. {
            if self.is_over.load(Ordering::Relaxed) {
                break;
            }
            let key = format!("{caller}-{call}");
            let decision = self.limiter.check("a", &key, CheckOptions::new().cost(COST));
            let outcome = decision.ok().map(|decision| decision.replicated);
            // Callers pause before they try again; and so few keys suffice.
            thread::sleep(Duration::from_millis(2));
            self.told().push((key, outcome));
        }
    }

    fn told(&self) -> MutexGuard<'_, Vec<Told>> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for so many further outcomes that are like this. Returns all that are reported until then.
    fn until(&self, outcome: Option<bool>, count: usize) -> Vec<Told> {
        let (before, begun) = (self.told().len(), Instant::now());
        loop {
            let since = self.told()[before..].to_vec();
            if since.iter().filter(|(_, told)| *told == outcome).count() >= count {
                return since;
            }
            if begun.elapsed() > LONG {
                self.is_over.store(true, Ordering::Relaxed);
                panic!("fewer than {count} of {outcome:?} among {} calls", since.len());
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Runs the callers for as long as the test.
    fn amid(&self, test: impl FnOnce()) {
        thread::scope(|scope| {
            let _callers: Vec<_> =
                (0..CALLERS).map(|caller| scope.spawn(move || self.call(caller))).collect();
            let _end = finally(|| self.is_over.store(true, Ordering::Relaxed));
            test();
        });
    }

    /// That whoever is in charge now has every charge that was said to be on replicas.
    fn assert_nothing_is_lost(&self, url: &str) {
        let anew = RateLimiter::builder(url).rules(Rules::from_json(RULES).unwrap()).build().unwrap();
        let told = self.told();
        let replicated: Vec<_> = told.iter().filter(|(_, told)| *told == Some(true)).collect();
        assert!(replicated.len() >= 50, "{}", replicated.len());
        for (key, _) in replicated {
            let remaining = anew.peek("a", key).unwrap().remaining;
            assert!(remaining <= LIMIT - COST / 2, "the charge of {key} is lost: {remaining} remaining");
        }
    }
}

/// How a primary fails, and how it comes back.
#[derive(Clone, Copy)]
struct Failure {
    begin: fn(&Node),
    end: fn(&Node),
}

const KILLED: Failure = Failure { begin: Node::kill, end: |node| node.restart().unwrap() };
const PAUSED: Failure = Failure { begin: |node| node.pause().unwrap(), end: |node| node.resume().unwrap() };

fn sentinels_choose_another(driver: Driver, failure: Failure) {
    let servers = Sentinel::with_replicas(Transport::Tcp, 2).unwrap();
    let traffic = Traffic::of(driver, &servers.url(), 2);
    traffic.amid(|| {
        traffic.until(Some(true), 60);
        let old = servers.primary().unwrap();
        (failure.begin)(old);
        let new = servers.wait_for_failover(old).unwrap();
        // One replica is left of the two that are asked for: calls are decided all the same.
        traffic.until(Some(false), 1);
        let since = traffic.until(Some(false), 20);
        assert!(since.iter().all(|(_, told)| *told != Some(true)), "{since:?}");
        assert!(is_said(old), "{:?}", CHANGES.lock().unwrap());
        (failure.end)(old);
        // The Sentinels would have it follow after ten seconds.
        let port = new.port().to_string();
        redis::cmd("REPLICAOF").arg(&["127.0.0.1", &port]).exec(&mut old.client().unwrap()).unwrap();
        traffic.until(Some(true), 20);
    });
    traffic.assert_nothing_is_lost(&servers.url());
}

fn a_replica_in_the_cluster_takes_over(driver: Driver, failure: Failure) {
    let cluster = Cluster::start().unwrap();
    let traffic = Traffic::of(driver, &cluster.url(), 1);
    traffic.amid(|| {
        traffic.until(Some(true), 60);
        let old = cluster.primary_of("any").unwrap();
        (failure.begin)(old);
        cluster.wait_for_failover("any", old).unwrap();
        // Of the new primary's slots there is no replica now, of the others there is.
        traffic.until(Some(false), 20);
        traffic.until(Some(true), 20);
        assert!(is_said(old), "{:?}", CHANGES.lock().unwrap());
        (failure.end)(old);
        let mut since = traffic.until(Some(true), 60);
        while since.iter().any(|(_, told)| *told != Some(true)) {
            since = traffic.until(Some(true), 60);
        }
    });
    traffic.assert_nothing_is_lost(&cluster.url());
}

#[test]
fn sentinels_replace_a_killed_primary() {
    sentinels_choose_another(Driver::Blocking, KILLED);
}

#[test]
fn sentinels_replace_a_paused_primary() {
    sentinels_choose_another(Driver::Async, PAUSED);
}

#[test]
fn a_cluster_replaces_a_killed_primary() {
    a_replica_in_the_cluster_takes_over(Driver::Async, KILLED);
}

#[test]
fn a_cluster_replaces_a_paused_primary() {
    a_replica_in_the_cluster_takes_over(Driver::Blocking, PAUSED);
}
