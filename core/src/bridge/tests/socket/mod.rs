//! A loop that watches a socket, against real servers.

mod lending;

use std::mem::take;
use std::sync::atomic::AtomicBool;
use std::thread::sleep;

use sluicegate_test_servers::{Cluster, Node, Options, Sentinel, Transport, finally};

use super::*;
use crate::redis::tests::fake_server::flooding;
use crate::redis::tests::{in_child, in_time};

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

fn server(transport: Transport) -> Redis {
    Redis::with(&Options { transport, ..Options::default() }).unwrap()
}

#[test]
fn a_killed_server_ends_calls_under_way_and_later_ones_succeed() {
    a_killed_server_ends_calls(Transport::Tcp);
}

#[test]
fn a_killed_server_ends_calls_under_way_and_later_ones_succeed_with_tls() {
    a_killed_server_ends_calls(Transport::Tls);
}

fn a_killed_server_ends_calls(transport: Transport) {
    let redis = server(transport);
    let mut own = Loop::to(&redis);
    redis.pause().unwrap();
    own.check(1..51, "k");
    redis.kill();
    let answers = own.take(50);
    assert_eq!(kinds(&answers), [ErrorKind::Connection; 50]);
    let error = answers[0].result.as_ref().unwrap_err();
    assert!(error.is_retryable());
    assert!(error.message().contains("whether the call was carried out is not known"), "{error}");
    own.check(1..2, "k");
    assert_eq!(kinds(&own.take(1)), [ErrorKind::Connection]);

    redis.restart().unwrap();
    own.recover();
}

#[test]
fn a_restart_during_a_quiet_time_costs_no_error() {
    let redis = Redis::start().unwrap();
    let mut own = Loop::open(redis.url());
    for round in 0..5 {
        redis.restart().unwrap();
        // The loop notices that the connection is gone.
        (0..3).for_each(|_| own.turn());
        assert_eq!(own.admitted(3, &round.to_string()), 3);
        own.recover();
    }
}

#[test]
fn a_silent_server_is_a_timeout_in_time_and_is_used_again_when_it_wakes() {
    a_silent_server_is_a_timeout(Transport::Tcp);
}

#[test]
fn a_silent_server_is_a_timeout_in_time_and_is_used_again_when_it_wakes_with_tls() {
    a_silent_server_is_a_timeout(Transport::Tls);
}

fn a_silent_server_is_a_timeout(transport: Transport) {
    let redis = server(transport);
    let mut own = Loop::to(&redis);
    redis.pause().unwrap();
    let began = Instant::now();
    own.check(1..11, "k");
    sleep(Duration::from_millis(100));
    own.check(11..21, "k");
    let answers = own.take(20);
    let took = began.elapsed();
    assert_eq!(kinds(&answers), [ErrorKind::Timeout; 20]);
    assert!(took >= RESPONSE_TIMEOUT + Duration::from_millis(90) && took < 3 * RESPONSE_TIMEOUT, "{took:?}");
    redis.resume().unwrap();
    own.recover();
}

#[test]
fn a_flood_of_pushes_leaves_the_loop_its_other_work() {
    in_time(|| {
        let mut own = Loop::open(&flooding());
        let (began, timeout) = (Instant::now(), Duration::from_millis(200));
        let hasty = OwnedCall::Single(Kind::Check, Item { timeout: Some(timeout), ..item("k") });
        own.submit(vec![(1, hasty)]);
        let mut turns = 0;
        while own.answers.is_empty() {
            own.turn();
            turns += 1;
        }
        let took = began.elapsed();
        assert_eq!(kinds(&own.take(1)), [ErrorKind::Timeout]);
        // Late by what a busy machine takes, not by the length of the flood.
        assert!(took < timeout + Duration::from_secs(2), "{took:?}");
        assert!(turns >= 10, "{turns}");
    });
}

#[test]
fn no_call_waits_for_a_server_that_it_does_not_need() {
    let cluster = Cluster::start().unwrap();
    let mut own = Loop::patient(&cluster.url(), Duration::from_secs(5));
    let keys: Vec<String> = (0..20).map(|number| number.to_string()).collect();
    let primary = |key: &str| cluster.primary_of(&format!("{{{key}}}")).unwrap().port();
    let (silent, others): (Vec<_>, Vec<_>) = keys.iter().partition(|key| primary(key) == primary(&keys[0]));
    assert!(keys.iter().all(|key| own.admitted(1, key) == 1));
    let node = cluster.primary_of(&format!("{{{}}}", keys[0])).unwrap();
    node.pause().unwrap();
    for (token, key) in (100..).zip(&silent) {
        own.check(token..token + 1, key);
    }
    for key in &others {
        own.check(1..2, key);
        let answers = own.take(1);
        // None of those that were asked first has an answer yet.
        assert!(answers[0].token == 1 && allowed(&answers[0]), "{answers:?}");
    }
    node.resume().unwrap();
    assert!(own.take(silent.len()).iter().all(allowed));
}

