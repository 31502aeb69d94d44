//! What crosses between a foreign loop and the runner.

use std::fmt;
use std::time::Duration;

use smol_str::SmolStr;

use crate::decision::Decision;
use crate::error::Result;
use crate::limiter::AsyncRateLimiter;
use crate::matching::Request;
pub use crate::plan::{End, KeyRecordChange, Op as Kind, Span};
use crate::request::{Check, CheckAllOptions, CheckOptions};
use crate::reservation::{Reservation, Usage};

/// A check whose texts are its own; rule and key need no memory where they are short, as they nearly always are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// The rule's name.
    pub rule: SmolStr,
    /// Who is counted.
    pub key: SmolStr,
    /// How much to admit.
    pub cost: u64,
    /// The resource that is used.
    pub resource: Option<String>,
    /// The limit to use instead of the rule's.
    pub limit: Option<u64>,
    /// The whole time that the call may take.
    pub timeout: Option<Duration>,
    /// What makes the call safe to repeat.
    pub request_id: Option<String>,
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
        options.timeout = self.timeout;
        options.request_id = self.request_id.as_deref();
        options
    }
}

impl From<&Check<'_>> for Item {
    fn from(check: &Check<'_>) -> Self {
        let options = &check.options;
        Self {
            rule: check.rule.into(),
            key: check.key.into(),
            cost: options.cost,
            resource: options.resource.map(str::to_owned),
            limit: options.limit,
            timeout: options.timeout,
            request_id: options.request_id.map(str::to_owned),
        }
    }
}

/// A request whose texts are its own.
#[derive(Clone, PartialEq, Eq)]
pub struct OwnedRequest {
    /// The method.
    pub method: String,
    /// The path, as the request line has it.
    pub path: String,
    /// The authenticated user.
    pub user_id: Option<String>,
    /// The client's address.
    pub ip: Option<String>,
    /// The client's API key.
    pub api_key: Option<String>,
    /// Names and values.
    pub headers: Vec<(String, String)>,
    /// The header that has the API key.
    pub api_key_header: Option<String>,
    /// Other paths that the application may act on.
    pub other_paths: Vec<String>,
    /// Whether the application routes without regard to capitals.
    pub ignore_case: bool,
    /// The whole time that the check may take.
    pub timeout: Option<Duration>,
}

impl OwnedRequest {
    /// The request, borrowed.
    pub fn request(&self) -> Request<'_> {
        let mut request = Request::new(&self.method, &self.path);
        request.user_id = self.user_id.as_deref();
        request.ip = self.ip.as_deref();
        request.api_key = self.api_key.as_deref();
        request.headers = self.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        request.api_key_header = self.api_key_header.as_deref();
        request.other_paths = self.other_paths.iter().map(String::as_str).collect();
        request.ignore_case = self.ignore_case;
        request.timeout = self.timeout;
        request
    }
}

impl fmt::Debug for OwnedRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.request().fmt(f)
    }
}

/// What was really used of a reservation, with texts of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Used {
    /// As much as was reserved.
    #[default]
    AsReserved,
    /// This much of its one item.
    Cost(u64),
    /// This much under each of these rules.
    Rules(Vec<(String, u64)>),
    /// This much of the items at these places.
    Items(Vec<(usize, u64)>),
}

impl Used {
    /// The rules that are named.
    pub(super) fn rules(&self) -> Vec<(&str, u64)> {
        let Self::Rules(rules) = self else { return Vec::new() };
        rules.iter().map(|(rule, cost)| (rule.as_str(), *cost)).collect()
    }

    /// The usage, borrowed; `rules` are those above.
    pub(super) fn usage<'a>(&'a self, rules: &'a [(&'a str, u64)]) -> Usage<'a> {
        match self {
            Self::AsReserved => Usage::AsReserved,
            Self::Cost(cost) => Usage::Cost(*cost),
            Self::Rules(_) => Usage::Rules(rules),
            Self::Items(items) => Usage::Items(items),
        }
    }
}

/// What a reservation is to a foreign object: nothing happens when it is dropped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reserved {
    /// The decision.
    pub decision: Decision,
    /// The id, unless it was denied.
    pub id: Option<String>,
    /// The fencing token, unless it was denied.
    pub token: Option<u64>,
    /// How soon it ends unless it is renewed.
    pub lease: Option<Duration>,
}

impl From<Reservation> for Reserved {
    fn from(reservation: Reservation) -> Self {
        let (id, token, lease) = (reservation.id(), reservation.token(), reservation.lease());
        Self { id, token, lease, decision: reservation.into_decision() }
    }
}

