//! Limiters that get no thread for what no caller waits for.

use super::*;

#[test]
fn a_search_that_cannot_begin_ends_the_call() {
    in_time(|| {
        let runtime = Runtime::new().unwrap();
        let host = super::super::tokio_host::TokioHost::new(runtime.handle().clone());
        let url = parse("redis-cluster://127.0.0.1:1").unwrap();
        let redis = AsyncRedis::on(&url, &ConnectOptions::default(), std::sync::Arc::new(host)).unwrap();
        // As another thread does that closes the limiter, just now.
        redis.hub.connector.background.end();
        let ping = runtime.block_on(redis.ping(redis.deadline(None)));
        assert_eq!(kind(&ping), Some(ErrorKind::Closed));
        redis.close();
    });
}
