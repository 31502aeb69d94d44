//! The first calls of a process: the limit of the region in charge applies to them, too.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use sluicegate::{AsyncRateLimiter, Check, CheckOptions, Result, Source, Usage};
use tokio::runtime::Runtime;

use super::{RULES, World, admitted, limit};

/// Each kind of call, as the first of a process.
#[test]
fn it_applies_to_the_first_call_of_a_process() {
    let world = World::start();
    let (key, home) = (world.key_of("all", 1), world.key_of("all", 0));
    world.differing("all", ("\"limit\": 10", "\"limit\": 4"), 4);
    let first = || world.limiter(0, RULES);
    let peeked = first().peek("all", &key).unwrap();
    assert_eq!((peeked.limit, peeked.remaining), (4, 4));
    let items = [Check::new("near", "k"), Check::new("all", &home), Check::new("all", &key)];
    let together = first().check_all(&items).unwrap();
    assert_eq!(together.parts.iter().map(|part| part.remaining).collect::<Vec<_>>(), [9, 9, 3]);
    let runtime = Runtime::new().unwrap();
    let tasks: Result<AsyncRateLimiter> = runtime.block_on(world.builder(0, RULES).connect());
    let checked = runtime.block_on(tasks.unwrap().check("all", &key)).unwrap();
    assert_eq!((checked.limit, checked.remaining), (4, 2));
    assert_eq!(first().charge("all", &key).unwrap().remaining, 1);
    assert_eq!(admitted(&first(), "all", &key, 3), 1);
    // One that ends what another process has reserved.
    let work = world.key_of("work", 1);
    world.differing("work", ("\"work\", \"rate\": \"10/day\"", "\"work\", \"rate\": \"20/day\""), 20);
    let reserved = first().reserve_with("work", &work, CheckOptions::new().cost(10)).unwrap();
    assert!(first().commit(&reserved.id().unwrap(), Usage::Cost(10)).unwrap());
    assert_eq!(first().peek("work", &work).unwrap().remaining, 10);
}

#[test]
fn calls_that_come_at_once_ask_for_it_and_later_ones_do_not() {
    let world = World::start();
    let key = world.key_of("all", 1);
    world.differing("all", ("\"limit\": 10", "\"limit\": 4"), 4);
    let mut client = world.servers[1].client().unwrap();
    redis::cmd("CONFIG").arg("SET").arg("slowlog-log-slower-than").arg(0).exec(&mut client).unwrap();
    redis::cmd("CONFIG").arg("SET").arg("slowlog-max-len").arg(10_000).exec(&mut client).unwrap();
    redis::cmd("SLOWLOG").arg("RESET").exec(&mut client).unwrap();
    let limiter = world.limiter(0, RULES);
    world.servers[1].pause().unwrap();
    let limits: Vec<u64> = thread::scope(|scope| {
        let calls: Vec<_> = (0..20).map(|_| scope.spawn(|| limit(&limiter, "all", &key))).collect();
        world.servers[1].resume().unwrap();
        calls.into_iter().map(|call| call.join().unwrap()).collect()
    });
    let asked = world.look_ups();
    assert_eq!(limits, vec![4; 20]);
    assert!((1..=20).contains(&asked), "{asked} times");
    let runtime = Runtime::new().unwrap();
    runtime.block_on(async {
        let tasks: Arc<AsyncRateLimiter> = Arc::new(world.builder(0, RULES).connect().await.unwrap());
        let calls = (0..20).map(|_| {
            let (tasks, key) = (Arc::clone(&tasks), key.clone());
            tokio::spawn(async move { tasks.peek("all", &key).await.unwrap().limit })
        });
        for call in calls.collect::<Vec<_>>() {
            assert_eq!(call.await.unwrap(), 4);
        }
    });
    let asked = world.look_ups();
    assert_eq!((0..20).map(|_| limit(&limiter, "all", &key)).collect::<Vec<_>>(), vec![4; 20]);
    assert_eq!(world.look_ups(), asked);
}

#[test]
fn a_region_that_never_answered_is_asked_again() {
    let world = World::start();
    let key = world.key_of("all", 1);
    world.differing("all", ("\"limit\": 10", "\"limit\": 4"), 4);
    let timeout = Duration::from_millis(200);
    let here = world.builder(0, RULES).response_timeout(timeout).build().unwrap();
    let runtime = Runtime::new().unwrap();
    let tasks: Result<AsyncRateLimiter> =
        runtime.block_on(world.builder(0, RULES).response_timeout(timeout).connect());
    let tasks = tasks.unwrap();
    world.servers[1].pause().unwrap();
    let by_part = [here.check("all", &key), runtime.block_on(tasks.check("all", &key))].map(Result::unwrap);
    assert_eq!(by_part.map(|it| (it.source, it.remaining)), [(Source::Share, 4), (Source::Share, 3)]);
    let short = CheckOptions::new().timeout(Duration::from_millis(20));
    let late = [here.check_with("all", &key, short), runtime.block_on(tasks.check_with("all", &key, short))];
    for error in late.map(Result::unwrap_err) {
        assert!(error.is_retryable() && !error.message().contains("not known"), "{error}");
    }
    let charged = here.charge("all", &key).unwrap_err();
    assert!(charged.is_retryable() && !charged.message().contains("not known"), "{charged}");
    world.servers[1].resume().unwrap();
    assert_eq!(limit(&here, "all", &key), 4);
    assert_eq!(runtime.block_on(tasks.peek("all", &key)).unwrap().remaining, 4);
}
