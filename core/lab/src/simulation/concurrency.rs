//! Rules that limit how many calls are under way.

use super::*;
use crate::Call;
use crate::plot::{Picture, page};

const SECOND: u64 = 1_000_000;

fn jobs(limit: u64, more: &str) -> Rules {
    let text = format!(r#"[{{"rule_id": "jobs", "algorithm": "concurrency", "limit": {limit}{more}}}]"#);
    Rules::from_json(&text).unwrap()
}

fn run(rules: &Rules, spec: &str) -> Report {
    simulate(rules, &Traffic::parse(&[spec], rules).unwrap(), Options::default(), &mut ()).unwrap()
}

fn given(calls: &[(u64, Option<u64>)]) -> Traffic {
    let call = |&(at_us, duration_us)| Call { at_us, key: "k".into(), cost: 1, duration_us };
    Traffic::given(calls.iter().map(call))
}

#[test]
fn a_call_holds_its_place_until_it_ends() {
    // The third comes while two are under way; the fourth at the moment at which the first ends.
    let calls = given(&[(0, Some(10)), (2, Some(20)), (5, Some(1)), (10, Some(5)), (30, Some(1))]);
    let report = simulate(&jobs(2, ""), &calls, Options::default(), &mut ()).unwrap();
    let strategy = &report.strategies[0];
    assert_eq!((strategy.admitted, strategy.denied), (4, 1));
    assert_eq!((strategy.worst().count, strategy.worst().ratio, strategy.worst().at_us), (2, 1.0, 2));
    assert!(strategy.limits[0].is_of_concurrency() && strategy.worst().exact);
    // A bin is a microsecond here: what is under way shows also where no call comes.
    let fullest: Vec<_> = strategy.bins.iter().map(|bin| bin.fullest).collect();
    assert_eq!((fullest[1], fullest[3], fullest[16], fullest[22], fullest[23]), (0.5, 1.0, 0.5, 0.5, 0.0));
}

#[test]
fn what_is_left_open_follows_the_time_that_calls_take() {
    // Twice what the limit lets through, for ten times that time: Little's law says that half is admitted.
    let report = run(&jobs(20, ""), "poisson:duration=500ms");
    assert_eq!((report.length_us, run(&jobs(20, ""), "poisson").length_us), (5 * SECOND, 10 * SECOND));
    let strategy = &report.strategies[0];
    assert_eq!(strategy.worst().ratio, 1.0);
    assert!((180..=240).contains(&strategy.admitted) && strategy.denied > 100, "{strategy:?}");
}

#[test]
fn durations_are_drawn_and_the_same_every_time() {
    let spec = "poisson:rate=50/s,duration=exp(200ms),keys=3,for=20s";
    let [one, other] = [run(&jobs(3, ""), spec), run(&jobs(3, ""), spec)];
    assert_eq!(one.json(), other.json());
    assert_eq!(one.strategies[0].worst().ratio, 1.0);
    assert_ne!(one.json(), run(&jobs(3, ""), "poisson:rate=50/s,duration=200ms,keys=3,for=20s").json());
}

/// A call that takes longer than its lease, and renews nothing, loses its place: more than the limit are under way.
#[test]
fn calls_longer_than_their_lease_exceed_the_limit() {
    let report = run(&jobs(2, r#", "lease_seconds": 1"#), "steady:rate=10/s,duration=3s,for=20s");
    assert_eq!(report.strategies[0].worst().count, 6);
}

#[test]
fn clients_make_one_call_at_a_time() {
    // 3 clients whose calls take a second: there is room for all of them, and none waits.
    let report = run(&jobs(3, ""), "greedy:clients=3,keys=1,duration=1s,for=10s");
    assert_eq!((report.strategies[0].denied, report.strategies[0].worst().count), (0, 3));
    assert!((27..=30).contains(&report.strategies[0].admitted));
}

#[test]
fn calls_without_a_duration_are_refused() {
    let calls = given(&[(0, Some(1)), (1, None)]);
    let error = simulate(&jobs(2, ""), &calls, Options::default(), &mut ()).unwrap_err();
    assert_eq!(
        error.message(),
        "call 2 has no duration: rule \"jobs\" limits how many are under way (give each call the time that it takes)"
    );
}

#[test]
fn resources_have_places_of_their_own() {
    let text = r#"[{"rule_id": "printer", "algorithm": "concurrency", "limits":
        [{"limit": 1}, {"limit": 2, "scope": "resource"}]}]"#;
    let rules = Rules::from_json(text).unwrap();
    let report = run(&rules, "poisson:rate=50/s,keys=9,resources=2,duration=1s,for=20s");
    let worst = |number: usize| report.strategies[0].limits[number].worst.count;
    assert_eq!((worst(0), worst(1)), (1, 2));
}

#[test]
fn pictures_show_what_is_under_way() {
    let report = run(&jobs(20, ""), "poisson:duration=500ms,for=20s");
    let windows = Picture::Windows.svg(&report);
    assert!(windows.contains("20 at once") && windows.contains("what one key had under way"));
    assert!(Picture::Cumulative.svg(&report).contains("without a bound per time"));
    let page = page(&report);
    assert!(page.contains("20 at once") && !page.contains("inf") && !page.contains("NaN"));
}
