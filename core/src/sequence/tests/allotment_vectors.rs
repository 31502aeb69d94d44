//! The vectors of `tests/vectors/allotments`, whose README describes them: scripts and pure functions answer as they say.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use redis::Value;
use serde_json::Value as Json;

use super::allotment::{as_numbers, numbers, together};
use super::server::Server;
use crate::algorithm::{Micros, Policy, State};
use crate::catalog::{Catalog, Share};
use crate::keys::secret::SecretNames;
use crate::plan::{Op, Outcome, Plan};
use crate::regions::Deposit;
use crate::regions::allotment::{Allotment, Asked, LoanTerms, Spending, spend_together};
use crate::regions::lending::lend;
use crate::request::{Check, CheckOptions};
use crate::rules::Rules;
use crate::sequence::Borrower;

const KEY: &str = "alice";
/// Limits of the near region, of which one has always room, and one never.
const NEAR: &str = r#"{"rule_id": "open", "rate": "1000000/s"}, {"rule_id": "shut", "rate": "1/day"}"#;
const VERDICTS: [&str; 3] = ["denied", "spent", "elsewhere"];

fn vectors(file: &str) -> Vec<Json> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/vectors/allotments");
    let text = fs::read_to_string(folder.join(file)).unwrap();
    let Json::Object(mut file) = serde_json::from_str(&text).unwrap() else { panic!("{text}") };
    let Some(Json::Array(vectors)) = file.remove("vectors") else { panic!("{text}") };
    vectors
}

fn catalog(vector: &Json) -> Catalog {
    let rules = format!("[{}, {NEAR}]", vector["rules"][0]);
    Catalog::new(Rules::from_json(&rules).unwrap(), SecretNames::default(), Share::default())
}

fn number(of: &Json, name: &str) -> f64 {
    of[name].as_f64().unwrap_or(0.0)
}

/// The reply that says the same.
fn expected(said: &Json, at: f64) -> Vec<f64> {
    let verdict = VERDICTS.iter().position(|verdict| said["verdict"] == *verdict).unwrap();
    let figures = ["left", "wait", "fresh", "want"].map(|name| number(said, name));
    let ended =
        said["ended"].as_array().unwrap().iter().flat_map(|loan| [0, 1].map(|at| loan[at].as_f64().unwrap()));
    [verdict as f64, at].into_iter().chain(figures).chain(ended).collect()
}

fn asked(item: &Json, terms: &LoanTerms) -> (Asked, LoanTerms) {
    let cost = number(item, "cost");
    (item["there"].as_bool().map_or(Asked::near(cost, terms), |there| Asked::after(cost, there)), *terms)
}

fn deposit(step: &Json) -> Deposit {
    let number = |name| number(step, name);
    Deposit {
        granted: number("granted"),
        granted_at: number("granted_at"),
        valid_until: number("valid_until"),
        denied_until: number("denied_until"),
        denied_cost: number("denied_cost"),
        contended_until: number("contended_until"),
        fits_at: number("fits_at"),
        fresh_at: number("fresh_at"),
    }
}

/// A region that borrows: by the pure functions, and on a server.
struct Region<'a> {
    server: &'a mut Server,
    catalog: Catalog,
    allotments: HashMap<String, Allotment>,
}

