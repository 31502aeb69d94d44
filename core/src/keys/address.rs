//! Keys that are addresses of clients.

use std::borrow::Cow;
use std::net::Ipv4Addr;
use std::ops::RangeInclusive;

use super::composite;
use crate::error::{Error, ErrorKind, Result};
use crate::net::subnet::{owner, undecorated};

/// The leading bits of an IPv6 address that may identify a client.
const PREFIX_LENGTHS: RangeInclusive<u8> = 1..=128;
/// More than this of an argument is not repeated in a message.
const SHOWN_CHARS: usize = 64;

/// The key of the client with an address, for rules whose `identifier_type` is not `ip_address`.
///
/// An IPv6 address is cut to its network of `prefix_length` bits (1 to 128; 64 is what rules use unless they say
/// otherwise), since one client has all addresses of it. An IPv4 address written as an IPv6 one is an IPv4 address. A port,
/// brackets and a zone are left out. Rules whose `identifier_type` is `ip_address`, or has it as a part, read their keys
/// in this way themselves.
///
/// ```
/// assert_eq!(sluicegate::address_key("[2001:db8::1]:443", 64)?, "2001:db8::/64");
/// assert_eq!(sluicegate::address_key("::ffff:203.0.113.9", 64)?, "203.0.113.9");
/// # Ok::<(), sluicegate::Error>(())
/// ```
///
/// # Errors
///
/// [`InvalidArgument`](ErrorKind::InvalidArgument), if `ip` is not an address, or `prefix_length` is out of range.
pub fn address_key(ip: &str, prefix_length: u8) -> Result<String> {
    let refused = |what: String| Err(Error::new(ErrorKind::InvalidArgument, what));
    if !PREFIX_LENGTHS.contains(&prefix_length) {
        return refused("prefix_length: must be from 1 to 128".to_owned());
    }
    match undecorated(ip) {
        Some(address) => Ok(owner(address, prefix_length)),
        None => {
            let shown: String = ip.chars().take(SHOWN_CHARS).collect();
            refused(format!("ip {shown:?}: must be an IPv4 or IPv6 address"))
        }
    }
}

/// Reads the addresses in the keys, or the resources, of a rule as those of requests are read, so that a client has one
/// key whoever asks.
#[derive(Debug)]
pub(crate) struct AddressKeys {
    ipv6_prefix_length: u8,
    /// Of a composite key, which parts are addresses.
    parts: Option<Vec<bool>>,
}

impl AddressKeys {
    /// For keys that are an address each.
    pub(crate) fn whole(ipv6_prefix_length: u8) -> Self {
        Self { ipv6_prefix_length, parts: None }
    }

    /// For composite keys: which of their parts are addresses.
    pub(crate) fn parts(ipv6_prefix_length: u8, are_addresses: Vec<bool>) -> Self {
        Self { ipv6_prefix_length, parts: Some(are_addresses) }
    }

    /// The key with its addresses as a request's are; what is not an address stays as it is.
    pub(crate) fn read<'a>(&self, key: &'a str) -> Cow<'a, str> {
        match &self.parts {
            None => self.client(key),
            Some(are_addresses) => self.joined(key, are_addresses),
        }
    }

    fn client<'a>(&self, text: &'a str) -> Cow<'a, str> {
        // IPv4 has one spelling.
        if text.parse::<Ipv4Addr>().is_ok() {
            return Cow::Borrowed(text);
        }
        match undecorated(text) {
            Some(address) => Cow::Owned(owner(address, self.ipv6_prefix_length)),
            None => Cow::Borrowed(text),
        }
    }

    /// A composite key; one with another number of parts is no key of a request, and stays as it is.
    fn joined<'a>(&self, key: &'a str, are_addresses: &[bool]) -> Cow<'a, str> {
        if composite::parts(key).count() != are_addresses.len() {
            return Cow::Borrowed(key);
        }
        let read = |(part, is_address): (&'a str, &bool)| match is_address {
            // What is escaped in one can only stand in its zone.
            true => self.client(part),
            false => Cow::Borrowed(part),
        };
        let parts: Vec<_> = composite::parts(key).zip(are_addresses).map(read).collect();
        Cow::Owned(composite::join(&parts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_an_address_is_one_key() {
        let keys = AddressKeys::whole(64);
        for spelling in
            ["2001:db8::1", "2001:DB8:0::2", "[2001:db8::1]", "[2001:db8::9]:443", "2001:db8::1%eth0"]
        {
            assert_eq!(keys.read(spelling), "2001:db8::/64", "{spelling}");
        }
        for spelling in ["203.0.113.9", "203.0.113.9:80", "::ffff:203.0.113.9", "[::ffff:203.0.113.9]:80"] {
            assert_eq!(keys.read(spelling), "203.0.113.9", "{spelling}");
        }
    }

    #[test]
    fn what_is_not_an_address_stays_as_it_is() {
        let keys = AddressKeys::whole(64);
        for key in ["2001:db8::/64", "alice", "1.2.3", "testclient", "[::1", "1.2.3.4:x", " ::1", "::1%"] {
            assert!(matches!(keys.read(key), Cow::Borrowed(same) if same == key), "{key}");
        }
    }

    #[test]
    fn addresses_that_are_parts_are_read_in_their_place() {
        let keys = AddressKeys::parts(64, vec![false, true]);
        assert_eq!(keys.read("alice,2001:db8::1"), "alice,2001:db8::/64");
        assert_eq!(keys.read("::1,2001:db8::1"), "::1,2001:db8::/64");
        assert_eq!(keys.read(r"a\,b\\,::ffff:10.0.0.1"), r"a\,b\\,10.0.0.1");
        assert_eq!(keys.read(r"alice,fe80::1%a\,b"), "alice,fe80::/64");
        for key in ["alice", "alice,nobody", "alice,::1,::2", "2001:db8::1", r"a\b,nobody\"] {
            assert_eq!(keys.read(key), key);
        }
    }

    #[test]
    fn arguments_that_make_no_key_are_refused_by_name() {
        let refused = |ip, prefix| address_key(ip, prefix).unwrap_err().message().to_owned();
        assert_eq!(refused("localhost", 64), "ip \"localhost\": must be an IPv4 or IPv6 address");
        assert_eq!(refused("", 64), "ip \"\": must be an IPv4 or IPv6 address");
        assert_eq!(refused("::1", 0), "prefix_length: must be from 1 to 128");
        assert_eq!(refused("::1", 129), "prefix_length: must be from 1 to 128");
        assert_eq!(address_key("2001:db8::1", 128).unwrap(), "2001:db8::1");
    }
}
