//! A loop that watches a socket, against real servers.

mod lending;
mod outages;
mod topologies;

use std::mem::take;
use std::sync::atomic::AtomicBool;
use std::thread::sleep;

use sluicegate_test_servers::finally;

use super::*;
use crate::redis::tests::in_child;

const RESPONSE_TIMEOUT: Duration = Duration::from_millis(600);

/// A foreign loop: does nothing until the socket is readable, the bridge wakes it, or time is up.
struct Loop {
    bridge: Bridge,
    woken: Receiver<()>,
    socket: Option<i32>,
    /// When to call `expire`.
    timer: Option<Instant>,
    answers: Vec<Completion>,
}

impl Loop {
    fn open(url: &str) -> Self {
        Self::patient(url, RESPONSE_TIMEOUT)
    }

    fn patient(url: &str, response_timeout: Duration) -> Self {
        Self::of(RateLimiter::builder(url).response_timeout(response_timeout))
    }

    /// Trusts the server, if it has a certificate.
    fn to(redis: &Redis) -> Self {
        let builder = RateLimiter::builder(redis.url()).response_timeout(RESPONSE_TIMEOUT);
        Self::of(match redis.certificates() {
            Some(certificates) => builder.tls_ca(certificates.ca_pem()),
            None => builder,
        })
    }

    /// Opens a limiter, and waits for its socket.
    fn of(builder: Builder) -> Self {
        let (wake, woken) = channel();
        let builder = builder.rules(Rules::from_json(RULES).unwrap());
        // The loop may be gone.
        let bridge = Bridge::open(builder, move || _ = wake.send(())).unwrap();
        let mut this = Self { bridge, woken, socket: None, timer: None, answers: Vec::new() };
        this.run_until(|this| this.socket.is_some());
        assert!(this.take(1)[0].result.is_ok());
        this
    }

    fn run_until(&mut self, is_done: impl Fn(&Self) -> bool) {
        let end = Instant::now() + Duration::from_secs(10);
        while !is_done(self) {
            assert!(Instant::now() < end, "it takes too long: {:?}", self.answers);
            self.turn();
        }
    }

    fn turn(&mut self) {
        if self.is_readable() {
            self.bridge.read_socket();
        }
        let is_woken = self.woken.try_iter().count() > 0;
        if is_woken {
            self.watch();
        }
        let is_due = self.timer.is_some_and(|timer| timer <= Instant::now());
        if is_due || is_woken && self.bridge.is_hurried() {
            self.expire();
        }
        self.answers.extend(self.bridge.drain());
    }

    fn expire(&mut self) {
        self.timer = self.bridge.expire().map(|left| Instant::now() + left);
    }

    fn watch(&mut self) {
        if self.bridge.is_socket_over() {
            self.socket = None;
            self.bridge.end_socket();
        }
        self.socket = self.bridge.new_socket().or(self.socket);
    }

    #[allow(unsafe_code, reason = "nothing safe waits for a descriptor")]
    fn is_readable(&self) -> bool {
        let fd = self.socket.unwrap_or(-1);
        let mut watched = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        // SAFETY: the one entry lives as long as the call.
        unsafe { libc::poll(&raw mut watched, 1, 1) > 0 }
    }

    /// So many answers, in the order of their tokens.
    fn take(&mut self, count: usize) -> Vec<Completion> {
        self.run_until(|this| this.answers.len() >= count);
        let mut answers = take(&mut self.answers);
        assert_eq!(answers.len(), count);
        answers.sort_by_key(|answer| answer.token);
        answers
    }

    fn submit(&mut self, calls: Vec<(u64, OwnedCall)>) {
        self.bridge.submit(calls).unwrap();
        if self.timer.is_none() || self.bridge.is_hurried() {
            self.expire();
        }
    }

    fn check(&mut self, tokens: std::ops::Range<u64>, key: &str) {
        self.submit(tokens.map(|token| (token, single(key))).collect());
    }

    /// How many of the calls that are made now are admitted.
    fn admitted(&mut self, count: u64, key: &str) -> usize {
        self.check(1..count + 1, key);
        self.take(count as usize).iter().filter(|answer| allowed(answer)).count()
    }

    /// Calls until the server answers.
    fn recover(&mut self) {
        let end = Instant::now() + Duration::from_secs(10);
        loop {
            assert!(Instant::now() < end, "no recovery");
            self.check(1..2, "recovery");
            if self.take(1)[0].result.is_ok() {
                break;
            }
            sleep(Duration::from_millis(5));
        }
        assert_eq!(self.admitted(3, "recovered"), 3);
    }
}

fn single(key: &str) -> OwnedCall {
    OwnedCall::Single(Kind::Check, item(key))
}

fn kinds(answers: &[Completion]) -> Vec<ErrorKind> {
    answers.iter().map(|answer| answer.result.as_ref().unwrap_err().kind()).collect()
}

#[test]
fn calls_are_answered_without_the_other_thread() {
    let redis = Redis::start().unwrap();
    let mut own = Loop::open(redis.url());
    assert_eq!(own.admitted(15, "k"), 10);
    // Nothing woke the loop but the socket.
    assert_eq!(own.woken.try_iter().count(), 0);
    assert!(own.bridge.is_socket_idle());

    // Mistakes and other calls find their way too.
    let unknown = Item { rule: "s".into(), ..item("k") };
    let calls = [
        single("m"),
        OwnedCall::Single(Kind::Check, unknown),
        OwnedCall::Reset(item("k")),
        OwnedCall::Ping(None),
    ];
    own.submit((1..).zip(calls).collect());
    let answers = own.take(4);
    assert!(allowed(&answers[0]));
    assert_eq!(kinds(&answers[1..2]), [ErrorKind::UnknownRule]);
    assert!(answers[2..].iter().all(|answer| matches!(answer.result, Ok(Answer::Done))));
    assert_eq!(own.admitted(15, "k"), 10);
}

