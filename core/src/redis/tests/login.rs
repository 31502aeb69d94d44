//! Who may connect, and where to.

use sluicegate_test_servers::{Options, Redis, Transport};

use super::*;

const SECRET: &str = "s3cr/t p@ss%word";
const ENCODED: &str = "s3cr%2Ft%20p%40ss%25word";

fn protected(user: Option<&str>) -> Redis {
    let user = user.map(str::to_owned);
    Redis::with(&Options { user, password: Some(SECRET.to_owned()), ..Options::default() }).unwrap()
}

#[test]
fn password_and_user_are_decoded() {
    let redis = protected(None);
    for driver in both(&format!("redis://:{ENCODED}@{}", redis.address())) {
        driver.ping().unwrap();
    }
    let redis = protected(Some("alice"));
    for driver in both(&format!("redis://alice:{ENCODED}@{}?protocol=resp3", redis.address())) {
        driver.ping().unwrap();
    }
}

#[test]
fn wrong_password_is_a_server_error_without_the_secret() {
    let redis = protected(None);
    for protocol in ["resp2", "resp3"] {
        let url = format!("redis://:hush-hush@{}?protocol={protocol}", redis.address());
        for error in refusals(&url, &ConnectOptions::default()) {
            assert_eq!(error.kind(), ErrorKind::Server, "{error}");
            assert!(error.message().contains("refused the login"), "{error}");
            assert!(error.message().contains(&redis.address()), "{error}");
            assert!(!error.message().contains("hush"), "{error}");
        }
    }
}

#[test]
fn missing_password_is_a_server_error() {
    let redis = protected(None);
    for error in refusals(&format!("redis://{}", redis.address()), &ConnectOptions::default()) {
        assert_eq!(error.kind(), ErrorKind::Server);
        assert!(error.message().contains("requires authentication"), "{error}");
    }
}

#[test]
fn a_password_that_nobody_asks_for_is_refused() {
    let redis = Redis::start().unwrap();
    for error in refusals(&format!("redis://:{ENCODED}@{}", redis.address()), &ConnectOptions::default()) {
        assert_eq!(error.kind(), ErrorKind::Server, "{error}");
        assert!(error.message().contains("refused the login"), "{error}");
    }
}

#[test]
fn sentinels_have_a_password_of_their_own() {
    // A server asks as a Sentinel does, before it looks at the command.
    let redis = protected(None);
    let url = format!("redis-sentinel://:{ENCODED}@{}/main", redis.address());
    for error in refusals(&url, &ConnectOptions::default()) {
        assert_eq!(error.kind(), ErrorKind::Server, "{error}");
        assert!(error.message().contains("?sentinel_password="), "{error}");
    }
}

#[test]
fn a_full_server_is_not_said_to_refuse_the_password() {
    let redis = Redis::start().unwrap();
    let mut first = redis.client().unwrap();
    ::redis::cmd("CONFIG").arg("SET").arg("maxclients").arg(1).exec(&mut first).unwrap();
    // It closes the connection at once: where that is noticed first, its words are lost.
    let says =
        |error: &Error, words: &str| error.kind() == ErrorKind::Connection || error.message().contains(words);
    for login in ["", &format!(":{ENCODED}@")] {
        let url = format!("redis://{login}{}", redis.address());
        for error in refusals(&url, &ConnectOptions::default()) {
            assert!(says(&error, "max number of clients") && error.is_retryable(), "{error}");
        }
    }
}

#[test]
fn debug_output_shows_no_secret() {
    let url = parse(&format!("redis-sentinel://bob:{ENCODED}@h/s?sentinel_password={ENCODED}")).unwrap();
    let shown = format!("{url:?}");
    assert!(!shown.contains("s3cr") && !shown.contains("bob"), "{shown}");
}

#[test]
fn database_is_selected() {
    let redis = Redis::start().unwrap();
    for driver in both(&format!("redis://{}/3", redis.address())) {
        driver.increment("here").unwrap();
    }
    let mut client = redis.client().unwrap();
    let elsewhere: i64 = ::redis::cmd("EXISTS").arg("here").query(&mut client).unwrap();
    ::redis::cmd("SELECT").arg(3).exec(&mut client).unwrap();
    let here: i64 = ::redis::cmd("GET").arg("here").query(&mut client).unwrap();
    assert_eq!((elsewhere, here), (0, 2));
}

#[test]
fn unknown_database_is_a_server_error() {
    let redis = Redis::start().unwrap();
    for error in refusals(&format!("redis://{}/99", redis.address()), &ConnectOptions::default()) {
        assert_eq!(error.kind(), ErrorKind::Server, "{error}");
    }
}

#[test]
fn unix_socket_works() {
    let transport = Transport::Unix;
    let redis = Redis::with(&Options { transport, ..Options::default() }).unwrap();
    for driver in both(redis.url()) {
        driver.increment("key").unwrap();
    }
    let password = Some(SECRET.to_owned());
    let redis = Redis::with(&Options { transport, password, ..Options::default() }).unwrap();
    for driver in both(redis.url()) {
        driver.ping().unwrap();
    }
}
