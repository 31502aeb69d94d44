//! What takes effect, what is refused, and what is kept.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::following::Followed;
use super::{FileSource, Following, Origin, RuleSource, RulesStatus, Updates};
use crate::{ErrorKind, RateLimiter, Rules};

pub(super) fn rule(id: &str, limit: u64) -> String {
    format!(
        r#"{{ "rule_id": "{id}", "algorithm": "fixed_window", "limit": {limit}, "window_size_seconds": 3600 }}"#
    )
}

fn file(limit: u64) -> String {
    format!("[{}]", rule("a", limit))
}

/// A path that nobody else uses, in a folder that is deleted with the first.
fn scratch() -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("rules.json");
    (folder, path)
}

fn limiter(source: impl RuleSource) -> RateLimiter {
    RateLimiter::builder("memory://").rules(source).build().unwrap()
}

/// Waits until the status is as it is to become.
pub(super) fn until(limiter: &RateLimiter, so: impl Fn(&RulesStatus) -> bool) -> RulesStatus {
    let began = Instant::now();
    loop {
        let status = limiter.rules_status();
        if so(&status) {
            return status;
        }
        assert!(began.elapsed() < Duration::from_secs(10), "{status:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_changed_limit_keeps_the_count() {
    let (_folder, path) = scratch();
    fs::write(&path, file(2)).unwrap();
    let limiter = limiter(FileSource::new(&path));
    assert_eq!(limiter.check("a", "k").unwrap().remaining, 1);
    let first = limiter.rules_status();
    assert_eq!((first.updates, first.rules, first.refusals, first.reachable), (1, 1, 0, true));

    fs::write(&path, file(10)).unwrap();
    let second = until(&limiter, |status| status.updates == 2);
    assert_ne!(first.version, second.version);
    let decision = limiter.check("a", "k").unwrap();
    assert_eq!((decision.limit, decision.remaining), (10, 8));

    // Another rule before it takes nothing away either.
    fs::write(&path, format!("[{}, {}]", rule("b", 5), rule("a", 10))).unwrap();
    until(&limiter, |status| status.updates == 3);
    assert_eq!(limiter.check("b", "k").unwrap().remaining, 4);
    assert_eq!(limiter.check("a", "k").unwrap().remaining, 7);
}

#[test]
fn another_window_starts_fresh() {
    let (_folder, path) = scratch();
    fs::write(&path, file(2)).unwrap();
    let limiter = limiter(FileSource::new(&path));
    limiter.check("a", "k").unwrap();
    fs::write(&path, file(2).replace("3600", "60")).unwrap();
    until(&limiter, |status| status.updates == 2);
    assert_eq!(limiter.check("a", "k").unwrap().remaining, 1);
}

#[test]
fn a_bad_file_is_refused_whole_and_logged_once() {
    let (_folder, path) = scratch();
    fs::write(&path, file(2)).unwrap();
    let limiter = limiter(FileSource::new(&path));
    let good = limiter.rules_status().version;
    for bad in [format!("[{}, {{}}]", rule("b", 1)), String::new(), file(3)[..40].to_owned()] {
        let refusals = limiter.rules_status().refusals;
        fs::write(&path, bad).unwrap();
        let status = until(&limiter, |status| status.refusals > refusals);
        assert_eq!((status.updates, &status.version), (1, &good));
        assert!(status.refused[0].unit.ends_with("rules.json"), "{status:?}");
        assert!(status.last_error.unwrap().contains("rules.json: "));
        assert_eq!(limiter.check("b", "k").unwrap_err().kind(), ErrorKind::UnknownRule);
    }
    fs::remove_file(&path).unwrap();
    until(&limiter, |status| status.refused.iter().any(|refusal| refusal.reason.contains("cannot be read")));
    let refusals = limiter.rules_status().refusals;
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(limiter.rules_status().refusals, refusals, "a lasting fault counts once");

    // The file as it was is not an update, but all is well again.
    fs::write(&path, file(2)).unwrap();
    let status = until(&limiter, |status| status.refused.is_empty());
    assert_eq!((status.updates, status.version), (1, good));
    fs::write(&path, file(4)).unwrap();
    until(&limiter, |status| status.updates == 2);
}

#[test]
fn links_and_replaced_files_are_followed() {
    let (folder, path) = scratch();
    let folder = folder.path();
    for (name, limit) in [("one", 1), ("two", 2)] {
        fs::create_dir(folder.join(name)).unwrap();
        fs::write(folder.join(name).join("rules.json"), file(limit)).unwrap();
    }
    let link = folder.join("current");
    std::os::unix::fs::symlink("one", &link).unwrap();
    std::os::unix::fs::symlink("current/rules.json", &path).unwrap();
    let limiter = limiter(FileSource::new(&path));
    assert_eq!(limiter.check("a", "k").unwrap().limit, 1);

    // As orchestrators swap a whole folder.
    std::os::unix::fs::symlink("two", folder.join("next")).unwrap();
    fs::rename(folder.join("next"), &link).unwrap();
    until(&limiter, |status| status.updates == 2);
    assert_eq!(limiter.check("a", "other").unwrap().limit, 2);

    // As editors replace a file.
    fs::write(folder.join("edited"), file(3)).unwrap();
    fs::rename(folder.join("edited"), &path).unwrap();
    until(&limiter, |status| status.updates == 3);
    assert_eq!(limiter.check("a", "other").unwrap().limit, 3);
}

#[test]
fn a_hundred_changes_in_a_second_end_with_the_last() {
    let (_folder, path) = scratch();
    fs::write(&path, file(1)).unwrap();
    let limiter = limiter(FileSource::new(&path));
    for limit in 1..=100 {
        fs::write(&path, file(limit)).unwrap();
        limiter.check("a", "k").unwrap();
        std::thread::sleep(Duration::from_millis(8));
    }
    let began = Instant::now();
    while limiter.peek("a", "k").unwrap().limit != 100 {
        assert!(began.elapsed() < Duration::from_secs(10));
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_limiter_is_not_made_without_rules() {
    let (_folder, path) = scratch();
    let build = || RateLimiter::builder("memory://").rules(FileSource::new(&path)).build().unwrap_err();
    let missing = build();
    assert_eq!(missing.kind(), ErrorKind::InvalidRule);
    assert!(missing.message().contains("cannot be read"), "{missing}");
    fs::write(&path, "[{}]").unwrap();
    let invalid = build();
    assert_eq!(invalid.kind(), ErrorKind::InvalidRule);
    assert!(invalid.message().contains("rules.json: rule 1: "), "{invalid}");
}

#[test]
fn the_cache_stands_in_for_an_absent_source() {
    let (_folder, path) = scratch();
    let cache = path.with_file_name("cache.json");
    let build = || {
        let builder = RateLimiter::builder("memory://").rules(FileSource::new(&path));
        builder.rules_cache(&cache).build()
    };
    let error = build().unwrap_err();
    assert!(error.message().contains("rules_cache"), "{error}");

    fs::write(&path, file(7)).unwrap();
    assert!(!build().unwrap().rules_status().cached);
    fs::remove_file(&path).unwrap();
    let limiter = build().unwrap();
    let status = limiter.rules_status();
    assert!(status.cached && status.last_error.is_some(), "{status:?}");
    assert_eq!(limiter.check("a", "k").unwrap().limit, 7);

    fs::write(&path, file(8)).unwrap();
    until(&limiter, |status| !status.cached);
    assert_eq!(limiter.check("a", "k").unwrap().remaining, 6);
    assert_eq!(fs::read_to_string(&cache).unwrap(), file(8));
    let fixed = RateLimiter::builder("memory://").rules_cache(&cache).build().unwrap_err();
    assert_eq!(fixed.kind(), ErrorKind::InvalidArgument);
}

/// As long as its own follower has not read the source either.
#[test]
fn a_forked_child_knows_that_its_rules_are_the_copy() {
    let (_folder, path) = scratch();
    let cache = path.with_file_name("cache.json");
    fs::write(&cache, file(7)).unwrap();
    let origin = Origin { source: Arc::new(FileSource::new(&path)), cache: Some(cache), ..Origin::default() };
    let child = Followed::in_child(&Followed::start(origin).unwrap());
    let status = child.status();
    assert!(status.cached && status.rules == 1, "{status:?}");

    fs::write(&path, file(7)).unwrap();
    let began = Instant::now();
    while child.status().cached {
        assert!(began.elapsed() < Duration::from_secs(10), "{:?}", child.status());
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_closed_limiter_follows_no_longer() {
    let (_folder, path) = scratch();
    fs::write(&path, file(1)).unwrap();
    let limiter = limiter(FileSource::new(&path));
    limiter.close();
    // The look that was under way, if there was one, is over.
    std::thread::sleep(Duration::from_millis(300));
    fs::write(&path, file(2)).unwrap();
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(limiter.rules_status().updates, 1);
}

#[test]
fn rules_of_the_application_stay_beside_those_of_a_file() {
    let (_folder, path) = scratch();
    fs::write(&path, file(2)).unwrap();
    let limiter = limiter(FileSource::new(&path));
    limiter.check("a", "k").unwrap();
    let added = Rules::from_json(&format!("[{}]", rule("route", 3))).unwrap();
    limiter.add_rules(&added).unwrap();
    assert_eq!(
        (limiter.check("a", "k").unwrap().remaining, limiter.check("route", "k").unwrap().remaining),
        (0, 2)
    );
    let (before, taken) = (limiter.rules_status(), limiter.add_rules(&added).unwrap_err());
    assert_eq!((before.rules, before.updates), (2, 1));
    assert_eq!(taken.message(), r#"add_rules: rule "route": the name is taken"#);

    fs::write(&path, format!("[{}, {}]", rule("a", 9), rule("route", 9))).unwrap();
    let refused = until(&limiter, |status| status.refusals == 1);
    assert!(refused.refused[0].reason.contains(r#"rule "route": the application"#), "{refused:?}");
    assert_eq!((refused.version, limiter.check("a", "other").unwrap().limit), (before.version, 2));

    fs::write(&path, file(5)).unwrap();
    until(&limiter, |status| status.updates == 2);
    assert_eq!(
        (limiter.check("a", "k").unwrap().limit, limiter.check("route", "k").unwrap().remaining),
        (5, 1)
    );
}

#[test]
fn rules_are_added_to_fixed_ones_all_or_none() {
    let limiter = limiter(Rules::from_json(&file(2)).unwrap());
    limiter.check("a", "k").unwrap();
    let both = Rules::from_json(&format!("[{}, {}]", rule("b", 1), rule("a", 1))).unwrap();
    assert_eq!(limiter.add_rules(&both).unwrap_err().kind(), ErrorKind::InvalidRule);
    assert_eq!(limiter.rules().len(), 1);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let limiter = &limiter;
            scope.spawn(move || {
                let id = format!("of-{thread}");
                limiter.add_rules(&Rules::from_json(&format!("[{}]", rule(&id, 1))).unwrap()).unwrap();
                limiter.check(&id, "k").unwrap();
            });
        }
    });
    assert_eq!((limiter.rules().len(), limiter.check("a", "k").unwrap().remaining), (9, 0));
}

#[test]
fn a_forked_child_has_the_rules_of_the_application() {
    let (_folder, path) = scratch();
    fs::write(&path, file(7)).unwrap();
    let parent =
        Followed::start(Origin { source: Arc::new(FileSource::new(&path)), ..Origin::default() }).unwrap();
    parent.add(&Rules::from_json(&format!("[{}]", rule("route", 3))).unwrap()).unwrap();
    let child = Followed::in_child(&parent);
    fs::write(&path, file(8)).unwrap();
    let began = Instant::now();
    while child.status().updates == 0 {
        assert!(began.elapsed() < Duration::from_secs(10), "{:?}", child.status());
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(child.status().rules, 2);
    assert!(child.add(&Rules::from_json(&file(1)).unwrap()).is_err(), "the file has it");
}

/// Reports, one after the other, whenever a file `go` appears.
#[derive(Debug)]
struct Script(PathBuf);

impl RuleSource for Script {
    fn name(&self) -> String {
        "script".to_owned()
    }

    fn follow<'a>(&'a self, updates: &'a Updates) -> Following<'a> {
        Box::pin(async move {
            let texts = [("a", 1), ("b", 2)].map(|(id, limit)| (id.to_owned(), Ok(rule(id, limit))));
            updates.rules([&texts[..], &[("c".to_owned(), Ok("garbage".to_owned()))]].concat());
            while !self.0.exists() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            updates.changed(vec![
                ("a".to_owned(), Some(Ok(rule("b", 9)))),
                ("b".to_owned(), Some(Ok(rule("b", 3)))),
                ("c".to_owned(), Some(Ok(format!("{} // the third", rule("c", 4))))),
                ("d".to_owned(), Some(Ok(rule("d", 5) + &" ".repeat(70_000)))),
            ]);
            updates.unreachable("went away");
            panic!("a source may do that");
        })
    }
}

#[test]
fn rules_apart_are_updated_apart() {
    let (_folder, path) = scratch();
    let cache = path.with_file_name("cache.json");
    let builder = RateLimiter::builder("memory://").rules(Script(path.clone())).rules_cache(&cache);
    let limiter = builder.build().unwrap();
    let status = limiter.rules_status();
    assert_eq!((status.rules, status.refused.len(), status.refusals), (2, 1, 1));
    assert!(status.last_error.unwrap().starts_with("script/c: not valid JSON"), "{:?}", status.refused);

    limiter.check("b", "k").unwrap();
    fs::write(&path, "").unwrap();
    let status = until(&limiter, |status| status.updates == 2 && !status.reachable);
    assert_eq!(status.rules, 3);
    let refused: Vec<_> = status.refused.iter().map(|refusal| refusal.unit.as_str()).collect();
    assert_eq!(refused, ["a", "d"]);
    assert_eq!(limiter.check("a", "k").unwrap().limit, 1);
    assert_eq!(limiter.check("b", "k").unwrap().remaining, 1);
    assert_eq!(limiter.check("c", "k").unwrap().limit, 4);
    // The copy is a file of rules like any other.
    assert_eq!(crate::Rules::from_file(&cache).unwrap().len(), 3);
    // The source that failed is asked again.
    until(&limiter, |status| status.updates > 2);
}
