//! Reservations that wait for room: few calls, in the order of arrival, woken by what is given back, and no place lost.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use redis::cmd;
use sluicegate::{
    AsyncRateLimiter, Check, CheckOptions, ManualClock, RateLimiter, Reservation, Rules, Usage,
};
use sluicegate_test_servers::Redis;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Barrier;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

const WAITERS: usize = 100;
const PLACES: u64 = 10;
const LONG: Duration = Duration::from_secs(30);
const HELD: Duration = Duration::from_millis(5);

const RULES: &str = r#"[
    { "rule_id": "places", "algorithm": "concurrency", "limit": 10, "lease_seconds": 60 },
    { "rule_id": "one", "algorithm": "concurrency", "limit": 1, "lease_seconds": 60 },
    { "rule_id": "short", "algorithm": "concurrency", "limit": 1, "lease_seconds": 0.3 },
    { "rule_id": "tokens", "algorithm": "gcra", "limit": 100, "window_size_seconds": 3600, "reservations": true },
    { "rule_id": "plain", "algorithm": "gcra", "limit": 1000, "window_size_seconds": 1 }
]"#;

fn builder(url: &str) -> sluicegate::Builder {
    RateLimiter::builder(url).rules(Rules::from_json(RULES).unwrap())
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

async fn connect(url: &str) -> Arc<AsyncRateLimiter> {
    Arc::new(builder(url).connect().await.unwrap())
}

/// How many scripts the server has run.
fn calls(redis: &Redis) -> usize {
    let mut connection = redis.client().unwrap();
    let text: String = cmd("INFO").arg("commandstats").query(&mut connection).unwrap();
    let count = |line: &str| line.split_once("calls=")?.1.split(',').next()?.parse::<usize>().ok();
    text.lines().filter(|line| line.starts_with("cmdstat_eval")).filter_map(count).sum()
}

/// Counts who is inside, and in which order they came in, which the tokens say.
#[derive(Default)]
struct Room {
    inside: AtomicUsize,
    most: AtomicUsize,
    order: Mutex<BTreeMap<u64, usize>>,
}

impl Room {
    fn enter(&self, number: usize, reservation: &Reservation) {
        self.most.fetch_max(self.inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        self.order.lock().unwrap().insert(reservation.token().unwrap(), number);
    }

    fn leave(&self) {
        self.inside.fetch_sub(1, Ordering::SeqCst);
    }

    /// By how many places half of them came in earlier or later than they arrived: 29 in an order by chance. Not the
    /// worst, which a busy machine makes: it may hold up a thread between its number and its call.
    fn median_overtaking(&self) -> usize {
        let order = self.order.lock().unwrap();
        let mut moved: Vec<_> =
            order.values().enumerate().map(|(place, number)| place.abs_diff(*number)).collect();
        moved.sort_unstable();
        moved[moved.len() / 2]
    }
}

fn within(limiter: &RateLimiter, rule: &str, wait: Duration) -> Reservation {
    limiter.reserve_within(rule, "k", CheckOptions::new(), wait).unwrap()
}

#[test]
fn threads_take_turns_by_few_calls() {
    let redis = Redis::start().unwrap();
    for url in ["memory://", redis.url()] {
        let limiter = builder(url).build().unwrap();
        let (room, before) = (Room::default(), calls(&redis));
        let arrived = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..WAITERS {
                let (limiter, room, arrived) = (&limiter, &room, &arrived);
                scope.spawn(move || {
                    // A busy machine starts threads in another order than they were made.
                    let number = arrived.fetch_add(1, Ordering::SeqCst);
                    let reservation = within(limiter, "places", LONG);
                    assert!(reservation.allowed);
                    room.enter(number, &reservation);
                    thread::sleep(HELD);
                    room.leave();
                    assert!(limiter.release(&reservation).unwrap());
                });
                // So that it is known who came first.
                thread::sleep(Duration::from_micros(300));
            }
        });
        let asked = (calls(&redis) - before).saturating_sub(WAITERS);
        println!("{url}: {asked} calls for {WAITERS} admissions, {}", room.median_overtaking());
        assert_eq!(room.order.lock().unwrap().len(), WAITERS);
        assert!(room.most.load(Ordering::SeqCst) <= PLACES as usize);
        assert!(room.median_overtaking() <= 2 * PLACES as usize, "{:?}", room.order);
        assert!(asked <= WAITERS * 12 / 10, "{asked} calls for {WAITERS} admissions");
    }
}

