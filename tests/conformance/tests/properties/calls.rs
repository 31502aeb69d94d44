//! Every call there is, in one history: the scripts and the engine in the process answer alike.

use std::sync::atomic::{AtomicU64, Ordering};

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use sluicegate::{ManualClock, RateLimiter, Rules};
use sluicegate_conformance::{Backend, Driver, Limiter, Reservations, act};

use crate::history::{Cost, Jump, any_cost, any_jump, any_start};
use crate::holds;
use crate::rules::{RandomRule, any_rule};
use crate::world::{KEYS, RESOURCES, TIMEOUT};

const NAMES: [&str; 3] = ["first", "second", "third"];
/// How long the answer to a call with a request id is kept.
const KEPT_US: u64 = 60_000_000;
/// Times end here.
const LATEST_US: u64 = 1 << 53;

/// A rule, and what it has beside its limits.
#[derive(Debug, Clone)]
struct Held {
    rule: RandomRule,
    is_concurrency: bool,
    reservations: bool,
    /// Of leases, in windows.
    lease: f64,
    /// Of a first block, in windows, its factor and the longest in multiples of the first; none but by hand.
    block: Option<Option<(f64, f64, f64)>>,
    overrides: bool,
}

impl Held {
    fn lease_us(&self) -> u64 {
        ((self.rule.longest_us() as f64 * self.lease) as u64).max(1_000)
    }

    fn json(&self, id: &str) -> Value {
        let lease = json!(self.lease_us() as f64 / 1e6);
        if self.is_concurrency {
            let limit = self.rule.limits[0].limit;
            let mut json = json!({"rule_id": id, "algorithm": "concurrency", "limit": limit, "lease_seconds": lease,
                "priority": self.rule.priority, "shadow": self.rule.shadow});
            self.add_key_record(json.as_object_mut().unwrap());
            return json;
        }
        let mut json = self.rule.json(id);
        let fields = json.as_object_mut().unwrap();
        self.add_key_record(fields);
        if self.reserves() {
            fields.insert("reservations".into(), json!(true));
            fields.insert("lease_seconds".into(), lease);
        }
        json
    }

    fn add_key_record(&self, fields: &mut Map<String, Value>) {
        match self.block.filter(|_| !self.has_resource()) {
            Some(None) => _ = fields.insert("block".into(), json!({})),
            Some(Some((first, factor, longest))) => {
                let us = ((self.rule.longest_us() as f64 * first) as u64).clamp(1_000, 40 * 86_400_000_000);
                let most = (us as f64 * longest) as u64;
                let block =
                    json!({"seconds": us as f64 / 1e6, "factor": factor, "max_seconds": most as f64 / 1e6});
                fields.insert("block".into(), block);
            }
            None => {}
        }
        if self.stores_limits() {
            fields.insert("overrides".into(), json!(true));
        }
    }

    fn stores_limits(&self) -> bool {
        self.overrides && !self.has_resource() && (self.is_concurrency || self.rule.limits.len() == 1)
    }

    fn reserves(&self) -> bool {
        self.is_concurrency || self.reservations && !self.rule.counts_denied()
    }

    fn has_resource(&self) -> bool {
        self.rule.has_resource() && !self.is_concurrency
    }
}

fn any_held() -> impl Strategy<Value = Held> {
    let lease = prop_oneof![0.01..0.5, 0.5..3.0];
    let factor = prop::sample::select(vec![1.0, 1.5, 2.0, 3.25, 100.0]);
    let block = prop::option::of(prop::option::of((0.01..2.0, factor, 1.0..20.0)));
    let flags = (prop::bool::weighted(0.15), prop::bool::weighted(0.8), prop::bool::weighted(0.6));
    (any_rule(), flags, lease, block).prop_map(
        |(rule, (is_concurrency, reservations, overrides), lease, block)| Held {
            rule,
            is_concurrency,
            reservations,
            lease,
            block,
            overrides,
        },
    )
}

/// What a call is about.
#[derive(Debug, Clone)]
struct Item {
    rule: usize,
    key: usize,
    resource: usize,
    cost: Cost,
    limit: Option<u64>,
    /// Whether the call may be repeated, if it is of that kind.
    is_named: bool,
}

