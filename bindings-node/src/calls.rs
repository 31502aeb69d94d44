//! From rows and text to calls.

use std::char::{REPLACEMENT_CHARACTER, decode_utf16};
use std::collections::HashMap;

use napi_derive::napi;
use sluicegate::bridge::{End, Item, KeyRecordChange, Kind, OwnedCall, OwnedRequest, Used};

use crate::mailbox::{CallRow, Mailbox};
use crate::names::Names;
use crate::options::milliseconds;

/// What is asked beside the calls about a single item, whose numbers are their places in [`Kind::ALL`].
mod op {
    use super::Kind;

    pub(super) const RESET: u8 = Kind::ALL.len() as u8;
    pub(super) const WAIT: u8 = RESET + 1;
    pub(super) const PING: u8 = WAIT + 1;
    pub(super) const ALL: u8 = PING + 1;
    pub(super) const REQUEST: u8 = ALL + 1;
    pub(super) const WAIT_ALL: u8 = REQUEST + 1;
    pub(super) const INSPECT: u8 = WAIT_ALL + 1;
    pub(super) const RESET_ALL: u8 = INSPECT + 1;
    pub(super) const RESERVE: u8 = RESET_ALL + 1;
    pub(super) const RESERVE_ALL: u8 = RESERVE + 1;
    pub(super) const COMMIT: u8 = RESERVE_ALL + 1;
    pub(super) const RELEASE: u8 = COMMIT + 1;
    pub(super) const RENEW: u8 = RELEASE + 1;
    pub(super) const RESERVE_REQUEST: u8 = RENEW + 1;
    pub(super) const BLOCK: u8 = RESERVE_REQUEST + 1;
    pub(super) const SET_LIMIT: u8 = BLOCK + 1;
    /// The first of [`KeyRecordChange::PLAIN`](super::KeyRecordChange::PLAIN).
    pub(super) const CHANGES: u8 = SET_LIMIT + 1;
}

/// The numbers of the operations, by which `lib/mailbox.js` asks for them.
#[napi(catch_unwind)]
pub(crate) fn operations() -> HashMap<String, u32> {
    let kinds = Kind::ALL.into_iter().map(Kind::name).zip(0_u8..);
    let others = [
        ("reset", op::RESET),
        ("wait", op::WAIT),
        ("ping", op::PING),
        ("all", op::ALL),
        ("request", op::REQUEST),
        ("wait_all", op::WAIT_ALL),
        ("inspect", op::INSPECT),
        ("reset_all", op::RESET_ALL),
        ("reserve", op::RESERVE),
        ("reserve_all", op::RESERVE_ALL),
        ("commit", op::COMMIT),
        ("release", op::RELEASE),
        ("renew", op::RENEW),
        ("block", op::BLOCK),
        ("set_limit", op::SET_LIMIT),
        ("reserve_request", op::RESERVE_REQUEST),
    ];
    let changes = KeyRecordChange::PLAIN.into_iter().map(KeyRecordChange::name).zip(op::CHANGES..);
    kinds.chain(others).chain(changes).map(|(name, number)| (name.to_uppercase(), number.into())).collect()
}

/// The operation on a single item, if it is one.
pub(crate) fn single(op: u8) -> Option<Kind> {
    Kind::ALL.get(usize::from(op)).copied()
}

