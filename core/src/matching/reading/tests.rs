//! Readings of targets.

use proptest::prelude::*;

use super::{Reading, TooMany, add};

fn readings(target: &str) -> Result<Vec<Reading<'_>>, TooMany> {
    let mut readings = Vec::new();
    add(target, false, &mut readings).map(|()| readings)
}

fn all(target: &str) -> Vec<String> {
    readings(target).unwrap().iter().map(|reading| reading.text().to_owned()).collect()
}

fn compared(target: &str, ignore_case: bool) -> Vec<String> {
    let mut readings = Vec::new();
    add(target, ignore_case, &mut readings).unwrap();
    readings.iter().flat_map(|reading| reading.compared().map(str::to_owned)).collect()
}

#[test]
fn what_most_servers_read_comes_first() {
    let same = [
        "/orders/7",
        "//orders///7",
        "/orders/./7",
        "/orders/x/../7",
        "/%6Frders/%37",
        "/../orders/7",
        "/x/%2e%2E/orders/7",
        "/orders/7?x=/../y",
        "/orders/7#/../y",
        "http://host:80/orders/7",
        "HTTPS://user@host/orders/7?q",
        "orders/7",
        "/orders%2F7",
        "/x/..%2forders/7",
        "\\orders\\7",
        "/orders%5c7",
        "/orders;a/7;b=1",
    ];
    for target in same {
        assert_eq!(all(target)[0], "/orders/7", "{target}");
    }
}

#[test]
fn every_choice_is_made_and_not_made() {
    assert_eq!(all("/a%2Fb"), ["/a/b", "/a%2Fb"]);
    assert_eq!(all("/a\\b"), ["/a/b", "/a\\b"]);
    assert_eq!(all("/a%2fb%5Cc"), ["/a/b/c", "/a/b\\c", "/a%2Fb/c", "/a%2Fb\\c"]);
    assert_eq!(all("/a/../b"), ["/b", "/a/../b"]);
    assert_eq!(all("/a/..%2Fb"), ["/b", "/a/../b", "/a/..%2Fb"]);
    assert_eq!(all("/a//b"), ["/a/b", "/a//b"]);
    assert_eq!(all("//a/b"), ["/a/b", "//a/b", "/b"]);
    assert_eq!(all("/p//../q//r"), ["/q/r", "/p/../q/r", "/p/q//r", "/p//../q//r", "/p/q/r"]);
    assert_eq!(all("/a;b/c"), ["/a/c", "/a;b/c", "/a"]);
    assert_eq!(all("/a#b"), ["/a", "/a%23b"]);
    assert_eq!(all("/a%00b"), ["/a%00b", "/a"]);
    assert_eq!(all("/a/../b/%2e%2e/c"), ["/c", "/b/../c", "/a/../b/../c"]);
    assert_eq!(all("/%ff"), ["/\u{FFFD}", "/%25FF"]);
}

#[test]
fn choices_meet() {
    for (target, path) in [
        ("/x/..;y/a", "/a"),
        ("/x%2F..;y%5Ca", "/a"),
        ("http://h/x/..;/a#b", "/a"),
        ("/x/%2e%2e%3By/a%00/b", "/a"),
        ("//h;x/a/./b;c#d", "/a/b"),
        ("/a/..%2f..\\b", "/a/../../b"),
        ("x/a", "/x/a"),
        ("x/a", "/a"),
        ("http%3A////a/b?c", "/a/b"),
    ] {
        assert!(all(target).contains(&path.to_owned()), "{target}: {:?}", all(target));
    }
}

#[test]
fn ends_are_cut_and_not() {
    assert_eq!(compared("/", false), ["/"]);
    assert_eq!(compared("/a/", false), ["/a/", "/a"]);
    assert_eq!(compared("/a%0A", false), ["/a%0A", "/a"]);
    assert_eq!(compared("/a...", false), ["/a...", "/a..", "/a"]);
    assert_eq!(compared("/a.%0D%0A", false), ["/a.%0D%0A", "/a.%0D", "/a.", "/a"]);
    assert_eq!(compared("/%0A", false), ["/%0A", "/"]);
    assert_eq!(compared("?x", false), ["/"]);
    assert_eq!(compared("http://host", false), ["/"]);
    assert_eq!(compared("/a.%20.%20.%20.%20.%20", false).last().unwrap(), "/a");
}

#[test]
fn capitals_are_left_out_where_they_do_not_count() {
    assert_eq!(compared("/A/É%E2%84%AA%0A", true), ["/a/ék%0a", "/a/ék"]);
    let mut readings = Vec::new();
    add("/X/%C4%B0É/y", true, &mut readings).unwrap();
    let text = readings[0].compared().next().unwrap();
    let segment = text.split('/').nth(2).unwrap();
    assert_eq!(readings[0].spelled(segment), "İÉ");
}

#[test]
fn a_path_of_tricks_is_refused() {
    assert!(readings("//a;b/..\\c%2F%2E%2E/%5Cd%3B/e#f%00g/./%FF;//h").is_err());
    assert!(readings(&"/%2F%5c\\a;".repeat(1_600)).is_err());
    for trick in ["/;", "/../", "/%2f", "//", "/.", "/%00", "/...", "/%0A", "/%41", "/é"] {
        assert!(readings(&trick.repeat(16_384 / trick.len())).is_ok(), "{trick}");
    }
}

/// What dots come to, from the start of a path to its end.
fn climbed(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    for segment in path.split('/').skip(1) {
        match segment {
            "." => {}
            ".." => drop(kept.pop()),
            _ => kept.push(segment),
        }
    }
    if path.ends_with("/.") || path.ends_with("/..") {
        kept.push("");
    }
    format!("/{}", kept.join("/"))
}

proptest! {
    #[test]
    fn dots_are_resolved_from_the_start(path in r"(/|/\.|/\.\.|/a|/b|/\.a|/\.\.\.){1,12}") {
        let expected = climbed(&path);
        prop_assert!(all(&path).contains(&expected), "{path}: {expected} {:?}", all(&path));
    }

    /// Made of what is special, so that special cases meet.
    #[test]
    fn a_reading_is_a_path(target in r"(/|%2[eEfF5]|%5c|%3F|%C3|%A9|%0|\.|\\|a|é|:|\?|;|#|%00|\PC){0,12}") {
        for path in readings(&target).into_iter().flatten() {
            prop_assert!(path.text().starts_with('/'));
            prop_assert!(!path.text().contains(|c: char| c == '?' || c == '#' || c.is_ascii_control()));
            for text in path.compared() {
                prop_assert!(!text.is_empty() && path.text().starts_with(text));
            }
        }
    }

    /// What is spelled as readings are is read as it stands, among others: nothing is decoded twice.
    #[test]
    fn a_reading_reads_as_itself(target in r"(/|%2[eEfF5]|%5c|\.|\\|a|é|;|%00|%0A){0,8}") {
        for path in readings(&target).into_iter().flatten() {
            let again = readings(path.text()).into_iter().flatten().any(|other| other.text() == path.text());
            prop_assert!(again, "{}", path.text());
        }
    }
}
