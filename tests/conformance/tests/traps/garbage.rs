//! Values at a limiter's keys that no limiter wrote: a clear error that names the key, and nothing
//! written over what may be somebody's data.

use std::time::Duration;

use redis::ToRedisArgs;
use sluicegate::{Check, Error, ErrorKind, RateLimiter, Usage};

use crate::server::Server;
use crate::{CALENDAR, KINDS, NOW_US, cost, every_kind};

/// The error says which key, and the key is as it was.
fn is_refused(
    server: &mut Server,
    limiter: &RateLimiter,
    kind: &str,
    name: &str,
    what: &str,
) -> Result<(), String> {
    let before = server.stored.entry(name);
    let answers = [
        ("check", limiter.check(kind, "k")),
        ("peek", limiter.peek(kind, "k")),
        ("refund", limiter.refund(kind, "k")),
        ("check_all", limiter.check_all(&[Check::new(kind, "k"), Check::new(kind, "other")])),
    ];
    for (call, answer) in answers {
        let error = match answer {
            Ok(decision) => return Err(format!("{kind}, {what}: {call} answered {decision:?}")),
            Err(error) => error,
        };
        if !is_about(&error, kind, name) {
            return Err(format!("{kind}, {what}: {call} said {:?}: {error}", error.kind()));
        }
    }
    if server.stored.entry(name) != before {
        return Err(format!("{kind}, {what}: the value was changed"));
    }
    Ok(())
}

/// The message, which is logged, names the rule; the error's field has the key.
fn is_about(error: &Error, rule: &str, name: &str) -> bool {
    let (message, key) = (error.message(), error.key().unwrap_or_default());
    let is_named = message.contains(&format!("(rule \"{rule}\"")) && key.contains(name);
    error.kind() == ErrorKind::Server && is_named && !message.contains(name)
}

/// The rule's key, after it was planted with whatever command.
fn plant(server: &mut Server, name: &str, command: &str, args: impl ToRedisArgs) {
    let _: i64 = server.stored.command("DEL", name);
    let _: redis::Value = server.stored.command(command, args);
}

fn names_of_kinds(server: &mut Server, limiter: &RateLimiter) -> Vec<(&'static str, String)> {
    KINDS
        .iter()
        .chain([&CALENDAR])
        .map(|&(kind, _)| {
            server.stored.clear();
            limiter.check(kind, "k").unwrap();
            let [name] = server.stored.names().try_into().unwrap();
            (kind, name)
        })
        .collect()
}

fn none(failures: &[String]) {
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn trap_30_a_value_of_another_type() {
    let mut server = Server::start();
    let (limiter, _) = server.limiter_at(NOW_US, &every_kind());
    let mut failures = Vec::new();
    for (kind, name) in names_of_kinds(&mut server, &limiter) {
        plant(&mut server, &name, "HSET", (&name, "field", "value"));
        failures.extend(is_refused(&mut server, &limiter, kind, &name, "a hash").err());
        plant(&mut server, &name, "SADD", (&name, "member"));
        failures.extend(is_refused(&mut server, &limiter, kind, &name, "a set").err());
        if kind == "list" || kind == "sorted_set" {
            plant(&mut server, &name, "SET", (&name, "text"));
            failures.extend(is_refused(&mut server, &limiter, kind, &name, "a string").err());
        } else {
            plant(&mut server, &name, "RPUSH", (&name, "1", "2"));
            failures.extend(is_refused(&mut server, &limiter, kind, &name, "a list").err());
        }
        // A reset is the way out.
        limiter.reset(kind, "k").unwrap();
        assert_eq!(limiter.check(kind, "k").unwrap().remaining, 9, "{kind}");
    }
    none(&failures);
}

#[test]
fn trap_30_a_string_of_another_length() {
    let mut server = Server::start();
    let (limiter, _) = server.limiter_at(NOW_US, &every_kind());
    let mut failures = Vec::new();
    for (kind, name) in names_of_kinds(&mut server, &limiter) {
        if kind == "list" || kind == "sorted_set" {
            continue;
        }
        for length in [0, 1, 7, 8, 15, 17, 23, 25, 39, 41, 1_000] {
            plant(&mut server, &name, "SET", (&name, vec![b'x'; length]));
            failures.extend(is_refused(&mut server, &limiter, kind, &name, &format!("{length} bytes")).err());
        }
    }
    none(&failures);
}

/// Each number of a state in turn becomes one that no limiter writes.
#[test]
fn trap_30_numbers_that_are_none() {
    let mut server = Server::start();
    let (limiter, _) = server.limiter_at(NOW_US, &every_kind());
    let mut failures = Vec::new();
    for (kind, name) in names_of_kinds(&mut server, &limiter) {
        if kind == "list" || kind == "sorted_set" {
            continue;
        }
        let _: i64 = server.stored.command("DEL", &name);
        limiter.check_with(kind, "k", cost(2)).unwrap();
        let good: Vec<u8> = server.stored.command("GET", &name);
        for place in 0..good.len() / 8 {
            for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, -1e300] {
                let mut bad = good.clone();
                bad[8 * place..8 * place + 8].copy_from_slice(&number.to_le_bytes());
                plant(&mut server, &name, "SET", (&name, bad));
                let what = format!("number {place} is {number}");
                failures.extend(is_refused(&mut server, &limiter, kind, &name, &what).err());
            }
        }
    }
    none(&failures);
}

