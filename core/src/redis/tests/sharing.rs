//! Threads that share round trips: every call is made once, and every thread gets its own answer.

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use sluicegate_test_servers::{Cluster, Redis, finally};

use super::fake_server::Slow;
use super::*;

const THREADS: usize = 32;
const CALLS: usize = 300;

static COUNT: LazyLock<&'static Script> = LazyLock::new(|| {
    let each =
        "local all = {} for i, key in ipairs(KEYS) do all[i] = redis.pcall('INCR', key) end return all";
    eternal(Script::new(INCREMENT.to_owned()).with_each(each.to_owned()))
});

/// Calls of one argument share scripts, others only round trips.
const SHARING: [&str; 1] = ["1"];

fn count(driver: &Driver, key: &str) -> Result<usize> {
    count_by(driver, key, &SHARING)
}

fn count_by(driver: &Driver, key: &str, args: &[&str]) -> Result<usize> {
    driver.run_script(&COUNT, &[key], args).map(|value| ::redis::from_redis_value(value).unwrap())
}

/// One for which no answer comes late, however busy the machine is.
fn patient(url: &str) -> Driver {
    let options = ConnectOptions { response_timeout: Duration::from_secs(30), ..ConnectOptions::default() };
    Driver::blocking(url, &options).unwrap()
}

fn ordinary(url: &str) -> Driver {
    Driver::blocking(url, &ConnectOptions::default()).unwrap()
}

