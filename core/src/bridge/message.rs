//! What crosses between a foreign loop and the runner.

use std::time::Duration;

use crate::decision::Decision;
use crate::error::Result;
use crate::request::{Check, CheckOptions};

/// A check whose texts are its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// The rule's name.
    pub rule: String,
    /// Who is counted.
    pub key: String,
    /// How much to admit.
    pub cost: u64,
    /// The resource that is used.
    pub resource: Option<String>,
    /// The limit to use instead of the rule's.
    pub limit: Option<u64>,
}

impl Item {
    /// The check, borrowed.
    pub fn check(&self) -> Check<'_> {
        Check::new(&self.rule, &self.key).with(self.options())
    }

    pub(super) fn options(&self) -> CheckOptions<'_> {
        let mut options = CheckOptions::new().cost(self.cost);
        options.resource = self.resource.as_deref();
        options.limit = self.limit;
        options
    }
}

/// What is asked about a single item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `check`
    Check,
    /// `peek`
    Peek,
    /// `refund`
    Refund,
}

/// A call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ask {
    /// `check`, `peek` or `refund`
    Single(Kind, Item),
    /// `check_all`
    All(Vec<Item>),
    /// `reset`
    Reset(Item),
    /// `wait`, with its timeout
    Wait(Item, Duration),
    /// `ping`
    Ping,
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// A decision.
    Decision(Decision),
    /// Done; there is nothing to say.
    Done,
}

/// The answer to one call.
#[derive(Debug)]
pub struct Completion {
    /// What the call was submitted with.
    pub token: u64,
    /// Its answer.
    pub result: Result<Answer>,
}
