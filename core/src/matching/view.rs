//! A request, validated and made ready to be compared with rules.

use std::net::IpAddr;

use smallvec::SmallVec;

use super::header::{HeaderNames, HeaderView, is_same_name};
use super::reading::{self, Reading, TooMany};
use super::request::Request;
use crate::error::{Error, ErrorKind, Result};
use crate::net::subnet::address;
use crate::rules::is_token;

/// Work is bounded whatever a client sends; few servers accept as much as this.
const MAX_PATH_BYTES: usize = 16_384;
const MAX_HEADERS: usize = 4096;
/// Readings of the path by the application itself; middleware adds two.
const MAX_OTHER_PATHS: usize = 4;
/// More than this of an argument is not repeated in a message.
const SHOWN_CHARS: usize = 64;

/// What rules ask of a request.
#[derive(Debug)]
pub(super) struct RequestView<'a> {
    pub(super) method: &'a str,
    /// Every path that a server or the application may take the target for; the first is the likeliest.
    pub(super) readings: Vec<Reading<'a>>,
    /// What they are readings of.
    pub(super) targets: SmallVec<[&'a str; 1 + MAX_OTHER_PATHS]>,
    pub(super) ignore_case: bool,
    pub(super) user_id: Option<&'a str>,
    api_key: Option<&'a str>,
    /// The header that has keys.
    api_key_header: HeaderView<'a>,
    pub(super) ip: Option<IpAddr>,
    /// The headers that rules name, at the places that `HeaderNames` gave them.
    pub(super) headers: Vec<HeaderView<'a>>,
}

impl<'a> RequestView<'a> {
    pub(super) fn new(request: &Request<'a>, names: &HeaderNames) -> Result<Self> {
        if !is_token(request.method) {
            return Err(wrong("method", request.method, "an HTTP method, as in \"GET\""));
        }
        Ok(Self {
            method: request.method,
            readings: readings(request)?,
            targets: targets(request).map(|(_, path)| path).collect(),
            ignore_case: request.ignore_case,
            user_id: present(request.user_id),
            headers: headers(request, names)?,
            api_key: present(request.api_key),
            api_key_header: api_key_header(request)?,
            ip: present(request.ip).map(ip).transpose()?,
        })
    }

    /// The API key that was given, and those in the header that has them.
    pub(super) fn api_keys(&self) -> impl Iterator<Item = &str> {
        self.api_key.into_iter().chain(self.api_key_header.values())
    }
}

#[inline]
fn present(text: Option<&str>) -> Option<&str> {
    text.filter(|text| !text.is_empty())
}

#[inline]
fn ip(text: &str) -> Result<IpAddr> {
    address(text).ok_or_else(|| wrong("ip", text, "an IPv4 or IPv6 address without a port"))
}

#[inline]
fn readings<'a>(request: &Request<'a>) -> Result<Vec<Reading<'a>>> {
    if request.path.is_empty() {
        return Err(refused("path is empty; a request has one, as in \"/orders/7\""));
    }
    if request.other_paths.len() > MAX_OTHER_PATHS {
        return Err(refused("other_paths are more than 4"));
    }
    let mut readings = Vec::new();
    for (name, path) in targets(request) {
        // A long query is nobody's concern.
        if path.find('?').unwrap_or(path.len()) > MAX_PATH_BYTES {
            return Err(refused(&format!("{name} is longer than 16384 bytes")));
        }
        reading::add(path, request.ignore_case, &mut readings).map_err(|TooMany| {
            refused(&format!("{name} can be read in too many ways: escapes, dots, slashes, semicolons"))
        })?;
    }
    Ok(readings)
}

/// Every path of a request, with the argument that has it.
#[inline]
fn targets<'a>(request: &Request<'a>) -> impl Iterator<Item = (&'static str, &'a str)> {
    let others =
        request.other_paths.iter().filter(|path| !path.is_empty()).map(|path| ("other_paths", *path));
    [("path", request.path)].into_iter().chain(others)
}

#[inline]
fn headers<'a>(request: &Request<'a>, names: &HeaderNames) -> Result<Vec<HeaderView<'a>>> {
    if request.headers.len() > MAX_HEADERS {
        return Err(refused("headers are more than 4096"));
    }
    let mut views: Vec<HeaderView<'a>> = Vec::new();
    views.resize_with(names.count(), HeaderView::default);
    for (name, value) in &request.headers {
        if !is_token(name) {
            return Err(wrong("headers", name, "the name of an HTTP header"));
        }
        if let Some(place) = names.find(name) {
            views[place].push(name, value);
        }
    }
    views.iter_mut().for_each(HeaderView::join);
    Ok(views)
}

#[inline]
fn api_key_header<'a>(request: &Request<'a>) -> Result<HeaderView<'a>> {
    let mut view = HeaderView::default();
    let Some(header) = present(request.api_key_header) else { return Ok(view) };
    if !is_token(header) {
        return Err(wrong("api_key_header", header, "the name of an HTTP header"));
    }
    let lines = request.headers.iter().filter(|(name, _)| is_same_name(name, header));
    lines.for_each(|(name, value)| view.push(name, value));
    view.join();
    Ok(view)
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
        let error = RequestView::new(request, &HeaderNames::default()).unwrap_err();
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
        assert!(RequestView::new(&Request::new("GET", &query), &HeaderNames::default()).is_ok());
        let mut many = Request::new("GET", "/");
        many.headers = vec![("a", "b"); MAX_HEADERS + 1];
        assert_eq!(message(&many), "headers are more than 4096");
        assert!(message(&Request::new(&" ".repeat(1 << 20), "/")).len() < 200);
    }

    #[test]
    fn a_header_of_several_lines_has_several_values() {
        let mut names = HeaderNames::default();
        let (a, b) = (names.place("x-a"), names.place("x-b"));
        let request = Request::new("GET", "/").header("X-A", " 1\t").header("X-a", "2").header("y", "3");
        let view = RequestView::new(&request, &names).unwrap();
        assert_eq!(view.headers[a].values().collect::<Vec<_>>(), ["1", "2", "1, 2", "1,2"]);
        assert!(view.headers[a].is_present() && !view.headers[b].is_present());
    }

    #[test]
    fn every_line_of_the_header_of_api_keys_is_one() {
        let mut request = Request::new("GET", "/").header("X-Key", "real").header("x-key", "junk");
        request.api_key_header = Some("x-KEY");
        let view = RequestView::new(&request, &HeaderNames::default()).unwrap();
        assert_eq!(view.api_keys().collect::<Vec<_>>(), ["real", "junk", "real, junk", "real,junk"]);
    }
}
