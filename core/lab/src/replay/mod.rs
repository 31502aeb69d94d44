//! Requests of the past, decided as rules would have decided them.

mod under_way;

use std::collections::HashMap;

use sluicegate::internal;
use sluicegate::rules::{RuleId, Rules};
use sluicegate::{Check, Decision, ManualClock, RateLimiter, Request, RequestMatch, Result, Usage};
use under_way::{HeldByRequest, HeldItem, UnderWay};

use super::observer::{Observer, Record};
use super::report::{Report, Requests, RunEnd};
use super::tally::{CountedCall, Tally};
use super::traffic::CallDuration;

/// The first width of bins, and the most of them: a replay does not know how long it will be.
const BIN_US: u64 = 1_000_000;
const MOST_BINS: usize = 1200;

/// Decides requests one by one.
#[derive(Debug)]
pub struct Replay {
    limiter: RateLimiter,
    clock: ManualClock,
    numbers: HashMap<RuleId, usize>,
    tallies: Vec<Tally>,
    start_us: Option<u64>,
    now_us: u64,
    requests: Requests,
    under_way: UnderWay,
}

impl Replay {
    /// A replay by these rules: as in production, where every rule that applies to a request decides with the
    /// others, or each `apart`, to compare them. A rule of `concurrency` needs to know how long requests are under way:
    /// `duration` is that of requests that do not tell it.
    ///
    /// # Errors
    /// As those of a limiter in memory.
    pub fn new(
        rules: &Rules,
        apart: bool,
        bin_us: Option<u64>,
        duration: Option<CallDuration>,
    ) -> Result<Self> {
        let clock = ManualClock::default();
        let width_us = bin_us.unwrap_or(BIN_US);
        Ok(Self {
            limiter: RateLimiter::builder("memory://").rules(rules.clone()).clock(clock.clone()).build()?,
            clock,
            numbers: rules.iter().zip(0..).map(|(rule, number)| (rule.id.clone(), number)).collect(),
            tallies: rules.iter().map(|rule| Tally::new(rule, width_us, MOST_BINS)).collect(),
            start_us: None,
            now_us: 0,
            requests: Requests { apart, ..Requests::default() },
            under_way: UnderWay::new(rules, duration),
        })
    }

    /// Decides a request that came at a time since 1970 and was under way for `duration_us`, if that is known, and
    /// answers whether it would have been admitted. One that is older than one before it is taken to have come with it.
    ///
    /// # Errors
    /// [`InvalidArgument`](sluicegate::ErrorKind::InvalidArgument) for a request that is none, as
    /// [`check_request`](RateLimiter::check_request), or whose duration is needed and not known; it is not counted.
    pub fn request(
        &mut self,
        at_us: u64,
        duration_us: Option<u64>,
        request: &Request<'_>,
        observer: &mut impl Observer,
    ) -> Result<bool> {
        let matches = self.limiter.match_request(request)?;
        let duration_us = self.under_way.duration_us(&matches, duration_us)?;
        if at_us < self.now_us {
            self.requests.late += 1;
        }
        self.now_us = self.now_us.max(at_us);
        let start = *self.start_us.get_or_insert(self.now_us);
        self.end_until(self.now_us, start)?;
        self.clock.set_us(self.now_us);
        self.requests.total += 1;
        if matches.is_empty() {
            self.requests.unmatched += 1;
            return Ok(true);
        }
        let admitted = match self.requests.apart {
            true => self.each(&matches, duration_us, observer)?,
            false => self.together(&matches, duration_us, observer)?,
        };
        if admitted {
            self.requests.admitted += 1;
        } else {
            self.requests.denied += 1;
        }
        Ok(admitted)
    }

    /// Ends what is under way no longer.
    fn end_until(&mut self, now_us: u64, start_us: u64) -> Result<()> {
        while let Some((end_us, held)) = self.under_way.ended(now_us) {
            self.clock.set_us(end_us);
            self.limiter.commit(&held.reservation, Usage::AsReserved)?;
            for item in &held.items {
                if let Some(number) = self.numbers.get(&item.rule) {
                    let resource = item.resource.as_deref().unwrap_or_default();
                    self.tallies[*number].end(end_us - start_us, &item.key, resource, item.cost);
                }
            }
        }
        Ok(())
    }

