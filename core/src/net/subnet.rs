//! Networks, and addresses cut to their network.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddrV4};

/// Leading bits that tell an IPv4 address written as an IPv6 one.
const MAPPED_BITS: u8 = 96;

/// A network: the leading bits of an address. IPv4 networks written as IPv6 ones are IPv4 networks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Subnet {
    /// Bits behind the prefix are zero.
    network: IpAddr,
    prefix: u8,
}

impl Subnet {
    /// Reads CIDR notation; an address alone is a network of one.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().ok()?;
        let prefix = match prefix {
            Some(prefix) if prefix.bytes().all(|byte| byte.is_ascii_digit()) => prefix.parse().ok()?,
            Some(_) => return None,
            None => bits(address),
        };
        if prefix > bits(address) {
            return None;
        }
        let canonical = address.to_canonical();
        if canonical.is_ipv4() && address.is_ipv6() && prefix >= MAPPED_BITS {
            return Some(Self::of(canonical, prefix - MAPPED_BITS));
        }
        Some(Self::of(address, prefix))
    }

    /// The network of that size that an address is in.
    pub(crate) fn of(address: IpAddr, prefix: u8) -> Self {
        let prefix = prefix.min(bits(address));
        let network = match address {
            IpAddr::V4(address) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0);
                Ipv4Addr::from_bits(address.to_bits() & mask).into()
            }
            IpAddr::V6(address) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(prefix)).unwrap_or(0);
                Ipv6Addr::from_bits(address.to_bits() & mask).into()
            }
        };
        Self { network, prefix }
    }

    pub(crate) fn contains(&self, address: IpAddr) -> bool {
        Self::of(address, self.prefix) == *self
    }

    pub(crate) fn prefix(&self) -> u8 {
        self.prefix
    }
}

impl fmt::Display for Subnet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.network, self.prefix)
    }
}

/// Reads the address of a client. An IPv4 address written as an IPv6 one is an IPv4 address; the zone of a
/// link-local one (`%eth0`) is left out, since it says nothing about the client.
pub(crate) fn address(text: &str) -> Option<IpAddr> {
    let zoneless = match text.split_once('%') {
        Some((address, zone)) if address.contains(':') && !zone.is_empty() => address,
        _ => text,
    };
    zoneless.parse::<IpAddr>().ok().map(|address| address.to_canonical())
}

/// Reads an address as proxies and servers write it: some add a port, or write IPv6 in brackets.
pub(crate) fn undecorated(text: &str) -> Option<IpAddr> {
    if let Some(rest) = text.strip_prefix('[') {
        let (inner, port) = rest.split_once(']')?;
        return address(inner).filter(|_| inner.contains(':') && is_port(port));
    }
    let with_port = || text.parse().ok().map(|address: SocketAddrV4| IpAddr::V4(*address.ip()));
    address(text).or_else(with_port)
}

/// Nothing, or a colon and a number.
fn is_port(text: &str) -> bool {
    let number = text.strip_prefix(':');
    text.is_empty() || number.is_some_and(|number| number.parse::<u16>().is_ok() && !number.starts_with('+'))
}

/// How the owner of an address is called: an IPv6 address is cut to its network.
pub(crate) fn owner(address: IpAddr, ipv6_prefix_length: u8) -> String {
    match address {
        IpAddr::V6(_) if ipv6_prefix_length < bits(address) => {
            Subnet::of(address, ipv6_prefix_length).to_string()
        }
        _ => address.to_string(),
    }
}

fn bits(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Option<String> {
        Subnet::parse(text).map(|subnet| subnet.to_string())
    }

    fn is_in(client: &str, network: &str) -> bool {
        Subnet::parse(network).unwrap().contains(address(client).unwrap())
    }

    #[test]
    fn networks_have_one_form() {
        assert_eq!(shown("192.168.1.77/24").unwrap(), "192.168.1.0/24");
        assert_eq!(shown("10.0.0.1").unwrap(), "10.0.0.1/32");
        assert_eq!(shown("2001:DB8:0::1/32").unwrap(), "2001:db8::/32");
        assert_eq!(shown("::ffff:10.1.2.3/104").unwrap(), "10.0.0.0/8");
        assert_eq!(shown("::ffff:10.1.2.3").unwrap(), "10.1.2.3/32");
        assert_eq!(shown("1.2.3.4/0").unwrap(), "0.0.0.0/0");
        assert_eq!(shown("ff::1/0").unwrap(), "::/0");
        for wrong in ["", "/", "10.0.0.0/33", "::/129", "10.0.0.0/", "10.0.0.0/+8", "10.0.0/8", "::1%lo/64"] {
            assert_eq!(shown(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn addresses_are_in_networks_of_their_own_kind() {
        assert!(is_in("192.168.1.255", "192.168.1.0/24") && !is_in("192.168.2.0", "192.168.1.0/24"));
        assert!(is_in("::ffff:192.168.1.9", "192.168.1.0/24"));
        assert!(is_in("192.168.1.9", "::ffff:192.168.1.0/120"));
        assert!(is_in("2001:db8:1::", "2001:db8::/32") && !is_in("2001:db9::", "2001:db8::/32"));
        assert!(!is_in("10.0.0.1", "::/0") && !is_in("::1", "0.0.0.0/0"));
    }

    #[test]
    fn owners_of_ipv6_addresses_are_networks() {
        let owner_of = |text, prefix| owner(address(text).unwrap(), prefix);
        assert_eq!(owner_of("2001:db8:0:0:ff::1", 64), "2001:db8::/64");
        assert_eq!(owner_of("2001:db8:0:1ff::1", 56), "2001:db8:0:100::/56");
        assert_eq!(owner_of("2001:db8::1", 128), "2001:db8::1");
        assert_eq!(owner_of("::ffff:203.0.113.9", 64), "203.0.113.9");
        assert_eq!(owner_of("fe80::1%eth0", 64), "fe80::/64");
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for wrong in ["localhost", "1.2.3", "1.2.3.4:80", "[::1]", "01.2.3.4", "1.2.3.4%eth0", "::1%", " ::1"]
        {
            assert_eq!(address(wrong), None, "{wrong}");
        }
    }
}
