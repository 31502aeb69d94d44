//! Runs of simulated traffic.

use std::io::Read;
use std::process::Stdio;
use std::time::Duration;
use std::{fs, thread};

use sluicegate_test_servers::Redis;

use super::{answers, failure, figures, folder};
use crate::{command, file, outcome, root};

const EDGE: [&str; 6] =
    ["--compare", "fixed_window,sliding_log", "--traffic", "edge:size=20,window=10s,for=1m", "--bin", "1s"];

#[test]
fn a_table_tells_fixed_windows_from_sliding_ones() {
    let (code, out, _) = outcome(&[&["lab"], &EDGE[..]].concat());
    assert_eq!(code, 0);
    let row = |name: &str| {
        let line = out.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(row("fixed_window")[1..5], ["50", "0", "20", "(2.00x)"]);
    assert_eq!(row("sliding_log")[1..5], ["30", "20", "10", "(1.00x)"]);
    assert!(out.contains("▁") || out.contains("█"), "{out}");
}

#[test]
fn the_page_of_the_lab_shows_what_happens() {
    let page = fs::read_to_string(root().join("docs/lab.md")).unwrap();
    let block = page.split("```console\n$ sluicegate ").nth(1).unwrap().split("```").next().unwrap();
    let (command, table) = block.split_once("--out edges\n").unwrap();
    let args: Vec<_> = command.split_whitespace().filter(|word| *word != "\\").collect();
    let (_, out, _) = outcome(&args);
    assert!(out.starts_with(table), "{out}");
}

#[test]
fn the_page_of_leases_shows_what_happens() {
    let page = fs::read_to_string(root().join("docs/operations/leases.md")).unwrap();
    let block = page.split("```console\n$ sluicegate ").nth(1).unwrap().split("```").next().unwrap();
    let (command, table) = block.split_once("--out leases\n").unwrap();
    let args: Vec<_> =
        command.split_whitespace().filter(|word| *word != "\\").map(|word| word.trim_matches('\'')).collect();
    let (_, out, _) = outcome(&args);
    assert!(out.starts_with(table), "{out}");
    let figures = figures(&[&args[1..], &["--processes", "0"]].concat());
    assert_eq!(figures["strategies"].as_array().unwrap().len(), 1);
}

#[test]
fn figures_are_the_same_every_time() {
    let args = ["examples/rules.jsonc", "--traffic", "poisson:rate=5/s,keys=20,zipf=1,for=1m", "--seed", "7"];
    assert_eq!(figures(&args), figures(&args));
}

#[test]
fn a_folder_gets_everything() {
    let folder = folder("everything");
    let path = folder.to_str().unwrap();
    let obedient = ["--traffic", "obedient:clients=4,rate=2/s,for=1m"];
    let args = [&["lab", "--out", path, "--decisions", "csv"], &EDGE[..], &obedient].concat();
    let (code, out, err) = outcome(&args);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.trim_end().ends_with("index.html"));
    let read = |name: &str| fs::read(folder.join(name)).unwrap();
    for picture in ["raster", "admitted", "windows", "cumulative", "waits", "fairness"] {
        assert!(read(&format!("{picture}.svg")).starts_with(b"<svg xmlns"));
        let png = read(&format!("{picture}.png"));
        assert!(png.starts_with(b"\x89PNG") && png.len() > 10_000, "{picture}: {} bytes", png.len());
    }
    let page = String::from_utf8(read("index.html")).unwrap();
    assert_eq!(page.matches("<svg").count(), 6);
    assert!(!page.contains("http://") && !page.contains("https://") && !page.contains("src="));
    let decisions = String::from_utf8(read("decisions.csv")).unwrap();
    let figures: serde_json::Value = serde_json::from_slice(&read("lab.json")).unwrap();
    let counted: u64 =
        figures["strategies"].as_array().unwrap().iter().map(|it| it["matched"].as_u64().unwrap()).sum();
    assert_eq!(decisions.lines().count() as u64, counted + 1);
    assert!(decisions.lines().nth(1).unwrap().contains(",,1,true,"), "{decisions}");
    let bins = String::from_utf8(read("bins.csv")).unwrap();
    assert_eq!(bins.lines().count(), 1 + 2 * 60);
    // The same again: what is there is a run's own. Without clients that wait, their picture goes.
    let (code, ..) = outcome(&[&["lab", "--out", path, "--decisions", "json"], &EDGE[..]].concat());
    assert_eq!((code, folder.join("waits.svg").exists()), (0, false));
    let line = String::from_utf8(read("decisions.jsonl")).unwrap().lines().next().unwrap().to_owned();
    assert_eq!(serde_json::from_str::<serde_json::Value>(&line).unwrap()["admitted"], true);
    assert!(!folder.join("decisions.csv").exists());
}

#[test]
fn a_folder_with_other_files_is_refused() {
    let folder = folder("other");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("thesis.tex"), "years of work").unwrap();
    let path = folder.to_str().unwrap();
    let args = [&["--out", path], &EDGE[..]].concat();
    assert_eq!(
        failure(&args),
        format!(
            "error: cannot write into {path}: the folder holds other files, such as thesis.tex (choose another, \
             or pass --force)\n"
        )
    );
    figures(&[&["--force"], args.as_slice()].concat());
    assert_eq!(fs::read_to_string(folder.join("thesis.tex")).unwrap(), "years of work");
}

