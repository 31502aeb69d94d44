//! What the layer for all requests and those of routes have in common: who the client is, and what becomes of a decision.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use http::Response;
use http::request::Parts;

use super::answer::{Answer, Find, Hook, find};
use super::count::Count;
use super::refusal::Refusal;
use crate::http::TrustedProxies;
use crate::{Decision, HeaderStyle};

/// Finds the address of a connection, which nobody has to wait for.
type FindPeer = Arc<dyn Fn(&Parts) -> Option<IpAddr> + Send + Sync>;
/// A function of the application about a decision.
type OnDecision<T> = Arc<dyn Fn(&Parts, &Decision) -> Answer<T> + Send + Sync>;

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
    pub(super) peer: Option<FindPeer>,
    pub(super) trusted: TrustedProxies,
    pub(super) style: HeaderStyle,
    pub(super) on_error: OnError,
    pub(super) max_lease: Duration,
    pub(super) skip: Option<Hook<bool>>,
    pub(super) key: Option<Find<String>>,
    pub(super) cost: Option<Hook<u64>>,
    pub(super) limit: Option<Find<u64>>,
    pub(super) on_denied: Option<OnDecision<Response<String>>>,
    pub(super) on_decision: Option<OnDecision<()>>,
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
            key: None,
            cost: None,
            limit: None,
            on_denied: None,
            on_decision: None,
            count: Count::All,
        }
    }

    /// The address of the client.
    pub(super) fn client(&self, parts: &Parts) -> Option<IpAddr> {
        let lines = parts.headers.get_all(self.trusted.header().name()).iter().map(|line| line.as_bytes());
        let peer = || self.peer.as_ref().and_then(|find| find(parts));
        crate::http::client(lines, peer, &self.trusted)
    }

    /// Whether the request is exempt.
    pub(super) async fn skips(&self, parts: &Parts) -> bool {
        match &self.skip {
            Some(skip) => skip(parts).get().await,
            None => false,
        }
    }

    /// What the application says that a request costs.
    pub(super) async fn cost(&self, parts: &Parts) -> Result<Option<u64>, Refusal> {
        match &self.cost {
            Some(cost) => positive("cost", cost(parts).get().await).map(Some),
            None => Ok(None),
        }
    }

    /// The limit that the application states for a request.
    pub(super) async fn limit(&self, parts: &Parts) -> Result<Option<u64>, Refusal> {
        find(&self.limit, parts).await.map(|limit| positive("limit", limit)).transpose()
    }
}

fn positive(what: &str, value: u64) -> Result<u64, Refusal> {
    match value {
        0 => Err(Refusal::Broken(format!("{what} returned 0 (at least 1; `skip` exempts requests)"))),
        value => Ok(value),
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

/// The options that every layer has, of a type that keeps them in this field.
macro_rules! common_options {
    ($($field:ident).+) => {
        /// Where the user is found, once authenticated. A name that is empty is a mistake of the function: the request is answered
        /// with 500. Default: nowhere.
        ///
        /// This function and those below may have to wait, such as for a database: then they answer [`later`](crate::tower::later).
        /// That which finds the `peer` does not wait.
        pub fn user_id<A: Into<Answer<Option<String>>>>(
            mut self,
            find: impl Fn(&Parts) -> A + Send + Sync + 'static,
        ) -> Self {
            self.$($field).+.user_id = Some(hook(find));
            self
        }

        /// Where the API key is found. Default: nowhere.
        pub fn api_key<A: Into<Answer<Option<String>>>>(
            mut self,
            find: impl Fn(&Parts) -> A + Send + Sync + 'static,
        ) -> Self {
            self.$($field).+.api_key = Some(hook(find));
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
        pub fn skip<A: Into<Answer<bool>>>(
            mut self,
            skip: impl Fn(&Parts) -> A + Send + Sync + 'static,
        ) -> Self {
            self.$($field).+.skip = Some(hook(skip));
            self
        }

        /// Who is counted by rates and by named rules without `identifier_type`; to find nobody is a mistake, which is answered with
        /// 500. For a key of several parts see [`CompositeKey`](crate::CompositeKey). Default: the user if
        /// [`user_id`](Self::user_id) finds one, or else the address.
        pub fn key<A: Into<Answer<Option<String>>>>(
            mut self,
            find: impl Fn(&Parts) -> A + Send + Sync + 'static,
        ) -> Self {
            self.$($field).+.key = Some(hook(find));
            self
        }

        /// What a request costs; at least 1. It may be the length of the body as `Content-Length` states it: the body is not read, and
        /// one that is sent in chunks does not state it. Default: 1 at a route, elsewhere the `cost` of the rules.
        pub fn cost<A: Into<Answer<u64>>>(
            mut self,
            cost: impl Fn(&Parts) -> A + Send + Sync + 'static,
        ) -> Self {
            self.$($field).+.cost = Some(hook(cost));
            self
        }

        /// The limit for a request in place of that of every rule that is applied, such as that of a plan; `None`: the rules' own. At
        /// least 1, and for rules with a single limit.
        pub fn limit<A: Into<Answer<Option<u64>>>>(
            mut self,
            limit: impl Fn(&Parts) -> A + Send + Sync + 'static,
        ) -> Self {
            self.$($field).+.limit = Some(hook(limit));
            self
        }

        /// Makes the response to a denied request. It gets those headers of a denial that it lacks. Default: 429 with problem
        /// details, or the status of gRPC.
        pub fn on_denied<A: Into<Answer<Response<String>>>>(
            mut self,
            respond: impl Fn(&Parts, &Decision) -> A + Send + Sync + 'static,
        ) -> Self {
            self.$($field).+.on_denied =
                Some(Arc::new(move |parts: &Parts, decision: &Decision| respond(parts, decision).into()));
            self
        }

        /// Is called with every decision, such as for metrics. It only looks.
        pub fn on_decision<A: Into<Answer<()>>>(
            mut self,
            tell: impl Fn(&Parts, &Decision) -> A + Send + Sync + 'static,
        ) -> Self {
            self.$($field).+.on_decision =
                Some(Arc::new(move |parts: &Parts, decision: &Decision| tell(parts, decision).into()));
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
