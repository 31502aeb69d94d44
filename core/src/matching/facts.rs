//! A request, validated and made ready to be compared with rules.

use std::borrow::Cow;
use std::collections::HashMap;
use std::net::IpAddr;

use super::path::{path_of, readings};
use super::request::Request;
use super::subnet::address;
use crate::error::{Error, ErrorKind, Result};
use crate::rules::is_token;

/// Work is bounded whatever a client sends; few servers accept as much as this.
const MAX_PATH_BYTES: usize = 16_384;
const MAX_HEADERS: usize = 4096;
/// More than this of an argument is not repeated in a message.
const SHOWN_CHARS: usize = 64;

/// What rules ask of a request.
#[derive(Debug)]
pub(super) struct Facts<'a> {
    pub(super) method: &'a str,
    /// Every path that a server may take the target for.
    pub(super) paths: Vec<Cow<'a, str>>,
    pub(super) user_id: Option<&'a str>,
    pub(super) api_key: Option<&'a str>,
    pub(super) ip: Option<IpAddr>,
    /// The values of the headers that rules name, at the places that `HeaderNames` gave them.
    pub(super) headers: Vec<Option<Cow<'a, str>>>,
}

/// The headers that rules name, each with a place.
#[derive(Debug, Default)]
pub(super) struct HeaderNames(HashMap<String, usize>);

impl HeaderNames {
    /// The place of a lower-case name.
    pub(super) fn place(&mut self, name: &str) -> usize {
        let next = self.0.len();
        *self.0.entry(name.to_owned()).or_insert(next)
    }

    fn find(&self, name: &str) -> Option<usize> {
        if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return self.0.get(&name.to_ascii_lowercase()).copied();
        }
        self.0.get(name).copied()
    }
}

impl<'a> Facts<'a> {
    pub(super) fn new(request: &Request<'a>, names: &HeaderNames) -> Result<Self> {
        if !is_token(request.method) {
            return Err(wrong("method", request.method, "an HTTP method, as in \"GET\""));
        }
        if request.path.is_empty() {
            return Err(refused("path is empty; a request has one, as in \"/orders/7\""));
        }
        let path = path_of(request.path);
        if path.len() > MAX_PATH_BYTES {
            return Err(refused("path is longer than 16384 bytes"));
        }
        Ok(Self {
            method: request.method,
            paths: readings(path),
            user_id: present(request.user_id),
            api_key: present(request.api_key),
            ip: present(request.ip).map(ip).transpose()?,
            headers: headers(request, names)?,
        })
    }
}

fn present(text: Option<&str>) -> Option<&str> {
    text.filter(|text| !text.is_empty())
}

fn ip(text: &str) -> Result<IpAddr> {
    address(text).ok_or_else(|| wrong("ip", text, "an IPv4 or IPv6 address without a port"))
}

/// The value of a header is all its lines, joined as RFC 9110 (5.3) says.
fn headers<'a>(request: &Request<'a>, names: &HeaderNames) -> Result<Vec<Option<Cow<'a, str>>>> {
    if request.headers.len() > MAX_HEADERS {
        return Err(refused("headers are more than 4096"));
    }
    let mut values: Vec<Option<Cow<'a, str>>> = vec![None; names.0.len()];
    for (name, value) in &request.headers {
        if !is_token(name) {
            return Err(wrong("headers", name, "the name of an HTTP header"));
        }
        let Some(place) = names.find(name) else { continue };
        let value = value.trim_matches([' ', '\t']);
        match &mut values[place] {
            Some(joined) => {
                let joined = joined.to_mut();
                joined.push_str(", ");
                joined.push_str(value);
            }
            empty => *empty = Some(Cow::Borrowed(value)),
        }
    }
    Ok(values)
}

fn wrong(argument: &str, text: &str, right: &str) -> Error {
    let shown: String = text.chars().take(SHOWN_CHARS).collect();
    refused(&format!("{argument} {shown:?} has to be {right}"))
}

fn refused(reason: &str) -> Error {
    Error::new(ErrorKind::InvalidArgument, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(request: &Request<'_>) -> String {
        let error = Facts::new(request, &HeaderNames::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        error.message().to_owned()
    }

    #[test]
    fn what_is_no_request_is_refused_by_name() {
        let get = Request::new("GET", "/");
        for method in ["", "G T", "GET\n", "GÉT"] {
            let right = "has to be an HTTP method, as in \"GET\"";
            assert_eq!(message(&Request::new(method, "/")), format!("method {method:?} {right}"));
        }
        assert_eq!(
            message(&Request::new("GET", "")),
            "path is empty; a request has one, as in \"/orders/7\""
        );
        assert_eq!(
            message(&get.clone().ip("1.2.3.4:80")),
            "ip \"1.2.3.4:80\" has to be an IPv4 or IPv6 address without a port"
        );
        assert_eq!(message(&get.header("a b", "")), "headers \"a b\" has to be the name of an HTTP header");
    }

    #[test]
    fn work_is_bounded() {
        let long = format!("/{}", "a".repeat(MAX_PATH_BYTES));
        assert_eq!(message(&Request::new("GET", &long)), "path is longer than 16384 bytes");
        let query = format!("/?{long}");
        assert!(Facts::new(&Request::new("GET", &query), &HeaderNames::default()).is_ok());
        let mut many = Request::new("GET", "/");
        many.headers = vec![("a", "b"); MAX_HEADERS + 1];
        assert_eq!(message(&many), "headers are more than 4096");
        assert!(message(&Request::new(&" ".repeat(1 << 20), "/")).len() < 200);
    }

    #[test]
    fn values_of_a_header_are_joined() {
        let mut names = HeaderNames::default();
        let (a, b) = (names.place("x-a"), names.place("x-b"));
        let request = Request::new("GET", "/")
            .header("X-A", " 1\t")
            .header("x-a", "")
            .header("X-a", "2")
            .header("y", "3");
        let facts = Facts::new(&request, &names).unwrap();
        assert_eq!((facts.headers[a].as_deref(), &facts.headers[b]), (Some("1, , 2"), &None));
    }
}
