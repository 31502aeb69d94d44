//! Servers that are away, silent, restarted or forgetful.

use std::error::Error as _;
use std::io;

use sluicegate_test_servers::Redis;

use super::fake_server::{scripted, trickling};
use super::*;

#[test]
fn unreachable_server_is_a_connection_error() {
    for error in refusals("redis://127.0.0.1:1", &ConnectOptions::default()) {
        assert_eq!(error.kind(), ErrorKind::Connection);
        assert!(error.message().contains("127.0.0.1:1"), "{error}");
        let cause = error.source().and_then(|cause| cause.downcast_ref::<io::Error>()).unwrap();
        assert_eq!(cause.kind(), io::ErrorKind::ConnectionRefused);
    }
    for error in refusals("unix:///nowhere/redis.sock", &ConnectOptions::default()) {
        assert_eq!(error.kind(), ErrorKind::Connection, "{error}");
    }
    for error in refusals("redis://no-such-host.invalid", &ConnectOptions::default()) {
        assert!(matches!(error.kind(), ErrorKind::Connection | ErrorKind::Timeout), "{error}");
    }
}

#[test]
fn silent_server_is_a_timeout_in_time_and_is_used_again_when_it_wakes() {
    let redis = Redis::start().unwrap();
    for driver in both(redis.url()) {
        driver.increment("key").unwrap();
        redis.pause().unwrap();
        for _ in 0..3 {
            let (outcome, took) = timed(|| driver.increment("key"));
            assert_eq!(kind(&outcome), Some(ErrorKind::Timeout));
            assert!(took >= Duration::from_millis(450) && took < PROMPT, "{took:?}");
        }
        redis.resume().unwrap();
        assert!(recovery(&driver, "other") < PROMPT);
    }
}

#[test]
fn silent_server_gets_at_most_the_calls_that_were_on_their_way() {
    let redis = Redis::start().unwrap();
    for driver in both(redis.url()) {
        driver.delete(&["key"]).unwrap();
        driver.increment("key").unwrap();
        redis.pause().unwrap();
        for _ in 0..4 {
            driver.increment("key").unwrap_err();
        }
        redis.resume().unwrap();
        recovery(&driver, "other");
        std::thread::sleep(Duration::from_millis(100));
        let count = driver.increment("key").unwrap();
        assert!(count <= 3, "{count}");
    }
}

#[test]
fn an_answer_that_comes_byte_by_byte_is_a_timeout_in_time() {
    let url = format!("redis://{}", trickling(b"$1000000\r\n"));
    for driver in both(&url) {
        for _ in 0..2 {
            let (outcome, took) = timed(|| driver.increment("key"));
            assert_eq!(kind(&outcome), Some(ErrorKind::Timeout));
            assert!(took >= Duration::from_millis(450) && took < PROMPT, "{took:?}");
        }
    }
}

/// For large replies, which take a busy machine long to make and to read.
fn patient() -> ConnectOptions {
    ConnectOptions { response_timeout: Duration::from_secs(10), ..ConnectOptions::default() }
}

#[test]
fn a_reply_that_is_too_large_for_its_call_is_refused() {
    // That of a Cluster about its servers may have as many bytes.
    let list = "*500000\r\n".to_owned() + &":1\r\n".repeat(500_000);
    let url = scripted(move |_, command| {
        Some(if command == "PING" { "+PONG\r\n".to_owned() } else { list.clone() })
    });
    for driver in both_with(&url, &patient()) {
        let error = driver.increment("k").unwrap_err();
        assert!(error.message().contains("the server sent a reply that is too large"), "{error}");
    }
}

#[test]
fn a_call_about_many_keys_may_have_a_large_reply() {
    let redis = Redis::start().unwrap();
    let keys: Vec<String> = (0..20_000).map(|key| key.to_string()).collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    for driver in both_with(redis.url(), &patient()) {
        let answer = driver.run("return string.rep('x', 100 * #KEYS)", &keys, &[]);
        assert_eq!(answer, Ok(Value::BulkString(vec![b'x'; 2_000_000])));
    }
}

#[test]
fn restart_between_calls_costs_at_most_one_error() {
    let redis = Redis::start().unwrap();
    for driver in both(redis.url()) {
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    drop(driver.run("redis.call('PING') for i=1,2e5 do end return 1", &["k"], &[]))
                });
            }
        });
        redis.restart().unwrap();
        let errors = (0..20).filter(|_| driver.increment("key").is_err()).count();
        assert!(errors <= 1, "{errors}");
    }
}

