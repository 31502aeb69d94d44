//! The layer and its options.

use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use http::request::Parts;

use crate::http::{ForwardedHeader, TrustedProxies};
use crate::{AsyncRateLimiter, HeaderStyle, Request, Reservation, Result};

/// Finds something in the head of a request.
type Find<T> = Arc<dyn Fn(&Parts) -> Option<T> + Send + Sync>;

/// What middleware does with a request when the limiter cannot decide, for example because its server is unreachable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum OnError {
    /// It goes on to the service, so an outage of the limiter does not stop the application.
    #[default]
    Admit,
    /// It is answered with `503 Service Unavailable`.
    Deny,
}

/// Limits the requests to a service. See the [module](crate::tower) for an example.
#[derive(Clone)]
#[must_use = "a layer does nothing until it is put around a service"]
pub struct RateLimitLayer {
    pub(super) limiter: Arc<AsyncRateLimiter>,
    user_id: Find<String>,
    api_key: Find<String>,
    peer: Find<IpAddr>,
    trusted: TrustedProxies,
    pub(super) style: HeaderStyle,
    pub(super) on_error: OnError,
    ignore_case: bool,
    pub(super) max_lease: Duration,
}

impl RateLimitLayer {
    /// Creates a layer that checks requests with this limiter.
    pub fn new(limiter: Arc<AsyncRateLimiter>) -> Self {
        Self {
            limiter,
            user_id: Arc::new(|_| None),
            api_key: Arc::new(|_| None),
            peer: Arc::new(|_| None),
            trusted: TrustedProxies::default(),
            style: HeaderStyle::Ietf,
            on_error: OnError::default(),
            ignore_case: false,
            max_lease: Duration::from_secs(3600),
        }
    }

    /// Where the user is found, once authenticated. Default: nowhere.
    pub fn user_id(mut self, find: impl Fn(&Parts) -> Option<String> + Send + Sync + 'static) -> Self {
        self.user_id = Arc::new(find);
        self
    }

    /// Where the API key is found. Default: nowhere.
    pub fn api_key(mut self, find: impl Fn(&Parts) -> Option<String> + Send + Sync + 'static) -> Self {
        self.api_key = Arc::new(find);
        self
    }

    /// Where the address is found that the connection comes from; servers keep it in the extensions of the
    /// request. Default: nowhere.
    pub fn peer(mut self, find: impl Fn(&Parts) -> Option<IpAddr> + Send + Sync + 'static) -> Self {
        self.peer = Arc::new(find);
        self
    }

    /// How many proxies stand between clients and this server, each of which adds the address it was called
    /// from to `X-Forwarded-For`. With `n` of them the client is the `n`-th address from the right, over all
    /// lines of that header; a port or brackets are ignored. Where there is no valid address, the client is the
    /// [`peer`](Self::peer). Default: 0, and the header is not looked at.
    ///
    /// One proxy too many, and clients choose their addresses themselves.
    pub fn trusted_proxies(mut self, trusted_proxies: usize) -> Self {
        self.trusted = TrustedProxies::count(trusted_proxies).with_header(self.trusted.header());
        self
    }

    /// The networks of the proxies between clients and this server, instead of their number: the client is the first address,
    /// from the [`peer`](Self::peer) on and then from the right, that is in none of them.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for what is no network such as `10.0.0.0/8`; it is named.
    pub fn trusted_networks<'a>(mut self, networks: impl IntoIterator<Item = &'a str>) -> Result<Self> {
        self.trusted = TrustedProxies::networks(networks)?.with_header(self.trusted.header());
        Ok(self)
    }

    /// The header that the trusted proxies write. Default: `X-Forwarded-For`. They have to write the one that is read: the
    /// other one is the client's own word.
    pub fn forwarded_header(mut self, header: ForwardedHeader) -> Self {
        self.trusted = self.trusted.with_header(header);
        self
    }

    /// The header fields that state the limits to clients. Default: [`HeaderStyle::Ietf`].
    pub fn headers(mut self, style: HeaderStyle) -> Self {
        self.style = style;
        self
    }

    /// Sets what to do with a request when the limiter cannot decide; the error is logged in any case. Default:
    /// [`OnError::Admit`].
    pub fn on_error(mut self, on_error: OnError) -> Self {
        self.on_error = on_error;
        self
    }

    /// Whether the service routes without regard to capitals. Default: it does not, as axum.
    pub fn ignore_case(mut self, ignore_case: bool) -> Self {
        self.ignore_case = ignore_case;
        self
    }

    /// For how long what is reserved for a request is renewed at most. A response that is not over by then is logged, and
    /// what is held for it ends with its lease: what is committed later answers `false`. Default: one hour.
    pub fn max_lease(mut self, max_lease: Duration) -> Self {
        self.max_lease = max_lease;
        self
    }

    /// Decides a request.
    pub(super) async fn decide(&self, parts: &Parts) -> Result<Reservation> {
        let (user_id, api_key) = ((self.user_id)(parts), (self.api_key)(parts));
        let ip = self.client(parts);
        let ip = ip.map(|address| address.to_string());
        let headers = texts(parts);
        let mut request = Request::new(parts.method.as_str(), target(parts));
        request.user_id = user_id.as_deref();
        request.api_key = api_key.as_deref();
        request.ip = ip.as_deref();
        request.headers = headers.iter().map(|(name, value)| (*name, value.as_ref())).collect();
        request.ignore_case = self.ignore_case;
        self.limiter.reserve_request(&request).await
    }

    fn client(&self, parts: &Parts) -> Option<IpAddr> {
        let lines = parts.headers.get_all(self.trusted.header().name()).iter().map(|line| line.as_bytes());
        crate::http::client(lines, || (self.peer)(parts), &self.trusted)
    }
}

/// The path as the client sent it; CONNECT has none.
fn target(parts: &Parts) -> &str {
    parts.uri.path_and_query().map_or("/", |target| target.as_str())
}

/// Values need not be UTF-8; a rule that only wants the header to be present still applies.
fn texts(parts: &Parts) -> Vec<(&str, Cow<'_, str>)> {
    let headers = parts.headers.iter();
    headers.map(|(name, value)| (name.as_str(), String::from_utf8_lossy(value.as_bytes()))).collect()
}

impl fmt::Debug for RateLimitLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateLimitLayer")
            .field("trusted_proxies", &self.trusted)
            .field("headers", &self.style)
            .field("on_error", &self.on_error)
            .field("ignore_case", &self.ignore_case)
            .field("max_lease", &self.max_lease)
            .finish_non_exhaustive()
    }
}
