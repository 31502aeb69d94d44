//! The book of all calls: what was sent, executed and answered, and every promise that this breaks.

use ::redis::Value;

use super::super::super::error::{Error, ErrorKind};
use super::breaker::BreakerModel;
use super::crowds::Crowds;
use super::plan::{CallKind, PlannedCall, Scenario, Setup, TAGS, Time};
use super::protocol::{Key, ServerCommand};

/// What a history is checked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Invariant {
    /// Every call is answered by its deadline.
    Unanswered,
    /// No call is given another call's answer.
    WrongAnswer,
    /// What may have been executed is not sent again.
    SentAgain,
    /// No call is charged twice.
    ChargedTwice,
    /// A call that its caller gave up, or that has ended, is not sent.
    SentTooLate,
    /// No more is admitted than was charged, nor than the limit.
    OverLimit,
    /// What is said to be on replicas was executed before they were waited for, and these had it.
    Unreplicated,
    /// Calls of one key are executed in the order in which they were made.
    Order,
    /// The circuit breaker opens and closes when it has to, and lets nothing through meanwhile.
    Breaker,
    /// Nothing is sent to a server that is known to be in charge no longer.
    OldPrimary,
    /// A server that a Sentinel names is used only once it has confirmed that it is a primary.
    Unconfirmed,
    /// A connection to a server that has said that it is a replica is not used on.
    Replica,
    /// A call whose keys are being moved until its time is up says so.
    Moving,
    /// Without a reason to fail, calls succeed.
    Failed,
    /// What is sent is the Redis protocol.
    Malformed,
    /// No request waits while nothing is under way.
    Forgotten,
    /// What is remembered ends once the server has said that it changed, and without that within a second.
    Outdated,
    /// Where connections last, nothing but a change ends what is remembered.
    Unwatched,
    /// The driver comes to rest.
    Restless,
    /// Calls succeed again soon after the servers are well.
    Recovery,
    /// No connection is to be closed twice: by the second time, its number may be that of another.
    ClosedTwice,
    /// Nothing panics.
    Panicked,
    /// Nothing is left of calls that have ended and of connections that are not used.
    Leak,
}

/// What a server's reply means for the calls of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// They were not executed, and may be sent again.
    Refused,
    /// The same, because some of their keys are being moved to another server.
    Moving,
    /// They were executed, or they failed for good.
    Ended,
}

/// A call on its way. Until its refusal is read it may have been executed.
#[derive(Clone, Copy)]
pub(super) struct Attempt {
    pub(super) connection: usize,
    /// Where the reply ends that refuses it.
    pub(super) refused_at: Option<usize>,
    /// Whether it is refused because keys are being moved.
    pub(super) is_moving: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CallStage {
    Planned,
    Waiting,
    /// Since this step.
    Ended(u64),
}

pub(super) struct CallRecord {
    pub(super) planned: PlannedCall,
    pub(super) state: CallStage,
    pub(super) is_abandoned: bool,
    pub(super) submitted: Time,
    pub(super) attempt: Option<Attempt>,
    pub(super) attempts: usize,
    /// When it was executed, in steps; 0: not yet.
    pub(super) executed: u64,
    pub(super) sent_at: Option<Time>,
    /// Whether as many replicas as are waited for have it.
    is_replicated: bool,
}

pub(super) struct Ledger {
    pub(super) calls: Vec<CallRecord>,
    /// The call of each family and kind.
    pub(super) named: Vec<[Option<usize>; CallKind::ALL.len()]>,
    pub(super) violation: Option<(Invariant, String)>,
    charged: [u64; TAGS],
    /// Charges on servers that were not in charge, which are lost.
    stray: [u64; TAGS],
    admitted: [u64; TAGS],
    pub(super) breaker: BreakerModel,
    /// The server that Sentinels named to the driver as the primary, of `Setup::Sentinel`, and in which step.
    pub(super) known_primary: Option<(usize, u64)>,
    executions: u64,
    pub(super) crowds: Crowds,
}

impl Ledger {
    pub(super) fn new(plan: &Scenario) -> Self {
        let mut ledger = Self {
            calls: Vec::new(),
            named: Vec::new(),
            violation: None,
            charged: [0; TAGS],
            stray: [0; TAGS],
            admitted: [0; TAGS],
            breaker: BreakerModel::new(plan),
            known_primary: None,
            executions: 0,
            crowds: Crowds::default(),
        };
        for planned in &plan.calls {
            ledger.add(*planned);
        }
        ledger
    }

