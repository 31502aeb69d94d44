//! Who is counted at a route.

use std::sync::atomic::{AtomicBool, Ordering};

use http::request::Parts;

use super::options::{NoAddress, Options};
use crate::keys::composite;
use crate::net::subnet::owner;
use crate::rules::{Identifier, Rule};
use crate::tower::common::{Find, find};
use crate::tower::refusal::Refusal;

/// The key of all clients that have no address.
const NO_ADDRESS: &str = "no address";

/// Why there is no key.
pub(super) enum NoKey {
    /// The request is not limited.
    Exempt,
    Refused(Refusal),
}

/// Finds the keys of one request; asks each function of the application once.
pub(super) struct Keys<'a> {
    options: &'a Options,
    parts: &'a Parts,
    user: Option<Option<String>>,
    key: Option<String>,
}

impl<'a> Keys<'a> {
    pub(super) fn new(options: &'a Options, parts: &'a Parts) -> Self {
        Self { options, parts, user: None, key: None }
    }

    /// The key under a rule: what its `identifier_type` says, or else `key`, or else user or address.
    pub(super) fn of(&mut self, rule: &Rule) -> Result<String, NoKey> {
        let options = self.options;
        match (&rule.identifier_type, &options.key) {
            (Some(Identifier::Composite(parts)), _) => {
                let parts = parts.iter().map(|part| self.identified(part, rule));
                Ok(joined(&parts.collect::<Result<Vec<_>, _>>()?))
            }
            (Some(identifier), _) => self.identified(identifier, rule),
            (None, Some(find)) => self.named(find),
            (None, None) if options.common.user_id.is_none() => self.address(rule),
            // A user cannot be named like the address of somebody else.
            (None, None) => match self.user()? {
                Some(user) => Ok(joined(&["user".to_owned(), user])),
                None => Ok(joined(&["ip".to_owned(), self.address(rule)?])),
            },
        }
    }

    fn identified(&mut self, identifier: &Identifier, rule: &Rule) -> Result<String, NoKey> {
        match identifier {
            Identifier::Global => Ok("global".to_owned()),
            Identifier::IpAddress => self.address(rule),
            Identifier::UserId => {
                self.user()?.ok_or_else(|| broken(format!("rule \"{}\": user_id found no user", rule.id)))
            }
            Identifier::ApiKey => find(&self.options.common.api_key, self.parts)
                .filter(|key| !key.is_empty())
                .ok_or_else(|| lacking(rule, "API key")),
            Identifier::Header(name) => {
                let value =
                    self.parts.headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()));
                let value = value.filter(|value| !value.is_empty());
                value.map(String::from).ok_or_else(|| lacking(rule, &format!("header {name}")))
            }
            Identifier::Path(_) | Identifier::Composite(_) => {
                Err(broken(format!("rule \"{}\": its identifier_type is not known at a route", rule.id)))
            }
        }
    }

    fn named(&mut self, find: &Find<String>) -> Result<String, NoKey> {
        if self.key.is_none() {
            self.key = find(self.parts).filter(|key| !key.is_empty());
        }
        let wrong = "key returned nothing (return who is counted; `skip` exempts requests)";
        self.key.clone().ok_or_else(|| broken(wrong.to_owned()))
    }

    fn user(&mut self) -> Result<Option<String>, NoKey> {
        let user = self.user.get_or_insert_with(|| find(&self.options.common.user_id, self.parts));
        if user.as_ref().is_some_and(String::is_empty) {
            return Err(NoKey::Refused(Refusal::empty_user()));
        }
        Ok(user.clone())
    }

    fn address(&self, rule: &Rule) -> Result<String, NoKey> {
        match (self.options.common.client(self.parts), self.options.no_address) {
            (Some(address), _) => Ok(owner(address.to_canonical(), rule.ipv6_prefix_length)),
            (None, NoAddress::Shared) => {
                warn_shared();
                Ok(NO_ADDRESS.to_owned())
            }
            (None, NoAddress::Skip) => Err(NoKey::Exempt),
            (None, NoAddress::Deny) => {
                let message = "the address of the client is not known";
                Err(NoKey::Refused(Refusal::Invalid(message.to_owned())))
            }
        }
    }
}

fn joined(parts: &[String]) -> String {
    let mut key = String::new();
    for part in parts {
        composite::push(&mut key, part);
    }
    key
}

fn broken(message: String) -> NoKey {
    NoKey::Refused(Refusal::Broken(message))
}

fn lacking(rule: &Rule, what: &str) -> NoKey {
    NoKey::Refused(Refusal::Invalid(format!("rule \"{}\": the request has no {what}", rule.id)))
}

fn warn_shared() {
    static SAID: AtomicBool = AtomicBool::new(false);
    if !SAID.swap(true, Ordering::Relaxed) {
        log::warn!(
            "requests without an address, as from a Unix socket, share one limit (set `peer`, `key`, `trusted_proxies` or \
             `no_address`); this is said once"
        );
    }
}
