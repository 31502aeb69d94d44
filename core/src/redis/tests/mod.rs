//! Both drivers against real servers.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod blocking;
mod children;
mod cluster;
pub(crate) mod fake_server;
mod login;
mod moving;
mod outage;
mod recovery;
mod runtime;
mod sentinel;
mod sharing;
mod states;
mod texts;
mod threads;
mod timeout;
#[cfg(feature = "tls")]
mod tls;
mod url;

use std::thread;
use std::time::{Duration, Instant};

use ::redis::Value;
use sluicegate_test_servers::Certificates;
use tokio::runtime::Runtime;

use super::settings::url::RedisUrl;
use super::{AsyncRedis, Backend, BlockingRedis};
use crate::error::{Error, ErrorKind, Result};
use crate::options::ConnectOptions;
use crate::script::{Script, ScriptCall};

/// Less than the time to connect and to answer together, with room for a busy machine.
const PROMPT: Duration = Duration::from_millis(1300);

const INCREMENT: &str = "return redis.call('INCR', KEYS[1])";

/// Either driver, so that each test is written once.
enum Driver {
    Blocking(BlockingRedis),
    Async(Runtime, AsyncRedis),
}

impl Driver {
    fn blocking(url: &str, options: &ConnectOptions) -> Result<Self> {
        BlockingRedis::new(&parse(url)?, options).map(Self::Blocking)
    }

    fn asynchronous(url: &str, options: &ConnectOptions) -> Result<Self> {
        let runtime = Runtime::new().unwrap();
        let redis = runtime.block_on(AsyncRedis::connect(&parse(url)?, options))?;
        Ok(Self::Async(runtime, redis))
    }

    fn run(&self, script: &str, keys: &[&str], args: &[&str]) -> Result<Value> {
        self.run_script(eternal(Script::new(script.to_owned())), keys, args)
    }

    fn run_script(&self, script: &'static Script, keys: &[&str], args: &[&str]) -> Result<Value> {
        let call = call(script, keys, args);
        match self {
            Self::Blocking(redis) => redis.call(call, redis.deadline(None)),
            Self::Async(runtime, redis) => runtime.block_on(redis.call(call, redis.deadline(None))),
        }
    }

    fn increment(&self, key: &str) -> Result<i64> {
        self.run(INCREMENT, &[key], &[]).map(|value| ::redis::from_redis_value(value).unwrap())
    }

    fn delete(&self, keys: &[&str]) -> Result<()> {
        let keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
        match self {
            Self::Blocking(redis) => redis.delete(&keys, redis.deadline(None)),
            Self::Async(runtime, redis) => runtime.block_on(redis.delete(&keys, redis.deadline(None))),
        }
    }

    fn ping(&self) -> Result<()> {
        match self {
            Self::Blocking(redis) => redis.ping(redis.deadline(None)),
            Self::Async(runtime, redis) => runtime.block_on(redis.ping(redis.deadline(None))),
        }
    }

    fn close(&self) {
        match self {
            Self::Blocking(redis) => redis.close(),
            Self::Async(_, redis) => redis.close(),
        }
    }
}

fn call(script: &'static Script, keys: &[&str], args: &[&str]) -> ScriptCall {
    ScriptCall {
        script,
        keys: keys.iter().map(|key| (*key).to_owned()).collect(),
        args: args.iter().map(|arg| arg.as_bytes().into()).collect(),
        registration: None,
    }
}

/// The scripts of the library live as long as the process.
pub(super) fn eternal(script: Script) -> &'static Script {
    Box::leak(Box::new(script))
}

fn parse(url: &str) -> Result<RedisUrl> {
    match Backend::parse(url)? {
        Backend::Redis(url) => Ok(url),
        Backend::Memory => panic!("not a server"),
    }
}

/// Both drivers, connected.
fn both(url: &str) -> [Driver; 2] {
    both_with(url, &ConnectOptions::default())
}

fn both_with(url: &str, options: &ConnectOptions) -> [Driver; 2] {
    [Driver::blocking(url, options).unwrap(), Driver::asynchronous(url, options).unwrap()]
}

/// Trusts the authority of these servers, if they have one.
fn trusting(certificates: Option<&Certificates>) -> ConnectOptions {
    ConnectOptions { tls_ca: certificates.map(Certificates::ca_pem), ..ConnectOptions::default() }
}

/// Shows them the client's certificate too.
fn identified(certificates: Option<&Certificates>) -> ConnectOptions {
    ConnectOptions {
        tls_cert: certificates.map(Certificates::cert_pem),
        tls_key: certificates.map(Certificates::key_pem),
        ..trusting(certificates)
    }
}

