//! One line of a log, whatever its format.

use std::borrow::Cow;

use sluicegate::Request;

/// A request that was logged.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct LogEntry<'a> {
    pub(super) at_us: u64,
    pub(super) method: Cow<'a, str>,
    pub(super) path: Cow<'a, str>,
    pub(super) ip: Option<Cow<'a, str>>,
    pub(super) user: Option<Cow<'a, str>>,
    pub(super) api_key: Option<Cow<'a, str>>,
    /// How long it was under way, in microseconds.
    pub(super) duration_us: Option<u64>,
    pub(super) headers: Vec<(Cow<'a, str>, Cow<'a, str>)>,
}

impl LogEntry<'_> {
    pub(super) fn request(&self) -> Request<'_> {
        let mut request = Request::new(&self.method, &self.path);
        request.ip = self.ip.as_deref();
        request.user_id = self.user.as_deref();
        request.api_key = self.api_key.as_deref();
        request.headers = self.headers.iter().map(|(name, value)| (&**name, &**value)).collect();
        request
    }
}

/// `-` stands for nothing in logs.
pub(super) fn present(text: Cow<'_, str>) -> Option<Cow<'_, str>> {
    (!text.is_empty() && text != "-").then_some(text)
}