    pub(super) fn add(&mut self, planned: PlannedCall) -> usize {
        let call = self.calls.len();
        self.named.resize((planned.family + 1).max(self.named.len()), [None; CallKind::ALL.len()]);
        self.named[planned.family][planned.kind as usize] = Some(call);
        if planned.is_in_crowd {
            self.crowds.add(call, planned);
        }
        self.calls.push(CallRecord {
            planned,
            state: CallStage::Planned,
            is_abandoned: false,
            submitted: 0,
            attempt: None,
            attempts: 0,
            executed: 0,
            sent_at: None,
            is_replicated: false,
        });
        call
    }

    pub(super) fn planned(&self, call: usize) -> PlannedCall {
        self.calls[call].planned
    }

    pub(super) fn violate(&mut self, check: Invariant, text: impl Into<String>) {
        self.violation.get_or_insert_with(|| (check, text.into()));
    }

    pub(super) fn malformed(&mut self, connection: usize, text: &str) {
        self.violate(Invariant::Malformed, format!("sent on {connection}: {text:?}"));
    }

    pub(super) fn named(&self, key: Key, kind: CallKind) -> Option<usize> {
        self.named.get(key.family)?[kind as usize]
    }

    pub(super) fn submitted(&mut self, call: usize, now: Time) {
        self.calls[call].state = CallStage::Waiting;
        self.calls[call].submitted = now;
    }

    pub(super) fn abandoned(&mut self, call: usize, step: u64) {
        self.calls[call].state = CallStage::Ended(step);
        self.calls[call].is_abandoned = true;
    }

    /// A server has executed a call. Returns its number, if it is one of a crowd.
    pub(super) fn executed(
        &mut self,
        key: Key,
        kind: CallKind,
        charged: bool,
        is_stray: bool,
    ) -> Option<usize> {
        let Some(id) = self.named(key, kind) else {
            self.violate(Invariant::Malformed, format!("nobody called {kind:?} for {}", key.name()));
            return None;
        };
        self.executions += 1;
        self.charged[key.tag] += u64::from(charged);
        self.stray[key.tag] += u64::from(charged && is_stray);
        if self.calls[id].planned.is_in_crowd {
            let number = self.crowds.executed(key, kind);
            return number.map_err(|what| self.violate(Invariant::ChargedTwice, what)).ok();
        }
        if self.calls[id].executed > 0 {
            self.violate(Invariant::ChargedTwice, format!("call {id}"));
        }
        self.calls[id].executed = self.executions;
        None
    }

    /// A server has replied to a command; its reply ends at `end`.
    pub(super) fn replied(&mut self, connection: usize, end: usize, command: &ServerCommand, fate: Fate) {
        for (key, kind) in command.calls() {
            let Some(id) = self.named(key, kind) else { continue };
            if self.calls[id].planned.is_in_crowd {
                self.crowds.replied(key, kind, connection, (fate != Fate::Ended).then_some(end));
                continue;
            }
            let call = &mut self.calls[id];
            if let Some(attempt) = &mut call.attempt
                && attempt.connection == connection
                && fate != Fate::Ended
            {
                attempt.refused_at = Some(end);
                attempt.is_moving = fate == Fate::Moving;
                call.sent_at = None;
            }
        }
    }

    /// A server was asked on a connection to wait for replicas.
    pub(super) fn replicated(&mut self, connection: usize, is_enough: bool) {
        let executed = self.calls.iter_mut().filter(|call| call.executed > 0);
        for call in
            executed.filter(|call| call.attempt.is_some_and(|attempt| attempt.connection == connection))
        {
            call.is_replicated |= is_enough;
        }
        if is_enough {
            self.crowds.replicated(connection);
        }
    }

    fn is_replicated(&mut self, id: usize) -> bool {
        let CallRecord { planned, executed, is_replicated, .. } = self.calls[id];
        let number = usize::try_from(executed).unwrap_or_default().checked_sub(1);
        if !planned.is_in_crowd {
            return is_replicated;
        }
        number.is_some_and(|number| self.crowds.is_replicated(planned, number))
    }