#[derive(Debug, Clone)]
enum Call {
    /// `check`, `peek`, `refund`, `charge`, `reset` or `reserve`.
    About(&'static str, Item),
    /// `check_all` or `reserve_all`.
    Together(&'static str, Vec<Item>),
    /// `commit` of a cost, of one by rule, or as reserved, of one of the last reservations.
    Commit(usize, Option<Cost>),
    /// `release` or `renew`.
    End(&'static str, usize),
    /// `block`, `unblock`, `set_limit` or `clear_limit`, for a time in windows.
    ByHand(&'static str, Item, f64),
    /// One of the last calls with a request id, again.
    Repeat(usize),
}

fn any_item() -> impl Strategy<Value = Item> {
    let limit = prop_oneof![9 => Just(None), 1 => (1..=20_u64).prop_map(Some)];
    let keys = prop_oneof![4 => Just(0), 1 => 1..3_usize];
    (0..NAMES.len(), keys, 0..2_usize, any_cost(), limit, prop::bool::weighted(0.3)).prop_map(
        |(rule, key, resource, cost, limit, is_named)| Item { rule, key, resource, cost, limit, is_named },
    )
}

fn any_call() -> impl Strategy<Value = Call> {
    let ops = prop_oneof![
        6 => Just("check"),
        2 => Just("charge"),
        3 => Just("peek"),
        2 => Just("refund"),
        1 => Just("reset"),
        6 => Just("reserve"),
    ];
    let by_hand = prop::sample::select(vec!["block", "unblock", "set_limit", "set_limit", "clear_limit"]);
    let together = prop::sample::select(vec!["check_all", "reserve_all", "reserve_all"]);
    let used = prop_oneof![2 => Just(None), 1 => Just(Some(Cost::Units(0))), 4 => any_cost().prop_map(Some)];
    prop_oneof![
        20 => (ops, any_item()).prop_map(|(op, item)| Call::About(op, item)),
        6 => (together, prop::collection::vec(any_item(), 1..5)).prop_map(|(op, items)| Call::Together(op, items)),
        6 => (0..4_usize, used).prop_map(|(which, used)| Call::Commit(which, used)),
        2 => (0..4_usize).prop_map(|which| Call::End("release", which)),
        2 => (0..4_usize).prop_map(|which| Call::End("renew", which)),
        6 => (by_hand, any_item(), 0.0..3.0).prop_map(|(op, item, time)| Call::ByHand(op, item, time)),
        5 => (0..4_usize).prop_map(Call::Repeat),
    ]
}

/// One limiter with its clock.
struct Side {
    limiter: Limiter,
    clock: ManualClock,
    made: Reservations,
}

impl Side {
    fn new(driver: Driver, url: &str, rules: &Value, prefix: &str) -> Self {
        let clock = ManualClock::new(0);
        let rules = Rules::from_json(&rules.to_string()).unwrap();
        let builder = RateLimiter::builder(url).rules(rules).prefix(prefix).clock(clock.clone());
        let limiter = Limiter::new(driver, builder.response_timeout(TIMEOUT)).unwrap();
        Self { limiter, clock, made: Reservations::new() }
    }

    fn answer(&mut self, now: u64, call: &Value) -> Value {
        self.clock.set_us(now);
        act(&self.limiter, call, &mut self.made)
    }
}

/// What the next call depends on.
struct Caller<'a> {
    rules: &'a [Held],
    now: u64,
    /// The answer before.
    last: Value,
    /// The calls that have made reservations.
    reserved: Vec<Value>,
    /// Calls with request ids, each with its answer and the time until that is kept.
    named: Vec<(Value, Value, u64)>,
}

impl Caller<'_> {
    fn jump(&mut self, jump: &Jump) {
        let window = self.rules.iter().map(|held| held.rule.longest_us()).max().unwrap() as f64;
        let wait =
            |name: &str, early: bool| self.last[name].as_u64().unwrap_or(0).saturating_sub(early.into());
        let by = match *jump {
            Jump::None => 0,
            Jump::Micros(us) => us,
            Jump::Windows(part) => (window * part) as u64,
            Jump::ToRetry { early } => wait("retry_after_us", early),
            Jump::ToReset { early } => wait("reset_after_us", early),
            Jump::Back(part) => {
                self.now = self.now.saturating_sub((window * part) as u64);
                return;
            }
        };
        if self.now + by < LATEST_US {
            self.now += by;
        }
    }

    fn cost(&self, cost: &Cost, held: &Held) -> u64 {
        let cost = match *cost {
            Cost::Units(units) => return units,
            Cost::Share(share) => (held.rule.most() as f64 * share) as u64,
            Cost::BeyondRemaining(more) => self.last["remaining"].as_u64().unwrap_or(1) + more,
        };
        held.rule.bounded(cost.max(1))
    }

    fn item(&self, item: &Item) -> Map<String, Value> {
        let number = item.rule % self.rules.len();
        let held = &self.rules[number];
        let fields =
            json!({"rule": NAMES[number], "key": KEYS[item.key], "cost": self.cost(&item.cost, held)});
        let mut fields = fields.as_object().unwrap().clone();
        if held.has_resource() {
            fields.insert("resource".into(), json!(RESOURCES[item.resource]));
        }
        // Two that expire together are charged in the order of random ids, which shows where their limits differ.
        if let Some(limit) = item.limit.filter(|_| held.rule.limits.len() == 1 && !held.rule.is_gcra()) {
            fields.insert("limit".into(), json!(limit));
        }
        fields
    }

    /// The call in the form of a vector's step; `None` for the end of a reservation where there is none.
    fn call(&self, call: &Call, number: usize) -> Option<Value> {
        Some(match call {
            Call::About(op, item) => {
                let mut fields = self.item(item);
                fields.insert("op".into(), json!(op));
                fields.insert("as".into(), json!(number.to_string()));
                if *op == "reset" {
                    fields.remove("cost");
                    fields.remove("limit");
                }
                if item.is_named && ["check", "charge", "refund"].contains(op) {
                    fields.insert("request_id".into(), json!(number.to_string()));
                }
                Value::Object(fields)
            }
            Call::Together(op, items) => {
                let is_named = items[0].is_named && *op == "check_all";
                let items: Vec<_> = items.iter().map(|item| self.item(item)).collect();
                let mut call = json!({"op": op, "as": number.to_string(), "items": items});
                if is_named {
                    call["request_id"] = json!(number.to_string());
                }
                call
            }
            Call::Commit(which, used) => {
                let mut fields = json!({"op": "commit", "reservation": self.reserved(*which)?["as"]});
                if let Some(used) = used {
                    let (field, used) = self.used(self.reserved(*which)?, used);
                    fields[field] = used;
                }
                fields
            }
            Call::ByHand(op, item, time) => {
                let mut fields = self.item(item);
                fields.remove("resource");
                fields.insert("op".into(), json!(op));
                let us = (self.rules[0].rule.longest_us() as f64 * time) as u64;
                let seconds = json!(us as f64 / 1e6);
                let cost = fields.remove("cost").unwrap();
                match *op {
                    "block" => _ = fields.insert("seconds".into(), seconds),
                    "set_limit" => {
                        fields.insert("limit".into(), cost);
                        if us.is_multiple_of(2) {
                            fields.insert("expires_in".into(), seconds);
                        }
                    }
                    _ => {}
                }
                Value::Object(fields)
            }
            Call::Repeat(which) => self.named.iter().rev().nth(*which)?.0.clone(),
            Call::End(op, which) => json!({"op": op, "reservation": self.reserved(*which)?["as"]}),
        })
    }

    /// What a commit says: the cost of a reservation, or of one rule of several.
    fn used(&self, reserve: &Value, used: &Cost) -> (&'static str, Value) {
        let first = reserve.get("items").map_or(reserve, |items| &items[0]);
        let rule = first["rule"].as_str().unwrap();
        let number = NAMES.iter().position(|name| *name == rule).unwrap();
        let cost = self.cost(used, &self.rules[number]);
        if reserve["op"] == "reserve" { ("cost", json!(cost)) } else { ("costs", json!({rule: cost})) }
    }

    /// One of the last reservations.
    fn reserved(&self, which: usize) -> Option<&Value> {
        self.reserved.iter().rev().nth(which)
    }

    /// The answer that a call has to get because it is a repeat.
    fn kept(&self, call: &Value) -> Option<&Value> {
        let id = call.get("request_id")?;
        let kept =
            self.named.iter().find(|(named, _, until)| named["request_id"] == *id && self.now < *until);
        kept.map(|(_, answer, _)| answer)
    }

    fn remember(&mut self, call: Value, answer: Value) {
        if let Some(id) = call.get("request_id")
            && answer.get("allowed").is_some()
            && self.kept(&call).is_none()
        {
            self.named.retain(|(named, ..)| named["request_id"] != *id);
            self.named.push((call.clone(), answer.clone(), self.now + KEPT_US));
        }
        if answer.get("id").is_some() {
            self.reserved.push(call);
        }
        if answer.get("allowed").is_some() {
            self.last = answer;
        }
    }
}

fn answers_alike(driver: Driver, cases: u32) {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let server = Backend::redis();
    let rules = prop::collection::vec(any_held(), 1..=NAMES.len());
    let forward = any_jump().prop_map(|jump| match jump {
        Jump::Back(part) => Jump::Windows(part),
        jump => jump,
    });
    let calls = prop::collection::vec((forward, any_call()), 1..40);
    holds(cases, (rules, any_start(), calls), |(rules, start, calls)| {
        let json: Value = rules.iter().zip(NAMES).map(|(held, name)| held.json(name)).collect();
        let prefix = format!("calls{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        let mut in_lua = Side::new(driver, &server.url(), &json, &prefix);
        let mut in_rust = Side::new(driver, "memory://", &json, &prefix);
        let mut caller =
            Caller { rules: &rules, now: start, last: Value::Null, reserved: Vec::new(), named: Vec::new() };
        for (number, (jump, call)) in calls.iter().enumerate() {
            caller.jump(jump);
            let Some(call) = caller.call(call, number) else { continue };
            let answer = in_rust.answer(caller.now, &call);
            prop_assert_eq!(
                &in_lua.answer(caller.now, &call),
                &answer,
                "{}: {} at {}",
                number,
                call,
                caller.now
            );
            if let Some(kept) = caller.kept(&call) {
                prop_assert_eq!(kept, &answer, "{}: {} is a repeat at {}", number, call, caller.now);
            }
            caller.remember(call, answer);
        }
        Ok(())
    });
    let mut immortal = server.immortal_keys();
    immortal.retain(|name| !name.ends_with(":st"));
    assert_eq!(immortal, Vec::<String>::new());
}

#[test]
fn every_call() {
    answers_alike(Driver::Blocking, 600);
}

#[test]
fn every_call_async() {
    answers_alike(Driver::Async, 100);
}
