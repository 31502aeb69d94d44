//! Work that takes longer than the lease of its reservation.

// A test that cannot go on has failed.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use sluicegate::{AsyncRateLimiter, Builder, ErrorKind, RateLimiter, Rules, Usage};

const LEASE: Duration = Duration::from_secs(1);

fn builder() -> Builder {
    let rules = r#"[{"rule_id": "jobs", "algorithm": "concurrency", "limit": 1, "lease_seconds": 1}]"#;
    RateLimiter::builder("memory://").rules(Rules::from_json(rules).unwrap())
}

/// Whether another job may run when this one has taken three leases.
fn may_run_beside(limiter: &RateLimiter) -> bool {
    (0..30).any(|_| {
        std::thread::sleep(LEASE / 10);
        limiter.peek("jobs", "report").unwrap().allowed
    })
}

#[test]
fn a_job_keeps_its_place_for_as_long_as_it_takes() {
    let limiter = builder().build().unwrap();
    let held = limiter.reserve("jobs", "report").unwrap();
    assert!(!limiter.while_renewed(&held, || may_run_beside(&limiter)).unwrap());
    assert!(limiter.commit(&held, Usage::AsReserved).unwrap());

    let lost = limiter.reserve("jobs", "report").unwrap();
    assert!(may_run_beside(&limiter), "without it the lease ends");
    assert!(!limiter.commit(&lost, Usage::AsReserved).unwrap());
}

#[test]
fn an_id_is_renewed_as_well_and_a_denied_reservation_needs_no_renewal() {
    let limiter = builder().build().unwrap();
    let held = limiter.reserve("jobs", "report").unwrap();
    let id = held.id().unwrap();
    assert!(!limiter.while_renewed(&id, || may_run_beside(&limiter)).unwrap());
    let denied = limiter.reserve("jobs", "report").unwrap();
    assert_eq!(limiter.while_renewed(&denied, || 7).unwrap(), 7);
    let error = limiter.while_renewed("no id", || ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
}

#[test]
fn a_panic_of_the_work_ends_the_renewal() {
    let limiter = builder().build().unwrap();
    let held = limiter.reserve("jobs", "report").unwrap();
    let work = std::panic::AssertUnwindSafe(|| {
        limiter.while_renewed(&held, || std::panic::resume_unwind(Box::new(7)))
    });
    assert_eq!(*std::panic::catch_unwind(work).unwrap_err().downcast::<i32>().unwrap(), 7);
    assert!(may_run_beside(&limiter));
}

#[tokio::test]
async fn a_task_keeps_its_place_while_it_awaits() {
    let limiter: AsyncRateLimiter = builder().connect().await.unwrap();
    let held = limiter.reserve("jobs", "report").await.unwrap();
    let work = async {
        tokio::time::sleep(LEASE * 3).await;
        limiter.peek("jobs", "report").await.unwrap().allowed
    };
    assert!(!limiter.while_renewed(&held, work).await.unwrap());
    assert!(limiter.commit(&held, Usage::AsReserved).await.unwrap());
}
