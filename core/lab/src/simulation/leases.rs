//! Processes that borrow units of a key.

use super::*;
use crate::plot::{Picture, page};
use crate::{ExcessReport, StrategyReport};

/// Steady calls, and bursts that come when much is borrowed and the bucket is full again.
const BURSTS: [&str; 2] =
    ["poisson:rate=6000/s,for=3s", "burst:size=1800,every=1200ms,spread=40ms,from=400ms,for=3s"];
const SECOND: u64 = 1_000_000;
const OVERLOAD: [&str; 1] = ["poisson:rate=20000/s,for=2s"];

fn leased(algorithm: &str, max_age_ms: u64) -> Rules {
    let text = format!(
        r#"[{{"rule_id": "tenant", "algorithm": "{algorithm}", "limit": 10000, "window_size_seconds": 1,
            "lease": {{"max_age_ms": {max_age_ms}, "pace_ms": 10}}}}]"#
    );
    let burst = if algorithm == "gcra" { r#""burst": 1000, "lease""# } else { r#""lease""# };
    Rules::from_json(&text.replace(r#""lease""#, burst)).unwrap()
}

fn run(rules: &Rules, specs: &[&str], options: Options) -> Report {
    simulate(rules, &Traffic::parse(specs, rules).unwrap(), options, &mut ()).unwrap()
}

fn excess(strategy: &StrategyReport) -> &ExcessReport {
    strategy.excess.as_ref().unwrap()
}

#[test]
fn what_processes_admit_stays_within_the_bound() {
    let (mut most, mut served) = (0.0, 0);
    for specs in [&BURSTS[..], &OVERLOAD] {
        for max_age_ms in [20, 100] {
            let report = run(&leased("gcra", max_age_ms), specs, Options::default());
            let [exact, even, skewed] = &report.strategies[..] else { panic!("{}", report.strategies.len()) };
            assert!(excess(exact).most <= 1.0);
            for strategy in [even, skewed] {
                let it = excess(strategy);
                // Less than one unit is admitted before it has leaked.
                assert!(it.beyond_bound < 1.0 && it.most < it.bound + 1.0, "{}: {it:?}", strategy.name);
                most = f64::max(most, it.most / it.bound);
                served += strategy.calls() - strategy.borrowing.unwrap().requests;
            }
        }
    }
    assert!(most > 0.2 && served > 100_000, "{most} of the bound was used, {served} calls decided by leases");
}

/// Units that processes keep for longer than the rule says are admitted beyond the bound.
#[test]
fn processes_that_keep_units_for_too_long_exceed_the_bound() {
    let (rules, kept) = (leased("gcra", 20), leased("gcra", 200));
    let (rule, rule_of_processes) = (rules.iter().next().unwrap(), kept.iter().next().unwrap());
    let (traffic, options) = (Traffic::parse(&BURSTS, &rules).unwrap(), Options::default());
    let tally = Tally::new(rule, 10_000, 1_000);
    let lane = RuleRun::new(rule, &rules, &traffic, &options, tally).unwrap();
    let fleet = Fleet::new(rule_of_processes, &kept, (10, Division::Even), 1).unwrap().unwrap();
    let mut lanes = [lane.by_fleet(fleet)];
    in_virtual_time(&mut lanes, traffic.length_us(), &mut ()).unwrap();
    let [lane] = lanes;
    let excess = lane.into_tally().limits.remove(0).excess.unwrap();
    assert!(excess.beyond > 10.0, "{} beyond the bound", excess.beyond);
}

#[test]
fn windows_are_never_exceeded() {
    let report =
        run(&leased("fixed_window", 20), &OVERLOAD, Options { bin_us: Some(SECOND), ..Options::default() });
    assert_eq!(report.strategies.len(), 3);
    for strategy in &report.strategies {
        assert!(strategy.bins.iter().all(|bin| bin.cost <= 10_000), "{}", strategy.name);
        assert!(strategy.excess.is_none());
    }
}

#[test]
fn only_rules_with_leases_have_processes_and_only_if_they_are_wanted() {
    let names = |rules: &Rules, processes| {
        let report = run(rules, &["steady:rate=100/s,for=1s"], Options { processes, ..Options::default() });
        report.strategies.into_iter().map(|strategy| strategy.name).collect::<Vec<_>>()
    };
    let rules = leased("gcra", 20);
    assert_eq!(names(&rules, 10), ["tenant", "tenant-even", "tenant-skewed"]);
    assert_eq!(names(&rules, 0), ["tenant"]);
    let plain = Rules::from_json(r#"[{"rule_id": "plain", "rate": "100/s"}]"#).unwrap();
    assert_eq!(names(&plain, 10), ["plain"]);
}

#[test]
fn pictures_show_what_is_beyond() {
    let report = run(&leased("gcra", 20), &BURSTS, Options::default());
    let picture = Picture::Excess.svg(&report);
    assert_eq!((picture.matches("of 2 %").count(), picture.matches("of 0 %").count()), (2, 1));
    assert!(page(&report).contains("Admitted beyond burst and refill"));
}