#[test]
fn a_call_waits_no_longer_for_sentinels_than_they_take() {
    let servers = Sentinel::start().unwrap();
    let mut own = Loop::open(&servers.url());
    let took = |_| {
        // What they said is so old by then that a call asks again first.
        let rested = Instant::now() + Duration::from_millis(900);
        own.run_until(|_| Instant::now() >= rested);
        let began = Instant::now();
        assert_eq!(own.admitted(1, "k"), 1);
        began.elapsed()
    };
    let took: Vec<_> = (0..5).map(took).collect();
    // The machine may have been busy once.
    let slow = took.iter().filter(|took| **took > Duration::from_millis(90));
    assert!(slow.count() < 2, "{took:?}");
}

#[test]
fn keys_that_are_being_moved_are_asked_for_again_soon() {
    let cluster = Cluster::start().unwrap();
    let mut own = Loop::patient(&cluster.url(), Duration::from_secs(5));
    let both = || OwnedCall::All(vec![item("k"), Item { rule: "quick".into(), ..item("k") }], None);
    own.submit(vec![(1, both())]);
    assert!(allowed(&own.take(1)[0]));
    // One of the keys has been moved, the other has not: nobody can execute the call.
    let source = cluster.primary_of("{k}").unwrap();
    let others = (0..100).map(|number| cluster.primary_of(&format!("{{{number}}}")).unwrap());
    let target = others.into_iter().find(|node| node.port() != source.port()).unwrap();
    let mut client = source.client().unwrap();
    let key: String = redis::cmd("RANDOMKEY").query(&mut client).unwrap();
    let slot: u16 = redis::cmd("CLUSTER").arg("KEYSLOT").arg(&key).query(&mut client).unwrap();
    let id = |node: &Node| -> String {
        redis::cmd("CLUSTER").arg("MYID").query(&mut node.client().unwrap()).unwrap()
    };
    let set = |node: &Node, state: &str, id: &str| {
        let mut cmd = redis::cmd("CLUSTER");
        cmd.arg("SETSLOT").arg(slot).arg(state).arg(id).exec(&mut node.client().unwrap()).unwrap();
    };
    let migrate = |client: &mut redis::Connection, key: &str| {
        let mut migrate = redis::cmd("MIGRATE");
        migrate.arg("127.0.0.1").arg(target.public_port()).arg(key).arg(0).arg(1000);
        migrate.exec(client).unwrap();
    };
    set(target, "IMPORTING", &id(source));
    set(source, "MIGRATING", &id(target));
    migrate(&mut client, &key);

    own.submit(vec![(2, both())]);
    let asked = Instant::now();
    own.run_until(|_| asked.elapsed() > Duration::from_millis(200));
    assert!(own.answers.is_empty(), "{:?}", own.answers);
    // It may have expired.
    let other: Option<String> = redis::cmd("RANDOMKEY").query(&mut client).unwrap();
    other.iter().for_each(|other| migrate(&mut client, other));
    for node in [target, source] {
        set(node, "NODE", &id(target));
    }
    let moved = Instant::now();
    assert!(allowed(&own.take(1)[0]));
    // It is asked for again every 10 ms.
    assert!(moved.elapsed() < Duration::from_secs(1), "{:?}", moved.elapsed());
}

#[test]
fn answers_that_come_after_a_timeout_are_nobodys() {
    let redis = Redis::start().unwrap();
    let mut own = Loop::open(redis.url());
    redis.pause().unwrap();
    own.check(1..2, "early");
    sleep(RESPONSE_TIMEOUT * 2 / 3);
    own.check(2..3, "late");
    own.run_until(|this| this.answers.len() == 1);
    redis.resume().unwrap();
    let answers = own.take(2);
    assert_eq!(kinds(&answers[..1]), [ErrorKind::Timeout]);
    assert!(allowed(&answers[1]), "{answers:?}");
    own.recover();
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
