//! Limiters that get no thread for what no caller waits for.

use std::sync::Arc;

use super::*;
use crate::redis::connecting::breaker::Refusal;
use crate::redis::drivers::loops::tokio_host::TokioHost;
use crate::redis::topology::learned::DiscoveryNeed;
use crate::redis::wire::command::RedisCommand;

/// A limiter that gets no threads: as another thread does that closes it, just now.
fn without_background(runtime: &Runtime, url: &str, options: &ConnectOptions) -> AsyncRedis {
    let host = TokioHost::new(runtime.handle().clone());
    let redis = AsyncRedis::on(&parse(url).unwrap(), options, Arc::new(host)).unwrap();
    redis.hub.connector.background.end();
    redis
}

fn ping(runtime: &Runtime, redis: &AsyncRedis) -> Option<ErrorKind> {
    kind(&runtime.block_on(redis.ping(redis.deadline(None))))
}

#[test]
fn what_cannot_begin_ends_the_call() {
    in_time(|| {
        let runtime = Runtime::new().unwrap();
        // A search for the topology, and a connection.
        for url in ["redis-cluster://127.0.0.1:1", "redis://127.0.0.1:1"] {
            let redis = without_background(&runtime, url, &ConnectOptions::default());
            assert_eq!(ping(&runtime, &redis), Some(ErrorKind::Closed));
            redis.close();
        }
    });
}

#[test]
fn a_probe_that_cannot_begin_is_followed_by_another() {
    in_time(|| {
        let runtime = Runtime::new().unwrap();
        let options = ConnectOptions { breaker_failures: 1, ..ConnectOptions::default() };
        let redis = without_background(&runtime, "redis-cluster://127.0.0.1:1", &options);
        // Opens the circuit breaker.
        assert_eq!(ping(&runtime, &redis), Some(ErrorKind::Closed));
        let (start, deadline) = (Instant::now() + options.breaker_probe, redis.deadline(None));
        redis.hub.act(|multiplexer| {
            multiplexer.send_detached(RedisCommand::ping(), deadline, Box::new(drop), start);
        });
        let need = redis.hub.lock().router.due(start + options.breaker_probe);
        assert!(matches!(need, DiscoveryNeed::Refused(Refusal { probe: true, .. })), "{need:?}");
    });
}

#[test]
fn calls_that_no_thread_can_serve_end_at_once() {
    without_threads("redis::tests::threads::calls_that_no_thread_can_serve_end_at_once", || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let options = ConnectOptions::default();
        for url in ["redis-cluster://127.0.0.1:1", "redis://127.0.0.1:1"] {
            let url = parse(url).unwrap();
            let error = runtime.block_on(AsyncRedis::connect(&url, &options)).err().unwrap();
            assert!(error.message().contains("cannot start a thread"), "{error}");
        }
        // The last one has a name that is to be looked up.
        for url in ["redis-cluster://127.0.0.1:1", "redis://localhost:1"] {
            let redis = BlockingRedis::new(&parse(url).unwrap(), &options).unwrap();
            let error = redis.ping(redis.deadline(None)).unwrap_err();
            assert!(error.message().contains("cannot start a thread"), "{error}");
        }
    });
}
