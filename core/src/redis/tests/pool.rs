//! What only the blocking driver has: a pool.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

use sluicegate_test_servers::{Options, Redis, Transport};

use super::*;

/// Takes 300 milliseconds.
const SLOW: &str = "local t = redis.call('TIME') local s = t[1]*1e6+t[2] \
                    repeat t = redis.call('TIME') until t[1]*1e6+t[2] - s > 300000 return 1";

fn connected(redis: &Redis) -> usize {
    let clients: String = ::redis::cmd("CLIENT").arg("LIST").query(&mut redis.client().unwrap()).unwrap();
    clients.lines().count() - 1
}

#[test]
fn a_new_limiter_opens_nothing() {
    let redis = Redis::start().unwrap();
    let _driver = Driver::blocking(redis.url(), &ConnectOptions::default()).unwrap();
    assert_eq!(connected(&redis), 0);
}

#[test]
fn many_threads_share_few_connections() {
    let redis = Redis::start().unwrap();
    let options = ConnectOptions { pool_size: 4, ..ConnectOptions::default() };
    let driver = Driver::blocking(redis.url(), &options).unwrap();
    thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| (0..500).all(|_| driver.increment("key").is_ok()));
        }
    });
    assert_eq!(driver.increment("key").unwrap(), 8001);
    assert!(connected(&redis) <= 4);
}

#[test]
fn an_exhausted_pool_is_a_timeout_that_says_so() {
    let redis = Redis::start().unwrap();
    let options = ConnectOptions {
        pool_size: 1,
        response_timeout: Duration::from_millis(200),
        ..ConnectOptions::default()
    };
    let driver = Driver::blocking(redis.url(), &options).unwrap();
    driver.increment("key").unwrap();
    redis.pause().unwrap();
    // Only scripts are pipelined.
    let errors: Vec<Error> = thread::scope(|scope| {
        let calls: Vec<_> = (0..3).map(|_| scope.spawn(|| driver.ping())).collect();
        calls.into_iter().map(|call| call.join().unwrap().unwrap_err()).collect()
    });
    redis.resume().unwrap();
    assert!(errors.iter().all(|error| error.kind() == ErrorKind::Timeout));
    assert!(errors.iter().any(|error| error.message().contains("pool_size")), "{errors:?}");
}

#[test]
fn waiting_for_a_connection_counts_against_the_time_to_answer() {
    const TIME: Duration = Duration::from_secs(3);
    // Of each script, when it came: the second has no answer, the others have one late.
    let came = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&came);
    let url = fake_server::scripted(move |_, command| {
        if command == "PING" {
            return Some("+PONG\r\n".to_owned());
        }
        let mut came = noted.lock().unwrap();
        came.push(Instant::now());
        let number = came.len();
        drop(came);
        thread::sleep(TIME * 3 / 4);
        Some(if number == 2 { "" } else { ":1\r\n" }.to_owned())
    });
    let options = ConnectOptions { pool_size: 1, response_timeout: TIME, ..ConnectOptions::default() };
    let driver = Driver::blocking(&url, &options).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| driver.increment("k").unwrap());
        while came.lock().unwrap().is_empty() {
            thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(kind(&driver.increment("k")), Some(ErrorKind::Timeout));
        // A quarter of its time was left when the connection was free.
        let took = came.lock().unwrap()[1].elapsed();
        assert!(took < TIME * 3 / 4, "{took:?}");
    });
    // The connection that was in a hurry is gone, the next one has its full time.
    driver.increment("k").unwrap();
}

#[cfg(unix)]
#[test]
fn signals_cut_no_answer_short_and_no_deadline_long() {
    for transport in [Transport::Tcp, Transport::Tls] {
        let redis = Redis::with(&Options { transport, ..Options::default() }).unwrap();
        let patient = ConnectOptions {
            tls_ca: redis.certificates().map(|certificates| certificates.ca_pem()),
            ..ConnectOptions::default()
        };
        let hasty = ConnectOptions { response_timeout: Duration::from_millis(100), ..patient.clone() };
        let driver = Driver::blocking(redis.url(), &patient).unwrap();
        driver.increment("key").unwrap();
        signalled(|| driver.run(SLOW, &["k"], &[])).unwrap();
        let driver = Driver::blocking(redis.url(), &hasty).unwrap();
        driver.increment("key").unwrap();
        let outcome = signalled(|| driver.run(SLOW, &["k"], &[]));
        assert_eq!(kind(&outcome), Some(ErrorKind::Timeout));
    }
}

/// The outcome of a call whose thread is sent a signal every few milliseconds.
#[cfg(unix)]
#[allow(unsafe_code, reason = "nothing safe sends a signal to a thread")]
fn signalled<T: Send>(call: impl FnOnce() -> T + Send) -> T {
    extern "C" fn nothing(_: libc::c_int) {}
    // SAFETY: an action of zeros has no flags, so that no system call is restarted; the handler does nothing.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = nothing as extern "C" fn(libc::c_int) as usize;
        libc::sigaction(libc::SIGUSR1, &raw const action, std::ptr::null_mut());
    }
    let (tell, ids) = std::sync::mpsc::channel();
    thread::scope(|scope| {
        let called = scope.spawn(move || {
            // SAFETY: asks for nothing but a name.
            tell.send(unsafe { libc::pthread_self() }).unwrap();
            call()
        });
        let id = ids.recv().unwrap();
        while !called.is_finished() {
            // SAFETY: the thread has not been joined yet, so its name is valid.
            unsafe { libc::pthread_kill(id, libc::SIGUSR1) };
            thread::sleep(Duration::from_millis(3));
        }
        called.join().unwrap()
    })
}

/// A firewall forgets connections on which nothing happens, without a word.
#[test]
fn of_idle_connections_that_are_silent_one_costs_a_call() {
    // How many connections there have been, and how many of them are forgotten.
    let counts = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
    let shared = Arc::clone(&counts);
    let url = fake_server::scripted(move |number, _| {
        let [opened, forgotten] = &*shared;
        opened.fetch_max(number + 1, Ordering::SeqCst);
        // Meanwhile the next thread needs a connection of its own.
        thread::sleep(Duration::from_millis(20));
        let is_silent = number < forgotten.load(Ordering::SeqCst);
        Some(if is_silent { "" } else { "+PONG\r\n" }.to_owned())
    });
    let options =
        ConnectOptions { response_timeout: Duration::from_millis(500), ..ConnectOptions::default() };
    let driver = Driver::blocking(&url, &options).unwrap();
    let start = Barrier::new(4);
    let ping = || {
        start.wait();
        driver.ping().unwrap();
    };
    thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(ping))));
    let [opened, forgotten] = &*counts;
    forgotten.store(opened.load(Ordering::SeqCst), Ordering::SeqCst);
    assert!(opened.load(Ordering::SeqCst) > 1);
    // So long that connections are tried before they are used.
    thread::sleep(Duration::from_millis(1100));
    assert_eq!(kind(&driver.ping()), Some(ErrorKind::Timeout));
    driver.ping().unwrap();
}