    /// A call is answered; `opened_at` is when the connection was opened on which it was sent, if it was.
    pub(super) fn answered(
        &mut self,
        id: usize,
        result: &Result<Value, Error>,
        opened_at: Time,
        plan: &Scenario,
        (now, step): (Time, u64),
    ) {
        let planned = self.calls[id].planned;
        if matches!(self.calls[id].state, CallStage::Ended(_)) {
            self.violate(Invariant::WrongAnswer, format!("call {id} is answered after its end"));
        }
        self.calls[id].state = CallStage::Ended(step);
        let by = self.calls[id].submitted + planned.timeout + plan.lateness;
        if now > by {
            self.violate(Invariant::Unanswered, format!("call {id} is answered at {now}, due at {by}"));
        }
        match result {
            Ok(Value::Attribute { data, .. }) => {
                self.check_value(id, data, plan);
                if plan.replicas == 0 || !self.is_replicated(id) {
                    self.violate(Invariant::Unreplicated, format!("call {id}"));
                }
            }
            Ok(value) => self.check_value(id, value, plan),
            Err(error) => self.check_error(id, error, plan),
        }
        let sent = self.calls[id].sent_at.map(|at| (at, opened_at));
        let verdict = self.breaker.answered(result, planned.timeout, sent, plan, (now, step));
        if let Err(what) = verdict {
            self.violate(Invariant::Breaker, format!("call {id}: {what}"));
        }
    }

    fn check_value(&mut self, id: usize, value: &Value, plan: &Scenario) {
        let planned = self.calls[id].planned;
        let key = Key { tag: planned.tag, family: planned.family };
        let parts = match value {
            Value::Array(parts) => parts.as_slice(),
            _ => &[],
        };
        let admitted = match (planned.kind, parts) {
            _ if planned.is_in_crowd => match self.crowds.answered(planned, value) {
                Some((admitted, number)) => {
                    self.calls[id].executed = 1 + number as u64;
                    admitted
                }
                None => {
                    return self.violate(Invariant::WrongAnswer, format!("call {id} is given {value:?}"));
                }
            },
            (CallKind::Delete, _) if *value == Value::Int(1) => return,
            (kind, [Value::BulkString(name), Value::Int(number), Value::Int(admitted)])
                if *name == key.name().into_bytes() && *number == kind as i64 =>
            {
                *admitted == 1
            }
            _ => return self.violate(Invariant::WrongAnswer, format!("call {id} is given {value:?}")),
        };
        if !admitted || !planned.kind.charges() {
            return;
        }
        let tag = planned.tag;
        self.admitted[tag] += 1;
        if self.calls[id].executed == 0 {
            self.violate(Invariant::OverLimit, format!("call {id} is admitted without a charge"));
        }
        if self.admitted[tag] > plan.limit + self.stray[tag] {
            self.violate(Invariant::OverLimit, format!("call {id}: more than {} of tag {tag}", plan.limit));
        }
    }

    fn check_error(&mut self, id: usize, error: &Error, plan: &Scenario) {
        let planned = self.calls[id].planned;
        let text = error.message();
        if let Some((_, about)) = text.split_once("damaged state at ")
            && !about.starts_with(&format!("{};", Key { tag: planned.tag, family: planned.family }.name()))
        {
            self.violate(Invariant::WrongAnswer, format!("call {id} is given {text}"));
        }
        let is_moving = self.calls[id].attempt.is_some_and(|attempt| attempt.is_moving);
        let says_so = text.contains("is being moved");
        if says_so && !is_moving && !planned.is_in_crowd
            || is_moving && text.starts_with("no server answered")
        {
            self.violate(Invariant::Moving, format!("call {id}: {text}"));
        }
        if plan.is_calm {
            self.violate(Invariant::Failed, format!("call {id}: {text}"));
        }
        if text.contains("NOSCRIPT") || text.contains("CROSSSLOT") {
            self.violate(
                Invariant::Failed,
                format!("call {id} receives an error that only the driver may see: {text}"),
            );
        }
        if error.kind() == ErrorKind::Closed && !self.breaker.is_closing {
            self.violate(Invariant::Failed, format!("call {id}: {text}"));
        }
    }

    /// At the end, every call has had its time.
    pub(super) fn finish(&mut self, plan: &Scenario) {
        if let Some(id) = self.calls.iter().position(|call| call.state == CallStage::Waiting) {
            self.violate(Invariant::Unanswered, format!("call {id} is never answered"));
        }
        if plan.setup == Setup::One {
            self.check_order();
        }
        if plan.setup == Setup::One && plan.is_calm && plan.faults.is_empty() && !plan.minds_slots {
            self.check_order_in_crowds();
        }
    }
}