/// A check that looks at the head alone cannot tell; the one that would write the rest again does.
#[test]
fn trap_30_buckets_that_go_on_as_something_else() {
    let mut server = Server::start();
    let (limiter, clock) = server.limiter_at(NOW_US, &every_kind());
    for _ in 0..6 {
        limiter.check("sliding_buckets", "k").unwrap();
        clock.advance(Duration::from_secs(1));
    }
    let [name] = server.stored.names().try_into().unwrap();
    let good: Vec<u8> = server.stored.command("GET", &name);
    plant(&mut server, &name, "SET", (&name, [good.as_slice(), b"more"].concat()));
    let before = server.stored.entry(&name);
    let together = [Check::new("aligned", "k"), Check::new("sliding_buckets", "k")];
    for answer in [
        limiter.check("sliding_buckets", "k"),
        limiter.refund("sliding_buckets", "k"),
        limiter.check_all(&together),
    ] {
        let error = answer.unwrap_err();
        let (message, key) = (error.message(), error.key().unwrap_or_default());
        assert!(
            error.kind() == ErrorKind::Server && key.contains(&name) && !message.contains(&name),
            "{error}"
        );
    }
    assert_eq!(server.stored.entry(&name), before);
    assert_eq!(server.stored.names(), [name], "what was asked together was charged in part");
}

/// What takes back reads all of a state, and finds the damage before it has taken anything from the others.
#[test]
fn trap_30_buckets_of_which_one_goes_on_as_something_else() {
    const RULE: &str = r#"[{ "rule_id": "two", "algorithm": "sliding_buckets", "limits": [
        { "limit": 10, "window_size_seconds": 10, "resolution_seconds": 1 },
        { "limit": 20, "window_size_seconds": 60, "resolution_seconds": 1 }] }]"#;
    let mut server = Server::start();
    let (limiter, clock) = server.limiter_at(NOW_US, RULE);
    for _ in 0..6 {
        clock.advance(Duration::from_secs(1));
        limiter.check("two", "k").unwrap();
    }
    let mut names = server.stored.names();
    names.sort_by_key(|name| name.ends_with("b1m-1s"));
    let [sound, damaged] = names.try_into().unwrap();
    let good: Vec<u8> = server.stored.command("GET", &damaged);
    plant(&mut server, &damaged, "SET", (&damaged, [good.as_slice(), b"more"].concat()));
    let values = |server: &mut Server| -> [Vec<u8>; 2] {
        [&sound, &damaged].map(|name| server.stored.command("GET", name))
    };
    let before = values(&mut server);
    let error = limiter.refund("two", "k").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Server, "{error}");
    assert_eq!(values(&mut server), before);
}

#[test]
fn trap_30_lists_of_something_else() {
    let mut server = Server::start();
    let (limiter, _) = server.limiter_at(NOW_US, &every_kind());
    let names = names_of_kinds(&mut server, &limiter);
    let (_, name) = names.iter().find(|(kind, _)| *kind == "list").unwrap();
    let good = NOW_US.to_string();
    let mut failures = Vec::new();
    for bad in ["", "abc", "12x", "nan", "inf", "-inf", "-5"] {
        for list in [vec![bad], vec![bad, &good], vec![&good, bad], vec![bad, bad]] {
            let mut args = vec![name.as_str()];
            args.extend(&list);
            plant(&mut server, name, "RPUSH", args);
            failures.extend(is_refused(&mut server, &limiter, "list", name, &format!("{list:?}")).err());
        }
    }
    none(&failures);
}

