use std::collections::HashMap;

use super::*;
use crate::plot::page;
use crate::{Record, START_US, StrategyReport, compare};

const SECOND: u64 = 1_000_000;

/// Each of these at 10 per 10 seconds.
fn compared(algorithms: &[&str]) -> Rules {
    Rules::from_json(&compare(algorithms, 10, 10 * SECOND, None).unwrap()).unwrap()
}

fn run(rules: &Rules, specs: &[&str]) -> Report {
    let traffic = Traffic::parse(specs, rules).unwrap();
    simulate(rules, &traffic, Options::default(), &mut ()).unwrap()
}

fn of<'a>(report: &'a Report, name: &str) -> &'a StrategyReport {
    report.strategies.iter().find(|strategy| strategy.name == name).unwrap()
}

#[test]
fn edges_let_fixed_windows_through_twice_and_no_other_exact_one() {
    let rules = compared(&["fixed_window", "sliding_log", "gcra"]);
    let report = run(&rules, &["edge:size=20,window=10s,for=1m,spread=200ms"]);
    let worst = |name| of(&report, name).worst();
    assert_eq!((worst("fixed_window").count, worst("fixed_window").ratio), (20, 2.0));
    assert_eq!(worst("sliding_log").count, 10);
    assert!(worst("fixed_window").exact && !report.interrupted);
    // A burst and what has leaked since: of the window before one, less than one unit.
    assert!(worst("gcra").count <= 20);
}

/// Whatever the traffic, what is admitted stays below what the algorithm's definition promises.
#[test]
fn no_strategy_exceeds_its_own_bound() {
    let rules = compared(&crate::ALGORITHMS);
    let specs = [
        "edge:for=2m",
        "poisson:rate=3/s,keys=7,zipf=1,cost=1..3,for=2m",
        "greedy:clients=3,for=2m",
        "herd:keys=5,for=2m",
    ];
    for strategy in run(&rules, &specs).strategies {
        let mut sum = 0;
        let bins = strategy.bins.iter().map(|bin| {
            sum += bin.cost;
            sum as f64
        });
        for (sum, (at, bound)) in bins.zip(&strategy.bound) {
            assert!(sum <= *bound, "{} admitted {sum} of {bound} until {at}", strategy.name);
        }
        assert!(strategy.admitted > 0 && strategy.denied > 0);
    }
}

#[derive(Default)]
struct Counting {
    decided: HashMap<String, (u64, u64)>,
    last_us: u64,
    end_after: Option<u64>,
}

impl Observer for Counting {
    fn decided(&mut self, record: &Record<'_>) {
        let (admitted, denied) = self.decided.entry(record.rule.to_owned()).or_default();
        *if record.admitted { admitted } else { denied } += 1;
        self.last_us = self.last_us.max(record.at_us);
    }

    fn go_on(&mut self, _done: f64) -> bool {
        self.end_after.is_none_or(|end| self.last_us < end)
    }
}

#[test]
fn observers_see_every_decision() {
    let rules = compared(&["gcra", "decay"]);
    let traffic = Traffic::parse(&["poisson:for=5m"], &rules).unwrap();
    let mut counting = Counting::default();
    let report = simulate(&rules, &traffic, Options::default(), &mut counting).unwrap();
    for strategy in &report.strategies {
        assert_eq!(counting.decided[&strategy.name], (strategy.admitted, strategy.denied));
        assert_eq!(strategy.bins.iter().map(|bin| bin.admitted).sum::<u64>(), strategy.admitted);
    }
    assert!((START_US..START_US + 300 * SECOND).contains(&counting.last_us));
}

#[test]
fn a_run_that_is_ended_keeps_what_there_is_of_all_strategies() {
    let rules = compared(&["gcra", "decay"]);
    let traffic = Traffic::parse(&["steady:for=100s"], &rules).unwrap();
    let mut counting = Counting { end_after: Some(START_US + 30 * SECOND), ..Counting::default() };
    let report = simulate(&rules, &traffic, Options::default(), &mut counting).unwrap();
    assert!(report.interrupted && (30..31).contains(&(report.length_us / SECOND)));
    assert!(report.strategies.iter().all(|strategy| strategy.calls() >= 60));
}

#[test]
fn a_seed_fixes_the_run() {
    let rules = compared(&["gcra"]);
    let traffic = Traffic::parse(&["poisson:keys=9,for=5m"], &rules).unwrap();
    let run = |seed| {
        let options = Options { seed, ..Options::default() };
        simulate(&rules, &traffic, options, &mut ()).unwrap()
    };
    let bins = |seed| run(seed).strategies.remove(0).bins;
    assert_eq!(bins(1), bins(1));
    assert_ne!(bins(1), bins(2));
    // So that a run can be made again from what it left.
    assert!(run(2).json().contains("\"seed\":2") && page(&run(2)).contains(", seed 2;"));
}

#[test]
fn obedient_clients_wait_for_retry_after() {
    let rules = Rules::from_json(&compare(&["uniform"], 1, 10 * SECOND, None).unwrap()).unwrap();
    let report = run(&rules, &["obedient:clients=2,keys=1,rate=1000/s,pick=turn,for=1000s"]);
    let waits = report.strategies[0].waits.unwrap();
    // Two clients share one call every 10 seconds.
    assert_eq!(waits.calls, 100);
    assert!((19 * SECOND..21 * SECOND).contains(&waits.p50_us), "{}", waits.p50_us);
    assert!(report.strategies[0].longest_denial_run <= 2);
}

#[test]
fn rules_that_limit_resources_get_one() {
    let text = r#"[{"rule_id": "r", "algorithm": "sliding_log", "limits": [
        {"limit": 5, "window_size_seconds": 10, "scope": "resource"},
        {"limit": 3, "window_size_seconds": 10}]}]"#;
    let rules = Rules::from_json(text).unwrap();
    let report = run(&rules, &["steady:rate=10/s,keys=9,for=1m"]);
    let limits = &report.strategies[0].limits;
    assert_eq!((limits[0].worst.count, limits[0].worst.ratio), (5, 1.0));
    assert!(limits[1].worst.count <= 3);
}

#[test]
fn what_a_rule_in_shadow_would_deny_is_denied() {
    let text =
        r#"[{"rule_id": "r", "limit": 5, "window_size_seconds": 10, "algorithm": "gcra", "shadow": true}]"#;
    let report = run(&Rules::from_json(text).unwrap(), &["steady:rate=10/s,for=10s"]);
    assert_eq!((report.strategies[0].admitted, report.strategies[0].denied), (9, 91));
}

#[test]
fn no_traffic_is_an_empty_report() {
    let rules = compared(&["gcra"]);
    for specs in [&[][..], &["steady:for=0s"]] {
        let report = run(&rules, specs);
        assert!(report.is_empty() && !report.interrupted && report.strategies.len() == 1);
    }
}

#[test]
fn bins_are_round_and_not_too_many() {
    assert_eq!(width(3_600 * SECOND, None).unwrap(), 10 * SECOND);
    assert_eq!(width(60 * SECOND, Some(SECOND)).unwrap(), SECOND);
    let error = width(3_600 * SECOND, Some(100)).unwrap_err();
    assert_eq!(error.message(), "bins of 100 us are too narrow for this run: use 36001 us or more");
}
