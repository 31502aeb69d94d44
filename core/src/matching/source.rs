//! Where in a request a key or a resource is found.

use std::borrow::Cow;

use super::facts::{Facts, HeaderNames};
use super::pattern::Pattern;
use super::subnet::owner;
use crate::rules::Identifier;

/// The key of `global` rules, which count everybody together.
const EVERYBODY: &str = "global";

#[derive(Debug)]
pub(super) enum Source {
    UserId,
    IpAddress {
        ipv6_prefix_length: u8,
    },
    ApiKey,
    /// The place of the header.
    Header(usize),
    /// The name in the pattern.
    Path(String),
    Global,
}

impl Source {
    pub(super) fn new(identifier: &Identifier, ipv6_prefix_length: u8, names: &mut HeaderNames) -> Self {
        match identifier {
            Identifier::UserId => Self::UserId,
            Identifier::IpAddress => Self::IpAddress { ipv6_prefix_length },
            Identifier::ApiKey => Self::ApiKey,
            Identifier::Header(name) => Self::Header(names.place(name)),
            Identifier::Path(name) => Self::Path(name.clone()),
            Identifier::Global => Self::Global,
        }
    }

    /// What the request has there; `path` is the reading of its path that `pattern` matches.
    pub(super) fn find<'f>(
        &self,
        facts: &'f Facts<'_>,
        pattern: Option<&Pattern>,
        path: &'f str,
    ) -> Option<Cow<'f, str>> {
        let found = match self {
            Self::UserId => facts.user_id,
            Self::IpAddress { ipv6_prefix_length } => {
                return facts.ip.map(|address| Cow::Owned(owner(address, *ipv6_prefix_length)));
            }
            Self::ApiKey => facts.api_key,
            Self::Header(place) => facts.headers[*place].as_deref(),
            Self::Path(name) => pattern.and_then(|pattern| pattern.capture(path, name)),
            Self::Global => Some(EVERYBODY),
        };
        found.filter(|text| !text.is_empty()).map(Cow::Borrowed)
    }
}