    fn together(
        &mut self,
        matches: &[RequestMatch],
        duration_us: Option<u64>,
        observer: &mut impl Observer,
    ) -> Result<bool> {
        let checks: Vec<_> = matches.iter().map(internal::check).collect();
        let decision = match duration_us {
            None => self.limiter.check_all(&checks)?,
            Some(duration_us) => self.reserve(matches, &checks, duration_us)?,
        };
        for ((it, check), part) in matches.iter().zip(&checks).zip(&decision.parts) {
            self.count(it, check, (part, decision.allowed && fits(part)), observer);
        }
        Ok(decision.allowed)
    }

    fn each(
        &mut self,
        matches: &[RequestMatch],
        duration_us: Option<u64>,
        observer: &mut impl Observer,
    ) -> Result<bool> {
        let mut all = true;
        for it in matches {
            let check = internal::check(it);
            let decision = match duration_us.filter(|_| self.under_way.limits(&it.rule_id)) {
                None => self.limiter.check_with(check.rule, check.key, check.options)?,
                Some(duration_us) => {
                    self.reserve(std::slice::from_ref(it), std::slice::from_ref(&check), duration_us)?
                }
            };
            self.count(it, &check, (&decision, fits(&decision)), observer);
            all &= fits(&decision);
        }
        Ok(all)
    }

    /// Reserves, and holds what is granted until the request ends.
    fn reserve(
        &mut self,
        matches: &[RequestMatch],
        checks: &[Check<'_>],
        duration_us: u64,
    ) -> Result<Decision> {
        let reservation = self.limiter.reserve_all(checks)?;
        let decision = reservation.decision().clone();
        if decision.allowed {
            let held = |((it, check), part): ((&RequestMatch, &Check<'_>), &Decision)| {
                (self.under_way.limits(&it.rule_id) && fits(part)).then(|| HeldItem {
                    rule: it.rule_id.clone(),
                    key: it.key.clone(),
                    resource: it.resource.clone(),
                    cost: check.options.cost,
                })
            };
            let items = matches.iter().zip(checks).zip(&decision.parts).filter_map(held).collect();
            self.under_way
                .hold(self.now_us.saturating_add(duration_us), HeldByRequest { reservation, items });
        }
        Ok(decision)
    }

    /// Counts what one rule decided: its decision, and whether the request was admitted as a whole.
    fn count(
        &mut self,
        it: &RequestMatch,
        check: &Check<'_>,
        (decision, admitted): (&Decision, bool),
        observer: &mut impl Observer,
    ) {
        let Some(number) = self.numbers.get(&it.rule_id).copied() else { return };
        let resource = it.resource.as_deref().unwrap_or_default();
        let (key, cost) = (it.key.as_str(), check.options.cost);
        let denied = !fits(decision);
        let at_us = self.now_us - self.start_us.unwrap_or(self.now_us);
        self.tallies[number].add(&CountedCall { at_us, key, resource, cost, admitted, denied, borrowed: 0 });
        observer.decided(&Record {
            strategy: number,
            rule: &it.rule_id,
            at_us: self.now_us,
            key,
            resource: it.resource.as_deref(),
            cost,
            admitted,
            remaining: decision.remaining,
            retry_after: decision.retry_after,
        });
    }

    /// How many requests there were so far.
    pub fn requests(&self) -> u64 {
        self.requests.total
    }

    /// What the requests so far showed.
    pub fn finish(self, interrupted: bool) -> Report {
        let start_us = self.start_us.unwrap_or(0);
        let length_us = self.start_us.map_or(0, |start| self.now_us - start + 1);
        let requests = Some(self.requests);
        let ending = RunEnd { start_us, length_us, interrupted, requests, ..RunEnd::default() };
        Report::new(self.tallies, ending)
    }
}

/// Whether a rule had room; a rule in shadow is looked at for what it would do.
fn fits(part: &Decision) -> bool {
    part.allowed && !part.shadow_denied
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000;

    fn rules() -> Rules {
        Rules::from_json(
            r#"[
            {"rule_id": "address", "algorithm": "sliding_log", "limit": 3, "window_size_seconds": 10,
             "identifier_type": "ip_address", "match": {"path_pattern": "/*"}},
            {"rule_id": "login", "algorithm": "sliding_log", "limit": 1, "window_size_seconds": 10,
             "identifier_type": "global", "match": {"path_pattern": "/login"}},
            {"rule_id": "nobody", "algorithm": "gcra", "limit": 1, "window_size_seconds": 10,
             "identifier_type": "global", "match": {"path_pattern": "/nowhere"}}]"#,
        )
        .unwrap()
    }

    fn replayed(apart: bool) -> Report {
        let mut replay = Replay::new(&rules(), apart, None, None).unwrap();
        for (at, path) in [(5, "/login"), (6, "/login"), (7, "/a"), (6, "/b"), (8, "/c")] {
            replay.request(at * SECOND, None, &Request::new("GET", path).ip("192.0.2.1"), &mut ()).unwrap();
        }
        replay.request(9 * SECOND, None, &Request::new("GET", "/d"), &mut ()).unwrap();
        replay.finish(false)
    }

    #[test]
    fn rules_decide_together_as_in_production() {
        let report = replayed(false);
        let requests = Requests { total: 6, unmatched: 1, admitted: 3, denied: 2, late: 1, apart: false };
        assert_eq!(report.requests, Some(requests));
        let counts = |number: usize| {
            let strategy = &report.strategies[number];
            (strategy.admitted, strategy.denied, strategy.denied_by_others)
        };
        // The second login is denied by its own rule, and charges the address nothing.
        assert_eq!([counts(0), counts(1), counts(2)], [(3, 1, 1), (1, 1, 0), (0, 0, 0)]);
        assert_eq!((report.start_us, report.length_us), (5 * SECOND, 4 * SECOND + 1));
        assert_eq!(report.strategies[0].most_denied[0].key, "192.0.2.1");
    }

    #[test]
    fn rules_apart_are_compared() {
        let report = replayed(true);
        assert_eq!((report.strategies[0].admitted, report.strategies[0].denied), (3, 2));
        assert_eq!((report.strategies[1].admitted, report.strategies[1].denied), (1, 1));
    }

    /// Three requests that take 4 s each, the second of which comes while the first is under way.
    fn in_flight(apart: bool) -> Report {
        let text = r#"[
            {"rule_id": "busy", "algorithm": "concurrency", "limit": 1,
             "identifier_type": "ip_address", "match": {"path_pattern": "/*"}},
            {"rule_id": "often", "algorithm": "sliding_log", "limit": 9, "window_size_seconds": 10,
             "identifier_type": "ip_address", "match": {"path_pattern": "/*"}}]"#;
        let fallback = Some("4s".parse().unwrap());
        let mut replay = Replay::new(&Rules::from_json(text).unwrap(), apart, None, fallback).unwrap();
        let request = Request::new("GET", "/a").ip("192.0.2.1");
        for (at, duration) in [(5, None), (8, None), (9, Some(SECOND)), (10, None)] {
            replay.request(at * SECOND, duration, &request, &mut ()).unwrap();
        }
        replay.finish(false)
    }

