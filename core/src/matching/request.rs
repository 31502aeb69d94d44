//! What a caller hands over of an HTTP request.

use std::fmt;

/// A request, from which the rules that apply to it and their keys are found.
///
/// Everything but the method and the path may be absent; an empty text is as good as absent.
///
/// ```
/// use sluicegate::Request;
///
/// let request = Request::new("GET", "/orders/7?full=1")
///     .user_id("alice")
///     .ip("203.0.113.9")
///     .header("X-Client-Type", "mobile");
/// assert_eq!((request.method, request.user_id), ("GET", Some("alice")));
/// ```
///
/// # How a path is matched
///
/// A path pattern is a literal path in which `*` is any run of characters, also none and also with
/// slashes, and `{name}` one whole segment. Capitals count. So that no spelling of a path slips past a
/// rule, the path is brought into one form first: without scheme, host and query, its escapes decoded
/// once, without empty and dot segments. `%25`, `%3F`, `%23`, control characters and bytes that are not
/// UTF-8 stay escaped, in capitals, also in the keys that `path:<name>` yields.
///
/// Servers differ in whether `%2F`, `\` and `%5C` separate segments, whether a slash at the end counts, whether
/// two slashes begin a host, and whether `;` begins parameters that are no part of a segment. A rule applies if
/// its pattern matches under any of these readings: one rule too many is the safe side. A server that routes
/// without regard to capitals, as Express does unless told otherwise, has to be told otherwise.
/// A pattern is decoded likewise, so `%2A` is a star; a slash at its end makes no difference.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Request<'a> {
    /// The method; capitals do not count.
    pub method: &'a str,
    /// The target as the request line has it: percent-encoded, with or without a query. A path that was
    /// already decoded has to be encoded again, or what was an escaped `?` would end it.
    pub path: &'a str,
    /// The user, once authenticated.
    pub user_id: Option<&'a str>,
    /// The client's address, IPv4 or IPv6.
    pub ip: Option<&'a str>,
    /// The client's API key.
    pub api_key: Option<&'a str>,
    /// Names and values. Capitals of a name do not count; the values of one that is given several times
    /// are joined by `", "`.
    pub headers: Vec<(&'a str, &'a str)>,
}

impl<'a> Request<'a> {
    /// A request of nobody in particular.
    #[must_use]
    pub fn new(method: &'a str, path: &'a str) -> Self {
        Self { method, path, user_id: None, ip: None, api_key: None, headers: Vec::new() }
    }

    /// Sets the authenticated user.
    #[must_use]
    pub fn user_id(mut self, user_id: &'a str) -> Self {
        self.user_id = Some(user_id);
        self
    }

    /// Sets the client's address.
    #[must_use]
    pub fn ip(mut self, ip: &'a str) -> Self {
        self.ip = Some(ip);
        self
    }

    /// Sets the API key.
    #[must_use]
    pub fn api_key(mut self, api_key: &'a str) -> Self {
        self.api_key = Some(api_key);
        self
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &'a str, value: &'a str) -> Self {
        self.headers.push((name, value));
        self
    }
}

impl fmt::Debug for Request<'_> {
    /// Keys and headers may be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("method", &self.method)
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}
