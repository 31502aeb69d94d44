//! What a caller hands over of an HTTP request.

use std::fmt;
use std::time::Duration;

use crate::error::Result;
use crate::time::timeout::validate_time;

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
/// slashes, and `{name}` one whole segment, which may be empty (its key is `/`). Capitals count, unless `ignore_case` says that the
/// application routes without regard to them. A pattern is percent-decoded, so `%2A` is a star; a slash at its end
/// makes no difference.
///
/// Servers and frameworks read one path in different ways, and a client may choose a spelling for it. **A rule
/// applies if its `match` holds for any one reading**, which is any combination of these choices:
///
/// - the path ends at `?`, and at `#` or not, at `;` or not, at NUL or not;
/// - a scheme and host in front are cut, and what follows two slashes in front is a host or not;
/// - escapes are decoded once; `%2F`, `\` and `%5C` separate segments or do not;
/// - parameters after `;` (and `%3B`) are cut from each segment or not;
/// - slashes that follow each other are one or not;
/// - segments `.` and `..` are resolved or not (also `%2E`), before or after slashes are made one;
/// - slashes, dots, spaces, newlines and other white space at the end are cut or not.
///
/// If readings yield different keys (`path:<name>`), **each of them is charged**, as is each value of an identifier
/// header with several lines: [`match_request`](crate::RateLimiter::match_request) lists the rule once per key.
/// A request that yields more than 8 keys for a rule, or that can be read in more than 128 ways (fewer if it
/// has kilobytes), is refused as an `InvalidArgument`; middleware answers 400.
///
/// In keys and patterns `%25`, `%3F`, `%23`, control characters and slashes that separate nothing stay escaped, in
/// capitals; bytes that are not UTF-8 are U+FFFD.
///
/// A rule with `methods: ["GET"]` applies to HEAD too, since what serves GET serves HEAD.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Request<'a> {
    /// The method, in any case of letters.
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
    /// Names and values. Capitals of a name do not count, and `_` is the same as `-`, except in `unless`. Of a name that
    /// is given several times, a rule looks at each value, and at all of them joined by `", "` and by `","`.
    pub headers: Vec<(&'a str, &'a str)>,
    /// The header that has the client's API key, instead of `api_key`: each of its values counts, as in `headers`.
    pub api_key_header: Option<&'a str>,
    /// Other paths that the application may act on, spelled like `path`, such as `PATH_INFO` of WSGI; at most 4.
    pub other_paths: Vec<&'a str>,
    /// Whether the application routes without regard to capitals.
    pub ignore_case: bool,
    /// The whole time that [`check_request`](crate::RateLimiter::check_request) may take, as
    /// [`CheckOptions::timeout`](crate::CheckOptions::timeout).
    pub timeout: Option<Duration>,
}

impl<'a> Request<'a> {
    /// A request without user, address, API key or headers.
    #[must_use]
    pub fn new(method: &'a str, path: &'a str) -> Self {
        Self {
            method,
            path,
            user_id: None,
            ip: None,
            api_key: None,
            headers: Vec::new(),
            api_key_header: None,
            other_paths: Vec::new(),
            ignore_case: false,
            timeout: None,
        }
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

    /// Sets the name of the header that has the API key.
    #[must_use]
    pub fn api_key_header(mut self, name: &'a str) -> Self {
        self.api_key_header = Some(name);
        self
    }

    /// Sets the other paths that the application may act on.
    #[must_use]
    pub fn other_paths(mut self, paths: impl IntoIterator<Item = &'a str>) -> Self {
        self.other_paths = paths.into_iter().collect();
        self
    }

    /// Sets whether the application routes without regard to capitals.
    #[must_use]
    pub fn ignore_case(mut self, ignore_case: bool) -> Self {
        self.ignore_case = ignore_case;
        self
    }

    /// Sets the whole time that the check may take.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    pub(crate) fn validate_timeout(&self) -> Result<()> {
        self.timeout.map_or(Ok(()), |timeout| validate_time("timeout", timeout))
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
