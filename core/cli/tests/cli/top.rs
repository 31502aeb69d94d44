//! `sluicegate top`, of real limiters whose metrics are served over HTTP.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

use sluicegate::{CheckOptions, RateLimiter, Rules};
use sluicegate_test_servers::Redis;

use crate::{command, obeyed, outcome};

const RULES: &str = r#"[
    {"rule_id": "login", "rate": "3/hour"},
    {"rule_id": "watched", "rate": "1/hour", "shadow": true},
    {"rule_id": "locked", "rate": "1/hour", "block": {"seconds": 60}},
    {"rule_id": "open", "rate": "1/hour", "fallback": "allow"}
]"#;

fn limiter(url: &str) -> RateLimiter {
    let builder = RateLimiter::builder(url).rules(Rules::from_json(RULES).unwrap());
    builder.response_timeout(Duration::from_secs(10)).build().unwrap()
}

/// Serves to each GET, the first of which has number 0, what `answer` makes of its number. Ends with the process.
fn serve_raw(mut answer: impl FnMut(usize) -> Vec<u8> + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/metrics", listener.local_addr().unwrap());
    thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let first = lines.next().unwrap().unwrap();
            assert_eq!(first, "GET /metrics HTTP/1.1");
            assert!(lines.any(|line| line.unwrap().is_empty()));
            // The tool may have had enough.
            let _ = stream.write_all(&answer(number));
        }
    });
    url
}

fn serve(mut page: impl FnMut(usize) -> String + Send + 'static) -> String {
    serve_raw(move |number| {
        let page = page(number);
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\n";
        format!("{head}Content-Length: {}\r\n\r\n{page}", page.len()).into_bytes()
    })
}

/// Serves a limiter's metrics; what it does happens between the first and the second read.
fn serve_limiter(limiter: RateLimiter, work: impl Fn(&RateLimiter) + Send + 'static) -> String {
    serve(move |number| {
        if number == 1 {
            work(&limiter);
        }
        limiter.prometheus()
    })
}

fn top(urls: &[&str]) -> (i32, String, String) {
    outcome(&[&["top", "--once", "--every", "0.1"], urls].concat())
}

/// The cells of the line of a rule or of heads, by its first.
fn row<'a>(out: &'a str, name: &str) -> Vec<&'a str> {
    let line = out.lines().find(|line| line.split_whitespace().next() == Some(name));
    assert!(line.is_some(), "no {name} in\n{out}");
    line.unwrap().split_whitespace().collect()
}

/// The cell of a rule under a head.
fn cell<'a>(out: &'a str, rule: &str, head: &str) -> &'a str {
    let at = row(out, "rule").iter().position(|found| *found == head).unwrap();
    row(out, rule)[at]
}

fn figure(out: &str, rule: &str, head: &str) -> f64 {
    let figure = cell(out, rule, head).parse();
    assert!(figure.is_ok(), "{rule} {head} in\n{out}");
    figure.unwrap()
}

fn has_line(out: &str, line: &str) -> bool {
    out.lines().any(|found| found == line)
}

