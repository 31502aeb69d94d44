//! `sluicegate doctor`.

use sluicegate_test_servers::{Cluster, Redis};

use crate::{outcome, run, stderr};

const RULES: &str = r#"[{"rule_id": "r", "rate": "5/minute"}]"#;

fn lines<'a>(out: &'a str, start: &str) -> Vec<&'a str> {
    out.lines().filter(|line| line.trim_start().starts_with(start)).collect()
}

#[test]
fn a_server_that_is_fit_is_good_in_every_line() {
    let redis = Redis::start().unwrap();
    let (code, out, err) = outcome(&["doctor", "--url", redis.url(), "--rules", RULES]);
    // A busy machine is slow.
    let slow = lines(&out, "to do  round trip").len();
    assert_eq!((code, lines(&out, "to do").len(), err.as_str()), (i32::from(slow > 0), slow, ""), "{out}");
    for what in [
        "rules: 1 ",
        "script: ",
        "version: ",
        "role: master",
        "replicas: 0",
        "memory per key: no keys yet",
        "eviction: ",
        "clock: ",
    ] {
        assert_eq!(lines(&out, &format!("ok     {what}")).len(), 1, "{what}: {out}");
    }
}

#[test]
fn server_and_rules_need_no_names() {
    let redis = Redis::start().unwrap();
    redis::cmd("SET").arg("k").arg("v".repeat(5_000)).exec(&mut redis.client().unwrap()).unwrap();
    let (_, out, err) = outcome(&["doctor", redis.url(), RULES]);
    assert_eq!((lines(&out, "ok     rules: 1 ").len(), err.as_str()), (1, ""), "{out}");
    let memory = lines(&out, "ok     memory per key: about ");
    let bytes = memory[0].split_whitespace().find_map(|word| word.parse::<u64>().ok()).unwrap();
    assert!(bytes > 5_000 && memory[0].ends_with(", of 1 keys"), "{out}");
    assert_eq!(outcome(&["doctor", redis.url(), RULES, "--rules", RULES]).0, 2);
}

