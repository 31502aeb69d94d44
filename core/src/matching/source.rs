//! Where in a request a key or a resource is found.

use std::borrow::Cow;

use super::pattern::Pattern;
use super::reading::Reading;
use super::view::{HeaderNames, RequestView};
use crate::rules::Identifier;
use crate::subnet::owner;

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

    /// Whether it depends on how the path is read.
    pub(super) fn is_of_path(&self) -> bool {
        matches!(self, Self::Path(_))
    }

    /// The argument of a request that it is found in.
    pub(super) fn argument(&self) -> &'static str {
        match self {
            Self::Path(_) => "path",
            Self::Header(_) | Self::ApiKey => "headers",
            Self::UserId => "user_id",
            Self::IpAddress { .. } => "ip",
            Self::Global => "method",
        }
    }

    /// What the request has there, in every way in which it may be seen; `path` is a text of `reading` that
    /// `pattern` matches.
    pub(super) fn find<'v>(
        &'v self,
        view: &'v RequestView<'_>,
        pattern: Option<&Pattern>,
        reading: &'v Reading<'_>,
        path: &'v str,
    ) -> Vec<Cow<'v, str>> {
        let mut found: Vec<Cow<'v, str>> = match self {
            Self::UserId => view.user_id.into_iter().map(Cow::Borrowed).collect(),
            Self::IpAddress { ipv6_prefix_length } => {
                view.ip.map(|address| Cow::Owned(owner(address, *ipv6_prefix_length))).into_iter().collect()
            }
            Self::ApiKey => view.api_keys.iter().copied().map(Cow::Borrowed).collect(),
            Self::Header(place) => view.headers[*place].values().map(Cow::Borrowed).collect(),
            Self::Path(name) => {
                let segment = pattern.and_then(|pattern| pattern.capture(path, name));
                segment.map(|segment| Cow::Borrowed(reading.spelled(segment))).into_iter().collect()
            }
            Self::Global => vec![Cow::Borrowed(EVERYBODY)],
        };
        found.retain(|text| !text.is_empty());
        found
    }
}