/// Reads the calls of a batch. The texts of all of them follow each other in one.
pub(crate) struct Reader<'a> {
    mailbox: &'a Mailbox,
    names: &'a Names,
    text: &'a [u16],
    row: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(mailbox: &'a Mailbox, names: &'a Names, text: &'a [u16]) -> Self {
        Self { mailbox, names, text, row: 0 }
    }

    /// The next call with its token; `None` when the row is not one that `lib/mailbox.js` writes.
    pub(crate) fn call(&mut self) -> Option<(u64, OwnedCall)> {
        let row = self.next_row()?;
        let call = match (single(row.op()), row.op()) {
            (Some(kind), _) => OwnedCall::Single(kind, self.item(&row)?),
            (None, op::RESET) => OwnedCall::Reset(self.item(&row)?),
            (None, op::WAIT) => OwnedCall::Wait(self.item(&row)?, milliseconds(row.extra())),
            (None, op::PING) => OwnedCall::Ping(row.timeout()),
            (None, op::ALL) => {
                // Its own text is before those of its items.
                let id = self.optional(row.request_id_length())?;
                OwnedCall::All(self.items(row.extra() as usize)?, id)
            }
            (None, op::WAIT_ALL) => OwnedCall::WaitAll(self.items(row.extra() as usize)?, row.timeout()?),
            (None, op::REQUEST) => OwnedCall::Request(Box::new(self.request(&row)?)),
            (None, op::INSPECT) => OwnedCall::Inspect(self.of_rule("", &row)?),
            (None, op::RESET_ALL) => OwnedCall::ResetAll(self.of_rule("", &row)?),
            (None, op::RESERVE) => OwnedCall::Reserve(self.item(&row)?, milliseconds(row.extra())),
            (None, op::RESERVE_ALL) => {
                OwnedCall::ReserveAll(self.items(row.extra() as usize)?, row.timeout()?)
            }
            (None, op::RESERVE_REQUEST) => OwnedCall::ReserveRequest(Box::new(self.request(&row)?)),
            (None, op::COMMIT) => self.end(&row, End::Commit)?,
            (None, op::RELEASE) => self.end(&row, End::Release)?,
            (None, op::RENEW) => self.end(&row, End::Renew)?,
            (None, op::BLOCK) => self.change_key_record(&row, KeyRecordChange::Block(row.span()))?,
            (None, op::SET_LIMIT) => {
                // A cost says that it expires.
                let expires_in = (row.cost()? > 0).then(|| row.span());
                self.change_key_record(&row, KeyRecordChange::SetLimit(row.limit()?, expires_in))?
            }
            (None, other) => {
                let change = other.checked_sub(op::CHANGES)?;
                self.change_key_record(&row, *KeyRecordChange::PLAIN.get(usize::from(change))?)?
            }
        };
        Some((row.token(), call))
    }

    fn items(&mut self, count: usize) -> Option<Vec<Item>> {
        let mut item = || {
            let row = self.next_row()?;
            self.item(&row)
        };
        (0..count).map(|_| item()).collect()
    }

    /// A request crosses as pairs of texts: method and path, user and address, API key and its header, other paths
    /// joined by new lines and whether capitals are ignored, and its headers. An empty text is as good as none.
    fn request(&mut self, row: &CallRow<'_>) -> Option<OwnedRequest> {
        let (method, path) = self.pair(row)?;
        let (user_id, ip) = self.next_pair()?;
        let (api_key, api_key_header) = self.next_pair()?;
        let (other_paths, ignore_case) = self.next_pair()?;
        let headers = (3..row.extra() as usize).map(|_| self.next_pair()).collect::<Option<_>>()?;
        Some(OwnedRequest {
            method,
            path,
            user_id: Some(user_id),
            ip: Some(ip),
            api_key: Some(api_key),
            headers,
            api_key_header: Some(api_key_header),
            other_paths: other_paths.lines().map(str::to_owned).collect(),
            ignore_case: !ignore_case.is_empty(),
            timeout: row.timeout(),
        })
    }

    /// The end of a reservation crosses with its id in place of a resource, and one cost in place of a limit; or with as
    /// many rows of costs as `extra` says. Each of these has the name of a rule for its key; or a resource and, in
    /// place of a rule's number, the place of an item.
    fn end(&mut self, row: &CallRow<'_>, end: End) -> Option<OwnedCall> {
        let id = self.optional(row.resource_length())?;
        let costs = (0..row.extra() as usize).map(|_| self.cost()).collect::<Option<Vec<_>>>()?;
        let by_rule = costs.iter().all(|(rule, ..)| rule.is_some());
        let used = match row.limit() {
            Some(cost) => Used::Cost(cost),
            None if costs.is_empty() => Used::AsReserved,
            None if by_rule => {
                Used::Rules(costs.into_iter().filter_map(|(rule, _, cost)| Some((rule?, cost))).collect())
            }
            None => Used::Items(costs.into_iter().map(|(_, place, cost)| (place, cost)).collect()),
        };
        Some(OwnedCall::End(end, id, used))
    }

    fn change_key_record(&mut self, row: &CallRow<'_>, change: KeyRecordChange) -> Option<OwnedCall> {
        let item = self.item(row)?;
        // A limit in the row is the one to be stored.
        Some(OwnedCall::ChangeKeyRecord(Item { limit: None, ..item }, change))
    }

    fn cost(&mut self) -> Option<(Option<String>, usize, u64)> {
        let row = self.next_row()?;
        let name = self.words(row.key_length())?;
        Some((row.resource_length().is_none().then_some(name), row.rule(), row.cost()?))
    }

    fn next_pair(&mut self) -> Option<(String, String)> {
        let row = self.next_row()?;
        self.pair(&row)
    }

    fn pair(&mut self, row: &CallRow<'_>) -> Option<(String, String)> {
        Some((self.words(row.key_length())?, self.words(row.resource_length()?)?))
    }

    fn item(&mut self, row: &CallRow<'_>) -> Option<Item> {
        self.of_rule(self.names.get(row.rule())?, row)
    }

    /// The key and the options of a row.
    fn of_rule(&mut self, rule: &str, row: &CallRow<'_>) -> Option<Item> {
        Some(Item {
            rule: rule.into(),
            key: self.words(row.key_length())?,
            cost: row.cost()?,
            resource: self.optional(row.resource_length())?,
            limit: row.limit(),
            timeout: row.timeout(),
            request_id: self.optional(row.request_id_length())?,
        })
    }

    /// A text that is not always given.
    fn optional(&mut self, length: Option<usize>) -> Option<Option<String>> {
        match length {
            Some(length) => self.words(length).map(Some),
            None => Some(None),
        }
    }

    fn next_row(&mut self) -> Option<CallRow<'a>> {
        let row = self.mailbox.call(self.row)?;
        self.row += 1;
        Some(row)
    }

    fn words<T: FromIterator<char>>(&mut self, length: usize) -> Option<T> {
        let (words, rest) = self.text.split_at_checked(length)?;
        self.text = rest;
        // JavaScript has refused what is not well-formed.
        Some(decode_utf16(words.iter().copied()).map(|word| word.unwrap_or(REPLACEMENT_CHARACTER)).collect())
    }
}