#[test]
fn a_table_shows_what_a_limiter_did_between_two_reads() {
    let redis = Redis::start().unwrap();
    let limiter = limiter(redis.url());
    // Long ago: not in the rates.
    (0..100).for_each(|_| drop(limiter.check("login", "early").unwrap()));
    let url = serve_limiter(limiter, |limiter| {
        (0..4).for_each(|_| drop(limiter.check("login", "k").unwrap()));
        limiter.check_with("login", "other", CheckOptions::new().cost(3)).unwrap();
        (0..2).for_each(|_| drop(limiter.check("watched", "k").unwrap()));
        (0..3).for_each(|_| drop(limiter.check("locked", "k").unwrap()));
    });
    let (code, out, err) = top(&[&url]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(out.starts_with("1 of 1 processes, rates over "), "{out}");
    let of = |rule, head| figure(&out, rule, head);
    assert_eq!(cell(&out, "login", "denied"), "20.0%");
    // 4 are admitted and 1 is denied in the same time, which cost 6.
    let ratio = |one: f64, other: f64| (one / other * 10.0).round() / 10.0;
    assert_eq!(ratio(of("login", "admitted/s"), of("login", "denied/s")), 4.0, "{out}");
    assert_eq!(ratio(of("login", "cost/s"), of("login", "admitted/s")), 1.5, "{out}");
    assert_eq!(ratio(of("watched", "shadow/s"), of("watched", "admitted/s")), 1.0, "{out}");
    assert_eq!(ratio(of("locked", "blocked/s"), of("locked", "admitted/s")), 2.0, "{out}");
    assert_eq!((cell(&out, "locked", "denied"), cell(&out, "open", "denied")), ("66.7%", "-"));
    assert_eq!((of("login", "waiting"), of("login", "errors/s"), of("open", "admitted/s")), (0.0, 0.0, 0.0));
    assert!(has_line(&out, &format!("breaker of 127.0.0.1:{}: closed", redis.port())), "{out}");
    let trips = out.lines().find(|line| line.starts_with("round trips/s: ")).unwrap();
    assert!(trips.contains(", p50 ") && trips.contains(", p99 "), "{out}");
    assert!(has_line(&out, "errors/s: 0") && !out.contains("differ"), "{out}");
    // The busiest first.
    let at = |rule: &str| out.lines().position(|line| line.starts_with(rule)).unwrap();
    assert!(
        at("login") < at("locked") && at("locked") < at("watched") && at("watched") < at("open"),
        "{out}"
    );
}

#[test]
fn an_outage_shows() {
    let redis = Redis::start().unwrap();
    let (limiter, port) = (limiter(redis.url()), redis.port());
    limiter.check("login", "k").unwrap();
    let url = serve_limiter(limiter, move |limiter| {
        redis.kill();
        (0..9).for_each(|_| drop(limiter.check("login", "k").unwrap_err()));
        limiter.check("open", "k").unwrap();
    });
    let (code, out, _) = top(&[&url]);
    assert_eq!(code, 0, "{out}");
    assert!(has_line(&out, &format!("breaker of 127.0.0.1:{port}: open")), "{out}");
    assert!(has_line(&out, "breaker openings: 1, 1 of them now"), "{out}");
    let errors = out.lines().find(|line| line.starts_with("errors/s: ")).unwrap();
    assert!(errors.contains(": Connection "), "{out}");
    assert!(figure(&out, "login", "errors/s") > figure(&out, "open", "fallback/s"), "{out}");
    assert_eq!((cell(&out, "open", "denied"), cell(&out, "login", "denied")), ("0.0%", "-"), "{out}");
}

#[test]
fn processes_are_summed_and_compared() {
    let check = |limiter: &RateLimiter| (0..4).for_each(|_| drop(limiter.check("login", "k").unwrap()));
    let [one, other] = [(); 2].map(|()| serve_limiter(limiter("memory://"), check));
    let (code, out, _) = top(&[&one, &other]);
    assert!(code == 0 && out.starts_with("2 of 2 processes"), "{out}");
    assert_eq!(cell(&out, "login", "denied"), "25.0%");
    assert!(!out.contains("differ") && !out.contains("breaker of"), "{out}");

    let fewer = Rules::from_json(r#"[{"rule_id": "login", "rate": "3/hour"}]"#).unwrap();
    let fewer = RateLimiter::builder("memory://").rules(fewer).build().unwrap();
    let [one, other] = [serve_limiter(limiter("memory://"), check), serve_limiter(fewer, |_| ())];
    let away = "http://127.0.0.1:1/metrics";
    let (code, out, _) = top(&[&one, &other, away]);
    assert!(code == 1 && out.starts_with("2 of 3 processes"), "{out}");
    assert!(out.contains("\nhttp://127.0.0.1:1/metrics: cannot connect: "), "{out}");
    let differ =
        out.lines().find(|line| line.starts_with("processes differ in the version of rules: ")).unwrap();
    assert_eq!(differ.matches(" in 1").count(), 2, "{out}");
    assert_eq!(cell(&out, "login", "denied"), "25.0%", "{out}");
}

#[test]
fn loans_of_regions_show() {
    let page = |number: usize| {
        let counts = [("asked", 80), ("granted", 40), ("spent", 20), ("given_back", 4), ("lost", 8)];
        let line = |(what, units): (&str, usize)| {
            format!("sluicegate_loan_units_total{{rule=\"r\",what=\"{what}\"}} {}\n", number * units)
        };
        let decisions = |(source, calls): (&str, usize)| {
            let labels = format!("rule=\"r\",result=\"admitted\",source=\"{source}\"");
            format!("sluicegate_decisions_total{{{labels}}} {}\n", number * calls)
        };
        let decisions = [("allotment", 20), ("share", 2)].map(decisions).concat();
        counts.map(line).concat() + &decisions
    };
    let (_, out, _) = top(&[&serve(page)]);
    let heads = out.lines().position(|line| line.starts_with("units/s lent to")).unwrap();
    let cells: Vec<f64> = out
        .lines()
        .nth(heads + 1)
        .unwrap()
        .split_whitespace()
        .skip(1)
        .map(|cell| cell.parse().unwrap())
        .collect();
    let parts: Vec<f64> = cells.iter().map(|cell| (cell / cells[0] * 80.0).round()).collect();
    assert_eq!(parts, [80.0, 40.0, 20.0, 4.0, 8.0, 20.0, 2.0], "{out}");
}

#[test]
fn processes_are_named_by_their_regions() {
    let served = |region: &str| {
        let regions = ["eu", "us"].map(|name| (name, format!("redis://{name}.example")));
        let builder = RateLimiter::builder("").rules(Rules::from_json(RULES).unwrap()).regions(regions);
        serve_limiter(builder.region(region).build().unwrap(), |_| ())
    };
    let urls = ["us", "eu", "us"].map(served);
    let (code, out, err) = top(&urls.each_ref().map(String::as_str));
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    let lines: Vec<_> = out.lines().filter(|line| line.starts_with("region ")).collect();
    let [one, other, third] = &urls;
    assert_eq!(lines, [format!("region eu: {other}"), format!("region us: {one}, {third}")], "{out}");
}

#[test]
fn what_is_no_metrics_is_said() {
    let (code, out, err) = top(&[&serve(|_| "go_threads 8\n\u{1b}[2J{{{\n".to_owned())]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(err.contains("no metric there begins with sluicegate_"), "{err}");
    let (code, _, err) = top(&[&serve_raw(|_| b"HTTP/1.1 404 Not Found\r\n\r\n".to_vec())]);
    assert!(code == 2 && err.contains("status 404"), "{err}");
    let (code, _, err) = top(&[&serve_raw(|_| b"SSH-2.0-x\r\n\r\n".to_vec())]);
    assert!(code == 2 && err.contains("not HTTP/1.1"), "{err}");
    let endless = |_| [&b"HTTP/1.1 200 OK\r\n\r\n"[..], &vec![b'a'; 17 << 20]].concat();
    let (code, _, err) = top(&[&serve_raw(endless)]);
    assert!(code == 2 && err.contains("larger than 16 MiB"), "{err}");
    for (url, why) in
        [("https://h/metrics", "https is not supported"), ("localhost:9100", "begin with http://")]
    {
        let (code, _, err) = top(&[url]);
        assert!(code == 2 && err.contains(why), "{err}");
    }
    let (code, _, err) = outcome(&["top", "http://127.0.0.1:1", "--every", "0"]);
    assert!(code == 2 && err.contains("0.1 to 3600"), "{err}");
    assert_eq!(outcome(&["top"]).0, 2);
}

/// Also where the text of a process is hostile: nothing of it is obeyed, and no line of it becomes two.
#[test]
fn labels_are_shown_and_not_obeyed() {
    const EVIL: &str = "x\u{1b}[2J\u{7f}\u{85}\u{9b}31m\u{2028}\u{202e}\u{2066}\r\\n\\\"\\\\y";
    let page = |number: usize| {
        let labels = [
            ("decisions_total", format!("rule=\"{EVIL}\",result=\"admitted\",source=\"server\"")),
            ("errors_total", format!("kind=\"{EVIL}\"")),
            ("breaker_open", format!("server=\"{EVIL}\"")),
            ("rules_version", format!("version=\"{EVIL}{number}\"")),
            ("rules_version", format!("version=\"{EVIL}\"")),
            ("region", format!("region=\"{EVIL}\"")),
        ];
        let mut page: String =
            labels.iter().map(|(name, labels)| format!("sluicegate_{name}{{{labels}}} {number}\n")).collect();
        // Figures that are none.
        for value in ["NaN", "-5", "+Inf", "1e308", "1e999", "\u{1b}[2J"] {
            page += &format!("sluicegate_cost_total{{rule=\"{EVIL}\"}} {value}\n");
        }
        page
    };
    let (code, out, err) = top(&[&serve(page), &serve(page)]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(obeyed(&out).is_empty(), "{out:?}");
    assert_eq!(out.lines().filter(|line| line.starts_with("x\\u{1b}")).count(), 1, "{out}");
    assert!(out.contains("breaker of x\\u{1b}") && out.contains("errors/s: x\\u{1b}"), "{out}");
}

/// Ends it, whatever becomes of the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn without_a_terminal_tables_follow_each_other() {
    let url = serve_limiter(limiter("memory://"), |limiter| drop(limiter.check("login", "k").unwrap()));
    let mut top = Running(command(&["top", "--every", "0.1", &url]).stdout(Stdio::piped()).spawn().unwrap());
    let lines = BufReader::new(top.0.stdout.take().unwrap()).lines();
    let lines: Vec<String> = lines
        .map(Result::unwrap)
        .take_while({
            let mut tables = 0;
            move |line| {
                tables += usize::from(line.starts_with("1 of 1 processes"));
                tables < 3
            }
        })
        .collect();
    assert!(obeyed(&lines.concat()).is_empty(), "{lines:?}");
    assert_eq!(lines.iter().filter(|line| line.starts_with("login ")).count(), 2, "{lines:?}");
}

/// `script` gives the tool a terminal.
#[cfg(target_os = "linux")]
#[test]
fn a_terminal_is_drawn_again_in_place() {
    let url = serve_limiter(limiter("memory://"), |limiter| drop(limiter.check("login", "k").unwrap()));
    let line =
        format!("stty rows 8 cols 52; exec {} top --every 0.1 {url}", env!("CARGO_BIN_EXE_sluicegate"));
    let mut script = std::process::Command::new("script");
    script.args(["--quiet", "--return", "--command", &line, "/dev/null"]).stdin(Stdio::null());
    let mut script = Running(script.stdout(Stdio::piped()).spawn().unwrap());
    let mut out = script.0.stdout.take().unwrap();
    let (mut text, mut buffer) = (String::new(), [0; 1024]);
    while text.matches("\u{1b}[H").count() < 3 {
        let read = out.read(&mut buffer).unwrap();
        assert!(read > 0, "{text:?}");
        text += &String::from_utf8_lossy(&buffer[..read]);
    }
    let frames: Vec<&str> = text.split("\u{1b}[H").collect();
    assert!(frames[1].starts_with("\u{1b}[J1 of 1 processes, rates over"), "{text:?}");
    assert!(frames[2].starts_with("1 of 1 processes"), "{text:?}");
    // 7 lines of 8: the last one's end would scroll. None is longer than the terminal is wide.
    let lines: Vec<&str> = frames[2].lines().collect();
    assert_eq!(lines.len(), 8, "{text:?}");
    assert!(lines[..7].iter().all(|line| line.ends_with("\u{1b}[K")) && lines[7] == "\u{1b}[J", "{lines:?}");
    assert!(lines.iter().all(|line| line.trim_end_matches("\u{1b}[K").len() <= 52), "{lines:?}");
    // What nobody has counted has no column.
    let heads = "rule     admitted/s  denied/s  denied  waiting  cost\u{1b}[K";
    assert_eq!((lines[4], lines[5].starts_with("locked ")), (heads, true), "{lines:?}");
}