#[test]
fn misspelt_words_name_the_nearest() {
    let traffic = failure(&["--compare", "gcra", "--traffic", "pioson:rate=1/s"]);
    assert!(traffic.contains("did you mean \"poisson\"?"), "{traffic}");
    let algorithm = failure(&["--compare", "gcar"]);
    assert!(algorithm.contains("did you mean \"gcra\"?"), "{algorithm}");
    let bin = failure(&["--compare", "gcra", "--bin", "1us"]);
    assert!(bin.contains("too narrow for this run"), "{bin}");
}

#[test]
fn no_traffic_is_an_empty_page_that_says_so() {
    let folder = folder("empty");
    let path = folder.to_str().unwrap();
    let args = ["lab", "--compare", "gcra", "--traffic", "steady:for=0s", "--out", path];
    let (code, out, _) = outcome(&args);
    assert_eq!((code, out.lines().next()), (0, Some("there was no traffic: no call came")));
    let page = fs::read_to_string(folder.join("index.html")).unwrap();
    assert!(page.contains("There was no traffic") && page.ends_with("</html>\n"));
}

#[test]
fn a_page_of_ten_strategies_is_small() {
    let folder = folder("ten");
    let rules: Vec<_> = (1..=10)
        .map(|n| format!(r#"{{"rule_id": "r{n}", "algorithm": "sliding_window", "limit": {n}0, "window_size_seconds": 10}}"#))
        .collect();
    let rules = file("ten.json", &format!("[{}]", rules.join(",")));
    let args = ["lab", &rules, "--out", folder.to_str().unwrap(), "--traffic"];
    let specs =
        ["poisson:rate=40/s,keys=500,zipf=1,for=2m", "--traffic", "obedient:clients=50,rate=20/s,for=2m"];
    assert_eq!(outcome(&[&args[..], &specs].concat()).0, 0);
    let size = fs::metadata(folder.join("index.html")).unwrap().len();
    assert!(size < 2_000_000, "{size} bytes");
}

#[test]
fn a_server_decides_in_real_time() {
    let redis = Redis::start().unwrap();
    let args = ["--compare", "gcra,fixed_window", "--limit", "5", "--window", "1h", "--url", redis.url()];
    let figures = figures(&[&args[..], &["--traffic", "steady:rate=50/s,for=500ms"]].concat());
    for strategy in figures["strategies"].as_array().unwrap() {
        assert_eq!((strategy["admitted"].as_u64(), strategy["denied"].as_u64()), (Some(5), Some(20)));
    }
    // Under names of the run's own.
    let keys = answers(&redis, &["KEYS", "*"]);
    assert!(!keys.is_empty() && keys.iter().all(|key| key.starts_with("sluicegate-lab-")), "{keys:?}");
}

const JOBS: &str = r#"[{"rule_id": "jobs", "algorithm": "concurrency", "limit": 4}]"#;

#[test]
fn what_is_under_way_is_held_against_the_limit() {
    let (code, out, _) = outcome(&["lab", JOBS, "--traffic", "poisson:rate=30/s,duration=200ms..1s,for=1m"]);
    assert_eq!(code, 0);
    assert!(out.lines().any(|line| line.starts_with("jobs") && line.contains("4 at once (1.00x)")), "{out}");
    let wrong = failure(&[JOBS, "--traffic", "poisson:duration=fast"]);
    assert!(wrong.contains("field \"duration\" is \"fast\"; it has to be a time from 1us to 1d"), "{wrong}");
}

#[test]
fn a_server_holds_what_is_under_way_in_real_time_and_nothing_afterwards() {
    let redis = Redis::start().unwrap();
    let args = [
        JOBS,
        "--url",
        redis.url(),
        "--prefix",
        "jobs",
        "--traffic",
        "steady:rate=50/s,duration=10s,for=500ms",
    ];
    // The second run finds nothing of the first, whose leases would last a minute.
    for _ in 0..2 {
        let strategy = &figures(&args)["strategies"][0];
        assert_eq!((&strategy["admitted"], &strategy["denied"]), (&4.into(), &21.into()));
        assert_eq!(strategy["limits"][0]["worst"]["count"], 4);
    }
}

/// Ends a run as Ctrl-C does.
#[cfg(unix)]
#[test]
fn an_interrupt_keeps_what_there_is() {
    let folder = folder("interrupted");
    let args = ["lab", "--compare", "gcra", "--traffic", "steady:rate=1000000/s,for=24h", "--json", "--out"];
    let mut child = command(&[&args[..], &[folder.to_str().unwrap()]].concat())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It has its folder before it begins, and listens from then on.
    while !folder.exists() {
        thread::sleep(Duration::from_millis(5));
    }
    thread::sleep(Duration::from_millis(500));
    let id = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let code = child.wait().unwrap().code();
    let (mut out, mut err) = (String::new(), String::new());
    child.stdout.unwrap().read_to_string(&mut out).unwrap();
    child.stderr.unwrap().read_to_string(&mut err).unwrap();
    assert_eq!((code, err.as_str()), (Some(1), "warning: ended before its time; what there was is kept\n"));
    let figures: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(figures["interrupted"], true);
    assert!(figures["strategies"][0]["admitted"].as_u64().unwrap() > 0);
    assert!(folder.join("index.html").exists());
}
