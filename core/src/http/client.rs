//! The address of the client, who may be behind proxies.

use std::net::IpAddr;

use crate::net::subnet::undecorated;

/// The address that the outermost of the trusted proxies was called from, or else the peer's. Proxies add to the lines
/// of `X-Forwarded-For`; neither they nor the peer's text need be valid addresses.
#[cfg(feature = "bridge")]
pub fn client_address<'a>(
    lines: impl DoubleEndedIterator<Item = &'a [u8]>,
    peer: &str,
    trusted_proxies: usize,
) -> Option<IpAddr> {
    forwarded_address(lines, trusted_proxies).or_else(|| undecorated(peer))
}

/// The address that the outermost of the trusted proxies was called from. Each adds it on the right. What stands further
/// left than as many as are trusted is the client's own word.
pub(crate) fn forwarded_address<'a>(
    lines: impl DoubleEndedIterator<Item = &'a [u8]>,
    trusted_proxies: usize,
) -> Option<IpAddr> {
    let before = trusted_proxies.checked_sub(1)?;
    let mut addresses = lines.rev().flat_map(|line| line.rsplit(|byte| *byte == b','));
    undecorated(std::str::from_utf8(addresses.nth(before)?).ok()?.trim())
}

#[cfg(all(test, feature = "bridge"))]
mod tests {
    use super::*;

    const PEER: &str = "10.0.0.1";

    fn found(lines: &[&str], trusted_proxies: usize) -> String {
        let lines = lines.iter().map(|line| line.as_bytes());
        client_address(lines, PEER, trusted_proxies).map(|address| address.to_string()).unwrap_or_default()
    }

    #[test]
    fn nothing_is_believed_unless_asked_for() {
        assert_eq!(found(&["192.0.2.1"], 0), PEER);
        assert_eq!(found(&[], 1), PEER);
        assert_eq!(client_address([].into_iter(), "", 1), None);
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
    fn ports_brackets_and_zones_are_no_part_of_an_address() {
        assert_eq!(found(&["192.0.2.1:8080"], 1), "192.0.2.1");
        let spellings =
            ["2001:db8::1", "[2001:db8::1]", "[2001:db8::1]:443", "2001:db8::1%eth0", "[2001:db8::1%1]:443"];
        for v6 in spellings {
            assert_eq!(found(&[v6], 1), "2001:db8::1", "{v6}");
        }
    }

    #[test]
    fn what_is_no_address_is_the_peer() {
        let bad = [
            "unknown",
            "",
            "192.0.2.1,",
            "192.0.2.256",
            "[192.0.2.1]",
            "1:2:3",
            "\u{e9}",
            "192.0.2.1%eth0",
            "192.0.2.1:",
            "192.0.2.1:99999",
            "[2001:db8::1",
            "[2001:db8::1]:",
            "[2001:db8::1]:+1",
            "[2001:db8::1]x",
        ];
        for bad in bad {
            assert_eq!(found(&[bad], 1), PEER, "{bad:?}");
        }
    }

    #[test]
    fn a_peer_may_be_no_address() {
        let of = |peer| client_address([].into_iter(), peer, 0).map(|address| address.to_string());
        assert_eq!(of("fe80::1%eth0").as_deref(), Some("fe80::1"));
        assert_eq!(of("::ffff:192.0.2.1").as_deref(), Some("192.0.2.1"));
        assert_eq!(of("testclient"), None);
    }
}