#[test]
fn tasks_take_turns_by_few_calls() {
    let redis = Redis::start().unwrap();
    runtime().block_on(async {
        for url in ["memory://", redis.url()] {
            let limiter = connect(url).await;
            let (room, before) = (Arc::new(Room::default()), calls(&redis));
            let full = Arc::new(Barrier::new(PLACES as usize));
            let mut tasks = JoinSet::new();
            for number in 0..WAITERS {
                let (limiter, room, full) = (Arc::clone(&limiter), Arc::clone(&room), Arc::clone(&full));
                tasks.spawn(async move {
                    let checks = [Check::new("plain", "k"), Check::new("places", "k")];
                    let reservation = limiter.reserve_all_within(&checks, LONG).await.unwrap();
                    assert!(reservation.allowed);
                    room.enter(number, &reservation);
                    if number < PLACES as usize {
                        // However busy the machine is, all places are taken once.
                        full.wait().await;
                    }
                    sleep(HELD).await;
                    room.leave();
                    assert!(limiter.commit(&reservation, Usage::AsReserved).await.unwrap());
                });
            }
            tasks.join_all().await;
            let asked = (calls(&redis) - before).saturating_sub(WAITERS);
            println!("{url}: {asked} calls for {WAITERS} admissions");
            assert!(room.order.lock().unwrap().values().is_sorted(), "{:?}", room.order);
            assert_eq!(room.most.load(Ordering::SeqCst), PLACES as usize);
            assert!(asked <= WAITERS * 12 / 10, "{asked} calls for {WAITERS} admissions");
        }
    });
}

#[test]
fn a_release_wakes_the_first_waiter() {
    let redis = Redis::start().unwrap();
    runtime().block_on(async {
        for url in ["memory://", redis.url()] {
            let limiter = connect(url).await;
            let mut spans = Vec::new();
            for round in 0..20 {
                let held = limiter.reserve("one", "k").await.unwrap();
                let waiting = Arc::clone(&limiter);
                let waiter = tokio::spawn(async move {
                    let made = waiting.reserve_within("one", "k", CheckOptions::new(), LONG).await.unwrap();
                    (made, Instant::now())
                });
                sleep(Duration::from_millis(3 * round % 50)).await;
                let began = Instant::now();
                assert!(limiter.release(&held).await.unwrap());
                let (made, at) = waiter.await.unwrap();
                spans.push(at.saturating_duration_since(began));
                assert!(limiter.release(&made).await.unwrap());
            }
            spans.sort();
            println!("{url}: {:?} {:?}", spans[10], spans[19]);
            assert!(spans[10] < Duration::from_millis(10), "{spans:?}");
        }
    });
}

#[test]
fn what_another_process_gives_back_is_noticed() {
    let redis = Redis::start().unwrap();
    let (one, other) = (builder(redis.url()).build().unwrap(), builder(redis.url()).build().unwrap());
    let held = other.reserve("one", "k").unwrap();
    thread::scope(|scope| {
        let waiter = scope.spawn(|| (within(&one, "one", LONG), Instant::now()));
        thread::sleep(Duration::from_millis(150));
        let began = Instant::now();
        assert!(other.release(&held).unwrap());
        let (made, at) = waiter.join().unwrap();
        let span = at - began;
        assert!(one.release(&made).unwrap() && span < Duration::from_millis(400), "{span:?}");
    });
}

#[test]
fn a_lease_that_ends_lets_a_waiter_in() {
    let redis = Redis::start().unwrap();
    for url in ["memory://", redis.url()] {
        let limiter = builder(url).build().unwrap();
        let began = Instant::now();
        assert!(limiter.reserve("short", "k").unwrap().allowed);
        assert!(within(&limiter, "short", LONG).allowed);
        assert!(began.elapsed() >= Duration::from_millis(299) && began.elapsed() < Duration::from_secs(2));
    }
}

#[test]
fn time_without_room_ends_with_the_denial() {
    let redis = Redis::start().unwrap();
    for url in ["memory://", redis.url()] {
        let limiter = builder(url).build().unwrap();
        let held = limiter.reserve("one", "k").unwrap();
        let wait = Duration::from_millis(250);
        thread::scope(|scope| {
            // The second is behind the first, whose next try says nothing about its own.
            for _ in 0..2 {
                scope.spawn(|| {
                    let began = Instant::now();
                    let denied = within(&limiter, "one", wait);
                    assert!(!denied.allowed && denied.id().is_none() && denied.token().is_none());
                    assert!(denied.retry_after > Duration::ZERO && began.elapsed() >= wait);
                });
            }
        });
        assert!(limiter.release(&held).unwrap());
        assert!(within(&limiter, "one", Duration::ZERO).allowed);
    }
}

