//! What a caller asks for.

use std::time::Duration;

/// Options of one check; the defaults are a cost of 1, no resource, the limit that the rule states and the time that
/// the limiter's options allow.
///
/// ```
/// use sluicegate::CheckOptions;
///
/// let options = CheckOptions::new().cost(5).resource("printer-7");
/// assert_eq!(options.cost, 5);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct CheckOptions<'a> {
    /// How much to admit; at least 1.
    pub cost: u64,
    /// The resource that is used; needed by rules with a limit of scope `resource`, and only by them.
    pub resource: Option<&'a str>,
    /// Takes the place of the rule's single limit for this one call, for plans and tiers. The usage so
    /// far is kept. The burst of a rule that states none follows it.
    pub limit: Option<u64>,
    /// The whole time that the call may take, from 1 millisecond to 3600 seconds: to wait for a connection, to
    /// connect, to find the server and to be answered. Then it ends with a [`Timeout`](crate::ErrorKind::Timeout). By
    /// default `connect_timeout` and `response_timeout` together. Of several items the shortest counts. In a
    /// [`wait`](crate::RateLimiter::wait) it bounds each try. In memory a call takes no time.
    pub timeout: Option<Duration>,
    /// Makes the call safe to repeat: 1 to 64 bytes that name it among those of the same rule and key. Later calls with
    /// the same id get the answer of the first and charge nothing, for as long as
    /// [`request_id_seconds`](crate::Builder::request_id_seconds) says; and after a timeout or a broken connection the
    /// limiter repeats the call by itself, within its time. For check, charge and refund; items of a
    /// [`check_all`](crate::RateLimiter::check_all_with) have none of their own.
    pub request_id: Option<&'a str>,
}

impl Default for CheckOptions<'_> {
    fn default() -> Self {
        Self { cost: 1, resource: None, limit: None, timeout: None, request_id: None }
    }
}

impl<'a> CheckOptions<'a> {
    /// The defaults.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the cost.
    #[must_use]
    pub fn cost(mut self, cost: u64) -> Self {
        self.cost = cost;
        self
    }

    /// Sets the resource.
    #[must_use]
    pub fn resource(mut self, resource: &'a str) -> Self {
        self.resource = Some(resource);
        self
    }

    /// Sets the limit to use instead of the rule's.
    #[must_use]
    pub fn limit(mut self, limit: u64) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Sets the whole time that the call may take.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sets the id by which the call may be repeated.
    #[must_use]
    pub fn request_id(mut self, id: &'a str) -> Self {
        self.request_id = Some(id);
        self
    }
}

/// Options of a `check_all` as a whole.
///
/// ```
/// use sluicegate::CheckAllOptions;
///
/// let options = CheckAllOptions::new().request_id("order-1234");
/// assert_eq!(options.request_id, Some("order-1234"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub struct CheckAllOptions<'a> {
    /// As [`CheckOptions::request_id`]; it belongs to rule and key of the first item. On a Redis Cluster all items must
    /// lie in one hash slot then, and one region must be in charge of all of them.
    pub request_id: Option<&'a str>,
}

impl<'a> CheckAllOptions<'a> {
    /// The defaults: no id.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the id by which the call may be repeated.
    #[must_use]
    pub fn request_id(mut self, id: &'a str) -> Self {
        self.request_id = Some(id);
        self
    }
}

/// One item of a `check_all`.
///
/// ```
/// use sluicegate::{Check, CheckOptions};
///
/// let plain = Check::new("per_user", "alice");
/// let expensive = Check::new("per_tenant", "acme").with(CheckOptions::new().cost(10));
/// assert_eq!((plain.options.cost, expensive.options.cost), (1, 10));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Check<'a> {
    /// The rule's name.
    pub rule: &'a str,
    /// Who is counted; not empty.
    pub key: &'a str,
    /// Cost, resource, limit, timeout.
    pub options: CheckOptions<'a>,
}

impl<'a> Check<'a> {
    /// A check with the default options.
    #[must_use]
    pub fn new(rule: &'a str, key: &'a str) -> Self {
        Self { rule, key, options: CheckOptions::default() }
    }

    /// The same check with other options.
    #[must_use]
    pub fn with(mut self, options: CheckOptions<'a>) -> Self {
        self.options = options;
        self
    }

    /// The check and the id by which it may be repeated.
    pub(crate) fn split_request_id(mut self) -> (Self, Option<&'a str>) {
        let id = self.options.request_id.take();
        (self, id)
    }
}