impl Region<'_> {
    fn play(&mut self, step: &Json, case: &str) {
        let (now, trip) = (step["at_us"].as_i64().unwrap(), number(step, "trip_us"));
        let checks = [Check::new("api", KEY)];
        let plan = Plan::new(&self.catalog, &checks, Op::Check).unwrap();
        let charge = &plan.charges[0];
        let age = charge.rule.rule.global_us.unwrap() as f64;
        let most = charge.policy.most() as f64;
        let terms = LoanTerms { most, age, span: age.max(2e6), trip, pace: 20_000.0 };
        let borrower = Borrower::new(charge, &self.server.wire.prefix, trip as Micros, Some(now)).unwrap();
        match step["op"].as_str().unwrap() {
            "deposit" => {
                let (deposit, at) = (deposit(step), now as f64);
                let allotment = self.allotments.entry(KEY.to_owned()).or_insert_with(|| Allotment::fresh(at));
                let dropped = number(&step["expect"], "dropped");
                assert_eq!(allotment.deposit(at, &deposit, &terms), dropped, "{case}");
                assert_eq!(numbers(&self.server.send(&borrower.deposit(&deposit))), [dropped], "{case}");
            }
            "spend" => {
                let own = [(KEY, &step["expect"], asked(step, &terms))];
                self.spend(now, &own, true, case);
                let reply = self.server.send(&borrower.spend(number(step, "cost")));
                assert_eq!(numbers(&reply), expected(&step["expect"], now as f64), "{case}");
            }
            _ => self.spend_together(now, step, &terms, case),
        }
    }

    /// By the pure functions.
    fn spend(
        &mut self,
        now: Micros,
        items: &[(&str, &Json, (Asked, LoanTerms))],
        others_fit: bool,
        case: &str,
    ) {
        let known = |(key, ..): &(&str, &Json, _)| self.allotments.get(*key).cloned();
        let mut allotments: Vec<_> =
            items.iter().map(|item| known(item).unwrap_or_else(|| Allotment::fresh(now as f64))).collect();
        let asked: Vec<_> = items.iter().map(|(_, _, asked)| *asked).collect();
        let spent = spend_together(&mut allotments, now as f64, &asked, others_fit);
        let is_open = spent.iter().any(|spent| spent.spending == Spending::Elsewhere);
        for (((key, said, _), spent), allotment) in items.iter().zip(&spent).zip(allotments) {
            assert_eq!(as_numbers(spent, now as f64), expected(said, now as f64), "{case}, {key}");
            // What is not touched is not known yet.
            if !is_open || spent.spending == Spending::Elsewhere {
                self.allotments.insert((*key).to_owned(), allotment);
            }
        }
    }

    fn spend_together(&mut self, now: Micros, step: &Json, terms: &LoanTerms, case: &str) {
        let (items, said) = (step["items"].as_array().unwrap(), step["expect"]["items"].as_array().unwrap());
        let items: Vec<_> = items
            .iter()
            .zip(said)
            .map(|(item, said)| (item["key"].as_str().unwrap(), said, asked(item, terms)))
            .collect();
        let others_fit = step["others_fit"].as_bool().unwrap();
        self.spend(now, &items, others_fit, case);
        let near = Check::new(if others_fit { "open" } else { "shut" }, "near");
        let checks: Vec<_> = items
            .iter()
            .map(|(key, ..)| Check::new("api", key))
            .chain([near.with(CheckOptions::new().cost(if others_fit { 1 } else { 2 }))])
            .collect();
        let plan = Plan::new(&self.catalog, &checks, Op::Check).unwrap();
        let (near, charges) = plan.charges.split_last().unwrap();
        let prefix = &self.server.wire.prefix;
        let borrowers: Vec<_> = charges
            .iter()
            .map(|charge| Borrower::new(charge, prefix, terms.trip as Micros, Some(now)).unwrap())
            .collect();
        let asked: Vec<_> = items.iter().map(|(_, _, asked)| *asked).collect();
        let reply = self.server.send(&together(near, &borrowers, &asked, now));
        let Value::Array(replies) = reply else { panic!("{case}: {reply:?}") };
        for (reply, (key, said, _)) in replies[1..].iter().zip(&items) {
            assert_eq!(numbers(reply), expected(said, now as f64), "{case}, {key}");
        }
    }
}

#[test]
fn allotments_are_spent_and_filled_as_the_vectors_say() {
    let mut server = Server::start();
    let vectors: Vec<_> = ["spent.json", "random.json"].into_iter().flat_map(vectors).collect();
    for vector in &vectors {
        let id = vector["id"].as_str().unwrap();
        server.wire.prefix = id.to_owned();
        let mut region = Region { server: &mut server, catalog: catalog(vector), allotments: HashMap::new() };
        for (place, step) in vector["steps"].as_array().unwrap().iter().enumerate() {
            region.play(step, &format!("{id}, step {place}"));
        }
    }
    assert!(vectors.len() > 20);
}

/// What the pure function does at the region in charge.
fn lend_purely(
    policy: &Policy,
    state: &mut State,
    now: Micros,
    (own, want): (Option<f64>, f64),
) -> (f64, Option<bool>) {
    // A server keeps nothing of a key that is as if never seen.
    if policy.reset_after(state, now) == 0 {
        *state = policy.fresh(now);
    }
    let (lent, outcome) = lend(policy, state, now, own, want);
    (lent, outcome.as_ref().map(is_admitted))
}

fn is_admitted(outcome: &Outcome) -> bool {
    outcome.fits
}

#[test]
fn the_region_in_charge_lends_as_the_vectors_say() {
    let mut server = Server::start();
    let vectors = vectors("lent.json");
    for vector in &vectors {
        let (id, catalog) = (vector["id"].as_str().unwrap(), catalog(vector));
        server.wire.prefix = id.to_owned();
        let checks = [Check::new("api", KEY)];
        let plan = Plan::new(&catalog, &checks, Op::Check).unwrap();
        let policy = plan.charges[0].policy.as_ref();
        let mut state = None;
        for (place, step) in vector["steps"].as_array().unwrap().iter().enumerate() {
            let (now, case) = (step["at_us"].as_i64().unwrap(), format!("{id}, step {place}"));
            let (own, want) = (step["own"].as_f64(), number(step, "want"));
            let said = (number(&step["expect"], "lent"), step["expect"]["allowed"].as_bool());
            let state = state.get_or_insert_with(|| policy.fresh(now));
            assert_eq!(lend_purely(policy, state, now, (own, want)), said, "{case}");
            let borrower = Borrower::new(&plan.charges[0], &server.wire.prefix, 0, Some(now)).unwrap();
            let reply = server.send(&borrower.lend(own, want));
            let (loan, outcome) = borrower.lent(reply, own, (want, now)).unwrap();
            assert_eq!((loan.granted, outcome.as_ref().map(is_admitted)), said, "{case}");
        }
    }
    assert_eq!(vectors.len(), 5);
}
