//! What a circuit breaker has to do, seen from outside: from the results of calls, and from when connections are opened.

use ::redis::Value;

use super::super::super::error::{Error, ErrorKind};
use super::plan::{Scenario, Setup, Time};

pub(super) struct BreakerModel {
    /// 0: it never opens, or it is not looked at.
    threshold: u32,
    /// Calls in a row that had no answer: as few and as many as may be counted.
    fewest: u32,
    most: u32,
    /// The step in which it opened, if that is sure.
    open_since: Option<u64>,
    /// When the last probe was begun while the breaker was open.
    last_probe: Option<Time>,
    /// When a connection last broke that took calls along. Older ones are as good as broken: the failure is the same.
    last_break: Option<Time>,
    /// The limiter is being closed.
    pub(super) is_closing: bool,
}

impl BreakerModel {
    pub(super) fn new(plan: &Scenario) -> Self {
        let is_visible =
            plan.setup == Setup::One && plan.calls.iter().all(|call| call.abandoned_at.is_none());
        let threshold = if is_visible { plan.breaker_failures } else { 0 };
        Self {
            threshold,
            fewest: 0,
            most: 0,
            open_since: None,
            last_probe: None,
            last_break: None,
            is_closing: false,
        }
    }

    fn is_open_for_sure(&self) -> bool {
        self.threshold > 0 && self.fewest >= self.threshold
    }

    /// Whether the breaker was open in this step.
    pub(super) fn was_open(&self, step: u64) -> bool {
        self.open_since.is_some_and(|since| since < step)
    }

    /// A call is answered at `now`; `sent` is when it was sent, if it was, and when the connection had been opened. The error
    /// says what is wrong with that.
    pub(super) fn answered(
        &mut self,
        result: &Result<Value, Error>,
        timeout: Time,
        sent: Option<(Time, Time)>,
        plan: &Scenario,
        (now, step): (Time, u64),
    ) -> Result<(), &'static str> {
        let waited = sent.map_or(0, |(at, _)| now - at);
        if self.threshold == 0 {
            return Ok(());
        }
        match result.as_ref().map_err(|error| (error.kind(), error.message())) {
            Ok(_) | Err((ErrorKind::Server, _)) => {
                self.fewest = if self.is_open_for_sure() { self.fewest } else { 0 };
                self.most = if self.most >= self.threshold { self.most } else { 0 };
            }
            Err((_, text)) if text.contains("circuit breaker open") && self.most < self.threshold => {
                return Err("the breaker is said to be open");
            }
            Err((_, text)) if text.contains("circuit breaker open") => {}
            // A call that has less time than a server may take says nothing about the server.
            Err((ErrorKind::Timeout, _)) if timeout < plan.response_timeout => {}
            Err((ErrorKind::Timeout, _)) if waited < plan.response_timeout => self.most += 1,
            Err((ErrorKind::Connection, _)) if !self.is_new_break(sent, now) => {}
            Err((ErrorKind::Timeout | ErrorKind::Connection, _)) => {
                (self.fewest, self.most) = (self.fewest + 1, self.most + 1);
            }
            _ => {}
        }
        if self.is_open_for_sure() {
            self.open_since.get_or_insert(step);
        }
        Ok(())
    }

    /// Whether a call that no server answered was taken along by no connection, or by one that was opened since the last
    /// one broke.
    fn is_new_break(&mut self, sent: Option<(Time, Time)>, now: Time) -> bool {
        let Some((_, opened)) = sent else { return true };
        let is_new = self.last_break.is_none_or(|last| last < opened);
        if is_new {
            self.last_break = Some(now);
        }
        is_new
    }

    /// A connection is ordered.
    pub(super) fn opening(&mut self, now: Time, plan: &Scenario) -> Result<(), &'static str> {
        if !self.is_open_for_sure() {
            return Ok(());
        }
        let last = self.last_probe.replace(now);
        if last.is_some_and(|last| now < last + plan.breaker_probe) {
            return Err("probes follow each other too fast");
        }
        Ok(())
    }

    /// A server has answered on a new connection.
    pub(super) fn opened(&mut self) {
        if self.is_open_for_sure() {
            self.most = 0;
        }
        if self.most >= self.threshold || self.is_open_for_sure() {
            self.fewest = 0;
        }
        self.open_since = None;
        self.last_probe = None;
    }
}
