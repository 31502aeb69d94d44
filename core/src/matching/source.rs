//! Where in a request a key or a resource is found.

use std::borrow::Cow;

use super::header::HeaderNames;
use super::mismatch::Mismatch;
use super::pattern::Pattern;
use super::reading::Reading;
use super::view::RequestView;
use crate::keys::composite;
use crate::net::subnet::owner;
use crate::rules::Identifier;

/// A request that is read as more keys of one rule than this is refused: none has a reason to be.
pub(super) const MAX_KEYS: usize = 8;

/// The key of `global` rules, which count everybody together.
const EVERYBODY: &str = "global";

/// The key of an empty segment. No other segment has it: a slash in one is `%2F`.
const EMPTY_SEGMENT: &str = "/";

#[derive(Debug)]
pub(super) enum PartSource {
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

/// Where a rule's key is found.
#[derive(Debug)]
pub(super) struct KeySource {
    /// At least one; several, or those of an array, are joined.
    parts: Vec<PartSource>,
    is_joined: bool,
}

impl KeySource {
    pub(super) fn new(identifier: &Identifier, ipv6_prefix_length: u8, names: &mut HeaderNames) -> Self {
        let (identifiers, is_joined) = match identifier {
            Identifier::Composite(parts) => (parts.as_slice(), true),
            single => (std::slice::from_ref(single), false),
        };
        let parts = identifiers.iter().map(|part| PartSource::new(part, ipv6_prefix_length, names));
        Self { parts: parts.collect(), is_joined }
    }

    /// Whether it depends on how the path is read.
    pub(super) fn is_of_path(&self) -> bool {
        self.parts.iter().any(PartSource::is_of_path)
    }

    /// Whether this part is the address of the client.
    pub(super) fn is_address_at(&self, at: usize) -> bool {
        self.parts.get(at).is_some_and(PartSource::is_address)
    }

    /// The argument of a request that several keys come from, if all parts but one are certain.
    pub(super) fn argument(&self) -> &'static str {
        let part = self.parts.iter().find(|part| part.is_of_path()).or(self.parts.first());
        part.map_or("path", PartSource::argument)
    }

    /// The keys of a request, as [`PartSource::find`]; or the mismatch: a part is absent or has too many values.
    #[inline]
    pub(super) fn find<'v>(
        &'v self,
        view: &'v RequestView<'_>,
        pattern: Option<&Pattern>,
        reading: &'v Reading<'_>,
        path: &'v str,
    ) -> Result<Vec<Cow<'v, str>>, Mismatch> {
        if let (false, [single]) = (self.is_joined, self.parts.as_slice()) {
            let keys = single.find(view, pattern, reading, path);
            return if keys.is_empty() { Err(Mismatch::Identifier(0)) } else { Ok(keys) };
        }
        let mut found = Vec::with_capacity(self.parts.len());
        for (at, part) in self.parts.iter().enumerate() {
            found.push(part.find(view, pattern, reading, path));
            if found[at].is_empty() {
                return Err(Mismatch::Identifier(at));
            }
        }
        let mut keys = vec![String::new()];
        for (part, values) in self.parts.iter().zip(&found) {
            keys = with_each(&keys, values).ok_or(Mismatch::TooManyKeys(part.argument()))?;
        }
        Ok(keys.into_iter().map(Cow::Owned).collect())
    }
}

/// Each key with each value as one more part, unless there are too many.
fn with_each(keys: &[String], values: &[Cow<'_, str>]) -> Option<Vec<String>> {
    let mut longer = Vec::new();
    for key in keys {
        for value in values {
            let mut key = key.clone();
            composite::push(&mut key, value);
            if !longer.contains(&key) {
                longer.push(key);
            }
            if longer.len() > MAX_KEYS {
                return None;
            }
        }
    }
    Some(longer)
}

impl PartSource {
    pub(super) fn new(identifier: &Identifier, ipv6_prefix_length: u8, names: &mut HeaderNames) -> Self {
        match identifier {
            Identifier::UserId => Self::UserId,
            Identifier::IpAddress => Self::IpAddress { ipv6_prefix_length },
            Identifier::ApiKey => Self::ApiKey,
            Identifier::Header(name) => Self::Header(names.place(name)),
            Identifier::Path(name) => Self::Path(name.clone()),
            // A part is no array itself; that of everybody would be the same in all requests.
            Identifier::Global | Identifier::Composite(_) => Self::Global,
        }
    }

    /// Whether it depends on how the path is read.
    pub(super) fn is_of_path(&self) -> bool {
        matches!(self, Self::Path(_))
    }

    pub(super) fn is_address(&self) -> bool {
        matches!(self, Self::IpAddress { .. })
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
    #[inline]
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
            Self::ApiKey => view.api_keys().map(Cow::Borrowed).collect(),
            Self::Header(place) => view.headers[*place].values().map(Cow::Borrowed).collect(),
            Self::Path(name) => {
                let segment = pattern.and_then(|pattern| pattern.capture(path, name));
                let key = |segment: &'v str| {
                    if segment.is_empty() { EMPTY_SEGMENT } else { reading.spelled(segment) }
                };
                segment.map(|segment| Cow::Borrowed(key(segment))).into_iter().collect()
            }
            Self::Global => vec![Cow::Borrowed(EVERYBODY)],
        };
        found.retain(|text| !text.is_empty());
        found
    }
}
