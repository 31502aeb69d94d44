//! Regions whose rules have different limits: that of the region in charge of a key applies.

mod bounds;
mod first_calls;
mod parts;

use std::sync::{LazyLock, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use log::{LevelFilter, Log, Metadata, Record};
use sluicegate::{Builder, Check, CheckOptions, ManualClock, RateLimiter, Rules, Usage};
use sluicegate_test_servers::{Redis, keys_without_ttl};

const RULES: &str = r#"[
    {"rule_id": "all", "algorithm": "fixed_window", "limit": 10, "window_size_seconds": 86400, "global": {}},
    {"rule_id": "bucket", "rate": "20/day", "burst": 10, "global": {}},
    {"rule_id": "work", "rate": "10/day", "reservations": true, "lease_seconds": 600, "global": {}},
    {"rule_id": "plans", "rate": "20/day", "burst": 10, "overrides": true, "global": {}},
    {"rule_id": "near", "rate": "10/day"}
]"#;

const NAMES: [&str; 2] = ["ap", "eu"];

/// Keeps what limiters say of limits that differ.
struct Listener;

static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());
static LISTENING: LazyLock<()> = LazyLock::new(|| {
    log::set_logger(&Listener).unwrap();
    log::set_max_level(LevelFilter::Warn);
});

impl Log for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "sluicegate::events::limit_differs"
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            SAID.lock().unwrap().push(record.args().to_string());
        }
    }

    fn flush(&self) {}
}

/// How often it was said of a rule.
fn said(rule: &str) -> usize {
    let what = format!(
        "rule \"{rule}\": region \"eu\" has another limit or burst, which applies to the keys that it is in charge of"
    );
    SAID.lock().unwrap().iter().filter(|line| **line == what).count()
}

/// Number, time, how long it took, its words, who sent it.
type LoggedCommand = (u64, u64, u64, Vec<Vec<u8>>, String, String);

/// Two regions by one clock.
struct World {
    servers: [Redis; 2],
    clock: ManualClock,
}

impl World {
    fn start() -> Self {
        LazyLock::force(&LISTENING);
        Self { servers: NAMES.map(|_| Redis::start().unwrap()), clock: ManualClock::default() }
    }

    fn builder(&self, place: usize, rules: &str) -> Builder {
        let urls = NAMES.into_iter().zip(self.servers.iter().map(|server| server.url().to_owned()));
        let builder = RateLimiter::builder("").rules(Rules::from_json(rules).unwrap()).regions(urls);
        builder.region(NAMES[place]).clock(self.clock.clone())
    }

    fn limiter(&self, place: usize, rules: &str) -> RateLimiter {
        self.builder(place, rules).build().unwrap()
    }

    fn names(&self, place: usize, like: &str) -> Vec<String> {
        redis::cmd("KEYS").arg(like).query(&mut self.servers[place].client().unwrap()).unwrap()
    }

    fn length(&self, place: usize, name: &str) -> usize {
        redis::cmd("STRLEN").arg(name).query(&mut self.servers[place].client().unwrap()).unwrap()
    }

    /// A key of which the region at this place is in charge.
    fn key_of(&self, rule: &str, place: usize) -> String {
        let limiter = self.limiter(0, RULES);
        let mut keys = (0..100).map(|number| format!("user-{number}"));
        let is_owned = |key: &String| {
            limiter.check(rule, key).unwrap();
            let states = self.names(place, &format!("sluicegate:{rule}:{{{key}}}:*"));
            limiter.reset(rule, key).unwrap();
            states.iter().any(|name| !name.contains(":lent-"))
        };
        keys.find(is_owned).unwrap()
    }

    /// Whether the second region has stated this number of a rule: its limit, or its burst.
    fn has_stated(&self, rule: &str, number: u64) -> bool {
        let mut client = self.servers[1].client().unwrap();
        self.names(1, &format!("sluicegate:{rule}:{{{rule}}}:terms-*")).iter().any(|name| {
            let terms: Vec<u8> = redis::cmd("GET").arg(name).query(&mut client).unwrap();
            terms.as_chunks().0.iter().any(|&stated| f64::from_le_bytes(stated) == number as f64)
        })
    }

    /// How often the terms of the second region were looked up since its log was emptied.
    fn look_ups(&self) -> usize {
        let mut client = self.servers[1].client().unwrap();
        let log: Vec<LoggedCommand> = redis::cmd("SLOWLOG").arg("GET").arg(-1).query(&mut client).unwrap();
        // The command, the script, the number of keys, the key: and nothing to state.
        let is_look_up =
            |words: &[Vec<u8>]| words.len() == 4 && String::from_utf8_lossy(&words[3]).contains(":terms-");
        log.iter().filter(|(_, _, _, words, ..)| is_look_up(words)).count()
    }