    #[test]
    fn requests_under_way_hold_their_places() {
        let counts = |report: &Report| {
            let of = |number: usize| (report.strategies[number].admitted, report.strategies[number].denied);
            (of(0), of(1), report.strategies[0].worst().count)
        };
        // Together, a request that is denied charges nothing.
        assert_eq!(counts(&in_flight(false)), ((3, 1), (3, 0), 1));
        assert_eq!(counts(&in_flight(true)), ((3, 1), (4, 0), 1));
    }

    #[test]
    fn a_request_without_a_duration_is_an_error_where_it_is_needed() {
        let text = r#"[{"rule_id": "busy", "algorithm": "concurrency", "limit": 1, "identifier_type": "global",
            "match": {"path_pattern": "/a"}}]"#;
        let mut replay = Replay::new(&Rules::from_json(text).unwrap(), false, None, None).unwrap();
        let error = replay.request(0, None, &Request::new("GET", "/a"), &mut ()).unwrap_err();
        assert_eq!(
            error.message(),
            "it has no duration, and rule \"busy\" limits how many requests are under way"
        );
        assert!(replay.request(0, None, &Request::new("GET", "/b"), &mut ()).is_ok());
        assert_eq!(replay.requests(), 1);
    }

    #[test]
    fn what_is_no_request_is_an_error_and_not_counted() {
        let mut replay = Replay::new(&rules(), false, None, None).unwrap();
        assert!(replay.request(0, None, &Request::new("GET", ""), &mut ()).is_err());
        assert_eq!(replay.requests(), 0);
        assert!(replay.finish(false).is_empty());
    }
}
