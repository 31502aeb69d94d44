//! The circuit breaker: how fast calls end while a server is away, and how soon they succeed once it is back.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use sluicegate_test_servers::{Options, Redis};

use super::fake_server::scripted;
use super::*;

/// The pause between two calls.
const PACE: Duration = Duration::from_millis(2);
/// The pause between two probes, with room for the probe itself.
const BACK_IN_SERVICE: Duration = Duration::from_millis(150);
/// So long the server is away: it comes back at several moments between two probes.
const ABSENCES: [u64; 5] = [0, 130, 160, 190, 220];

/// Waits until the server answers a client of its own; returns when it did.
fn first_answer(address: &str) -> Instant {
    let end = Instant::now() + Duration::from_secs(10);
    loop {
        if let Ok(mut client) = TcpStream::connect(address) {
            let mut answer = [0; 7];
            client.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
            let asked = client.write_all(b"PING\r\n");
            if asked.and_then(|()| client.read_exact(&mut answer)).is_ok() && &answer == b"+PONG\r\n" {
                return Instant::now();
            }
        }
        assert!(Instant::now() < end, "the server does not come back");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Calls until the circuit breaker refuses one.
fn open_breaker(driver: &Driver) {
    let (end, is_open) = (Instant::now() + Duration::from_secs(10), "circuit breaker open");
    while !driver.increment("key").unwrap_err().message().contains(is_open) {
        assert!(Instant::now() < end, "the circuit breaker does not open");
    }
}

/// When the server answers for the first time, to anybody.
fn comes_back(redis: &Redis, absence: u64, come_back: impl FnOnce(&Redis)) -> Instant {
    thread::scope(|scope| {
        let server = scope.spawn(|| first_answer(&redis.address()));
        thread::sleep(Duration::from_millis(absence));
        come_back(redis);
        server.join().unwrap()
    })
}

/// How long after the server is back the driver's calls succeed, which come all the while.
fn lateness(driver: &Driver, is_back: impl FnOnce() -> Instant + Send) -> Duration {
    thread::scope(|scope| {
        let server = scope.spawn(is_back);
        let end = Instant::now() + Duration::from_secs(10);
        while driver.increment("key").is_err() {
            assert!(Instant::now() < end, "no recovery");
            thread::sleep(PACE);
        }
        let served = Instant::now();
        served.saturating_duration_since(server.join().unwrap())
    })
}

/// Has the server leave and come back some times, for both drivers.
fn calls_succeed_soon(redis: &Redis, leave: impl Fn(), is_back: impl Fn(u64) -> Instant + Sync) {
    let options = ConnectOptions { breaker_failures: 1, ..ConnectOptions::default() };
    for (name, driver) in ["blocking", "Tokio"].iter().zip(both_with(redis.url(), &options)) {
        driver.increment("key").unwrap();
        let late = |absence| {
            leave();
            open_breaker(&driver);
            lateness(&driver, || is_back(absence))
        };
        let mut late = ABSENCES.map(late);
        late.sort_unstable();
        // Not all of them: the machine may be busy for a moment.
        assert!(late[ABSENCES.len() / 2] < BACK_IN_SERVICE, "{name}: {late:?}");
    }
}

#[test]
fn calls_succeed_soon_after_the_restart_of_a_server_that_refused_connections() {
    let redis = Redis::start().unwrap();
    let restart = |redis: &Redis| redis.restart().unwrap();
    calls_succeed_soon(&redis, || redis.kill(), |absence| comes_back(&redis, absence, restart));
}

#[test]
fn calls_succeed_soon_after_a_silent_server_answers_again() {
    let redis = Redis::start().unwrap();
    let resume = |redis: &Redis| redis.resume().unwrap();
    calls_succeed_soon(&redis, || redis.pause().unwrap(), |absence| comes_back(&redis, absence, resume));
}

#[test]
fn calls_succeed_soon_after_packets_arrive_again() {
    // While nothing takes connections, the system drops those for which its queue has no room.
    let config = vec!["tcp-backlog 1".to_owned()];
    let redis = Redis::with(&Options { config, ..Options::default() }).unwrap();
    let address = redis.address().parse().unwrap();
    let fill_queue = || {
        redis.pause().unwrap();
        let _queued: Vec<_> =
            std::iter::from_fn(|| TcpStream::connect_timeout(&address, PACE).ok()).take(10).collect();
        TcpStream::connect_timeout(&address, PACE).unwrap_err();
    };
    let is_back = |absence| {
        thread::sleep(Duration::from_millis(absence));
        redis.resume().unwrap();
        Instant::now()
    };
    calls_succeed_soon(&redis, fill_queue, is_back);
}

/// How long calls took that ended with an error, 99 of 100 of them and the slowest.
fn slowest(mut took: Vec<Duration>) -> (Duration, Duration) {
    took.sort_unstable();
    (took[took.len() * 99 / 100], took[took.len() - 1])
}

fn ended_at_once(took: Vec<Duration>) {
    let (most, all) = slowest(took);
    assert!(most < Duration::from_millis(20), "{most:?}");
    // Without the circuit breaker each would take twice that.
    assert!(all < ConnectOptions::default().response_timeout / 2, "{all:?}");
}

/// Long enough for ten probes, none of which ends.
const SILENCE: Duration = Duration::from_secs(1);

#[test]
fn calls_of_threads_end_at_once_while_the_breaker_is_open() {
    let redis = Redis::start().unwrap();
    let driver = Driver::blocking(redis.url(), &ConnectOptions::default()).unwrap();
    driver.increment("key").unwrap();
    redis.pause().unwrap();
    open_breaker(&driver);
    let end = Instant::now() + SILENCE;
    let calls = || {
        let mut took = Vec::new();
        while Instant::now() < end {
            let (outcome, time) = timed(|| driver.increment("key"));
            outcome.unwrap_err();
            took.push(time);
            thread::sleep(PACE);
        }
        took
    };
    let took = thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(calls)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    redis.resume().unwrap();
    ended_at_once(took);
}

#[test]
fn calls_of_tasks_end_at_once_while_the_breaker_is_open() {
    let server = Redis::start().unwrap();
    let driver = Driver::asynchronous(server.url(), &ConnectOptions::default()).unwrap();
    driver.increment("key").unwrap();
    server.pause().unwrap();
    open_breaker(&driver);
    let Driver::Async(runtime, redis) = driver else { unreachable!() };
    let (redis, script) = (Arc::new(redis), eternal(Script::new(INCREMENT.to_owned())));
    let end = Instant::now() + SILENCE;
    let calls = |_| {
        let redis = Arc::clone(&redis);
        runtime.spawn(async move {
            let mut took = Vec::new();
            while Instant::now() < end {
                let start = Instant::now();
                redis.call(call(script, &["key"], &[]), redis.deadline(None)).await.unwrap_err();
                took.push(start.elapsed());
                tokio::time::sleep(PACE).await;
            }
            took
        })
    };
    let tasks: Vec<_> = (0..64).map(calls).collect();
    let took = tasks.into_iter().flat_map(|task| runtime.block_on(task).unwrap()).collect();
    server.resume().unwrap();
    ended_at_once(took);
}

/// Calls that have less time than a connection takes to be opened have one in the end.
#[test]
fn calls_shorter_than_a_handshake_connect_in_the_end() {
    in_time(|| {
        let url = format!("redis://{}", fake_server::reluctant(Duration::from_millis(30)));
        let script = eternal(Script::new(INCREMENT.to_owned()));
        let redis = BlockingRedis::new(&parse(&url).unwrap(), &ConnectOptions::default()).unwrap();
        let short = || redis.deadline(Some(Duration::from_millis(20)));
        assert_eq!(kind(&redis.call(call(script, &["key"], &[]), short())), Some(ErrorKind::Timeout));
        thread::scope(|scope| {
            (0..3).for_each(|_| {
                scope.spawn(|| while redis.call(call(script, &["key"], &[]), short()).is_err() {});
            });
        });
    });
}

/// How long a caller in a loop waits until the circuit breaker refuses its call.
fn opens_within(driver: &Driver) -> (Duration, Error) {
    let start = Instant::now();
    loop {
        let error = driver.increment("key").unwrap_err();
        if error.message().contains("circuit breaker open") {
            return (start.elapsed(), error);
        }
        assert!(start.elapsed() < Duration::from_secs(20), "the circuit breaker does not open: {error}");
    }
}

/// A server that takes connections and says nothing is given no more time to sign in than to answer.
#[test]
fn one_caller_opens_the_breaker_of_a_stopped_server_in_five_times_the_time_to_answer() {
    let redis = Redis::start().unwrap();
    let options = ConnectOptions::default();
    for driver in both_with(redis.url(), &options) {
        driver.increment("key").unwrap();
        redis.pause().unwrap();
        let (took, error) = opens_within(&driver);
        assert!(took < options.response_timeout * 5 + PROMPT / 2, "{took:?}");
        assert!(error.message().starts_with("no answer for 0."), "{error}");
        // Since the first of the calls was sent.
        let (_, silence) = error.message().split_once("has not answered for ").unwrap();
        let silence: f64 = silence.trim_end_matches(" s").parse().unwrap();
        assert!((took.as_secs_f64() - silence).abs() < 0.5, "{took:?}: {error}");
        redis.resume().unwrap();
        recovery(&driver, "key");
    }
}

#[test]
fn the_first_call_after_a_quiet_time_is_answered() {
    let redis = Redis::start().unwrap();
    for driver in both(redis.url()) {
        driver.increment("key").unwrap();
        redis.pause().unwrap();
        opens_within(&driver);
        thread::sleep(Duration::from_millis(1100));
        let (outcome, took) = timed(|| driver.increment("key"));
        assert!(outcome.unwrap_err().is_retryable());
        assert!(took < ConnectOptions::default().response_timeout + PROMPT / 2, "{took:?}");
        redis.resume().unwrap();
        thread::sleep(Duration::from_millis(1100));
        driver.increment("key").unwrap();
    }
}

#[test]
fn calls_that_one_broken_connection_takes_along_are_one_failure() {
    // The first connection ends with its first script, and takes along what is under way.
    let url = scripted(|number, name| match (number, name) {
        (_, "PING") => Some("+PONG\r\n".to_owned()),
        (0, _) => {
            thread::sleep(Duration::from_millis(100));
            None
        }
        _ => Some(":1\r\n".to_owned()),
    });
    let Driver::Async(runtime, redis) = Driver::asynchronous(&url, &ConnectOptions::default()).unwrap()
    else {
        unreachable!()
    };
    let script = eternal(Script::new(INCREMENT.to_owned()));
    runtime.block_on(async {
        let calls = (0..20).map(|_| redis.call(call(script, &["key"], &[]), redis.deadline(None)));
        let failed =
            join_all(calls).await.into_iter().filter(|outcome| kind(outcome) == Some(ErrorKind::Connection));
        assert_eq!(failed.count(), 20);
        redis.call(call(script, &["key"], &[]), redis.deadline(None)).await.unwrap();
    });
}