    /// A limiter of the second region by other rules, once it has stated so.
    fn differing(&self, rule: &str, (field, other): (&str, &str), number: u64) -> RateLimiter {
        let rules = RULES.replacen(field, other, 1);
        assert_ne!(rules, RULES);
        let limiter = self.limiter(1, &rules);
        limiter.peek(rule, "any").unwrap();
        soon(|| self.has_stated(rule, number));
        limiter
    }
}

/// Nobody waits for what regions state: so this looks until it is there.
fn soon(is_true: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !is_true() {
        assert!(Instant::now() < deadline, "it never is");
        thread::sleep(Duration::from_millis(1));
    }
}

/// How many of some checks are admitted.
fn admitted(limiter: &RateLimiter, rule: &str, key: &str, calls: usize) -> usize {
    (0..calls).filter(|_| limiter.check(rule, key).unwrap().allowed).count()
}

fn limit(limiter: &RateLimiter, rule: &str, key: &str) -> u64 {
    limiter.peek(rule, key).unwrap().limit
}

#[test]
fn a_limit_that_differs_applies_as_the_region_in_charge_has_it() {
    let world = World::start();
    let (key, other) = (world.key_of("all", 1), world.key_of("all", 0));
    let there = world.differing("all", ("\"limit\": 10", "\"limit\": 4"), 4);
    let here = world.limiter(0, RULES);
    assert_eq!(limit(&here, "all", &key), 4, "with the first call");
    assert_eq!(limit(&here, "all", &other), 10, "that of its own region");
    assert_eq!(admitted(&here, "all", &key, 6), 4);
    assert_eq!(admitted(&there, "all", &key, 6), 0, "four in all");
    let denied = here.check_all(&[Check::new("near", "k"), Check::new("all", &key)]).unwrap();
    assert_eq!((denied.allowed, denied.rule.as_str(), denied.limit), (false, "all", 4));
    assert_eq!(here.wait("all", &key, Duration::ZERO).unwrap().limit, 4);
    let own = CheckOptions::new().limit(5);
    let decision = here.check_with("all", &key, own).unwrap();
    assert_eq!((decision.allowed, decision.limit), (true, 5), "that of a call comes first");
    assert_eq!(said("all"), 1);
    // Another one is looked up again.
    world.differing("all", ("\"limit\": 10", "\"limit\": 7"), 7);
    assert_eq!(limit(&here, "all", &key), 4, "not yet");
    world.clock.advance(Duration::from_secs(60));
    soon(|| limit(&here, "all", &key) == 7);
    assert_eq!(said("all"), 2, "it is said once a minute at most");
    assert_eq!(admitted(&here, "all", &key, 6), 2);
    for server in &world.servers {
        assert_eq!(keys_without_ttl(&mut server.client().unwrap()).unwrap(), Vec::<String>::new());
    }
}

#[test]
fn so_do_its_rate_and_its_burst() {
    let world = World::start();
    let [bucket, work] = ["bucket", "work"].map(|rule| world.key_of(rule, 1));
    world.differing("bucket", ("\"20/day\", \"burst\": 10", "\"40/day\", \"burst\": 3"), 3);
    world.differing("work", ("\"work\", \"rate\": \"10/day\"", "\"work\", \"rate\": \"12/day\""), 12);
    let here = world.limiter(0, RULES);
    assert_eq!(admitted(&here, "bucket", &bucket, 6), 3);
    world.clock.advance(Duration::from_secs(3 * 86_400 / 40));
    assert_eq!(
        admitted(&here, "bucket", &bucket, 6),
        3,
        "three are admitted anew at the rate of the region in charge"
    );
    let reserved = here.reserve_with("work", &work, CheckOptions::new().cost(11)).unwrap();
    assert!(reserved.allowed, "more than the own limit");
    assert!(here.commit(&reserved.id().unwrap(), Usage::Cost(9)).unwrap());
    assert_eq!(here.peek("work", &work).unwrap().remaining, 3);
}

#[test]
fn what_is_stated_after_a_quiet_time_is_not_lost_with_the_connection() {
    let world = World::start();
    let key = world.key_of("all", 1);
    let there = world.differing("all", ("\"limit\": 10", "\"limit\": 4"), 4);
    let mut client = world.servers[1].client().unwrap();
    for name in world.names(1, "sluicegate:all:{all}:terms-*") {
        redis::cmd("DEL").arg(name).exec(&mut client).unwrap();
    }
    redis::cmd("CLIENT").arg("KILL").arg("TYPE").arg("normal").exec(&mut client).unwrap();
    // For so long a connection is trusted to be as it was: no clock of the limiter's.
    thread::sleep(Duration::from_millis(1_100));
    world.clock.advance(Duration::from_secs(11));
    assert!(there.check("all", &key).unwrap().allowed);
    soon(|| world.has_stated("all", 4));
}