/// What the threads were answered, each of which calls with its number.
fn by_threads<T: Send>(call: impl Fn(usize) -> T + Sync) -> Vec<T> {
    thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                scope.spawn({
                    let call = &call;
                    move || call(thread)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// How often a server ran a script.
fn scripts_run(server: &mut ::redis::Connection) -> usize {
    let stats: String = ::redis::cmd("INFO").arg("commandstats").query(server).unwrap();
    let calls = |command: &str| {
        let line = stats.lines().find_map(|line| line.strip_prefix(command));
        line.map_or(0, |line| line.split(',').next().unwrap().parse().unwrap())
    };
    calls("cmdstat_eval:calls=") + calls("cmdstat_evalsha:calls=")
}

fn every_count(answers: impl IntoIterator<Item = usize>) -> bool {
    answers.into_iter().collect::<BTreeSet<_>>().into_iter().eq(1..=THREADS * CALLS)
}

#[test]
fn every_thread_gets_its_own_answer() {
    let redis = Redis::start().unwrap();
    let driver = patient(redis.url());
    for (key, args) in [("one by one", &[][..]), ("shared", &SHARING)] {
        let mut client = redis.client().unwrap();
        ::redis::cmd("CONFIG").arg("RESETSTAT").exec(&mut client).unwrap();
        let calls = |_| -> Vec<usize> { (0..CALLS).map(|_| count_by(&driver, key, args).unwrap()).collect() };
        let counts = by_threads(calls);
        assert!(counts.iter().all(|counts| counts.is_sorted()));
        assert!(every_count(counts.into_iter().flatten()));
        let (scripts, calls) = (scripts_run(&mut client), THREADS * CALLS);
        assert!(args.is_empty() || scripts < calls * 9 / 10, "{scripts} scripts for {calls} calls");
    }
}

#[test]
fn an_error_stays_with_its_key() {
    let redis = Redis::start().unwrap();
    ::redis::cmd("SADD").arg("bad").arg(1).exec(&mut redis.client().unwrap()).unwrap();
    let driver = patient(redis.url());
    by_threads(|thread| {
        for call in 0..CALLS {
            if (thread + call) % 3 == 0 {
                let error = count(&driver, "bad").unwrap_err();
                assert!(error.message().contains("WRONGTYPE"), "{error}");
            } else {
                count(&driver, "good").unwrap();
            }
        }
    });
}

#[test]
fn scripts_that_the_server_forgets_are_sent_again() {
    let redis = Redis::start().unwrap();
    let driver = patient(redis.url());
    let over = AtomicBool::new(false);
    let counts = thread::scope(|scope| {
        let _stop = finally(|| over.store(true, Ordering::Relaxed));
        scope.spawn(|| {
            let mut client = redis.client().unwrap();
            while !over.load(Ordering::Relaxed) {
                ::redis::cmd("SCRIPT").arg("FLUSH").exec(&mut client).unwrap();
                thread::sleep(Duration::from_millis(1));
            }
        });
        by_threads(|_| -> Vec<usize> { (0..CALLS).map(|_| count(&driver, "k").unwrap()).collect() })
    });
    assert!(every_count(counts.into_iter().flatten()));
}

#[test]
fn broken_connections_charge_nothing_twice() {
    let redis = Redis::start().unwrap();
    let driver = patient(redis.url());
    let over = AtomicBool::new(false);
    let outcomes = thread::scope(|scope| {
        let _stop = finally(|| over.store(true, Ordering::Relaxed));
        scope.spawn(|| {
            let mut client = redis.client().unwrap();
            while !over.load(Ordering::Relaxed) {
                let mut kill = ::redis::cmd("CLIENT");
                kill.arg("KILL")
                    .arg("TYPE")
                    .arg("normal")
                    .arg("SKIPME")
                    .arg("yes")
                    .exec(&mut client)
                    .unwrap();
                thread::sleep(Duration::from_millis(2));
            }
        });
        by_threads(|_| -> Vec<_> { (0..CALLS).map(|_| count(&driver, "k")).collect() })
    });
    let (answered, failed): (Vec<_>, Vec<_>) = outcomes.into_iter().flatten().partition(Result::is_ok);
    let different = answered.iter().flatten().collect::<BTreeSet<_>>();
    assert_eq!(different.len(), answered.len(), "an answer went to two threads");
    assert!(!failed.is_empty() && failed.iter().all(|outcome| kind(outcome) == Some(ErrorKind::Connection)));
    recovery(&driver, "other");
    let counted = count(&driver, "k").unwrap() - 1;
    assert!((answered.len()..=THREADS * CALLS).contains(&counted), "{counted} for {}", answered.len());
}

#[test]
fn a_hung_server_holds_nobody_up_for_longer_than_alone() {
    let redis = Redis::start().unwrap();
    // A call may take 1.1 s.
    let options = ConnectOptions { connect_timeout: Duration::from_millis(600), ..ConnectOptions::default() };
    let driver = Driver::blocking(redis.url(), &options).unwrap();
    by_threads(|_| count(&driver, "k").unwrap());
    redis.pause().unwrap();
    let outcomes = by_threads(|thread| {
        thread::sleep(Duration::from_millis(4) * thread as u32);
        timed(|| count(&driver, "k"))
    });
    redis.resume().unwrap();
    for (outcome, took) in outcomes {
        let error = outcome.unwrap_err();
        // Those that were not sent by the time the others were given up.
        let is_refused = error.message().contains("circuit breaker open");
        assert!(error.kind() == ErrorKind::Timeout || is_refused, "{error}");
        assert!(took < PROMPT, "{took:?}");
    }
    recovery(&driver, "other");
    by_threads(|_| count(&driver, "k").unwrap());
}

#[test]
fn in_a_cluster_calls_of_one_slot_go_together() {
    let cluster = Cluster::start().unwrap();
    // As if there was one server: that it minds slots has to be noticed.
    let one = format!("redis://127.0.0.1:{}", cluster.primary_of("{a}").unwrap().port());
    let slots_of_one: Vec<String> = (0..2000)
        .map(|number| format!("{{{number}}}"))
        .filter(|key| cluster.primary_of(key).unwrap().port() == cluster.primary_of("{a}").unwrap().port())
        .take(8)
        .collect();
    for url in [cluster.url(), one] {
        let driver = patient(&url);
        let counts = by_threads(|thread| -> Vec<usize> {
            let keys = &slots_of_one;
            (0..CALLS).map(|call| count(&driver, &keys[(thread + call) % keys.len()]).unwrap()).collect()
        });
        assert_eq!(counts.into_iter().flatten().filter(|&count| count == 1).count(), slots_of_one.len());
        slots_of_one.iter().for_each(|key| driver.delete(&[key]).unwrap());
    }
}

#[test]
fn a_forbidden_key_keeps_nobody_from_another() {
    let redis = Redis::start().unwrap();
    let mut acl = ::redis::cmd("ACL");
    acl.arg("SETUSER").arg("user").arg("on").arg(">secret").arg("~good").arg("+@all");
    acl.exec(&mut redis.client().unwrap()).unwrap();
    let driver = patient(&format!("redis://user:secret@127.0.0.1:{}", redis.port()));
    by_threads(|thread| {
        for call in 0..CALLS {
            if (thread + call) % 3 == 0 {
                let error = count(&driver, "bad").unwrap_err();
                assert!(error.message().contains("NOPERM"), "{error}");
            } else {
                count(&driver, "good").unwrap();
            }
        }
    });
}

#[test]
fn nothing_stays_open_after_close() {
    let redis = Redis::start().unwrap();
    for _ in 0..5 {
        let driver = patient(redis.url());
        thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| while count(&driver, "k").is_ok() {});
            }
            thread::sleep(Duration::from_millis(10));
            driver.close();
        });
        let start = Instant::now();
        let mut client = redis.client().unwrap();
        loop {
            let clients: String = ::redis::cmd("CLIENT").arg("LIST").query(&mut client).unwrap();
            if clients.lines().count() == 1 {
                break;
            }
            assert!(start.elapsed() < Duration::from_secs(5), "{clients}");
        }
    }
}

