//! The address of the client, who may be behind proxies.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::net::subnet::undecorated;

/// The address that the outermost of the trusted proxies was called from, or else the peer's. Proxies add to the lines
/// of `X-Forwarded-For`; neither they nor the peer's text need be valid addresses.
#[cfg(feature = "bridge")]
pub fn client_address<'a>(
    lines: impl DoubleEndedIterator<Item = &'a [u8]>,
    peer: &str,
    trusted_proxies: usize,
) -> Option<IpAddr> {
    client(lines, || undecorated(peer), trusted_proxies)
}

/// The same of a peer that is looked for where it is needed.
pub(crate) fn client<'a>(
    lines: impl DoubleEndedIterator<Item = &'a [u8]>,
    peer: impl FnOnce() -> Option<IpAddr>,
    trusted_proxies: usize,
) -> Option<IpAddr> {
    if trusted_proxies > 0 {
        return forwarded_address(lines, trusted_proxies).or_else(peer);
    }
    let peer = peer();
    warn_unread(lines, peer);
    peer
}

/// Says once that `X-Forwarded-For` arrives and is not read. Where the peer is one of its addresses, the server has read it.
fn warn_unread<'a>(lines: impl Iterator<Item = &'a [u8]>, peer: Option<IpAddr>) {
    static SAID: AtomicBool = AtomicBool::new(false);
    if !SAID.load(Ordering::Relaxed) && is_unread(lines, peer) && !SAID.swap(true, Ordering::Relaxed) {
        log::warn!(
            "a request has X-Forwarded-For, but no proxy is trusted, so the peer is taken for the client (if proxies of \
             yours stand in front, state their number in trusted_proxies: all clients share one limit otherwise); this is \
             said once"
        );
    }
}

/// Whether there are lines, none of which has the peer's address.
fn is_unread<'a>(lines: impl Iterator<Item = &'a [u8]>, peer: Option<IpAddr>) -> bool {
    let mut lines = lines.peekable();
    let is_peer = |address: &[u8]| peer.is_some() && read(address) == peer;
    lines.peek().is_some() && !lines.any(|line| line.split(|byte| *byte == b',').any(is_peer))
}

fn read(address: &[u8]) -> Option<IpAddr> {
    undecorated(std::str::from_utf8(address).ok()?.trim())
}

/// The address that the outermost of the trusted proxies was called from. Each adds it on the right. What stands further
/// left than as many as are trusted is the client's own word.
fn forwarded_address<'a>(
    lines: impl DoubleEndedIterator<Item = &'a [u8]>,
    trusted_proxies: usize,
) -> Option<IpAddr> {
    let before = trusted_proxies.checked_sub(1)?;
    let mut addresses = lines.rev().flat_map(|line| line.rsplit(|byte| *byte == b','));
    read(addresses.nth(before)?)
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
    fn a_header_is_unread_unless_the_server_has_read_it() {
        let peer = PEER.parse().ok();
        let is_unread = |lines: &[&str], peer| is_unread(lines.iter().map(|line| line.as_bytes()), peer);
        assert!(is_unread(&["192.0.2.1"], peer) && is_unread(&["unknown", ""], None));
        assert!(!is_unread(&[], peer) && !is_unread(&["192.0.2.1", "192.0.2.2, 10.0.0.1:80"], peer));
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
