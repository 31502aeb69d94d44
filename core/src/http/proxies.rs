//! The proxies in front of a service that are believed, and what they say about the client.

use std::net::IpAddr;
use std::str::FromStr;

use crate::error::{Error, ErrorKind, Result};
use crate::net::subnet::{Subnet, undecorated};
use crate::text::words::quote;

/// The header to which proxies add the address that they were called from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum ForwardedHeader {
    /// `X-Forwarded-For`: addresses, separated by commas.
    #[default]
    XForwardedFor,
    /// `Forwarded` of RFC 7239: `for=192.0.2.1;proto=https`, `for="[2001:db8::1]:443"`.
    Forwarded,
}

impl ForwardedHeader {
    const ALL: [Self; 2] = [Self::XForwardedFor, Self::Forwarded];

    /// The name of the header, in small letters.
    pub fn name(self) -> &'static str {
        match self {
            Self::XForwardedFor => "x-forwarded-for",
            Self::Forwarded => "forwarded",
        }
    }

    /// The address that a proxy added.
    fn address(self, added: &[u8]) -> Option<IpAddr> {
        let added = std::str::from_utf8(added).ok()?;
        undecorated(match self {
            Self::XForwardedFor => added.trim(),
            Self::Forwarded => forwarded_for(added)?,
        })
    }
}

impl FromStr for ForwardedHeader {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let known = Self::ALL.into_iter().find(|header| header.name() == name);
        let wrong = "it has to be \"x-forwarded-for\" or \"forwarded\"";
        known.ok_or_else(|| Error::new(ErrorKind::InvalidArgument, wrong))
    }
}

/// What follows `for=` in an element of `Forwarded`, without the quotes that addresses of IPv6 need.
fn forwarded_for(element: &str) -> Option<&str> {
    let pairs = element.split(';').filter_map(|pair| pair.split_once('='));
    let (_, value) = pairs.into_iter().find(|(name, _)| name.trim().eq_ignore_ascii_case("for"))?;
    let value = value.trim();
    match value.strip_prefix('"') {
        Some(quoted) => quoted.strip_suffix('"'),
        None => Some(value),
    }
}

/// The proxies that are believed about the client.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TrustedProxies {
    which: Which,
    pub(super) header: ForwardedHeader,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Which {
    /// So many, counted from the service.
    Count(usize),
    /// Those with an address in one of these.
    Networks(Vec<Subnet>),
}

impl Default for Which {
    fn default() -> Self {
        Self::Count(0)
    }
}

impl TrustedProxies {
    /// So many proxies, each of which adds the address it was called from.
    pub fn count(count: usize) -> Self {
        Self { which: Which::Count(count), header: ForwardedHeader::default() }
    }

    /// Proxies with an address in one of these networks: `10.0.0.0/8`, `2001:db8::/32`, or an address alone.
    ///
    /// # Errors
    /// [`InvalidArgument`](ErrorKind::InvalidArgument) for what is no network; it is named.
    pub fn networks<'a>(networks: impl IntoIterator<Item = &'a str>) -> Result<Self> {
        let read = |text: &str| {
            let wrong = || {
                format!("trusted_proxies: {} is no network such as 10.0.0.0/8 or 2001:db8::/32", quote(text))
            };
            Subnet::parse(text).ok_or_else(|| Error::new(ErrorKind::InvalidArgument, wrong()))
        };
        let networks = networks.into_iter().map(read).collect::<Result<_>>()?;
        Ok(Self { which: Which::Networks(networks), header: ForwardedHeader::default() })
    }

    /// The same proxies, which write this header.
    #[must_use]
    pub fn with_header(self, header: ForwardedHeader) -> Self {
        Self { header, ..self }
    }

    /// The header to be read.
    pub fn header(&self) -> ForwardedHeader {
        self.header
    }

    /// Whether none is trusted, whoever calls.
    pub(super) fn is_nobody(&self) -> bool {
        match &self.which {
            Which::Count(count) => *count == 0,
            Which::Networks(networks) => networks.is_empty(),
        }
    }

    /// The address of the client by the lines of the header; `None` where they do not tell. Each proxy adds on the right: what
    /// stands further left than what those that are trusted added is the client's own word.
    ///
    /// (Elements of `Forwarded` end at every comma. No address has one, and a quote that a client left open must not take up
    /// what proxies added to it.)
    pub(super) fn client<'a>(
        &self,
        lines: impl DoubleEndedIterator<Item = &'a [u8]>,
        peer: impl FnOnce() -> Option<IpAddr>,
    ) -> Option<IpAddr> {
        let added = lines.rev().flat_map(|line| line.rsplit(|byte| *byte == b','));
        let mut addresses = added.map(|added| self.header.address(added));
        let networks = match &self.which {
            Which::Count(count) => return addresses.nth(count.checked_sub(1)?).flatten().or_else(peer),
            Which::Networks(networks) => networks,
        };
        let mut nearest = peer()?;
        while networks.iter().any(|network| network.contains(nearest)) {
            let Some(Some(before)) = addresses.next() else { break };
            nearest = before;
        }
        Some(nearest)
    }
}
