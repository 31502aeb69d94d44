//! Servers that are away, silent, or talk without end.

use sluicegate_test_servers::{Options, Transport};

use super::*;
use crate::redis::tests::fake_server::flooding;
use crate::redis::tests::in_time;

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
