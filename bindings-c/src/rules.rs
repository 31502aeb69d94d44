//! What is known of the rules in force.

use std::ffi::{c_char, c_void};
use std::time::{SystemTime, UNIX_EPOCH};

use sluicegate::sources::RulesStatus;

use crate::argument::Output;
use crate::callback::PairCallback;
use crate::error::SLUICEGATE_MESSAGE_SIZE;
use crate::limiter::Limiter;
use crate::text::fill;

/// The room for the version of rules, its NUL included.
pub const SLUICEGATE_RULES_VERSION_SIZE: usize = 33;

/// The rules in force: which, since when, and what was refused. A plain value: free nothing.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Rules {
    /// How many rules are in force.
    pub count: u64,
    /// When they were loaded, in microseconds since 1970.
    pub loaded_at_us: u64,
    /// How often rules took effect, those of the start included.
    pub updates: u64,
    /// How many updates were refused since the start.
    pub refusals: u64,
    /// How many files or znodes are refused at present; their last good versions, if there are any, are
    /// in force instead.
    pub refused: u64,
    /// Whether the source could be read the last time. Changes go unnoticed as long as it cannot.
    pub reachable: bool,
    /// Whether the rules are the copy of the cache, as the source could not be read yet.
    pub cached: bool,
    /// Identifies the rules in force: processes with the same version decide by the same rules.
    pub version: [c_char; SLUICEGATE_RULES_VERSION_SIZE],
    /// Where the rules come from, without passwords; "fixed" for rules that never change.
    pub source: [c_char; SLUICEGATE_MESSAGE_SIZE],
    /// What last went wrong, even if it is well again; empty if nothing did.
    pub last_error: [c_char; SLUICEGATE_MESSAGE_SIZE],
    /// Zeros, in place of fields to come.
    pub reserved: [u8; 61],
}

impl Output for Rules {}

impl From<&RulesStatus> for Rules {
    fn from(status: &RulesStatus) -> Self {
        let mut rules = Self {
            count: status.rules as u64,
            loaded_at_us: since_1970(status.loaded_at),
            updates: status.updates,
            refusals: status.refusals,
            refused: status.refused.len() as u64,
            reachable: status.reachable,
            cached: status.cached,
            version: [0; SLUICEGATE_RULES_VERSION_SIZE],
            source: [0; SLUICEGATE_MESSAGE_SIZE],
            last_error: [0; SLUICEGATE_MESSAGE_SIZE],
            reserved: [0; 61],
        };
        fill(&mut rules.version, &status.version);
        fill(&mut rules.source, &status.source);
        fill(&mut rules.last_error, status.last_error.as_deref().unwrap_or_default());
        rules
    }
}

fn since_1970(time: SystemTime) -> u64 {
    let span = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}

export! {
    /// Lists the rules in force: `rule` is called for each with its name and its JSON, in which what is left to its
    /// default is left out. Both texts live as long as the call of `rule`.
    fn sluicegate_limiter_rules(limiter: *const Limiter, rule: PairCallback, context: *mut c_void) {
        let rule = rule.required()?;
        for each in limiter.0.rules().iter() {
            rule.tell(context, &each.id, &each.to_json());
        }
        Ok(())
    }
}

export! {
    /// Returns the status of the rules: which are in force, since when, and what was refused of their source. `refused` is
    /// called for each refused file, or rule of ZooKeeper, with its name and the reason; it may be NULL.
    fn sluicegate_rules_status(
        limiter: *const Limiter,
        rules: *mut Rules,
        refused: PairCallback,
        context: *mut c_void,
    ) {
        let status = limiter.0.rules_status();
        rules.write(Rules::from(&status));
        for refusal in &status.refused {
            refused.tell(context, &refusal.unit, &refusal.reason);
        }
        Ok(())
    }
}

export! {
    /// Adds rules of the application, as JSON, to those of the source. They stay whatever the source says later, and take
    /// effect with the next check; all of them, or none. A source that comes to hold a rule of the same name is refused as
    /// one with a mistake is. Does no I/O. SLUICEGATE_INVALID_RULE: a rule is not valid, or a rule in force has its
    /// name.
    fn sluicegate_add_rules(limiter: *const Limiter, rules: *const c_char) {
        Ok(limiter.0.add_rules(&sluicegate::Rules::from_json(rules)?)?)
    }
}

export! {
    /// Changes how many processes share the limits while no server decides, as the option `instances` says at the start: for
    /// fleets that grow and shrink. Takes effect with the next call that falls back. Does no I/O.
    /// SLUICEGATE_INVALID_ARGUMENT: 0, or more than 1,000,000.
    fn sluicegate_set_instances(limiter: *const Limiter, instances: u32) {
        Ok(limiter.0.set_instances(instances)?)
    }
}

export! {
    /// What the limiter has counted since it was made, as JSON: decisions by rule and who decided, their cost, errors by kind,
    /// how long servers took to answer, the circuit breaker of each server, the version of the rules, and, where the option
    /// `top_denied` asks for them, the keys denied most. Times are in seconds. Does no I/O. `text` is called once, with the
    /// content type of the text, and the text. Both live as long as the call of `text`.
    ///
    ///     {"rules": {"api": {"decisions": {"server": {"admitted": 9, "denied": 1, "shadow_denied": 0, "blocked": 0, "error": 0}},
    ///       "cost": 9, "waiting": 0, "loans": {"asked": 0, "granted": 0, "spent": 0, "given_back": 0, "lost": 0},
    ///       "top_denied": [{"key": "alice", "denied": 1, "overstated": 0}]}},
    ///      "errors": {"Connection": 0, ...}, "servers": {"redis:6379": {"breaker_open": false, "breaker_openings": 0}},
    ///      "round_trips": {"count": 10, "sum": 0.002, "buckets": [{"at_most": 0.00005, "count": 0}, ...]},
    ///      "rules_version": "...", "rules_refusals": 0, "region": null}
    fn sluicegate_metrics(limiter: *const Limiter, text: PairCallback, context: *mut c_void) {
        text.required()?.tell(context, "application/json", &limiter.0.metrics().to_json());
        Ok(())
    }
}

export! {
    /// What `sluicegate_metrics` tells in the text format of Prometheus (version 0.0.4), without any key. Does no I/O. `text` is
    /// called once, with the content type of the text, to be sent along, and the text. Both live as long as the call of `text`.
    fn sluicegate_prometheus(limiter: *const Limiter, text: PairCallback, context: *mut c_void) {
        text.required()?.tell(context, "text/plain; version=0.0.4", &limiter.0.prometheus());
        Ok(())
    }
}
