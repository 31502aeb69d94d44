//! What a region is lent by the one in charge of a key: three servers, each at a distance from the others.

use std::thread;
use std::time::{Duration, Instant};

use sluicegate::{AsyncRateLimiter, Builder, Check, CheckOptions, Decision, RateLimiter, Rules, Source};
use sluicegate_test_servers::{Regions, keys_without_ttl};
use tokio::runtime::Runtime;

const RULES: &str = r#"[
    {"rule_id": "fast", "rate": "2000/s", "global": {}},
    {"rule_id": "window", "algorithm": "fixed_window", "limit": 400, "window_size_seconds": 86400, "global": {}},
    {"rule_id": "slow", "rate": "5/minute", "global": {}},
    {"rule_id": "day", "algorithm": "fixed_window", "limit": 10, "window_size_seconds": 86400, "global": {}},
    {"rule_id": "near", "rate": "3/day"}
]"#;

const TRIP: Duration = Duration::from_millis(40);

struct World(Regions);

impl World {
    fn start() -> Self {
        Self(Regions::start([TRIP; 3]).unwrap())
    }

    fn builder(&self, place: usize) -> Builder {
        RateLimiter::builder("")
            .rules(Rules::from_json(RULES).unwrap())
            .regions(self.0.urls(place))
            .region(Regions::NAMES[place])
    }

    fn limiter(&self, place: usize) -> RateLimiter {
        self.builder(place).build().unwrap()
    }

    fn names(&self, place: usize) -> Vec<String> {
        redis::cmd("KEYS").arg("*").query(&mut self.0.server(place).client().unwrap()).unwrap()
    }

    fn has_state(&self, place: usize, rule: &str, key: &str) -> bool {
        let start = format!("sluicegate:{rule}:{{{key}}}:");
        self.names(place).iter().any(|name| name.starts_with(&start) && !name.contains(":lent-"))
    }

    /// A key of which the region at this place is in charge.
    fn key_of(&self, rule: &str, owner: usize) -> String {
        let limiter = self.limiter(owner);
        let mut keys = (0..100).map(|number| format!("user-{number}"));
        let is_owned = |key: &String| {
            limiter.check(rule, key).unwrap();
            let is_owned = self.has_state(owner, rule, key);
            limiter.reset(rule, key).unwrap();
            is_owned
        };
        keys.find(is_owned).unwrap()
    }

    /// The limit of a rule that counts in windows, as a region has stated it.
    fn stated(&self, place: usize, rule: &str) -> u64 {
        let is_it = |name: &String| name.starts_with(&format!("sluicegate:{rule}:{{{rule}}}:terms-"));
        let name = self.names(place).into_iter().find(is_it).unwrap_or_default();
        let terms: Vec<u8> =
            redis::cmd("GET").arg(name).query(&mut self.0.server(place).client().unwrap()).unwrap();
        terms.first_chunk().map_or(0, |&limit| f64::from_le_bytes(limit) as u64)
    }

    fn assert_all_expire(&self) {
        for place in 0..Regions::NAMES.len() {
            let mut client = self.0.server(place).client().unwrap();
            assert_eq!(keys_without_ttl(&mut client).unwrap(), Vec::<String>::new());
        }
    }
}

/// What was decided by what, and whether it was admitted.
struct Counts(Vec<(Source, bool)>);

impl Counts {
    fn of(&self, source: Source) -> usize {
        self.0.iter().filter(|decided| decided.0 == source).count()
    }

    fn all(&self) -> usize {
        self.0.len()
    }

    fn by(&self) -> String {
        let sources = [Source::Server, Source::Allotment, Source::Share, Source::Fallback];
        format!("{:?}", sources.map(|source| (source, self.of(source))))
    }

    fn admitted(&self) -> usize {
        self.0.iter().filter(|decided| decided.1).count()
    }
}

