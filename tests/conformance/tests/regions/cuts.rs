//! How long calls take while a region is cut off.

use std::time::{Duration, Instant};

use sluicegate::{
    AsyncRateLimiter, Builder, Check, CheckOptions, Decision, RateLimiter, Result, Rules, Source,
};
use sluicegate_test_servers::Regions;
use tokio::runtime::Runtime;

const RULES: &str = r#"[{"rule_id": "fast", "rate": "2000/s", "global": {}}]"#;

/// What a call may take.
const TIME: Duration = Duration::from_millis(200);

/// What the limiter itself would wait for.
const LONG: Duration = Duration::from_secs(60);

/// No machine is so busy. It is far less than what the limiter would wait for.
const LATE: Duration = Duration::from_secs(20);

/// Of some of them each region is in charge.
fn keys() -> Vec<String> {
    (0..12).map(|number| format!("user-{number}")).collect()
}

fn builder(world: &Regions) -> Builder {
    RateLimiter::builder("")
        .rules(Rules::from_json(RULES).unwrap())
        .regions(world.urls(0))
        .region(Regions::NAMES[0])
        .connect_timeout(LONG)
        .response_timeout(LONG)
}

fn options() -> CheckOptions<'static> {
    CheckOptions::new().timeout(TIME)
}

/// Answers whether the call ended by its time without a server.
fn is_cut_off(call: impl FnOnce() -> Result<Decision>) -> bool {
    let began = Instant::now();
    let decided = call();
    assert!(began.elapsed() < TIME + LATE, "{:?}: {decided:?}", began.elapsed());
    decided.is_ok_and(|decision| decision.source == Source::Share) || began.elapsed() >= TIME
}

fn calls_end_in_time(cut: impl FnOnce(&Regions)) {
    let world = Regions::start([Duration::from_millis(2); 3]).unwrap();
    let (limiter, runtime, keys) = (builder(&world).build().unwrap(), Runtime::new().unwrap(), keys());
    let tasks: AsyncRateLimiter = runtime.block_on(async { builder(&world).connect().await }).unwrap();
    let items: Vec<_> = keys.iter().map(|key| Check::new("fast", key)).collect();
    // Opens the connections.
    limiter.check_all(&items).unwrap();
    runtime.block_on(tasks.check_all(&items)).unwrap();
    cut(&world);
    let mut noticed = [0; 4];
    for key in &keys {
        noticed[0] += usize::from(is_cut_off(|| limiter.check_with("fast", key, options().cost(1_000))));
        noticed[1] += usize::from(is_cut_off(|| limiter.peek_with("fast", key, options())));
        noticed[2] += usize::from(is_cut_off(|| {
            runtime.block_on(tasks.check_with("fast", key, options().cost(1_000)))
        }));
    }
    let items: Vec<_> = items.into_iter().map(|item| item.with(options().cost(1_000))).collect();
    noticed[3] += usize::from(is_cut_off(|| limiter.check_all(&items)));
    assert!(noticed.iter().all(|noticed| *noticed > 0), "{noticed:?}");
}

#[test]
fn no_call_outlives_its_time_while_a_region_is_silent() {
    calls_end_in_time(|world| world.relay(1).cut());
}

#[test]
fn no_call_outlives_its_time_while_a_server_is_stopped() {
    calls_end_in_time(|world| world.server(1).pause().unwrap());
}

/// Once the circuit breaker of the region in charge is open, nobody waits for it.
#[test]
fn parts_are_decided_at_once_after_the_first_calls() {
    let world = Regions::start([Duration::from_millis(2); 3]).unwrap();
    let limiter = builder(&world).response_timeout(Duration::from_millis(100)).build().unwrap();
    let keys = keys();
    keys.iter().for_each(|key| drop(limiter.check("fast", key).unwrap()));
    world.relay(1).cut();
    let mut took = Vec::new();
    let began = Instant::now();
    while took.len() < 100 {
        assert!(began.elapsed() < LATE, "{took:?}");
        for key in &keys {
            let began = Instant::now();
            if limiter
                .check_with("fast", key, CheckOptions::new().cost(50))
                .is_ok_and(|it| it.source == Source::Share)
            {
                took.push(began.elapsed());
            }
        }
    }
    // The first ones wait for the region in charge, and a busy machine is late now and then.
    took.sort();
    assert!(took[10] < Duration::from_millis(10), "{took:?}");
}