#[test]
fn restart_during_a_quiet_time_costs_no_error_with_threads() {
    let redis = Redis::start().unwrap();
    let driver = Driver::blocking(redis.url(), &ConnectOptions::default()).unwrap();
    driver.increment("key").unwrap();
    redis.restart().unwrap();
    std::thread::sleep(Duration::from_millis(1100));
    driver.increment("key").unwrap();
}

#[test]
fn forgotten_script_is_sent_again_and_counts_once() {
    let redis = Redis::start().unwrap();
    for (round, driver) in both(redis.url()).iter().enumerate() {
        let before = i64::try_from(round).unwrap() * 2;
        assert_eq!(driver.increment("key").unwrap(), before + 1);
        ::redis::cmd("SCRIPT").arg("FLUSH").exec(&mut redis.client().unwrap()).unwrap();
        assert_eq!(driver.increment("key").unwrap(), before + 2);
    }
}

#[test]
fn script_errors_keep_their_words() {
    let redis = Redis::start().unwrap();
    ::redis::cmd("LPUSH").arg("list").arg(1).exec(&mut redis.client().unwrap()).unwrap();
    for driver in both(redis.url()) {
        let error = driver.increment("list").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Server);
        assert!(error.message().contains("WRONGTYPE Operation against a key"), "{error}");
        assert!(!error.message().contains("script"), "{error}");
        let error = driver.run("return redis.error_reply('ERR state is garbage')", &["k"], &[]).unwrap_err();
        assert!(error.message().ends_with("ERR state is garbage"), "{error}");
        let error = driver.run("error('boom')", &["k"], &[]).unwrap_err();
        assert!(error.message().ends_with("ERR boom"), "{error}");
    }
}

#[test]
fn resp3_and_resp2_answer_alike() {
    let redis = Redis::start().unwrap();
    for protocol in ["resp2", "resp3"] {
        for driver in both(&format!("{}?protocol={protocol}", redis.url())) {
            let value = driver.run("return {1, 'two', false}", &["k"], &["x"]).unwrap();
            let expected = vec![Value::Int(1), Value::BulkString(b"two".to_vec()), Value::Nil];
            assert_eq!(value, Value::Array(expected));
        }
    }
}

#[test]
fn close_is_final() {
    let redis = Redis::start().unwrap();
    for driver in both(redis.url()) {
        driver.increment("key").unwrap();
        driver.close();
        driver.close();
        assert_eq!(kind(&driver.increment("key")), Some(ErrorKind::Closed));
        assert_eq!(kind(&driver.ping()), Some(ErrorKind::Closed));
    }
    std::thread::sleep(Duration::from_millis(50));
    let clients: String = ::redis::cmd("CLIENT").arg("LIST").query(&mut redis.client().unwrap()).unwrap();
    assert_eq!(clients.lines().count(), 1, "{clients}");
}

#[test]
fn a_dropped_future_disturbs_no_other() {
    let redis = Redis::start().unwrap();
    let Driver::Async(runtime, redis) =
        Driver::asynchronous(redis.url(), &ConnectOptions::default()).unwrap()
    else {
        unreachable!()
    };
    let script = eternal(Script::new("redis.call('PING') return tonumber(ARGV[1])".to_owned()));
    runtime.block_on(async {
        for number in 0..200_i64 {
            let call = call(script, &["k"], &[&number.to_string()]);
            let impatient = tokio::time::timeout(
                Duration::from_micros(20),
                redis.call(call.clone(), redis.deadline(None)),
            );
            let (_, patient) = tokio::join!(impatient, redis.call(call, redis.deadline(None)));
            assert_eq!(patient.unwrap(), Value::Int(number));
        }
    });
}

#[test]
fn many_tasks_share_one_attempt_to_connect() {
    let server = Redis::start().unwrap();
    let Driver::Async(runtime, redis) =
        Driver::asynchronous(server.url(), &ConnectOptions::default()).unwrap()
    else {
        unreachable!()
    };
    server.restart().unwrap();
    runtime.block_on(async {
        redis.ping(redis.deadline(None)).await.ok();
        let pings = (0..100).map(|_| redis.ping(redis.deadline(None)));
        for outcome in join_all(pings).await {
            outcome.unwrap();
        }
    });
    let total = received(&mut server.client().unwrap());
    assert!(total < 10, "{total}");
}

#[test]
fn without_a_runtime_the_async_driver_fails_in_words() {
    let url = parse("redis://127.0.0.1:1").unwrap();
    let options = ConnectOptions::default();
    let mut connecting = Box::pin(AsyncRedis::connect(&url, &options));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match connecting.as_mut().poll(&mut context) {
        std::task::Poll::Ready(Err(error)) => {
            assert!(error.message().contains("Tokio") && !error.is_retryable(), "{error}");
        }
        _ => panic!("no error"),
    }
}
