//! URLs: what is understood, and how errors speak of the rest.

use super::*;
use crate::redis::settings::url::Login;

fn same(left: &str, right: &str) {
    assert_eq!(Backend::parse(left).unwrap(), Backend::parse(right).unwrap(), "{left} {right}");
}

fn error(url: &str) -> Error {
    let error = Backend::parse(url).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    error
}

#[test]
fn defaults_are_filled_in() {
    assert_eq!(Backend::parse("memory://").unwrap(), Backend::Memory);
    same("redis://", "redis://127.0.0.1:6379/0");
    same("redis://localhost", "redis://localhost:6379/0?protocol=resp2");
    same("REDIS://[::1]", "redis://[::1]:6379");
    same("redis-sentinel://a,b/s", "redis-sentinel://a:26379,b:26379/s/0");
    same("unix:///run/redis.sock", "redis+unix:///run/redis.sock?db=0");
    same("redis-cluster://a?redirects=10.1.2.3/8,::1", "redis-cluster://a?redirects=10.0.0.0%2F8,::1/128");
    same("redis-cluster://a:1,b:2", "redis-cluster://a:1,b:2/0?tls=false");
}

#[test]
fn login_is_decoded() {
    let url = parse("redis://us%65r:p%40ss%2Fw%C3%B6rd@h").unwrap();
    assert_eq!(url.login, Login { user: Some("user".into()), password: Some("p@ss/wörd".into()) });
    let url = parse("redis://:pa:ss@h").unwrap();
    assert_eq!(url.login, Login { user: None, password: Some("pa:ss".into()) });
}

#[test]
fn wrong_parts_are_named_without_secrets() {
    for (url, words) in [
        ("hidden", "scheme is missing"),
        ("hidden@localhost:6379", "scheme is missing"),
        ("http://hidden@localhost", "redis-cluster://"),
        ("redis://:hidden@localhost:port", "port must be a number"),
        ("redis://:hidden@localhost:0", "port must be a number"),
        ("redis://:hidden@localhost/db", "database"),
        ("redis://:hidden@localhost/-1", "database"),
        ("redis://hidden@localhost", "user without a password"),
        ("redis://:hid%zzden@localhost", "password: `%`"),
        ("redis://:hidden@localhost?protocol=4", "protocol"),
        ("redis://:hidden@localhost?hidden=1", "known are protocol"),
        ("redis://:hid/den@localhost", "%2F"),
        ("redis://:hid?den@localhost", "%3F"),
        ("redis://:hid#den@localhost", "%23"),
        ("redis://a,b", "redis-cluster://"),
        ("redis://::1", "brackets"),
        ("redis://[::1", "`]`"),
        ("redis-cluster://", "host is missing"),
        ("redis-cluster://a,,b", "host is missing"),
        ("redis-cluster://a/1", "no database but 0"),
        ("redis-sentinel://a", "service is missing"),
        ("redis-cluster://a?redirects=", "redirects must be networks"),
        ("redis-cluster://a?redirects=10.0.0.0/8,", "redirects must be networks"),
        ("redis-sentinel://a/s?redirects=hidden", "redirects must be networks"),
        ("redis://a?redirects=10.0.0.0/8", "known are protocol"),
        ("unix://relative", "absolute"),
        ("memory://host", "memory://"),
    ] {
        let error = error(url);
        assert!(error.message().contains(words), "{url}: {error}");
        assert!(!error.message().contains("hid"), "{url}: {error}");
    }
}

#[test]
fn options_are_checked() {
    let ok = ConnectOptions::default();
    for (options, name) in [
        (ConnectOptions { connect_timeout: Duration::ZERO, ..ok.clone() }, "connect_timeout"),
        (ConnectOptions { response_timeout: Duration::MAX, ..ok.clone() }, "response_timeout"),
        (ConnectOptions { tls_key: Some("k".into()), ..ok.clone() }, "tls_cert"),
    ] {
        let error = options.validate().unwrap_err();
        assert!(error.message().contains(name), "{error}");
    }
    ok.validate().unwrap();
}
