//! Who is counted by rules that the application names.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use http::request::Parts;

use super::answer::{Find, find};
use super::common::Common;
use super::refusal::Refusal;
use crate::keys::composite;
use crate::net::subnet::owner;
use crate::rules::{Identifier, Rule};

/// The key of all clients that have no address.
const NO_ADDRESS: &str = "no address";

/// What becomes of a request that is counted by its address and has none, such as one from a Unix socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum NoAddress {
    /// It is answered with 400.
    Deny,
    /// All such requests share one limit; a warning says so once.
    #[default]
    Shared,
    /// It is not limited.
    Skip,
}

/// Why there is no key.
pub(super) enum NoKey {
    /// The request is not limited.
    Exempt,
    Refused(Refusal),
}

/// Finds the keys of one request; asks each function of the application once.
pub(super) struct Keys<'a> {
    common: &'a Common,
    no_address: NoAddress,
    parts: &'a Parts,
    user: Option<Option<String>>,
    key: Option<String>,
}

impl<'a> Keys<'a> {
    pub(super) fn new(common: &'a Common, no_address: NoAddress, parts: &'a Parts) -> Self {
        Self { common, no_address, parts, user: None, key: None }
    }

    /// Those of a request whose user is known.
    pub(super) fn of_user(self, user: Option<&str>) -> Self {
        Self { user: Some(user.map(str::to_owned)), ..self }
    }

    /// The key under a rule: what its `identifier_type` says, or else `key`, or else user or address.
    pub(super) async fn of(&mut self, rule: &Rule) -> Result<String, NoKey> {
        let common = self.common;
        match (&rule.identifier_type, &common.key) {
            (Some(Identifier::Composite(identifiers)), _) => {
                let mut parts = Vec::with_capacity(identifiers.len());
                for identifier in identifiers {
                    parts.push(self.identified(identifier, rule).await?);
                }
                Ok(joined(&parts))
            }
            (Some(identifier), _) => self.identified(identifier, rule).await,
            (None, Some(find)) => self.named(find).await,
            (None, None) if common.user_id.is_none() => self.address(rule),
            // A user cannot be named like the address of somebody else.
            (None, None) => match self.user().await? {
                Some(user) => Ok(joined(&["user".to_owned(), user])),
                None => Ok(joined(&["ip".to_owned(), self.address(rule)?])),
            },
        }
    }

    /// The key under each of these rules.
    pub(super) async fn of_all(mut self, rules: &[Arc<Rule>]) -> Result<Vec<String>, NoKey> {
        let mut keys = Vec::with_capacity(rules.len());
        for rule in rules {
            keys.push(self.of(rule).await?);
        }
        Ok(keys)
    }

    async fn identified(&mut self, identifier: &Identifier, rule: &Rule) -> Result<String, NoKey> {
        match identifier {
            Identifier::Global => Ok("global".to_owned()),
            Identifier::IpAddress => self.address(rule),
            Identifier::UserId => {
                let user = self.user().await?;
                user.ok_or_else(|| broken(format!("rule \"{}\": user_id found no user", rule.id)))
            }
            Identifier::ApiKey => find(&self.common.api_key, self.parts)
                .await
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

    async fn named(&mut self, find: &Find<String>) -> Result<String, NoKey> {
        if self.key.is_none() {
            self.key = find(self.parts).get().await.filter(|key| !key.is_empty());
        }
        let wrong = "key returned nothing (return who is counted; `skip` exempts requests)";
        self.key.clone().ok_or_else(|| broken(wrong.to_owned()))
    }

    async fn user(&mut self) -> Result<Option<String>, NoKey> {
        let user = match self.user.take() {
            Some(user) => user,
            None => find(&self.common.user_id, self.parts).await,
        };
        self.user = Some(user.clone());
        if user.as_ref().is_some_and(String::is_empty) {
            return Err(NoKey::Refused(Refusal::empty_user()));
        }
        Ok(user)
    }

    fn address(&self, rule: &Rule) -> Result<String, NoKey> {
        match (self.common.client(self.parts), self.no_address) {
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