/// The error of the first contact with a server that cannot be used.
fn refusals(url: &str, options: &ConnectOptions) -> [Error; 2] {
    let blocking = Driver::blocking(url, options).and_then(|driver| driver.ping());
    [blocking.unwrap_err(), Driver::asynchronous(url, options).err().unwrap()]
}

/// So long after a failover at most, calls are carried out by the new primary.
const FOLLOWED: Duration = Duration::from_secs(1);

fn timed<T>(action: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let outcome = action();
    (outcome, start.elapsed())
}

fn kind<T: std::fmt::Debug>(outcome: &Result<T>) -> Option<ErrorKind> {
    outcome.as_ref().err().map(Error::kind)
}

/// Calls until one succeeds; returns how long that took.
fn recovery(driver: &Driver, key: &str) -> Duration {
    let start = Instant::now();
    while driver.increment(key).is_err() {
        assert!(start.elapsed() < Duration::from_secs(20), "no recovery");
        thread::sleep(Duration::from_millis(20));
    }
    start.elapsed()
}

/// Calls by each driver until one succeeds; returns how long the slower took.
fn recoveries(drivers: &[Driver; 2], key: &str) -> Duration {
    thread::scope(|scope| {
        let other = scope.spawn(|| recovery(&drivers[1], key));
        recovery(&drivers[0], key).max(other.join().unwrap())
    })
}

/// That a recovery took no longer than it may, with what a driver that has just been made takes now: as much of it is the
/// machine's, which may be busy.
fn assert_followed(took: Duration, anew: impl Fn() -> Result<Driver>) {
    let (_, usual) = timed(|| {
        while anew().and_then(|driver| driver.increment("of another")).is_err() {
            thread::sleep(Duration::from_millis(20));
        }
    });
    assert!(took < FOLLOWED + 2 * usual, "{took:?}; a new one takes {usual:?}");
}

/// Runs a test that would hang if it failed.
pub(crate) fn in_time(test: impl FnOnce() + Send + 'static) {
    let (done, ended) = std::sync::mpsc::channel();
    let test = thread::spawn(move || {
        test();
        done.send(()).unwrap();
    });
    match ended.recv_timeout(Duration::from_secs(20)) {
        Ok(()) => {}
        Err(std::sync::mpsc::RecvTimeoutError::Timeout) => panic!("it hangs"),
        Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => {
            std::panic::resume_unwind(test.join().unwrap_err());
        }
    }
}

/// Runs the test of this name in a process of its own in which no thread can be started: none has room for its stack.
pub(crate) fn without_threads(name: &str, test: impl FnOnce()) {
    const IS_WITHOUT: &str = "SLUICEGATE_TESTS_WITHOUT_THREADS";
    if std::env::var_os(IS_WITHOUT).is_some() {
        assert!(thread::Builder::new().spawn(|| ()).is_err());
        end_in_time();
        return test();
    }
    let mut alone = std::process::Command::new(std::env::current_exe().unwrap());
    alone.args(["--exact", name]).env(IS_WITHOUT, "1").env("RUST_MIN_STACK", (1_u64 << 60).to_string());
    let output = alone.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

/// Has the system end this process if it hangs.
#[allow(unsafe_code, reason = "nothing safe asks the system for that")]
fn end_in_time() {
    // SAFETY: nothing handles the signal, which ends the process.
    unsafe { libc::alarm(20) };
}

/// What a forked child answers.
#[allow(unsafe_code, reason = "nothing safe forks")]
pub(crate) fn in_child(answer: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child has no other threads; locks of theirs that it needs, those of the allocator, the system frees.
    match unsafe { libc::fork() } {
        0 => {
            end_in_time();
            let answered = std::panic::catch_unwind(std::panic::AssertUnwindSafe(answer));
            let status = i32::from(!answered.unwrap_or(false));
            // SAFETY: nothing of the parent's is to be cleaned up.
            unsafe { libc::_exit(status) }
        }
        child => {
            let mut status = -1;
            // SAFETY: the place for the status lives as long as the call.
            assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
            status == 0
        }
    }
}

/// The connections that the server has had.
fn received(client: &mut ::redis::Connection) -> u32 {
    let info: String = ::redis::cmd("INFO").arg("stats").query(client).unwrap();
    let total = info.lines().find_map(|line| line.strip_prefix("total_connections_received:"));
    total.unwrap().parse().unwrap()
}

async fn join_all<T>(futures: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    let mut pending: Vec<_> = futures.map(Box::pin).collect();
    let mut done: Vec<Option<T>> = pending.iter().map(|_| None).collect();
    std::future::poll_fn(|context| {
        for (future, slot) in pending.iter_mut().zip(&mut done) {
            if slot.is_none()
                && let std::task::Poll::Ready(outcome) = future.as_mut().poll(context)
            {
                *slot = Some(outcome);
            }
        }
        if done.iter().all(Option::is_some) { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    done.into_iter().flatten().collect()
}
