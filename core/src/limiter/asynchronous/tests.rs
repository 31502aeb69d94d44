//! Of waits, and of calls outside any runtime.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use super::*;
use crate::error::ErrorKind;
use crate::reservation::Usage;
use crate::rules::Rules;

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

/// Compiles only where the futures of all methods may move between threads, and the limiters be shared by them.
#[test]
fn futures_and_limiters_can_be_sent() {
    fn sent<T: Send>(_: T) {}
    fn shared<T: Send + Sync>() {}
    shared::<AsyncRateLimiter>();
    shared::<crate::RateLimiter>();

    let limiter = used_up();
    let (options, hour) = (CheckOptions::new(), Duration::from_secs(3600));
    let (checks, request) = ([Check::new("r", "k")], Request::new("GET", "/"));
    let reservation = Reservation::unheld(ready(limiter.peek("r", "k")).unwrap());
    sent(limiter.check_with("r", "k", options));
    sent(limiter.check_all_with(&checks, crate::CheckAllOptions::new()));
    sent(limiter.check_request(&request));
    sent(limiter.peek_with("r", "k", options));
    sent(limiter.refund_with("r", "k", options));
    sent(limiter.charge_with("r", "k", options));
    sent(limiter.reset_with("r", "k", options));
    sent(limiter.inspect_with("k", options));
    sent(limiter.reset_all_with("k", options));
    sent(limiter.wait_with("r", "k", options, hour));
    sent(limiter.wait_all(&checks, hour));
    sent(limiter.reserve_within("r", "k", options, hour));
    sent(limiter.reserve_all_within(&checks, hour));
    sent(limiter.reserve_request(&request));
    sent(limiter.commit(&reservation, Usage::AsReserved));
    sent(limiter.release("id"));
    sent(limiter.renew(&reservation));
    sent(limiter.block_with("r", "k", hour, options));
    sent(limiter.unblock_with("r", "k", options));
    sent(limiter.set_limit_with("r", "k", 1, None, options));
    sent(limiter.clear_limit_with("r", "k", options));
    sent(limiter.ping_with(hour));
}