/// A call whose texts are its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OwnedCall {
    /// A call about a single item.
    Single(Kind, Item),
    /// `check_all`, with its request id
    All(Vec<Item>, Option<String>),
    /// `check_request`
    Request(Box<OwnedRequest>),
    /// `reset`
    Reset(Item),
    /// `inspect`, of an item whose rule says nothing
    Inspect(Item),
    /// `reset_all`, likewise
    ResetAll(Item),
    /// `wait`, with its timeout
    Wait(Item, Duration),
    /// `wait_all`, with its timeout
    WaitAll(Vec<Item>, Duration),
    /// `ping`, with its timeout
    Ping(Option<Duration>),
    /// `reserve`, with the time to wait
    Reserve(Item, Duration),
    /// `reserve_all`, with the time to wait
    ReserveAll(Vec<Item>, Duration),
    /// `reserve_request`
    ReserveRequest(Box<OwnedRequest>),
    /// A change of a block or of a stored limit.
    ChangeKeyRecord(Item, KeyRecordChange),
    /// `commit`, `release` or `renew`, with the id, which a denied reservation lacks
    End(End, Option<String>, Used),
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// A decision.
    Decision(Decision),
    /// A reservation.
    Reserved(Box<Reserved>),
    /// Whether the end of a reservation, of a block or of a stored limit took effect.
    Ended(bool),
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

/// Carries out one call. The future is as large as its largest part: large ones that sleep have a place of their own.
pub(super) async fn answer(limiter: &AsyncRateLimiter, call: &OwnedCall) -> Result<Answer> {
    let decision = match call {
        OwnedCall::Single(kind, item) => limiter.single(&item.check(), *kind).await?,
        OwnedCall::Request(request) => limiter.check_request(&request.request()).await?,
        OwnedCall::All(items, id) => {
            let mut options = CheckAllOptions::new();
            options.request_id = id.as_deref();
            limiter.check_all_with(&checks(items), options).await?
        }
        OwnedCall::WaitAll(items, timeout) => Box::pin(limiter.wait_all(&checks(items), *timeout)).await?,
        OwnedCall::Wait(item, timeout) => {
            Box::pin(limiter.wait_with(&item.rule, &item.key, item.options(), *timeout)).await?
        }
        OwnedCall::Inspect(item) => Box::pin(limiter.inspect_with(&item.key, item.options())).await?,
        OwnedCall::ResetAll(item) => {
            return limiter.reset_all_with(&item.key, item.options()).await.map(|()| Answer::Done);
        }
        OwnedCall::Reset(item) => {
            return limiter.reset_with(&item.rule, &item.key, item.options()).await.map(|()| Answer::Done);
        }
        OwnedCall::ChangeKeyRecord(item, change) => {
            let took_effect = limiter.change_key_record(&item.check(), *change).await?;
            return Ok(if change.is_answered() { Answer::Ended(took_effect) } else { Answer::Done });
        }
        OwnedCall::Ping(timeout) => return limiter.try_server(*timeout).await.map(|()| Answer::Done),
        OwnedCall::Reserve(item, wait) => {
            let reserving = limiter.reserve_within(&item.rule, &item.key, item.options(), *wait);
            return reserved(Box::pin(reserving).await);
        }
        OwnedCall::ReserveAll(items, wait) => {
            return reserved(Box::pin(limiter.reserve_all_within(&checks(items), *wait)).await);
        }
        OwnedCall::ReserveRequest(request) => {
            return reserved(Box::pin(limiter.reserve_request(&request.request())).await);
        }
        OwnedCall::End(end, id, used) => {
            return ended(limiter, *end, id.as_deref(), used).await.map(Answer::Ended);
        }
    };
    Ok(Answer::Decision(decision))
}

impl OwnedCall {
    /// Whether it may sleep.
    pub(super) fn sleeps(&self) -> bool {
        match self {
            Self::Wait(..) | Self::WaitAll(..) => true,
            Self::Reserve(_, wait) | Self::ReserveAll(_, wait) => !wait.is_zero(),
            _ => false,
        }
    }
}

fn checks(items: &[Item]) -> Vec<Check<'_>> {
    items.iter().map(Item::check).collect()
}

async fn ended(limiter: &AsyncRateLimiter, end: End, id: Option<&str>, used: &Used) -> Result<bool> {
    limiter.ensure_open()?;
    let Some(id) = id else { return Ok(false) };
    limiter.end(id.into(), end, used.usage(&used.rules())).await
}

fn reserved(reservation: Result<Reservation>) -> Result<Answer> {
    reservation.map(|reservation| Answer::Reserved(Box::new(reservation.into())))
}
