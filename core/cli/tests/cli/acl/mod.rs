//! What `rules acl` prints: a user with just that can do everything, and with less cannot.

mod key_record;
mod topologies;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use redis::{Cmd, Connection, cmd};
use sluicegate::{Check, CheckOptions, Error, ErrorKind, ManualClock, RateLimiter, Rules, Usage};
use sluicegate_test_servers::{Node, Redis, keys_without_ttl};

use super::outcome;

const KINDS: [(&str, &str); 8] = [
    ("aligned", r#""algorithm": "fixed_window", "limit": 100, "window_size_seconds": 60"#),
    (
        "first_request",
        r#""algorithm": "fixed_window", "window_start": "first_request", "limit": 100, "window_size_seconds": 60"#,
    ),
    ("sliding_window", r#""algorithm": "sliding_window", "limit": 100, "window_size_seconds": 60"#),
    ("list", r#""algorithm": "sliding_log", "limit": 100, "window_size_seconds": 60"#),
    (
        "sorted_set",
        r#""algorithm": "sliding_log", "structure": "sorted_set", "limit": 100, "window_size_seconds": 60"#,
    ),
    ("sliding_buckets", r#""algorithm": "sliding_buckets", "limit": 100, "window_size_seconds": 60"#),
    ("gcra", r#""algorithm": "gcra", "limit": 100, "window_size_seconds": 60"#),
    ("decay", r#""algorithm": "decay", "limit": 100, "resolution_seconds": 60"#),
];
/// The same beside reservations, and what has nothing else.
const HELD_KINDS: [(&str, &str); 3] = [
    (
        "held_list",
        r#""algorithm": "sliding_log", "limit": 100, "window_size_seconds": 60, "reservations": true"#,
    ),
    ("held_gcra", r#""algorithm": "gcra", "limit": 100, "window_size_seconds": 60, "reservations": true"#),
    ("concurrency", r#""algorithm": "concurrency", "limit": 100"#),
];
const NOW_US: u64 = 1_760_000_040_123_457;
const SECOND_US: i64 = 1_000_000;

fn rules(kinds: &[(&str, &str)]) -> String {
    let rules = kinds.iter().map(|(id, fields)| format!(r#"{{"rule_id": "{id}", {fields}}}"#));
    format!("[{}]", rules.collect::<Vec<_>>().join(", "))
}

/// The words that the tool prints.
fn printed(rules: &str, options: &[&str]) -> Vec<String> {
    let (code, out, err) = outcome(&[&["rules", "acl", rules][..], options].concat());
    assert_eq!((code, err.as_str()), (0, ""));
    out.split_whitespace().map(str::to_owned).collect()
}

fn allowed(words: &[String]) -> impl Iterator<Item = &String> {
    words.iter().filter(|word| word.starts_with('+'))
}

/// Makes the user anew, with all words but one.
fn set_user(node: &Node, words: &[String], but: Option<&String>) {
    let mut user = cmd("ACL");
    user.arg("SETUSER").arg("limiter").arg(&["reset", "on", ">secret"]);
    user.arg(words.iter().filter(|word| Some(*word) != but).collect::<Vec<_>>());
    user.exec(&mut node.client().unwrap()).unwrap();
}

fn send(connection: &mut Connection, command: &Cmd) {
    command.exec(connection).unwrap();
}

/// Each has its own `connect_timeout`: limiters with equal settings share the outcome of their last attempt to connect.
fn limiter(url: &str, rules: &str, clock: Option<&ManualClock>) -> RateLimiter {
    static MADE: AtomicU64 = AtomicU64::new(0);
    let time = Duration::from_millis(1000 + MADE.fetch_add(1, Ordering::Relaxed));
    let builder = RateLimiter::builder(url).connect_timeout(time).rules(Rules::from_json(rules).unwrap());
    match clock {
        Some(clock) => builder.clock(clock.clone()).build().unwrap(),
        None => builder.build().unwrap(),
    }
}

/// What a user with some rights meets on a server, and what somebody with all of them sees there.
struct World {
    limiter: RateLimiter,
    on_server_time: RateLimiter,
    witness: RateLimiter,
    clock: ManualClock,
    errors: Vec<Error>,
}

impl World {
    fn new(redis: &Redis, rules: &str) -> Self {
        let clock = ManualClock::new(NOW_US);
        let url = redis.url().replace("redis://", "redis://limiter:secret@");
        Self {
            limiter: limiter(&url, rules, Some(&clock)),
            on_server_time: limiter(&format!("{url}?protocol=resp3"), rules, None),
            witness: limiter(redis.url(), rules, Some(&clock)),
            clock,
            errors: Vec::new(),
        }
    }

    fn note<T>(&mut self, result: Result<T, Error>) -> bool {
        result.map_err(|error| self.errors.push(error)).is_err()
    }

    /// What fails has charged nothing.
    fn charging<T>(&mut self, rule: &str, call: impl Fn(&RateLimiter) -> Result<T, Error>) {
        let before = self.witness.peek(rule, "k").unwrap();
        let result = call(&self.limiter);
        if self.note(result) {
            let after = self.witness.peek(rule, "k").unwrap();
            assert_eq!(
                (after.remaining, after.reset_after),
                (before.remaining, before.reset_after),
                "{rule}"
            );
        }
    }

    fn at(&self, offset_us: i64) {
        self.clock.set_us(NOW_US.saturating_add_signed(offset_us));
    }

    /// What is reserved is committed, released, renewed, and left to the end of its lease, also by a clock that steps back.
    fn reserving(&mut self, rule: &str) {
        for second in [0, 10, 20, 200, 210, 150] {
            self.at((1000 + second) * SECOND_US);
            // What has ended by now is charged, before anything else has charged it, to a copy.
            let expensive = CheckOptions::new().cost(99).limit(101);
            let results = [self.limiter.peek(rule, "k"), self.limiter.peek_with(rule, "k", expensive)];
            results.into_iter().for_each(|result| _ = self.note(result));
            let made: Vec<_> = (0..4).map(|_| self.limiter.reserve(rule, "k")).collect();
            for (number, made) in made.into_iter().enumerate() {
                let result = made.and_then(|reservation| match number {
                    0 => self.limiter.commit(&reservation, Usage::Cost(3)),
                    1 => self.limiter.release(&reservation),
                    2 => self.limiter.renew(&reservation),
                    _ => Ok(true),
                });
                self.note(result);
            }
        }
        let result = self.limiter.reserve_with(rule, "k", CheckOptions::new().limit(1000)).map(drop);
        self.note(result);
        let result = self.on_server_time.reserve(rule, "k").map(drop);
        self.note(result);
        let result = self.limiter.reset(rule, "k");
        self.note(result);
    }

    /// Every operation, in every state of a key that makes a script say something else.
    fn everything(&mut self, rule: &str) {
        let cost = |cost| CheckOptions::new().cost(cost);
        // What one unit was charged before all others is gone alone.
        self.at(-SECOND_US);
        self.charging(rule, |limiter| limiter.check(rule, "k"));
        // Calls at one instant, pauses after which little, much and all is gone, and a clock that steps back.
        let instants = [0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 59, 60, 61, 66, 30, 69, 300, 300];
        for second in instants {
            self.at(second * SECOND_US);
            self.charging(rule, |limiter| limiter.check(rule, "k"));
            self.charging(rule, |limiter| limiter.check_with(rule, "k", cost(3)));
            self.charging(rule, |limiter| limiter.check_with(rule, "k", cost(1).request_id("once")));
            self.charging(rule, |limiter| limiter.wait(rule, "k", Duration::ZERO));
            self.charging(rule, |limiter| limiter.charge_with(rule, "k", cost(2)));
            let results = [self.limiter.peek(rule, "k"), self.limiter.refund_with(rule, "k", cost(2))];
            results.into_iter().for_each(|result| _ = self.note(result));
        }
        let together = [Check::new(rule, "k"), Check::new(rule, "other")];
        let results = [
            self.limiter.check_all(&together),
            self.limiter.refund_with(rule, "k", cost(99)),
            self.limiter.refund_with(rule, "other", cost(99)),
            self.on_server_time.check(rule, "j"),
        ];
        results.into_iter().for_each(|result| _ = self.note(result));
        let results = [self.limiter.reset(rule, "k"), self.limiter.reset(rule, "j"), self.limiter.ping()];
        results.into_iter().for_each(|result| _ = self.note(result));
    }
}

/// What a limiter works without, though not unnoticed.
const ROLE: &str = "+role";

/// How many kinds of commands the server has refused for want of a right since this was last asked.
fn refusals(redis: &Redis) -> usize {
    let mut admin = redis.client().unwrap();
    let entries: Vec<redis::Value> = cmd("ACL").arg("LOG").query(&mut admin).unwrap();
    send(&mut admin, cmd("ACL").arg("LOG").arg("RESET"));
    entries.len()
}

#[test]
fn without_role_a_limiter_works_and_the_server_logs_refusals() {
    let redis = Redis::start().unwrap();
    let (kind, rules) = (KINDS[0].0, rules(&KINDS[..1]));
    let words = printed(&rules, &[]);
    for (but, refused) in [(None, false), (Some(ROLE.to_owned()), true)] {
        set_user(&redis, &words, but.as_ref());
        let mut world = World::new(&redis, &rules);
        // The question goes along with calls, twice a second at most.
        for _ in 0..3 {
            world.everything(kind);
            std::thread::sleep(Duration::from_millis(600));
        }
        assert!(world.errors.is_empty(), "{:?}", world.errors);
        assert_eq!(refusals(&redis) > 0, refused, "without {but:?}");
    }
}

/// Proves each command of the line for one rule to be needed, and all of them to be enough.
fn each_is_needed(redis: &Redis, (kind, fields): (&str, &str), exercise: fn(&mut World, &str)) {
    let mut admin = redis.client().unwrap();
    let rules = rules(&[(kind, fields)]);
    let words = printed(&rules, &[]);
    set_user(redis, &words, None);
    refusals(redis);
    let mut world = World::new(redis, &rules);
    exercise(&mut world, kind);
    assert!(world.errors.is_empty(), "{kind}: {}", world.errors[0]);
    assert_eq!(refusals(redis), 0, "{kind}: ACL LOG has entries");
    for command in allowed(&words).filter(|command| *command != ROLE) {
        set_user(redis, &words, Some(command));
        send(&mut admin, cmd("SCRIPT").arg("FLUSH"));
        send(&mut admin, &cmd("FLUSHALL"));
        let mut world = World::new(redis, &rules);
        exercise(&mut world, kind);
        // What follows may be about what an operation that was refused midway left behind.
        let error = world.errors.first().unwrap_or_else(|| unreachable!("{kind} works without {command}"));
        assert_eq!(error.kind(), ErrorKind::Server, "{kind} without {command}: {error}");
        assert!(error.message().contains("`sluicegate rules acl`"), "{kind} without {command}: {error}");
        assert_eq!(keys_without_ttl(&mut admin).unwrap(), Vec::<String>::new(), "{kind} without {command}");
    }
}

#[test]
fn one_server_needs_each_of_its_commands() {
    let redis = Redis::start().unwrap();
    KINDS.iter().for_each(|kind| each_is_needed(&redis, *kind, World::everything));
}

#[test]
fn reservations_need_each_of_their_commands() {
    let redis = Redis::start().unwrap();
    for kind in HELD_KINDS {
        each_is_needed(&redis, kind, |world, rule| {
            if rule != "concurrency" {
                world.everything(rule);
            }
            world.reserving(rule);
            let result = world.limiter.ping();
            world.note(result);
        });
    }
}

#[test]
fn several_algorithms_need_the_commands_of_each() {
    let redis = Redis::start().unwrap();
    let rules = rules(&KINDS);
    set_user(&redis, &printed(&rules, &[]), None);
    let mut world = World::new(&redis, &rules);
    let all = KINDS.map(|(kind, _)| Check::new(kind, "k"));
    let result = world.limiter.check_all(&all);
    world.note(result);
    KINDS.iter().for_each(|(kind, _)| world.everything(kind));
    assert!(world.errors.is_empty(), "{}", world.errors[0]);
}

#[test]
fn other_keys_are_out_of_reach() {
    let redis = Redis::start().unwrap();
    let rules = rules(&KINDS[..1]);
    set_user(&redis, &printed(&rules, &["--prefix", "mine[1]"]), None);
    let url = redis.url().replace("redis://", "redis://limiter:secret@");
    let with = |prefix: &str| {
        let builder = RateLimiter::builder(&url).rules(Rules::from_json(&rules).unwrap());
        builder.prefix(prefix).build().unwrap().check("aligned", "k")
    };
    assert!(with("mine[1]").unwrap().allowed);
    for other in ["mine1", "sluicegate"] {
        assert!(with(other).unwrap_err().message().contains("NOPERM"));
    }
}

#[test]
fn an_impossible_prefix_is_refused() {
    let (code, out, err) = outcome(&["rules", "acl", &rules(&KINDS[..1]), "--prefix", "a{b"]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(err.contains("--prefix") && err.contains("braces"), "{err}");
}

#[test]
fn what_watched_keys_need_is_printed_where_there_are_such() {
    let plain = rules(&KINDS[..1]);
    let counted = rules(&[(
        "counted",
        r#""limit": 5, "window_size_seconds": 60, "algorithm": "fixed_window", "count_denied": true"#,
    )]);
    let watched = |rules: &str, age: &str| {
        let words = printed(rules, &["--remember-denials", age]);
        words.iter().filter(|word| word.starts_with("+client|")).count()
    };
    assert_eq!([watched(&plain, "1.5"), watched(&plain, "1"), watched(&counted, "60")], [2, 0, 0]);
    for age in ["-1", "86401", "nan", "x"] {
        let (code, _, err) = outcome(&["rules", "acl", &plain, &format!("--remember-denials={age}")]);
        assert_eq!(code, 2);
        assert!(err.contains("--remember-denials") && err.contains("0 to 86400 seconds"), "{err}");
    }
}