#[test]
fn a_loop_that_asks_for_the_file_again_is_not_woken_by_it() {
    let redis = Redis::start().unwrap();
    let mut own = Loop::open(redis.url());
    own.run_until(|this| this.bridge.new_socket().is_none() && !this.is_readable());
}

#[test]
fn the_answer_to_a_single_call_may_be_spun_for() {
    let redis = Redis::start().unwrap();
    let mut own = Loop::open(redis.url());
    let mut at_once = 0;
    for _ in 0..1000 {
        own.check(1..2, "k");
        own.bridge.spin();
        let mut answers = own.bridge.drain();
        at_once += answers.len();
        while answers.is_empty() {
            own.bridge.read_socket();
            answers = own.bridge.drain();
        }
        assert!(answers.len() == 1 && answers[0].result.is_ok());
    }
    // With one processor nobody spins.
    assert!(at_once > 0 || std::thread::available_parallelism().unwrap().get() == 1);
}

#[test]
fn a_forgotten_script_is_sent_anew_and_charged_once() {
    let redis = Redis::start().unwrap();
    let mut own = Loop::open(redis.url());
    assert_eq!(own.admitted(3, "k"), 3);
    redis::cmd("SCRIPT").arg("FLUSH").exec(&mut redis.client().unwrap()).unwrap();
    assert_eq!(own.admitted(15, "k"), 7);
    assert!(own.bridge.is_socket_idle());
}

#[test]
fn an_answer_that_is_an_error_leaves_the_socket_usable() {
    let redis = Redis::start().unwrap();
    let mut own = Loop::open(redis.url());
    own.admitted(1, "k");
    let mut client = redis.client().unwrap();
    let keys: Vec<String> = redis::cmd("KEYS").arg("*").query(&mut client).unwrap();
    redis::cmd("DEL").arg(&keys).exec(&mut client).unwrap();
    redis::cmd("RPUSH").arg(&keys[0]).arg("x").exec(&mut client).unwrap();
    own.check(1..3, "k");
    let answers = own.take(2);
    assert_eq!(kinds(&answers), [ErrorKind::Server; 2]);
    assert!(answers[0].result.as_ref().unwrap_err().key().unwrap().contains(&keys[0]));
    assert!(own.bridge.is_socket_idle());
}

#[test]
fn more_calls_than_the_kernel_takes_are_all_carried_out_once() {
    let redis = Redis::start().unwrap();
    let mut own = Loop::patient(redis.url(), Duration::from_secs(60));
    own.admitted(1, "k");
    // The server takes nothing until the kernel is full.
    redis.pause().unwrap();
    let long = "x".repeat(120);
    let call = |token: u64| (token, single(&format!("{long}{}", token % 2000)));
    for batch in 0..800_u64 {
        own.submit((batch * 50..(batch + 1) * 50).map(call).collect());
    }
    redis.resume().unwrap();
    own.run_until(|this| this.answers.len() >= 40_000);
    let answers = own.take(40_000);
    assert!(answers.iter().map(|answer| answer.token).eq(0..40_000));
    assert_eq!(answers.iter().filter(|answer| allowed(answer)).count(), 20_000);
}

#[test]
fn a_closed_limiter_sends_nothing() {
    let redis = Redis::start().unwrap();
    let mut own = Loop::open(redis.url());
    own.admitted(5, "known script");
    redis.pause().unwrap();
    own.check(1..6, "k");
    own.bridge.close();
    redis.resume().unwrap();
    // What was under way is answered.
    assert!(own.take(5).iter().all(allowed));
    own.check(1..6, "k");
    assert_eq!(kinds(&own.take(5)), [ErrorKind::Closed; 5]);
    own.run_until(|this| this.socket.is_none());
}

#[test]
fn a_call_ends_by_its_own_time() {
    let redis = Redis::start().unwrap();
    let mut own = Loop::open(redis.url());
    assert_eq!(own.admitted(1, "k"), 1);
    redis.pause().unwrap();
    let short = Some(Duration::from_millis(50));
    let hasty = OwnedCall::Single(Kind::Check, Item { timeout: short, ..item("k") });
    let began = Instant::now();
    own.submit(vec![(1, hasty), (2, OwnedCall::Ping(short)), (3, single("k"))]);
    own.run_until(|own| own.answers.len() >= 2);
    assert!(began.elapsed() < RESPONSE_TIMEOUT * 2 / 3, "{:?}", began.elapsed());
    assert_eq!(kinds(&own.take(3)), [ErrorKind::Timeout; 3]);
    redis.resume().unwrap();
    own.recover();
}

#[test]
#[allow(unsafe_code, reason = "a thread of the parent uses what the child drops")]
fn a_child_drops_no_call_of_its_parent() {
    let redis = Redis::start().unwrap();
    let mut of_parent = Loop::open(redis.url());
    assert_eq!(of_parent.admitted(11, "k"), 10);
    of_parent.submit(vec![(1, OwnedCall::Wait(item("k"), Duration::from_secs(3600)))]);
    // By then it sleeps.
    of_parent.check(2..3, "other");
    of_parent.take(1);
    let (bridge, is_over) = (&of_parent.bridge, AtomicBool::new(false));
    std::thread::scope(|scope| {
        let _stop = finally(|| is_over.store(true, Ordering::Relaxed));
        // To drop the call takes a lock that this thread often holds, which does not exist in the child.
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                _ = bridge.expire()
            }
        });
        // SAFETY: the child ends without any other use of it.
        let drops = || {
            in_child(|| {
                drop(unsafe { std::ptr::read(bridge) });
                true
            })
        };
        assert!((0..200).all(|_| drops()));
    });
}
