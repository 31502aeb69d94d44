//! How a rule stores what its keys, or its resources, are.

use std::borrow::Cow;

use crate::keys::address::AddressKeys;
use crate::keys::key::canonical;
use crate::keys::secret::SecretNames;
use crate::rules::Identifier;

/// How keys, or resources, of one identifier are stored.
#[derive(Debug)]
pub(super) struct Naming {
    /// Whether they are secrets, which are hashed before they are stored.
    is_secret: bool,
    /// Set where they are, or have as a part, the address of a client.
    addresses: Option<AddressKeys>,
}

impl Naming {
    pub(super) fn new(identifier: Option<&Identifier>, ipv6_prefix_length: u8) -> Self {
        Self { is_secret: is_secret(identifier), addresses: addresses(identifier, ipv6_prefix_length) }
    }

    /// Whether one that is [canonical](crate::keys::key::is_canonical) is stored as it is.
    #[inline(always)]
    pub(super) fn keeps(&self) -> bool {
        !self.is_secret && self.addresses.is_none()
    }

    /// The name under which it is stored; an address in it is read as that of a request is.
    #[inline]
    pub(super) fn name<'a>(&self, secrets: &SecretNames, given: &'a str) -> Cow<'a, str> {
        let Some(addresses) = &self.addresses else { return self.stored(secrets, given) };
        match addresses.read(given) {
            Cow::Borrowed(given) => self.stored(secrets, given),
            Cow::Owned(read) => Cow::Owned(self.stored(secrets, &read).into_owned()),
        }
    }

    #[inline]
    fn stored<'a>(&self, secrets: &SecretNames, text: &'a str) -> Cow<'a, str> {
        if self.is_secret { secrets.name(text).into() } else { canonical(text) }
    }
}

/// Whether who knows an identifier may act as the client.
fn is_secret(identifier: Option<&Identifier>) -> bool {
    match identifier {
        Some(Identifier::ApiKey | Identifier::Header(_)) => true,
        Some(Identifier::Composite(parts)) => parts.iter().any(|part| is_secret(Some(part))),
        Some(Identifier::UserId | Identifier::IpAddress | Identifier::Path(_) | Identifier::Global)
        | None => false,
    }
}

/// Where in the keys of an identifier there are addresses; `None`: nowhere.
fn addresses(identifier: Option<&Identifier>, ipv6_prefix_length: u8) -> Option<AddressKeys> {
    match identifier? {
        Identifier::IpAddress => Some(AddressKeys::whole(ipv6_prefix_length)),
        Identifier::Composite(parts) if parts.contains(&Identifier::IpAddress) => {
            let are_addresses = parts.iter().map(|part| *part == Identifier::IpAddress).collect();
            Some(AddressKeys::parts(ipv6_prefix_length, are_addresses))
        }
        _ => None,
    }
}
