//! Calls that may be repeated: how they are identified, and where their answers are kept.

use std::borrow::Cow;

use sha2::{Digest, Sha256};

use crate::catalog::{LimitNumber, ReadyRule};
use crate::error::{Error, Result};
use crate::keys::key;

/// The most bytes of an id.
const LONGEST: usize = 64;

/// Distinguishes the calls with one id: 128 bits of a hash over all that the caller stated. Times are none of it.
pub(crate) type Fingerprint = [u8; 16];

/// Where the answer of a call with a request id is kept.
#[derive(Debug, Clone)]
pub(crate) struct RequestRecord<'a> {
    rule: &'a ReadyRule,
    tag: Cow<'a, str>,
    member: Option<Cow<'a, str>>,
    id: &'a str,
    pub(crate) fingerprint: Fingerprint,
}

impl<'a> RequestRecord<'a> {
    /// The record of a call with this id, which belongs to rule, tag and key of its first item.
    pub(super) fn new(
        rule: &'a ReadyRule,
        (tag, member): (Cow<'a, str>, Option<Cow<'a, str>>),
        id: &'a str,
        fingerprint: Fingerprint,
    ) -> Result<Self> {
        if !(1..=LONGEST).contains(&id.len()) {
            let what = format!("request_id: must have 1 to {LONGEST} bytes; it has {}", id.len());
            return Err(rule.refused(&what));
        }
        Ok(Self { rule, tag, member, id, fingerprint })
    }

    /// The name of the record in Redis.
    pub(crate) fn name(&self, prefix: &str) -> String {
        let suffix = key::request_suffix(self.id);
        key::name(prefix, &self.rule.rule.id, &self.tag, self.member.as_deref(), &suffix)
    }

    /// Its number in memory, as those of limits, and the name among those of that number.
    pub(crate) fn local_name(&self) -> (LimitNumber, String) {
        let member = self.member.as_deref().unwrap_or_default();
        // A brace ends the tag, and the key, for it is escaped in both.
        (self.rule.requests, format!("{}}}{member}}}{}", self.tag, self.id))
    }

    /// The error for an id that another call had.
    #[cold]
    pub(crate) fn of_another(&self) -> Error {
        self.rule.refused(
            "request_id: another call had it: another operation, item, cost or limit, or before the rule was changed (use \
             a new one for each call, and the same one only to repeat it)",
        )
    }

    /// The error for items that one script cannot decide.
    #[cold]
    pub(crate) fn of_several_slots(&self) -> Error {
        self.of_several("lie in several hash slots of the Cluster")
    }

    /// The same for items of which several regions are in charge.
    #[cold]
    pub(crate) fn of_several_regions(&self) -> Error {
        self.of_several("are counted in several regions")
    }

    fn of_several(&self, what: &str) -> Error {
        self.rule.refused(&format!(
            "request_id: the items {what}, which have no record in common (leave it out, or give each item a call and \
             an id of its own)"
        ))
    }
}

/// The error for an id where none is taken.
#[cold]
pub(super) fn not_repeatable(rule: &ReadyRule) -> Error {
    rule.refused(
        "request_id: not supported by this call (check, charge and refund do, and check_all as a whole)",
    )
}

/// What a fingerprint is made of, part by part; the length of each part keeps them apart.
pub(super) struct Statement(Sha256);

impl Statement {
    pub(super) fn of(method: &str, is_list: bool) -> Self {
        let mut statement = Self(Sha256::new());
        statement.add(method.as_bytes());
        statement.add(&[u8::from(is_list)]);
        statement
    }

    /// Adds an item. The names of states are part of it, and whether anything stands beside them, so that what one script
    /// answered is not read as the answer of another one.
    pub(super) fn add_item(
        &mut self,
        rule: &ReadyRule,
        (tag, member): (&str, Option<&str>),
        cost: f64,
        limit: Option<u64>,
    ) {
        self.add(rule.rule.id.as_bytes());
        self.add(tag.as_bytes());
        self.add(member.unwrap_or_default().as_bytes());
        self.add(&cost.to_le_bytes());
        self.add(&limit.unwrap_or_default().to_le_bytes());
        for limit in &rule.limits {
            self.add(limit.suffix.as_bytes());
        }
        self.add(&[u8::from(rule.holds.is_some()), u8::from(rule.key_records.is_some())]);
    }

    fn add(&mut self, part: &[u8]) {
        self.0.update((part.len() as u64).to_le_bytes());
        self.0.update(part);
    }

    pub(super) fn fingerprint(self) -> Fingerprint {
        let mut fingerprint = [0; 16];
        fingerprint.copy_from_slice(&self.0.finalize()[..16]);
        fingerprint
    }
}