#[test]
fn trap_30_sorted_sets_of_something_else() {
    let mut server = Server::start();
    let (limiter, _) = server.limiter_at(NOW_US, &every_kind());
    let names = names_of_kinds(&mut server, &limiter);
    let (_, name) = names.iter().find(|(kind, _)| *kind == "sorted_set").unwrap();
    let mut failures = Vec::new();
    let nan = [f64::NAN.to_be_bytes().as_slice(), &[0; 4]].concat();
    let negative = [(-5_f64).to_be_bytes().as_slice(), &[0; 4]].concat();
    for bad in [b"".to_vec(), b"x".to_vec(), b"1760000000123456-0".to_vec(), nan, negative] {
        for score in [NOW_US, 5, NOW_US + 5] {
            plant(&mut server, name, "ZADD", (name, score, &bad));
            let what = format!("{:?} at {score}", String::from_utf8_lossy(&bad));
            failures.extend(is_refused(&mut server, &limiter, "sorted_set", name, &what).err());
        }
    }
    none(&failures);
}

const KEY_RECORD: &str = r#"[
    {"rule_id": "r", "rate": "5/minute", "block": {}, "overrides": true, "reservations": true}
]"#;

/// What stands and what is held beside a state: every call that meets the damage says so and names the rule, and a reset
/// is the way out.
#[test]
fn trap_30_what_is_beside_a_state() {
    let mut server = Server::start();
    let limiter = server.limiter(KEY_RECORD);
    for (suffix, own) in [("st", 0), ("h", 1)] {
        let name = format!("sluicegate:r:{{k}}:{suffix}");
        for (command, args) in
            [("SET", vec!["junk"]), ("HSET", vec!["field", "value"]), ("ZADD", vec!["1", "junk"])]
        {
            let made = limiter.reserve("r", "k").unwrap();
            plant(&mut server, &name, command, [vec![name.as_str()], args].concat());
            let (mut errors, what) = (Vec::new(), format!("{suffix}, {command}"));
            errors.extend(limiter.check("r", "k").err());
            errors.extend(limiter.reserve("r", "k").err());
            errors.extend(limiter.commit(&made, Usage::AsReserved).err());
            errors.extend(limiter.renew(&made).err());
            if own == 0 {
                errors.extend(limiter.block("r", "k", Duration::from_secs(9)).err());
                errors.extend(limiter.unblock("r", "k").err());
                errors.extend(limiter.set_limit("r", "k", 9, None).err());
                errors.extend(limiter.clear_limit("r", "k").err());
            }
            assert_eq!(errors.len(), 4 + 4 * usize::from(own == 0), "{what}: {errors:?}");
            for error in errors {
                assert!(
                    error.kind() == ErrorKind::Server && error.message().contains("(rule \"r\")"),
                    "{what}: {error}"
                );
            }
            limiter.reset("r", "k").unwrap();
            assert_eq!(limiter.check("r", "k").unwrap().remaining, 4, "{what}");
            limiter.reset("r", "k").unwrap();
        }
    }
}

/// A rule that had stored limits, and has them no more.
#[test]
fn what_a_rule_has_lost_is_removed_by_a_reset() {
    let mut server = Server::start();
    for left in ["", r#", "block": {}"#, r#", "reservations": true"#] {
        server.limiter(KEY_RECORD).set_limit("r", "k", 9, None).unwrap();
        let limiter = server.limiter(&format!(r#"[{{"rule_id": "r", "rate": "5/minute"{left}}}]"#));
        assert_eq!(limiter.peek("r", "k").unwrap().limit, 5, "{left}");
        assert_eq!(server.stored.names().len(), 1, "{left}");
        limiter.reset("r", "k").unwrap();
        assert_eq!(server.stored.names(), Vec::<String>::new(), "{left}");
    }
    let limiter = server.limiter(KEY_RECORD);
    limiter.set_limit("r", "k", 9, None).unwrap();
    limiter.reset("r", "k").unwrap();
    assert_eq!(limiter.peek("r", "k").unwrap().limit, 9);
}