/// Checks at a steady pace for so long.
fn ask(limiter: &RateLimiter, rule: &str, key: &str, per_second: u64, span: Duration) -> Counts {
    let (start, mut counts) = (Instant::now(), Counts(Vec::new()));
    for call in 0.. {
        let at = start + Duration::from_micros(call * 1_000_000 / per_second);
        if at >= start + span {
            break;
        }
        thread::sleep(at.saturating_duration_since(Instant::now()));
        let decision = limiter.check(rule, key).unwrap();
        counts.0.push((decision.source, decision.allowed));
    }
    counts
}

#[test]
fn a_steady_key_is_decided_near() {
    let world = World::start();
    let key = world.key_of("fast", 1);
    let limiter = world.limiter(0);
    ask(&limiter, "fast", &key, 1_000, Duration::from_secs(1));
    let counts = ask(&limiter, "fast", &key, 1_000, Duration::from_secs(2));
    assert_eq!(counts.admitted(), counts.all(), "half of the limit is asked for");
    assert!(counts.of(Source::Server) * 100 <= counts.all(), "{}", counts.by());
    let metrics = limiter.prometheus();
    for what in ["asked", "granted", "spent"] {
        let name = format!("sluicegate_loan_units_total{{rule=\"fast\",what=\"{what}\"}}");
        assert!(metrics.contains(&name), "{metrics}");
    }
    assert!(world.names(0).iter().any(|name| name.contains(":lent-")));
    world.assert_all_expire();
}

#[test]
fn an_allotment_is_of_the_limit_of_the_region_in_charge() {
    let world = World::start();
    let key = world.key_of("window", 1);
    let lower = RULES.replacen("\"limit\": 400", "\"limit\": 150", 1);
    let there = world.builder(1).rules(Rules::from_json(&lower).unwrap()).build().unwrap();
    // The last to say so before the other region looks.
    let is_stated = |_| there.peek("window", &key).unwrap().limit == world.stated(1, "window");
    assert!((0..10_000).any(is_stated));
    let here = world.limiter(0);
    assert!((0..200).any(|_| here.peek("window", &key).unwrap().limit == 150));
    let counts = ask(&here, "window", &key, 400, Duration::from_secs(1));
    assert!(counts.of(Source::Allotment) > 0, "{}", counts.by());
    let rest = (0..200).filter(|_| there.check("window", &key).unwrap().allowed).count();
    assert!(counts.admitted() + rest <= 150, "{} and {rest}: {}", counts.admitted(), counts.by());
}

