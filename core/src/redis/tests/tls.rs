//! Connections with TLS.

use sluicegate_test_servers::{Cluster, Options, Redis, Sentinel, Transport};

use super::fake_server::trickling;
use super::*;

fn server(transport: Transport) -> Redis {
    Redis::with(&Options { transport, ..Options::default() }).unwrap()
}

#[test]
fn a_trusted_authority_is_enough() {
    let redis = server(Transport::Tls);
    for driver in both_with(redis.url(), &trusting(redis.certificates())) {
        assert!(driver.increment("key").is_ok());
    }
}

#[test]
fn an_unknown_authority_is_refused() {
    let redis = server(Transport::Tls);
    let other = server(Transport::Tls);
    for options in [trusting(other.certificates()), ConnectOptions::default()] {
        for error in refusals(redis.url(), &options) {
            assert_eq!(error.kind(), ErrorKind::Connection, "{error}");
            assert!(error.message().contains("certificate"), "{error}");
        }
    }
}

#[test]
fn the_name_in_the_certificate_counts() {
    let config = vec!["bind 127.0.0.1 127.0.0.2".to_owned()];
    let redis = Redis::with(&Options { transport: Transport::Tls, config, ..Options::default() }).unwrap();
    let url = redis.url().replace("127.0.0.1", "127.0.0.2");
    for error in refusals(&url, &trusting(redis.certificates())) {
        assert_eq!(error.kind(), ErrorKind::Connection, "{error}");
        assert!(error.message().contains("not valid for name"), "{error}");
    }
}

#[test]
fn a_client_certificate_is_shown() {
    let redis = server(Transport::MutualTls);
    for driver in both_with(redis.url(), &identified(redis.certificates())) {
        driver.increment("key").unwrap();
    }
    for error in refusals(redis.url(), &trusting(redis.certificates())) {
        assert_eq!(error.kind(), ErrorKind::Connection, "{error}");
    }
}

#[test]
fn a_cluster_trusts_and_is_trusted_by_certificates() {
    let cluster = Cluster::with(Transport::MutualTls).unwrap();
    certificates_count(&cluster.url(), cluster.certificates());
}

#[test]
fn sentinels_trust_and_are_trusted_by_certificates() {
    let sentinel = Sentinel::with(Transport::MutualTls).unwrap();
    certificates_count(&sentinel.url(), sentinel.certificates());
}

fn certificates_count(url: &str, certificates: Option<&Certificates>) {
    let other = server(Transport::Tls);
    for options in [identified(other.certificates()), ConnectOptions::default()] {
        for error in refusals(url, &options) {
            assert_eq!(error.kind(), ErrorKind::Connection, "{error}");
            assert!(error.message().contains("invalid peer certificate"), "{error}");
        }
    }
    // Whether the server's reason arrives before the connection ends is a matter of luck.
    for error in refusals(url, &trusting(certificates)) {
        assert_eq!(error.kind(), ErrorKind::Connection, "{error}");
    }
}

#[test]
fn a_silent_server_is_a_timeout() {
    let redis = server(Transport::Tls);
    for driver in both_with(redis.url(), &trusting(redis.certificates())) {
        driver.increment("key").unwrap();
        redis.pause().unwrap();
        let (outcome, took) = timed(|| driver.increment("key"));
        redis.resume().unwrap();
        assert_eq!(kind(&outcome), Some(ErrorKind::Timeout));
        assert!(took < PROMPT, "{took:?}");
    }
}

#[test]
fn a_handshake_that_comes_byte_by_byte_is_a_timeout_in_time() {
    // The head of a record of 16,383 bytes.
    let url = format!("rediss://{}", trickling(&[22, 3, 3, 0x3F, 0xFF]));
    let options = ConnectOptions { connect_timeout: Duration::from_millis(300), ..ConnectOptions::default() };
    let (errors, took) = timed(|| refusals(&url, &options));
    for error in errors {
        assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    }
    assert!(took < 2 * PROMPT, "{took:?}");
}

#[test]
fn files_are_checked_when_the_limiter_is_made() {
    let missing = ConnectOptions { tls_ca: Some("/nowhere/ca.pem".into()), ..ConnectOptions::default() };
    let error = Driver::blocking("rediss://localhost", &missing).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.message().contains("tls_ca") && error.message().contains("/nowhere/ca.pem"), "{error}");
    let error = Driver::blocking("redis://localhost", &missing).err().unwrap();
    assert!(error.message().contains("rediss://"), "{error}");
    let redis = server(Transport::Tls);
    let swapped =
        ConnectOptions { tls_ca: Some(redis.certificates().unwrap().key_pem()), ..ConnectOptions::default() };
    let error = Driver::blocking("rediss://localhost", &swapped).err().unwrap();
    assert!(error.message().contains("tls_ca"), "{error}");
}
