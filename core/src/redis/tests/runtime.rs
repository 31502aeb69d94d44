//! What Tokio's I/O driver and timer do for calls, they do whatever tasks and sockets are like.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use sluicegate_test_servers::{Options, Redis, Transport};
use tokio::sync::Notify;
use tokio::time::sleep;

use super::fake_server::flooding;
use super::*;

fn connected(url: &str, options: &ConnectOptions) -> (Runtime, AsyncRedis) {
    match Driver::asynchronous(url, options).unwrap() {
        Driver::Async(runtime, redis) => (runtime, redis),
        Driver::Blocking(_) => unreachable!(),
    }
}

/// An application's waker that is at fault.
#[derive(Default)]
struct Panicking(Notify);

impl Wake for Panicking {
    fn wake(self: Arc<Self>) {
        self.0.notify_one();
        panic!("a waker of an application");
    }
}

/// Begins a call of which the end panics.
fn begin(call: impl Future) -> (impl Future, Arc<Panicking>) {
    let (mut call, panicking) = (Box::pin(call), Arc::new(Panicking::default()));
    let waker = Arc::clone(&panicking).into();
    assert!(call.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    (call, panicking)
}

#[test]
fn a_panic_of_who_is_woken_keeps_no_other_call_from_its_answer() {
    let server = Redis::start().unwrap();
    let (runtime, redis) = connected(server.url(), &ConnectOptions::default());
    let mut client = server.client().unwrap();
    let before = received(&mut client);
    runtime.block_on(async {
        for _ in 0..20 {
            server.pause().unwrap();
            let (_call, panicking) = begin(redis.ping(redis.deadline(None)));
            let others = join_all((0..20).map(|_| redis.ping(redis.deadline(None))));
            let (outcomes, ()) = tokio::join!(others, async { server.resume().unwrap() });
            for outcome in outcomes {
                outcome.unwrap();
            }
            panicking.0.notified().await;
        }
    });
    assert_eq!(received(&mut client), before);
}

#[test]
fn a_panic_of_who_is_woken_by_the_timer_ends_no_timer() {
    let server = Redis::start().unwrap();
    let (runtime, redis) = connected(server.url(), &ConnectOptions::default());
    server.pause().unwrap();
    runtime.block_on(async {
        let (_call, panicking) = begin(redis.ping(redis.deadline(None)));
        panicking.0.notified().await;
        let error = redis.ping(redis.deadline(None)).await.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Timeout | ErrorKind::Connection), "{error}");
    });
    server.resume().unwrap();
}

#[test]
fn a_flood_of_pushes_leaves_a_runtime_of_one_thread_its_other_work() {
    in_time(|| {
        let url = parse(&flooding()).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let redis = AsyncRedis::connect(&url, &ConnectOptions::default()).await.unwrap();
            let ticks = Arc::new(AtomicU32::new(0));
            let counted = Arc::clone(&ticks);
            tokio::spawn(async move {
                loop {
                    sleep(Duration::from_millis(1)).await;
                    counted.fetch_add(1, Ordering::Relaxed);
                }
            });
            let (start, timeout) = (Instant::now(), Duration::from_millis(200));
            let increment = call(eternal(Script::new(INCREMENT.to_owned())), &["key"], &[]);
            let error = redis.call(increment, redis.deadline(Some(timeout))).await.unwrap_err();
            let (took, ticks) = (start.elapsed(), ticks.load(Ordering::Relaxed));
            assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
            // The flood never ends: a busy machine may end the call late, but it ends it.
            assert!(took < timeout * 10, "{took:?}");
            // Without the flood there are more than a hundred.
            assert!(ticks >= 10, "{ticks}");
        });
    });
}

/// A task that lives as long as its wakers, as those of small executors do.
struct Task(
    #[expect(dead_code, reason = "it is only dropped")] Pin<Box<dyn Future<Output = ()> + Send + Sync>>,
);

impl Wake for Task {
    fn wake(self: Arc<Self>) {}
}

#[test]
fn a_waker_that_is_dropped_may_drop_calls() {
    let server = Redis::start().unwrap();
    let (runtime, redis) = connected(server.url(), &ConnectOptions::default());
    server.pause().unwrap();
    let redis = Arc::new(redis);
    let waker = || {
        let redis = Arc::clone(&redis);
        let mut task = Box::pin(async move { drop(redis.ping(redis.deadline(None)).await) });
        assert!(task.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        Waker::from(Arc::new(Task(task)))
    };
    let wakers: Vec<Waker> = std::iter::repeat_with(waker).take(2).collect();
    // On a thread of its own, which a lock that is taken twice would never let go.
    let (done, ended) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for (is_replaced, waker) in [true, false].into_iter().zip(wakers) {
            let mut call = Box::pin(redis.ping(redis.deadline(None)));
            assert!(call.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
            drop(waker);
            if is_replaced {
                assert!(call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
            }
        }
        done.send(()).unwrap();
    });
    let ended = ended.recv_timeout(Duration::from_secs(10));
    // Nor are the threads of the runtime waited for.
    runtime.shutdown_background();
    server.resume().unwrap();
    ended.unwrap();
}

#[test]
fn what_a_full_socket_does_not_take_is_sent_when_it_does() {
    // More than a Unix socket holds.
    let keys: Vec<String> = (0..60_000).map(|number| format!("{number:0>20}")).collect();
    let options = Options { transport: Transport::Unix, ..Options::default() };
    let server = Redis::with(&options).unwrap();
    // What is forgotten is noticed, and what is only slow is not.
    let patient = ConnectOptions { response_timeout: Duration::from_secs(30), ..ConnectOptions::default() };
    let (runtime, redis) = connected(server.url(), &patient);
    let (redis, keys) = (Arc::new(redis), Arc::new(keys));
    runtime.block_on(async {
        for _ in 0..20 {
            let mut tasks = Vec::new();
            for number in 0..300 {
                let (redis, keys) = (Arc::clone(&redis), Arc::clone(&keys));
                tasks.push(tokio::spawn(async move {
                    let deadline = redis.deadline(None);
                    match number % 100 {
                        60 => redis.delete(&keys, deadline).await,
                        _ => redis.delete(&keys[..1], deadline).await,
                    }
                }));
                if number % 20 == 0 {
                    sleep(Duration::from_micros(1)).await;
                }
            }
            for task in tasks {
                task.await.unwrap().unwrap();
            }
        }
    });
}

#[test]
fn a_runtime_that_has_shut_down_is_no_reason_to_try_again() {
    let server = Redis::start().unwrap();
    let (runtime, redis) = connected(server.url(), &ConnectOptions::default());
    let script = eternal(Script::new(INCREMENT.to_owned()));
    let begin = || redis.call(call(script, &["key"], &[]), redis.deadline(None));
    server.pause().unwrap();
    let under_way = begin();
    drop(runtime);
    server.resume().unwrap();
    let errors = Runtime::new().unwrap().block_on(async { [under_way.await, begin().await] });
    for error in errors.map(Result::unwrap_err) {
        assert!(error.message().contains("runtime shut down") && !error.is_retryable(), "{error}");
    }
}