#[test]
fn a_denial_is_not_waited_for_where_it_is_known_to_stay() {
    let redis = Redis::start().unwrap();
    for url in ["memory://", redis.url()] {
        let limiter = builder(url).build().unwrap();
        let cost = |cost| CheckOptions::new().cost(cost);
        let began = Instant::now();
        // More than the limit; and with nothing held, the time is exact.
        for (rule, spent, wanted) in [("one", 0, 2), ("tokens", 100, 1)] {
            if spent > 0 {
                assert!(limiter.check_with(rule, "k", cost(spent)).unwrap().allowed);
            }
            assert!(!limiter.reserve_within(rule, "k", cost(wanted), LONG).unwrap().allowed);
        }
        assert!(began.elapsed() < Duration::from_secs(5));
        // What was held may be given back.
        let held = limiter.reserve_with("tokens", "other", cost(100)).unwrap();
        thread::scope(|scope| {
            let waiter = scope.spawn(|| limiter.reserve_within("tokens", "other", cost(60), LONG).unwrap());
            thread::sleep(Duration::from_millis(20));
            assert!(limiter.commit(&held, Usage::Cost(40)).unwrap());
            assert!(waiter.join().unwrap().allowed);
        });
        assert!(began.elapsed() < Duration::from_secs(10));
    }
}

#[test]
fn a_manual_clock_is_moved_on() {
    let redis = Redis::start().unwrap();
    for url in ["memory://", redis.url()] {
        let clock = ManualClock::new(1_700_000_000_000_000);
        let limiter = builder(url).clock(clock.clone()).build().unwrap();
        assert!(limiter.reserve("one", "k").unwrap().allowed);
        let before = clock.now_us();
        assert!(!within(&limiter, "one", Duration::from_secs(59)).allowed);
        assert_eq!(clock.now_us(), before);
        assert!(within(&limiter, "one", Duration::from_secs(61)).allowed);
        assert_eq!(clock.now_us(), before + 60_000_000);
    }
}

/// Whether all places of a rule come free.
async fn all_come_free(limiter: &AsyncRateLimiter) -> bool {
    for _ in 0..100 {
        if limiter.peek("places", "k").await.unwrap().remaining == PLACES {
            return true;
        }
        sleep(Duration::from_millis(10)).await;
    }
    false
}

/// Polls a future for a while, then drops it; what it answered until then is released.
async fn cut_short(
    limiter: &AsyncRateLimiter,
    reserve: impl Future<Output = Reservation>,
    after: Duration,
) -> bool {
    match timeout(after, reserve).await {
        Ok(made) => !made.allowed || limiter.release(&made).await.unwrap(),
        Err(_) => false,
    }
}

#[test]
fn what_is_reserved_for_nobody_is_released() {
    let redis = Redis::start().unwrap();
    runtime().block_on(async {
        let limiter = connect(redis.url()).await;
        let mut cut = 0;
        for round in 0..300 {
            let after = Duration::from_micros(round % 30 * 20);
            let mut tasks = JoinSet::new();
            for number in 0..15 {
                let limiter = Arc::clone(&limiter);
                tasks.spawn(async move {
                    let checks = [Check::new("plain", "k"), Check::new("places", "k")];
                    let options = CheckOptions::new();
                    let made = async {
                        match number % 3 {
                            0 => limiter.reserve("places", "k").await.unwrap(),
                            1 => limiter.reserve_within("places", "k", options, LONG).await.unwrap(),
                            _ => limiter.reserve_all_within(&checks, LONG).await.unwrap(),
                        }
                    };
                    cut_short(&limiter, made, after).await
                });
            }
            cut += tasks.join_all().await.into_iter().filter(|ended| !ended).count();
        }
        assert!(cut > 300, "{cut}");
        assert!(all_come_free(&limiter).await, "{:?}", limiter.peek("places", "k").await);
    });
}

#[test]
fn one_that_leaves_holds_up_nobody() {
    let redis = Redis::start().unwrap();
    runtime().block_on(async {
        let limiter = connect(redis.url()).await;
        let held = limiter.reserve("one", "k").await.unwrap();
        let waiters: Vec<_> = (0..3)
            .map(|_| {
                let limiter = Arc::clone(&limiter);
                tokio::spawn(async move {
                    limiter.reserve_within("one", "k", CheckOptions::new(), LONG).await.unwrap()
                })
            })
            .collect();
        sleep(Duration::from_millis(30)).await;
        let [first, second, last] = waiters.try_into().unwrap();
        first.abort();
        second.abort();
        assert!(limiter.release(&held).await.unwrap());
        let made = timeout(Duration::from_secs(5), last).await.unwrap().unwrap();
        assert!(limiter.release(&made).await.unwrap());
        assert_eq!(limiter.peek("one", "k").await.unwrap().remaining, 1);
    });
}
