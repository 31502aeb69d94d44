//! What the layer for all requests and those of routes have in common: who the client is, and what becomes of a decision.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use http::Response;
use http::request::Parts;

use super::count::Count;
use crate::http::TrustedProxies;
use crate::{Decision, HeaderStyle};

/// Finds something in the head of a request.
pub(super) type Find<T> = Arc<dyn Fn(&Parts) -> Option<T> + Send + Sync>;
type Is = Arc<dyn Fn(&Parts) -> bool + Send + Sync>;
type Tell = Arc<dyn Fn(&Parts, &Decision) + Send + Sync>;
type Respond = Arc<dyn Fn(&Parts, &Decision) -> Response<String> + Send + Sync>;

/// What middleware does with a request when the limiter cannot decide, for example because its server is unreachable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum OnError {
    /// It goes on to the service, so an outage of the limiter does not stop the application.
    #[default]
    Admit,
    /// It is answered with `503 Service Unavailable`.
    Deny,
}

/// The options of every layer.
#[derive(Clone)]
pub(super) struct Common {
    pub(super) user_id: Option<Find<String>>,
    pub(super) api_key: Option<Find<String>>,
    pub(super) peer: Option<Find<IpAddr>>,
    pub(super) trusted: TrustedProxies,
    pub(super) style: HeaderStyle,
    pub(super) on_error: OnError,
    pub(super) max_lease: Duration,
    pub(super) skip: Option<Is>,
    pub(super) on_denied: Option<Respond>,
    pub(super) on_decision: Option<Tell>,
    pub(super) count: Count,
}

impl Common {
    pub(super) fn new() -> Self {
        Self {
            user_id: None,
            api_key: None,
            peer: None,
            trusted: TrustedProxies::default(),
            style: HeaderStyle::Ietf,
            on_error: OnError::default(),
            max_lease: Duration::from_secs(3600),
            skip: None,
            on_denied: None,
            on_decision: None,
            count: Count::All,
        }
    }

    /// The address of the client.
    pub(super) fn client(&self, parts: &Parts) -> Option<IpAddr> {
        let lines = parts.headers.get_all(self.trusted.header().name()).iter().map(|line| line.as_bytes());
        crate::http::client(lines, || find(&self.peer, parts), &self.trusted)
    }

    /// Whether the request is exempt.
    pub(super) fn skips(&self, parts: &Parts) -> bool {
        self.skip.as_ref().is_some_and(|skip| skip(parts))
    }
}

impl fmt::Debug for Common {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Common")
            .field("trusted_proxies", &self.trusted)
            .field("headers", &self.style)
            .field("on_error", &self.on_error)
            .field("max_lease", &self.max_lease)
            .field("count", &self.count)
            .finish_non_exhaustive()
    }
}

/// What a function of the application finds, if there is one.
pub(super) fn find<T>(function: &Option<Find<T>>, parts: &Parts) -> Option<T> {
    function.as_ref().and_then(|find| find(parts))
}

/// The options that every layer has, of a type that keeps them in this field.
macro_rules! common_options {
    ($($field:ident).+) => {
        /// Where the user is found, once authenticated. A name that is empty is a mistake of the function: the request is answered
        /// with 500. Default: nowhere.
        pub fn user_id(mut self, find: impl Fn(&Parts) -> Option<String> + Send + Sync + 'static) -> Self {
            self.$($field).+.user_id = Some(Arc::new(find));
            self
        }

        /// Where the API key is found. Default: nowhere.
        pub fn api_key(mut self, find: impl Fn(&Parts) -> Option<String> + Send + Sync + 'static) -> Self {
            self.$($field).+.api_key = Some(Arc::new(find));
            self
        }

        /// Where the address is found that the connection comes from; servers keep it in the extensions of the
        /// request. Default: nowhere.
        pub fn peer(mut self, find: impl Fn(&Parts) -> Option<IpAddr> + Send + Sync + 'static) -> Self {
            self.$($field).+.peer = Some(Arc::new(find));
            self
        }

        /// How many proxies stand between clients and this server, each of which adds the address it was called
        /// from to `X-Forwarded-For`. With `n` of them the client is the `n`-th address from the right, over all
        /// lines of that header; a port or brackets are ignored. Where there is no valid address, the client is the
        /// [`peer`](Self::peer). Default: 0, and the header is not looked at.
        ///
        /// One proxy too many, and clients choose their addresses themselves.
        pub fn trusted_proxies(mut self, trusted_proxies: usize) -> Self {
            let header = self.$($field).+.trusted.header();
            self.$($field).+.trusted = TrustedProxies::count(trusted_proxies).with_header(header);
            self
        }

        /// The networks of the proxies between clients and this server, instead of their number: the client is the first
        /// address, from the [`peer`](Self::peer) on and then from the right, that is in none of them.
        ///
        /// # Errors
        /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for what is no network such as `10.0.0.0/8`; it is named.
        pub fn trusted_networks<'a>(mut self, networks: impl IntoIterator<Item = &'a str>) -> Result<Self> {
            let header = self.$($field).+.trusted.header();
            self.$($field).+.trusted = TrustedProxies::networks(networks)?.with_header(header);
            Ok(self)
        }

        /// The header that the trusted proxies write. Default: `X-Forwarded-For`. They have to write the one that is read: the
        /// other one is the client's own word.
        pub fn forwarded_header(mut self, header: ForwardedHeader) -> Self {
            self.$($field).+.trusted = self.$($field).+.trusted.with_header(header);
            self
        }

        /// The header fields that state the limits to clients. Default: [`HeaderStyle::Ietf`].
        pub fn headers(mut self, style: HeaderStyle) -> Self {
            self.$($field).+.style = style;
            self
        }

        /// Sets what to do with a request when the limiter cannot decide; the error is logged in any case. Default:
        /// [`OnError::Admit`].
        pub fn on_error(mut self, on_error: OnError) -> Self {
            self.$($field).+.on_error = on_error;
            self
        }

        /// For how long what is reserved for a request is renewed at most. A response that is not over by then is logged, and
        /// what is held for it ends with its lease: what is committed later answers `false`. Default: one hour.
        pub fn max_lease(mut self, max_lease: Duration) -> Self {
            self.$($field).+.max_lease = max_lease;
            self
        }

        /// Exempts the requests for which `skip` says so, before anything else is asked, such as health checks and preflights.
        pub fn skip(mut self, skip: impl Fn(&Parts) -> bool + Send + Sync + 'static) -> Self {
            self.$($field).+.skip = Some(Arc::new(skip));
            self
        }

        /// Makes the response to a denied request. It gets those headers of a denial that it lacks. Default: 429 with problem
        /// details, or the status of gRPC.
        pub fn on_denied(
            mut self,
            respond: impl Fn(&Parts, &Decision) -> Response<String> + Send + Sync + 'static,
        ) -> Self {
            self.$($field).+.on_denied = Some(Arc::new(respond));
            self
        }

        /// Is called with every decision, such as for metrics. It only looks.
        pub fn on_decision(mut self, tell: impl Fn(&Parts, &Decision) + Send + Sync + 'static) -> Self {
            self.$($field).+.on_decision = Some(Arc::new(tell));
            self
        }

        /// Which requests are charged, by the response to them. Rates that a route states are reserved for that; of other rules,
        /// those without `"reservations": true` charge every request. Default: [`Count::All`].
        pub fn count(mut self, count: Count) -> Self {
            self.$($field).+.count = count;
            self
        }
    };
}
pub(super) use common_options;
