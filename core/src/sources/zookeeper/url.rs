//! The address of rules in ZooKeeper. No message and no output contains a password.

use std::fmt;
use std::hash::{BuildHasher, RandomState};

use crate::error::{Error, ErrorKind, Result};
use crate::net::address::Address;
use crate::text::percent::decode;

const FORM: &str = "zookeeper://host1:port1,host2:port2/path/of/rules, or zookeepers://... with TLS";
const SCHEME: &str = "zookeeper://";
const SCHEME_WITH_TLS: &str = "zookeepers://";
const PORT: u16 = 2181;
const PORT_WITH_TLS: u16 = 2281;

#[derive(Debug, Clone)]
pub(super) struct ZooKeeperUrl {
    pub(super) tls: bool,
    /// `host:port`, at least one.
    pub(super) hosts: Vec<String>,
    /// The znode below which the rules are.
    pub(super) path: String,
    pub(super) login: Option<Login>,
}

/// `user:password`
#[derive(Clone)]
pub(super) struct Login(pub(super) String);

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(hidden)")
    }
}

impl fmt::Display for ZooKeeperUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.tls { SCHEME_WITH_TLS } else { SCHEME };
        write!(f, "{scheme}{}{}", self.hosts.join(","), self.path)
    }
}

impl ZooKeeperUrl {
    pub(super) fn parse(url: &str) -> Result<Self> {
        Self::parse_parts(url).map_err(|reason| {
            Error::new(ErrorKind::InvalidArgument, format!("rules: the address of ZooKeeper: {reason}"))
        })
    }

    fn parse_parts(url: &str) -> Result<Self, String> {
        let (tls, rest) = without_scheme(url).ok_or_else(|| format!("it has to be {FORM}"))?;
        let port = if tls { PORT_WITH_TLS } else { PORT };
        let (authority, path) = rest
            .find('/')
            .map(|at| rest.split_at(at))
            .ok_or_else(|| format!("no path; it has to be {FORM}"))?;
        if path.contains('@') {
            return Err("user and password: write `/` as %2F and `@` as %40".to_owned());
        }
        let (login, hosts) = match authority.rsplit_once('@') {
            Some((login, hosts)) => (Some(read_login(login)?), hosts),
            None => (None, authority),
        };
        let hosts: Vec<_> = hosts
            .split(',')
            .map(|host| Address::parse_with_port(host.trim(), port).map(|address| address.to_string()))
            .collect::<Result<_, _>>()?;
        Ok(Self { tls, hosts, path: read_path(path)?, login })
    }

    /// The places of the hosts, beginning with any, so that callers are spread, and ending with the one that
    /// was lost: it may hang.
    pub(super) fn order(&self, lost: Option<usize>) -> Vec<usize> {
        let count = self.hosts.len();
        let first = RandomState::new().hash_one(()) as usize % count;
        let mut order: Vec<_> = (first..count).chain(0..first).collect();
        order.sort_by_key(|place| Some(*place) == lost);
        order
    }

    /// The znode of a rule.
    pub(super) fn node(&self, rule_id: &str) -> String {
        format!("{}/{}", self.path, node_name(rule_id))
    }
}

/// Whether a URL is one with TLS, and what comes after the scheme.
fn without_scheme(url: &str) -> Option<(bool, &str)> {
    [(false, SCHEME), (true, SCHEME_WITH_TLS)].into_iter().find_map(|(tls, scheme)| {
        let (given, rest) = url.split_at_checked(scheme.len())?;
        given.eq_ignore_ascii_case(scheme).then_some((tls, rest))
    })
}

fn read_login(login: &str) -> Result<Login, String> {
    let decoded = decode(login).map_err(|reason| format!("user and password: {reason}"))?;
    match login.split_once(':') {
        Some((user, password)) if !user.is_empty() && !password.is_empty() => Ok(Login(decoded)),
        _ => Err("digest authentication takes user:password@ before the hosts".to_owned()),
    }
}

fn read_path(path: &str) -> Result<String, String> {
    let decoded = decode(path).map_err(|reason| format!("path: {reason}"))?;
    let path = decoded.trim_end_matches('/');
    let is_name = |name: &str| !matches!(name, "" | "." | "..") && !name.chars().any(char::is_control);
    if path.is_empty() || !path[1..].split('/').all(is_name) {
        return Err(format!("the path has to name the znode of the rules; it has to be {FORM}"));
    }
    Ok(path.to_owned())
}

/// The name of a rule's znode. ZooKeeper takes neither `/` nor a lone `.` or `..`; the alphabet of rule ids has
/// no `%`.
fn node_name(rule_id: &str) -> String {
    match rule_id {
        "." | ".." => rule_id.replace('.', "%2E"),
        _ => rule_id.replace('/', "%2F"),
    }
}

/// The rule that a znode has to hold. No two names are of one rule.
pub(super) fn rule_id(node_name: &str) -> String {
    match node_name {
        "%2E" | "%2E%2E" => node_name.replace("%2E", "."),
        _ => node_name.replace("%2F", "/"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_both_ways() {
        for id in ["a", "a/b//c", ".", "..", "a.b"] {
            assert_eq!(rule_id(&node_name(id)), id);
        }
        assert_eq!(rule_id("a%2Eb"), "a%2Eb", "the name of no rule");
        let url = ZooKeeperUrl::parse("zookeeper://h/p/").unwrap();
        assert_eq!(url.node("a/b"), "/p/a%2Fb");
    }

    #[test]
    fn what_makes_no_sense_is_refused_without_secrets() {
        for bad in [
            "zookeeper://",
            "zookeeper://h",
            "zookeeper://h/",
            "zookeeper:///p",
            "zookeeper://h:0/p",
            "zookeeper://h/p/../q",
            "zookeeper://secret@h/p",
            "zookeeper://u:@h/p",
            "zookeeper://u:sec/ret@h/p",
            "zookeeper://u:%zz-secret@h/p",
            "zookeeper://h//p",
            "zookeeper://h,/p",
            "http://h/p",
        ] {
            let error = ZooKeeperUrl::parse(bad).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{bad}");
            assert!(!error.message().contains("secret") && !error.message().contains("ret@"), "{bad}");
        }
        let url = ZooKeeperUrl::parse("zookeepers://a,b:5/p").unwrap();
        assert_eq!((url.tls, url.to_string().as_str()), (true, "zookeepers://a:2281,b:5/p"));
        let url = ZooKeeperUrl::parse("ZooKeeper://u:s%40crt@a,[::1]:5/p/q").unwrap();
        assert_eq!(url.login.as_ref().unwrap().0, "u:s@crt");
        assert_eq!(url.to_string(), "zookeeper://a:2181,[::1]:5/p/q");
        assert!(!format!("{url:?}").contains("crt"));
    }
}