#[test]
fn all_regions_together_stay_within_the_limit() {
    let world = World::start();
    let key = world.key_of("fast", 1);
    let span = Duration::from_secs(4);
    let limiters: Vec<_> = (0..3).map(|place| world.limiter(place)).collect();
    let start = Instant::now();
    let admitted: usize = thread::scope(|scope| {
        let asking: Vec<_> = limiters
            .iter()
            .map(|limiter| scope.spawn(|| ask(limiter, "fast", &key, 1_000, span).admitted()))
            .collect();
        asking.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    // The burst, what leaks, and what loans add: at most what leaks while they last.
    let (limit, lasts) = (2_000.0, 2.0);
    let passed = start.elapsed().as_secs_f64();
    assert!(admitted as f64 <= limit + limit * passed + limit * lasts, "{admitted} in {passed} s");
    let ideal = f64::min(3_000.0 * span.as_secs_f64(), limit + limit * span.as_secs_f64());
    assert!(admitted as f64 >= 0.8 * ideal, "{admitted} of {ideal}");
}

#[test]
fn a_window_is_never_exceeded() {
    let world = World::start();
    let key = world.key_of("window", 1);
    let limiters: Vec<_> = (0..3).map(|place| world.limiter(place)).collect();
    let admitted: usize = thread::scope(|scope| {
        let asking = limiters.iter().map(|limiter| {
            scope.spawn(|| ask(limiter, "window", &key, 300, Duration::from_secs(3)).admitted())
        });
        let asking: Vec<_> = asking.collect();
        asking.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert!((320..=400).contains(&admitted), "{admitted}");
}

#[test]
fn what_is_not_spent_is_given_back() {
    let world = World::start();
    let key = world.key_of("window", 1);
    // No loan is given up, and no region taken for cut off, because a busy machine is slow: nobody would give these back.
    let patient = |place| world.builder(place).response_timeout(Duration::from_secs(5)).build().unwrap();
    let (here, there) = (patient(0), patient(1));
    let asked = ask(&here, "window", &key, 100, Duration::from_millis(1500));
    let admitted = asked.admitted();
    let left = || there.peek("window", &key).unwrap().remaining;
    assert!(left() < 400 - admitted as u64, "nothing is lent");
    // Until the loans have ended, and the region's pace is forgotten: the next call finds them, and asks for none.
    thread::sleep(Duration::from_secs(3));
    assert!(here.check("window", &key).unwrap().allowed);
    let start = Instant::now();
    let is_told = || here.prometheus().contains("what=\"given_back\"");
    while left() != 399 - admitted as u64 || !is_told() {
        let waited = start.elapsed() < Duration::from_secs(5);
        assert!(waited, "{} are left after {admitted} and 1: {} {}", left(), asked.by(), here.prometheus());
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_denial_holds_near() {
    let world = World::start();
    let key = world.key_of("slow", 1);
    let limiter = world.limiter(0);
    let counts = ask(&limiter, "slow", &key, 100, Duration::from_secs(2));
    assert_eq!(counts.admitted(), 5);
    // An attacker costs one request to the region in charge per time of a loan.
    assert!(counts.of(Source::Server) <= 12, "{}", counts.by());
    let denied = limiter.check("slow", &key).unwrap();
    assert_eq!((denied.allowed, denied.source), (false, Source::Allotment));
    assert!(denied.retry_after > Duration::from_secs(2), "{denied:?}");
    limiter.reset("slow", &key).unwrap();
    assert!(limiter.check("slow", &key).unwrap().allowed, "a reset clears what is known near");
    world.assert_all_expire();
}

#[test]
fn costs_that_no_portion_covers_are_decided_by_the_region_in_charge() {
    let world = World::start();
    let key = world.key_of("window", 1);
    let limiter = world.limiter(0);
    // Contended by now. What is asked for arrives.
    ask(&limiter, "window", &key, 300, Duration::from_secs(1));
    thread::sleep(10 * TRIP);
    let left = world.limiter(1).peek("window", &key).unwrap().remaining;
    let all = CheckOptions::new().cost(left);
    assert!(limiter.check_with("window", &key, all).unwrap().allowed, "{left} are left");
    let assert_never = || {
        let never = limiter.check_with("window", &key, CheckOptions::new().cost(401)).unwrap();
        assert_eq!((never.allowed, never.retry_after), (false, Duration::MAX));
    };
    assert_never();
    // Also where a denial holds near, when the last units are spent.
    assert!((0..400).any(|_| !limiter.check("window", &key).unwrap().allowed));
    assert_never();
}

fn parts(decision: &Decision) -> Vec<(bool, u64)> {
    decision.parts.iter().map(|part| (part.allowed, part.remaining)).collect()
}

#[test]
fn items_of_one_call_are_spent_near_together() {
    let world = World::start();
    let limiter = world.limiter(0);
    let [one, other] = [1, 2].map(|owner| world.key_of("fast", owner));
    let pair = [Check::new("fast", &one), Check::new("fast", &other)];
    let (start, mut near, mut far) = (Instant::now(), 0, 0);
    for call in 0..1_000 {
        thread::sleep((start + Duration::from_millis(4 * call)).saturating_duration_since(Instant::now()));
        let decision = limiter.check_all(&pair).unwrap();
        assert!(decision.allowed && parts(&decision).iter().all(|part| part.0), "{decision:?}");
        match decision.source {
            Source::Allotment => near += 1,
            _ if call >= 500 => far += 1,
            _ => {}
        }
    }
    assert!(near > 500 && far <= 20, "{near} near, {far} far");
    world.assert_all_expire();
}

#[test]
fn what_a_denied_call_of_several_items_was_lent_stays_near() {
    let world = World::start();
    let (here, there) = (world.limiter(0), world.limiter(1));
    let key = world.key_of("day", 1);
    let items = [Check::new("near", "k"), Check::new("day", &key)];
    for admitted in 1..=3 {
        let decision = here.check_all(&items).unwrap();
        assert_eq!(decision.source, Source::Server, "the region in charge is asked first");
        assert_eq!(parts(&decision), [(true, 3 - admitted), (true, 10 - admitted)]);
    }
    // Denied near; what the region in charge has charged is kept for the next call.
    let denied = here.check_all(&items).unwrap();
    assert_eq!((denied.allowed, denied.rule.as_str()), (false, "near"));
    assert_eq!(parts(&denied), [(false, 0), (true, 7)]);
    assert_eq!(there.peek("day", &key).unwrap().remaining, 6);
    let next = here.check_all(&items).unwrap();
    assert_eq!((next.allowed, next.source), (false, Source::Allotment), "no far request while it is there");
    let kept = here.check("day", &key).unwrap();
    assert_eq!((kept.allowed, kept.source), (true, Source::Allotment));
    assert_eq!(there.peek("day", &key).unwrap().remaining, 6, "charged once");
    world.assert_all_expire();
}

#[test]
fn a_call_of_several_items_is_charged_nowhere_when_the_region_in_charge_denies() {
    let world = World::start();
    let (here, there) = (world.limiter(0), world.limiter(1));
    let key = world.key_of("day", 1);
    assert!(there.check_with("day", &key, CheckOptions::new().cost(10)).unwrap().allowed);
    let items = [Check::new("near", "k"), Check::new("day", &key)];
    for source in [Source::Server, Source::Allotment] {
        let denied = here.check_all(&items).unwrap();
        assert_eq!((denied.allowed, denied.rule.as_str(), denied.source), (false, "day", source));
        assert_eq!(parts(&denied), [(true, 3), (false, 0)]);
        // What was said arrives near.
        thread::sleep(2 * TRIP);
    }
    assert_eq!(here.peek("near", "k").unwrap().remaining, 3);
}

#[test]
fn a_region_that_is_cut_off_spends_what_it_has_and_then_its_part() {
    let world = World::start();
    let key = world.key_of("fast", 1);
    let limiter = world.limiter(0);
    ask(&limiter, "fast", &key, 1_000, Duration::from_secs(2));
    world.0.relay(1).cut();
    let counts = ask(&limiter, "fast", &key, 200, Duration::from_secs(3));
    assert!(counts.of(Source::Allotment) > 0 && counts.of(Source::Share) > 0, "{}", counts.by());
    world.0.relay(1).heal();
    let healed = Instant::now();
    while limiter.check("fast", &key).unwrap().source != Source::Allotment {
        assert!(healed.elapsed() < Duration::from_secs(3), "no allotment after the link is back");
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn tasks_borrow_as_threads_do() {
    let world = World::start();
    let key = world.key_of("fast", 2);
    Runtime::new().unwrap().block_on(async {
        let limiter: AsyncRateLimiter = world.builder(0).connect().await.unwrap();
        let (mut near, mut far) = (0, 0);
        for call in 0..3_000 {
            let decision = limiter.check("fast", &key).await.unwrap();
            match decision.source {
                Source::Allotment => near += 1,
                _ if call >= 1_000 => far += 1,
                _ => {}
            }
            tokio::time::sleep(Duration::from_micros(500)).await;
        }
        assert!(near > 2_000 && far <= 20, "{near} near, {far} far");
    });
}