#[test]
fn what_is_to_do_is_said() {
    let redis = Redis::start().unwrap();
    let set = |name: &str, value: &str| {
        redis::cmd("CONFIG").arg("SET").arg(name).arg(value).exec(&mut redis.client().unwrap()).unwrap();
    };
    set("maxmemory", "100mb");
    set("maxmemory-policy", "allkeys-lru");
    let (code, out, _) = outcome(&["doctor", "--url", redis.url(), "--rules", r#"[{"rule_id": "r"}]"#]);
    assert_eq!(
        (code, lines(&out, "to do  eviction: allkeys-lru; set maxmemory-policy").len()),
        (1, 1),
        "{out}"
    );
    assert_eq!(lines(&out, "to do  rules: ").len(), 1, "{out}");
    let (code, out, _) = outcome(&["doctor", "--url", "redis://:hunter2@127.0.0.1:1"]);
    assert_eq!((code, lines(&out, "to do  reached: ").len()), (1, 1), "{out}");
    assert!(!out.contains("hunter2"), "{out}");
    assert!(stderr(&run(&["doctor"])).contains("SLUICEGATE_URL"));
}

#[test]
fn a_user_who_may_not_ask_is_told_what_to_allow() {
    let redis = Redis::start().unwrap();
    let user = ["SETUSER", "u", "on", ">p", "~*", "+ping", "+hello", "+eval", "+evalsha", "+time", "+client"];
    redis::cmd("ACL").arg(&user).exec(&mut redis.client().unwrap()).unwrap();
    let url = format!("redis://u:p@127.0.0.1:{}", redis.port());
    let (_, out, _) = outcome(&["doctor", "--url", &url]);
    // No rule needs INFO: to allow what rules need is enough.
    assert_eq!(
        (lines(&out, "note   server: INFO is not allowed").len(), lines(&out, "to do  s").len()),
        (1, 0),
        "{out}"
    );
    redis::cmd("ACL").arg(&["SETUSER", "u", "-eval", "-evalsha"]).exec(&mut redis.client().unwrap()).unwrap();
    let (code, out, _) = outcome(&["doctor", "--url", &url]);
    let said = lines(&out, "to do  script: ");
    assert!(code == 1 && said.len() == 1 && said[0].contains("allow EVAL"), "{out}");
}

#[test]
fn a_full_server_is_not_fit() {
    let redis = Redis::start().unwrap();
    redis::cmd("CONFIG").arg("SET").arg("maxmemory").arg("1mb").exec(&mut redis.client().unwrap()).unwrap();
    let (code, out, _) = outcome(&["doctor", "--url", redis.url()]);
    assert_eq!((code, lines(&out, "to do  memory: ").len()), (1, 1), "{out}");
}

#[test]
fn regions_need_servers_of_their_own() {
    let (redis, cluster) = (Redis::start().unwrap(), Cluster::start().unwrap());
    let [eu, us] = [format!("eu={}", redis.url()), format!("us={}", cluster.url())];
    let (_, out, _) = outcome(&["doctor", "--region", &eu, "--region", &us]);
    assert_eq!((lines(&out, "region ").len(), lines(&out, "to do  server: ").len()), (2, 0), "{out}");
    assert_eq!(lines(&out, "ok     round trip").len() + lines(&out, "to do  round trip").len(), 2, "{out}");
    let again = format!("ap=redis://localhost:{}/3", redis.port());
    let (code, out, _) = outcome(&["doctor", "--region", &eu, "--region", &again]);
    assert_eq!(
        (code, lines(&out, "to do  server: the same server as that of region eu").len()),
        (1, 1),
        "{out}"
    );
    let (code, _, err) = outcome(&["doctor", "--region", &eu, "--region", &again.replace("ap=", "eu=")]);
    assert!(code == 2 && err.contains("--region eu is there twice"), "{err}");
    let (code, _, err) = outcome(&["doctor", "--region", "eu"]);
    assert!(code == 2 && err.contains("NAME=URL"), "{err}");
}

/// The lines about rules, of three regions with these.
fn of_rules(eu: &str, us: &str) -> (i32, String) {
    // None of them is there: what is said of the rules does not depend on it.
    let regions = ["ap", "eu", "us"].map(|name| format!("{name}=redis://127.0.0.1:1"));
    let [eu, us] = [("eu", eu), ("us", us)].map(|(name, rules)| format!("{name}={rules}"));
    let mut args = vec!["doctor", "--rules", GLOBAL, "--region-rules", &eu, "--region-rules", &us];
    regions.iter().for_each(|region| args.extend(["--region", region]));
    let (code, out, err) = outcome(&args);
    assert_eq!(err, "", "{out}");
    let (_, rest) = out.split_once("the rules of the regions\n").unwrap();
    (code, rest.split("region ap\n").next().unwrap().to_owned())
}

const GLOBAL: &str =
    r#"[{"rule_id": "tenant", "rate": "100/s", "global": {}}, {"rule_id": "r", "rate": "5/s"}]"#;

#[test]
fn regions_with_the_same_rules_are_good() {
    // The order, and how a rate is written, say nothing.
    let other = r#"[{"rule_id": "r", "rate": "5/s"},
        {"rule_id": "tenant", "limit": 100, "window_size_seconds": 1, "global": {}, "description": "d"}]"#;
    let (_, out) = of_rules(GLOBAL, other);
    assert_eq!(lines(&out, "ok     region ").len(), 3, "{out}");
    assert_eq!(lines(&out, "ok     rules with global: 1 are the same in all regions").len(), 1, "{out}");
    assert_eq!(lines(&out, "to do").len() + lines(&out, "note").len(), 0, "{out}");
}

#[test]
fn regions_with_different_rules_are_named() {
    let (code, out) = of_rules(&GLOBAL.replace("100/s", "50/s"), &GLOBAL.replace("5/s", "6/s"));
    let differs = "to do  rule tenant: limit is 100 in ap and us, 50 in eu; give all regions the same";
    assert_eq!((code, lines(&out, differs).len()), (1, 1), "{out}");
    assert_eq!(lines(&out, "ok     rules with global: 0").len(), 1, "{out}");
    assert_eq!(lines(&out, "note   rules without global: r differ").len(), 1, "{out}");
    let (_, out) = of_rules(r#"[{"rule_id": "r", "rate": "5/s"}]"#, &GLOBAL.replace(", \"global\": {}", ""));
    let said = lines(&out, "to do  rule tenant: missing in eu; ");
    assert!(said.len() == 1 && said[0].contains("in ap, unset in us; give"), "{out}");
    let (code, out) = of_rules(r#"[{"rule_id": "tenant"}]"#, GLOBAL);
    assert_eq!((code, lines(&out, "to do  region eu: ").len()), (1, 1), "{out}");
    assert_eq!(lines(&out, "ok     rules with global: 1").len(), 1, "the others are compared: {out}");
}

#[test]
fn rules_of_a_region_need_the_region() {
    let refused = |args: &[&str], expected: &str| {
        let (code, _, err) = outcome(&[&["doctor", "--region", "eu=redis://127.0.0.1:1"], args].concat());
        assert!(code == 2 && err.contains(expected), "{err}");
    };
    refused(&["--region-rules", "us=[]"], "--region-rules us: there is no --region us");
    refused(&["--region-rules", "eu=[]", "--region-rules", "eu=[]"], "--region-rules eu is there twice");
    refused(&["--region-rules", "eu"], "NAME=RULES");
    assert_eq!(outcome(&["doctor", "--region-rules", "eu=[]"]).0, 2);
    // Nothing is compared with what is not known.
    let (_, out, _) = outcome(&[
        "doctor",
        "--region",
        "eu=redis://127.0.0.1:1",
        "--region",
        "us=redis://127.0.0.1:1",
        "--region-rules",
        "eu=[]",
    ]);
    assert_eq!(lines(&out, "note   region us: its rules are not known").len(), 1, "{out}");
}

/// What is said of the maps of `eu` and `us`, where these are stated.
fn of_maps(stated: &[&str]) -> (i32, String) {
    let mut args = vec!["doctor", "--region", "eu=redis://127.0.0.1:1", "--region", "us=redis://127.0.0.1:1"];
    stated.iter().for_each(|map| args.extend(["--region-map", map]));
    let (code, out, err) = outcome(&args);
    let (_, rest) = out.split_once("the maps of the regions\n").unwrap_or(("", &err));
    (code, rest.split("region eu\n").next().unwrap().to_owned())
}

#[test]
fn regions_with_the_same_map_are_good() {
    let (_, out) = of_maps(&["eu=eu,us", "us=us, eu"]);
    assert_eq!(lines(&out, "ok     map of region eu: eu, us").len(), 1, "{out}");
    assert_eq!(lines(&out, "ok     map of region us: eu, us").len(), 1, "{out}");
    assert_eq!(out.lines().count(), 2, "{out}");
    let (_, out) = of_maps(&["us=eu,us"]);
    assert_eq!(
        lines(&out, "note   map of region eu: is not known; name it with --region-map").len(),
        1,
        "{out}"
    );
}

#[test]
fn regions_with_different_maps_are_named() {
    let (code, out) = of_maps(&["eu=eu,us", "us=us,ap,eu-1"]);
    let differs = "to do  map of region us: lacks eu, and has also ap, eu-1; give all regions the same names";
    assert_eq!((code, lines(&out, differs).len()), (1, 1), "{out}");
    assert_eq!(lines(&out, "ok     map of region eu: eu, us").len(), 1, "{out}");
}

#[test]
fn a_map_that_is_none_is_named_without_passwords() {
    for (map, expected) in [
        ("us=eu,us,", "has a name that is empty (a comma too many?); write the names alone, as in ap,eu,us"),
        ("us=", "has a name that is empty"),
        ("us=eu,us,us", "has us twice"),
        (r#"us={"eu": 1, "us": 2}"#, "is JSON, not a list of names"),
        (r#"us=["eu", "us""#, "is JSON"),
        ("us=eu=redis://user:secret@host,us=redis://user:secret@host", "has a URL"),
        ("us=eu,user:secret@host", "has a URL"),
    ] {
        let (code, out) = of_maps(&["eu=eu,us", map]);
        assert_eq!(
            (code, lines(&out, &format!("to do  map of region us: {expected}")).len()),
            (1, 1),
            "{out}"
        );
        assert!(!out.contains("secret"), "{out}");
    }
    let (code, _, err) = outcome(&["doctor", "--region", "redis://user:secret@host/?a=b"]);
    assert!(
        code == 2 && err.contains("the name is a URL; it has to be NAME=URL") && !err.contains("secret"),
        "{err}"
    );
    let (code, err) = of_maps(&["redis://user:secret@a,redis://user:secret@b/?a=b"]);
    assert!(code == 2 && err.contains("the name is a URL") && !err.contains("secret"), "{err}");
}

#[test]
fn the_map_of_a_region_needs_the_region() {
    for (map, expected) in [
        (&["ap=eu,us"][..], "--region-map ap: there is no --region ap"),
        (&["eu=eu,us", "eu=eu"], "--region-map eu is there twice"),
        (&["eu"], "NAME=NAMES"),
    ] {
        let (code, err) = of_maps(map);
        assert!(code == 2 && err.contains(expected), "{err}");
    }
}

#[test]
fn whether_keys_of_denials_may_be_watched_is_looked_at() {
    let redis = Redis::start().unwrap();
    let (_, words, _) = outcome(&["rules", "acl", RULES, "--remember-denials", "600"]);
    assert!(words.contains("+client|caching +client|tracking "), "{words}");
    let url = format!("redis://u:p@127.0.0.1:{}", redis.port());
    let said = |but: Option<&str>, age: &str, protocol: &str| {
        let allowed = words.split_whitespace().filter(|word| Some(*word) != but);
        let user = ["SETUSER", "u", "reset", "on", ">p"].into_iter().chain(allowed).collect::<Vec<_>>();
        redis::cmd("ACL").arg(&user).exec(&mut redis.client().unwrap()).unwrap();
        let url = format!("{url}?protocol={protocol}");
        let (code, out, _) = outcome(&["doctor", &url, "--remember-denials", age]);
        let [good, bad] = ["ok     denials: ", "to do  denials: "].map(|start| lines(&out, start).len());
        assert!(bad == 0 || code == 1, "{out}");
        (good, bad)
    };
    assert_eq!(said(None, "600", "resp3"), (1, 0));
    for but in ["+client|caching", "+client|tracking"] {
        assert_eq!(said(Some(but), "600", "resp3"), (0, 1), "{but}");
        assert_eq!(said(Some(but), "1", "resp3"), (0, 0));
    }
    assert_eq!(said(None, "600", "resp2"), (0, 1));
}
