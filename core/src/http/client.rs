//! The address of the client, who may be behind proxies.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};

use super::proxies::{ForwardedHeader, TrustedProxies};
use crate::net::subnet::undecorated;

/// The address of the client: what the trusted proxies say of it, or else the peer's. Proxies add to the lines of a header;
/// neither they nor the peer's text need be valid addresses.
#[cfg(feature = "bridge")]
pub fn client_address<'a>(
    lines: impl DoubleEndedIterator<Item = &'a [u8]>,
    peer: &str,
    trusted: &TrustedProxies,
) -> Option<IpAddr> {
    client(lines, || undecorated(peer), trusted)
}

/// The same of a peer that is looked for where it is needed.
pub(crate) fn client<'a>(
    lines: impl DoubleEndedIterator<Item = &'a [u8]>,
    peer: impl FnOnce() -> Option<IpAddr>,
    trusted: &TrustedProxies,
) -> Option<IpAddr> {
    if !trusted.is_nobody() {
        return trusted.client(lines, peer);
    }
    let peer = peer();
    if trusted.header == ForwardedHeader::XForwardedFor {
        warn_unread(lines, peer);
    }
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

#[cfg(all(test, feature = "bridge"))]
mod tests {
    use super::*;
    use crate::ErrorKind;

    const PEER: &str = "10.0.0.1";

    fn found(lines: &[&str], trusted_proxies: usize) -> String {
        by(lines, PEER, &TrustedProxies::count(trusted_proxies))
    }

    fn by(lines: &[&str], peer: &str, trusted: &TrustedProxies) -> String {
        let lines = lines.iter().map(|line| line.as_bytes());
        client_address(lines, peer, trusted).map(|address| address.to_string()).unwrap_or_default()
    }

    #[test]
    fn nothing_is_believed_unless_asked_for() {
        assert_eq!(found(&["192.0.2.1"], 0), PEER);
        assert_eq!(found(&[], 1), PEER);
        assert_eq!(client_address([].into_iter(), "", &TrustedProxies::count(1)), None);
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
        let of = |peer| {
            client_address([].into_iter(), peer, &TrustedProxies::default())
                .map(|address| address.to_string())
        };
        assert_eq!(of("fe80::1%eth0").as_deref(), Some("fe80::1"));
        assert_eq!(of("::ffff:192.0.2.1").as_deref(), Some("192.0.2.1"));
        assert_eq!(of("testclient"), None);
    }
    #[test]
    fn proxies_are_known_by_their_networks() {
        let trusted = TrustedProxies::networks(["10.0.0.0/8", "192.0.2.7", "2001:db8::/32"]).unwrap();
        let from = |peer, lines: &[&str]| by(lines, peer, &trusted);
        assert_eq!(from("203.0.113.9", &["198.51.100.1"]), "203.0.113.9", "who is no proxy is not believed");
        assert_eq!(from("10.0.0.1", &["6.6.6.6, 198.51.100.1"]), "198.51.100.1");
        assert_eq!(
            from("10.0.0.1", &["6.6.6.6, 198.51.100.1, 192.0.2.7", "[2001:db8::5]:443"]),
            "198.51.100.1"
        );
        assert_eq!(from("::ffff:10.0.0.1", &["10.1.1.1, 10.2.2.2"]), "10.1.1.1", "all are proxies");
        assert_eq!(from("10.0.0.1", &["198.51.100.1, unknown"]), "10.0.0.1", "the last that is known");
        assert_eq!(
            (from("10.0.0.1", &[]), from("", &["198.51.100.1"])),
            ("10.0.0.1".to_owned(), String::new())
        );
        let error = TrustedProxies::networks(["10.0.0.0/8", "10.0.0.0/33"]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.message().contains("\"10.0.0.0/33\" is no network"), "{error}");
    }

    #[test]
    fn forwarded_is_read_instead_where_that_is_asked_for() {
        let trusted = |count| TrustedProxies::count(count).with_header(ForwardedHeader::Forwarded);
        let found = |line, count| by(&[line], PEER, &trusted(count));
        assert_eq!(found("for=6.6.6.6, For=192.0.2.1:80;proto=http;by=203.0.113.43", 1), "192.0.2.1");
        assert_eq!(
            found("by=10.0.0.2; for=\"[2001:db8:cafe::17]:4711\", for=192.0.2.1", 2),
            "2001:db8:cafe::17"
        );
        // What a client leaves open takes up nothing of what a proxy adds.
        assert_eq!(found("for=\"6.6.6.6, for=192.0.2.1", 1), "192.0.2.1");
        for bad in [
            "for=unknown",
            "for=_hidden",
            "proto=https",
            "192.0.2.1",
            "for=\"192.0.2.1",
            "for=[2001:db8::1",
            "",
        ] {
            assert_eq!(found(bad, 1), PEER, "{bad}");
        }
        assert_eq!("forwarded".parse(), Ok(ForwardedHeader::Forwarded));
        assert!("Forwarded".parse::<ForwardedHeader>().unwrap_err().message().contains("x-forwarded-for"));
    }
}
