//! Of waits, and of calls outside any runtime.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use super::*;
use crate::error::ErrorKind;

/// The output of a future that waits for nothing, outside any runtime.
fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => unreachable!("it waits"),
    }
}

/// A limiter of which the key `k` has used up what the rule `r` admits in a day.
fn used_up() -> AsyncRateLimiter {
    let rule = r#"[{ "rule_id": "r", "algorithm": "gcra", "limit": 1, "window_size_seconds": 86400 }]"#;
    let builder = AsyncRateLimiter::builder("memory://").rules(Rules::from_json(rule).unwrap());
    let limiter = ready(builder.connect()).unwrap();
    assert!(ready(limiter.wait("r", "k", Duration::MAX)).unwrap().allowed);
    limiter
}

#[tokio::test]
async fn close_ends_waits_that_sleep() {
    let limiter = used_up();
    let mut waits = [(); 2].map(|()| Box::pin(limiter.wait("r", "k", Duration::MAX)));
    for wait in &mut waits {
        assert!(wait.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }
    limiter.close();
    for wait in waits {
        assert_eq!(wait.await.unwrap_err().kind(), ErrorKind::Closed);
    }
}

#[test]
fn a_wait_outside_a_runtime_is_an_error() {
    let limiter = used_up();
    let error = ready(limiter.wait("r", "k", Duration::MAX)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Connection);
}