#[test]
fn who_waited_for_a_connection_hurries_nobody_who_comes_later() {
    let server = Slow::start(Duration::from_millis(60), Duration::ZERO);
    let driver = ordinary(&server.url);
    let end = Instant::now() + Duration::from_secs(2);
    by_threads(|_| {
        while Instant::now() < end {
            let (outcome, took) = timed(|| count_by(&driver, "k", &[]));
            if let Err(error) = outcome {
                assert_eq!(error.kind(), ErrorKind::Timeout);
                assert!(took >= Duration::from_millis(450), "{error} after {took:?}");
            }
        }
    });
}

#[test]
fn many_scripts_that_were_forgotten_take_no_longer_than_one() {
    let server = Slow::start(Duration::from_millis(1), Duration::from_millis(300));
    let driver = ordinary(&server.url);
    let end = Instant::now() + Duration::from_millis(500);
    by_threads(|_| {
        while Instant::now() < end {
            let forgotten = end.saturating_duration_since(Instant::now()) < Duration::from_millis(300);
            server.forgets.store(forgotten, Ordering::Relaxed);
            let (_, took) = timed(|| count_by(&driver, "k", &[]));
            assert!(took < PROMPT, "{took:?}");
        }
    });
}

#[test]
fn the_time_to_find_a_server_is_not_that_to_answer() {
    let cluster = Cluster::start().unwrap();
    // Are asked first, one every 50 ms, without an answer: for longer than a server has to answer.
    let silent: Vec<_> = (0..50).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    let seeds: String = silent.iter().map(|seed| format!("{},", seed.local_addr().unwrap())).collect();
    // Long enough for many threads on a busy machine.
    let options = ConnectOptions {
        connect_timeout: Duration::from_secs(20),
        response_timeout: Duration::from_secs(2),
        ..ConnectOptions::default()
    };
    let driver = Driver::blocking(&cluster.url().replace("//", &format!("//{seeds}")), &options).unwrap();
    // Longer than the least time that any call has.
    let slow = "local t = redis.call('TIME') local s = t[1]*1e6+t[2] \
                repeat t = redis.call('TIME') until t[1]*1e6+t[2] - s > 2000 return 1";
    let slow = eternal(Script::new(slow.to_owned()));
    let outcomes = by_threads(|_| driver.run_script(slow, &["k"], &[]));
    assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
}
