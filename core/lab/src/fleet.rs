//! Several processes that borrow units of one server, with the code that decides in production.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use sluicegate::Result;
use sluicegate::internal::{BorrowingProcess, Lender, LoanReply, LoanRequest, ProcessDecision, UnspentUnits};
use sluicegate::rules::{Rule, Rules};

use super::random::Random;

/// From the server's decision to the process.
const TRIP_US: u64 = 500;
/// Tells the numbers by which processes are chosen from those of the traffic.
const STREAM: u64 = 0x6c65_6173_6573;

/// How calls are divided among the processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Division {
    /// Each is as likely as any other.
    Even,
    /// The second is twice as likely as the first, the third three times, and so on.
    Skewed,
}

/// Processes that decide by one rule. Times are microseconds since 1970.
#[derive(Debug)]
pub(super) struct Fleet<'a> {
    rule: &'a Arc<Rule>,
    division: Division,
    pub(super) count: u64,
    random: Random,
    /// A key that nobody has asked for yet.
    unknown: Lender,
    keys: HashMap<&'a str, LeasedKey>,
    pub(super) requests: u64,
}

/// A key, as the server and every process know it.
#[derive(Debug)]
struct LeasedKey {
    lender: Lender,
    processes: Vec<Member>,
    /// Lent, and not yet spent.
    borrowed: u64,
}

#[derive(Debug)]
struct Member {
    process: BorrowingProcess,
    /// Replies under way: when they arrive, to which request.
    replies: VecDeque<(u64, LoanRequest, LoanReply)>,
}

/// What a process decided, or the server for it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Verdict {
    pub(super) allowed: bool,
    pub(super) remaining: u64,
    pub(super) retry_after_us: Option<u64>,
    /// What was lent of the key, and not yet spent, before the call.
    pub(super) borrowed: u64,
}

impl<'a> Fleet<'a> {
    /// `None`: the rule has no `lease`, or it has no effect.
    pub(super) fn new(
        rule: &'a Arc<Rule>,
        rules: &Rules,
        (count, division): (u64, Division),
        seed: u64,
    ) -> Result<Option<Self>> {
        if rule.lease.is_none() || rule.shadow || count == 0 {
            return Ok(None);
        }
        let (random, lender) = (Random::stream(seed, STREAM), Lender::new(rules, &rule.id)?);
        Ok(lender.map(|unknown| Self {
            rule,
            division,
            count,
            random,
            unknown,
            keys: HashMap::new(),
            requests: 0,
        }))
    }

    /// What tells it from others of its rule.
    pub(super) fn name(&self) -> &'static str {
        if self.division == Division::Even { "even" } else { "skewed" }
    }

    fn pick(&mut self) -> usize {
        let number = match self.division {
            Division::Even => self.random.below(self.count),
            Division::Skewed => {
                let mut share = self.random.below(self.count * (self.count + 1) / 2);
                let mut number = 0;
                while share > number {
                    share -= number + 1;
                    number += 1;
                }
                number
            }
        };
        number as usize
    }

    /// One of the processes decides a call.
    pub(super) fn decide(&mut self, now_us: u64, key: &'a str, cost: u64) -> Verdict {
        let number = self.pick();
        let key = self.keys.entry(key).or_insert_with(|| {
            let member = || BorrowingProcess::new(self.rule, now_us).map(Member::new);
            let processes = (0..self.count).filter_map(|_| member()).collect();
            LeasedKey { lender: self.unknown.clone(), processes, borrowed: 0 }
        });
        key.advance(now_us);
        let borrowed = key.borrowed;
        let (allowed, remaining, retry_after_us) = match key.processes[number].process.check(now_us, cost) {
            ProcessDecision::Spent(left) => {
                key.borrowed -= cost;
                (true, left, Some(0))
            }
            ProcessDecision::Denied(wait_us) => (false, 0, Some(wait_us)),
            ProcessDecision::Server(request) => {
                self.requests += 1;
                let reply = key.lender.decide(now_us, &request);
                key.borrowed += reply.lent;
                key.processes[number].replies.push_back((now_us + TRIP_US, request, reply));
                (reply.allowed, reply.remaining, reply.retry_after_us)
            }
        };
        Verdict { allowed, remaining, retry_after_us, borrowed }
    }
}

impl Member {
    fn new(process: BorrowingProcess) -> Self {
        Self { process, replies: VecDeque::new() }
    }
}

impl LeasedKey {
    /// Replies arrive, and what was not spent in time is given back.
    fn advance(&mut self, now_us: u64) {
        let mut returned: Vec<UnspentUnits> = Vec::new();
        for member in &mut self.processes {
            while let Some((at_us, request, reply)) = member.replies.pop_front_if(|reply| reply.0 <= now_us) {
                returned.extend(member.process.receive(at_us, &request, &reply));
            }
            returned.extend(member.process.end(now_us));
        }
        for unspent in returned {
            self.borrowed -= unspent.count();
            self.lender.take_back(now_us, unspent);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_are_picked_evenly_or_by_their_number() {
        let rules = Rules::from_json(r#"[{"rule_id": "r", "rate": "1000/s", "lease": {}}]"#).unwrap();
        let picked = |division| {
            let mut fleet =
                Fleet::new(rules.iter().next().unwrap(), &rules, (4, division), 1).unwrap().unwrap();
            let mut counts = [0; 4];
            (0..100_000).for_each(|_| counts[fleet.pick()] += 1);
            counts.map(|count| (f64::from(count) / 2_000.0).round() as u32)
        };
        // Of fifty calls each, within half of one.
        assert!(picked(Division::Even).iter().all(|count| (12..=13).contains(count)));
        assert_eq!(picked(Division::Skewed), [5, 10, 15, 20]);
    }
}
