//! The address of the client, who may be behind proxies.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use http::HeaderMap;

const FORWARDED_FOR: &str = "x-forwarded-for";

/// The address that the outermost of the trusted proxies was called from, or else the peer's.
pub(super) fn address(headers: &HeaderMap, peer: Option<IpAddr>, trusted_proxies: usize) -> Option<IpAddr> {
    forwarded(headers, trusted_proxies).or(peer)
}

/// Each proxy adds the address it was called from on the right. What stands further left than as many as are
/// trusted is the client's own word.
fn forwarded(headers: &HeaderMap, trusted_proxies: usize) -> Option<IpAddr> {
    let before = trusted_proxies.checked_sub(1)?;
    let lines = headers.get_all(FORWARDED_FOR).iter().rev();
    let mut addresses = lines.flat_map(|line| line.as_bytes().rsplit(|byte| *byte == b','));
    parse(std::str::from_utf8(addresses.nth(before)?).ok()?.trim())
}

/// Some proxies add a port, or write IPv6 in brackets.
fn parse(text: &str) -> Option<IpAddr> {
    let with_port = || text.parse().ok().map(|address: SocketAddr| address.ip());
    let in_brackets = || {
        let inner = text.strip_prefix('[')?.strip_suffix(']')?;
        inner.parse::<Ipv6Addr>().ok().map(IpAddr::V6)
    };
    text.parse().ok().or_else(with_port).or_else(in_brackets)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEER: &str = "10.0.0.1";

    fn found(lines: &[&'static str], trusted_proxies: usize) -> String {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(FORWARDED_FOR, line.parse().unwrap());
        }
        address(&headers, PEER.parse().ok(), trusted_proxies).unwrap().to_string()
    }

    #[test]
    fn nothing_is_believed_unless_asked_for() {
        assert_eq!(found(&["192.0.2.1"], 0), PEER);
        assert_eq!(found(&[], 1), PEER);
        assert_eq!(address(&HeaderMap::new(), None, 1), None);
    }

    #[test]
    fn addresses_are_counted_from_the_right_over_all_lines() {
        let lines = ["6.6.6.6, 192.0.2.1", "192.0.2.2,192.0.2.3"];
        assert_eq!(found(&lines, 1), "192.0.2.3");
        assert_eq!(found(&lines, 2), "192.0.2.2");
        assert_eq!(found(&lines, 3), "192.0.2.1");
        assert_eq!(found(&lines, 5), PEER);
    }

    #[test]
    fn ports_and_brackets_are_no_part_of_an_address() {
        assert_eq!(found(&["192.0.2.1:8080"], 1), "192.0.2.1");
        for v6 in ["2001:db8::1", "[2001:db8::1]", "[2001:db8::1]:443"] {
            assert_eq!(found(&[v6], 1), "2001:db8::1");
        }
    }

    #[test]
    fn what_is_no_address_is_the_peer() {
        for bad in ["unknown", "", "192.0.2.1,", "192.0.2.256", "[192.0.2.1]", "1:2:3", "\u{e9}"] {
            assert_eq!(found(&[bad], 1), PEER, "{bad:?}");
        }
    }
}
