//! What only the blocking driver does: it opens nothing before the first call, and its threads get signals.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
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

#[test]
fn all_threads_share_one_connection() {
    let redis = Redis::start().unwrap();
    let options = ConnectOptions { response_timeout: Duration::from_secs(10), ..ConnectOptions::default() };
    let driver = Driver::blocking(redis.url(), &options).unwrap();
    thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| (0..500).all(|_| driver.increment("key").is_ok()));
        }
    });
    assert_eq!(driver.increment("key").unwrap(), 8001);
    assert_eq!(connected(&redis), 1);
}

/// A firewall forgets connections on which nothing happens, without a word.
#[test]
fn a_connection_that_was_forgotten_costs_one_call() {
    let is_forgotten = Arc::new(AtomicBool::new(false));
    let forgotten = Arc::clone(&is_forgotten);
    let url = fake_server::scripted(move |number, _| {
        let is_silent = number == 0 && forgotten.load(Ordering::SeqCst);
        Some(if is_silent { "" } else { "+PONG\r\n" }.to_owned())
    });
    let driver = Driver::blocking(&url, &ConnectOptions::default()).unwrap();
    driver.ping().unwrap();
    is_forgotten.store(true, Ordering::SeqCst);
    assert_eq!(kind(&driver.ping()), Some(ErrorKind::Timeout));
    driver.ping().unwrap();
}

#[test]
fn a_connection_that_the_server_ended_long_ago_costs_no_call() {
    let redis = Redis::start().unwrap();
    let driver = Driver::blocking(redis.url(), &ConnectOptions::default()).unwrap();
    driver.increment("key").unwrap();
    let mut client = redis.client().unwrap();
    ::redis::cmd("CLIENT").arg(&["KILL", "TYPE", "normal", "SKIPME", "yes"]).exec(&mut client).unwrap();
    // Until then it is trusted.
    thread::sleep(Duration::from_millis(1100));
    assert_eq!(driver.increment("key").unwrap(), 2);
}
