//! Checks of several items, some of which other regions are in charge of, one script at a time.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::{BorrowingTogether, CallSettings, ScriptSequence};
use super::failed;
use super::server::{Server, catalog, check};
use crate::algorithm::Micros;
use crate::catalog::Catalog;
use crate::options::Hidden;
use crate::plan::{Op, Plan};
use crate::regions::RegionMap;

const NOW: Micros = 1_700_000_000_000_000;
const RULES: &str = r#"[
    {"rule_id": "day", "algorithm": "fixed_window", "limit": 10, "window_size_seconds": 86400, "global": {}},
    {"rule_id": "near", "rate": "3/day"},
    {"rule_id": "plans", "rate": "9/day", "overrides": true}
]"#;

/// One server stands for those of all regions: an allotment and a state have names of their own.
fn world() -> (Server, CallSettings, Catalog) {
    let server = Server::start();
    let urls: BTreeMap<_, _> =
        ["eu", "us"].map(|name| (name.to_owned(), Hidden("memory://".to_owned()))).into();
    let regions = Some(Arc::new(RegionMap::new(&urls, Some("eu"), None).unwrap()));
    let wire = CallSettings { cluster: false, near_cluster: false, regions, ..server.wire.clone() };
    (server, wire, catalog(RULES))
}

/// Keys of which the other region is in charge.
fn away(wire: &CallSettings, count: usize) -> Vec<String> {
    let is_away = |key: &String| wire.regions.as_ref().is_some_and(|map| map.elsewhere("day", key).is_some());
    (0..).map(|number: u64| number.to_string()).filter(is_away).take(count).collect()
}

fn begin<'a>(plan: &'a Plan<'a>, wire: &'a CallSettings) -> Option<BorrowingTogether<'a>> {
    BorrowingTogether::new(plan, wire, Op::Check, Some(NOW), |_| 40_000)
}

fn ask_near(sequence: &mut BorrowingTogether<'_>, server: &mut Server) {
    let reply = server.send(&sequence.next().unwrap());
    sequence.feed(Ok(reply));
}

/// What it would keep of each item, and how it decides.
fn end(sequence: BorrowingTogether<'_>) -> (Option<Vec<bool>>, Vec<f64>) {
    let (decided, loans) = sequence.finish();
    let kept = loans.iter().map(|(_, _, later)| later.lent.as_ref().map_or(0.0, |lent| lent.granted));
    (decided.ok().map(|decided| decided.outcomes.iter().map(|it| it.fits).collect()), kept.collect())
}

#[test]
fn the_regions_in_charge_are_asked_and_then_the_near_server_decides() {
    let (mut server, wire, catalog) = world();
    let keys = away(&wire, 2);
    for (cost, admitted, kept) in [(2, true, [0.0; 2]), (2, false, [2.0, 4.0])] {
        let checks = [check("day", &keys[0], 2), check("near", "k", cost), check("day", &keys[1], 4)];
        let plan = Plan::new(&catalog, &checks, Op::Check).unwrap();
        let mut sequence = begin(&plan, &wire).unwrap();
        ask_near(&mut sequence, &mut server);
        let asks = sequence.asks();
        assert_eq!(asks.iter().map(|(region, _)| *region).collect::<Vec<_>>(), [1, 1], "both at once");
        assert!(sequence.next().is_none(), "the near server waits for them");
        sequence.answered(asks.iter().map(|(_, call)| Ok(server.send(call))).collect());
        ask_near(&mut sequence, &mut server);
        assert!(sequence.next().is_none() && sequence.asks().is_empty());
        assert_eq!(end(sequence), (Some(vec![true, admitted, true]), kept.to_vec()));
    }
}

#[test]
fn what_was_charged_for_a_call_that_fails_is_kept_for_others() {
    let (mut server, wire, catalog) = world();
    let keys = away(&wire, 2);
    let checks = [check("day", &keys[0], 2), check("day", &keys[1], 4)];
    let plan = Plan::new(&catalog, &checks, Op::Check).unwrap();
    // The second region cannot be reached, or the near server after both have charged.
    for (is_away, cut_off, kept) in [(true, vec![1], [2.0, 0.0]), (false, vec![], [2.0, 4.0])] {
        let mut sequence = begin(&plan, &wire).unwrap();
        ask_near(&mut sequence, &mut server);
        let mut replies: Vec<_> = sequence.asks().iter().map(|(_, call)| Ok(server.send(call))).collect();
        if is_away {
            replies[1] = Err(failed("away"));
        }
        sequence.answered(replies);
        if !is_away {
            sequence.feed(Err(failed("away")));
        }
        assert!(sequence.next().is_none() && sequence.asks().is_empty());
        assert_eq!(sequence.cut_off(), cut_off);
        assert_eq!(end(sequence), (None, kept.to_vec()));
    }
}

#[test]
fn what_only_the_region_in_charge_can_decide_makes_all_decide_there() {
    let (_server, wire, catalog) = world();
    let key = &away(&wire, 1)[0];
    let is_borrowed = |wire: &CallSettings, others: [(&str, &str); 2]| {
        let checks =
            [check("day", key, 1), check(others[0].0, others[0].1, 1), check(others[1].0, others[1].1, 1)];
        begin(&Plan::new(&catalog, &checks, Op::Check).unwrap(), wire).is_some()
    };
    assert!(is_borrowed(&wire, [("near", "k"), ("near", "l")]));
    assert!(!is_borrowed(&wire, [("near", "k"), ("plans", "k")]), "limits of single keys");
    let far_cluster = CallSettings { cluster: true, ..wire.clone() };
    assert!(is_borrowed(&far_cluster, [("near", "k"), ("near", "l")]), "several slots of another region");
    let cluster = CallSettings { near_cluster: true, ..far_cluster };
    assert!(is_borrowed(&cluster, [("near", key), ("near", key)]), "one slot");
    assert!(!is_borrowed(&cluster, [("near", "k"), ("near", "l")]), "several slots");
}
