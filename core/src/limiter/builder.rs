//! How a limiter is made.

use std::sync::Arc;

use super::backend;
use super::fallback::FallbackState;
use super::memory::InMemory;
use super::servers::Servers;
use super::shared::Shared;
#[cfg(feature = "bridge")]
use super::sleeper::Sleeper;
use super::tasks::Tasks;
use super::{AsyncRateLimiter, RateLimiter};
use crate::algorithm::Micros;
use crate::catalog::Share;
use crate::error::{Error, ErrorKind, Result};
use crate::keys::key::is_valid_prefix;
use crate::keys::secret::SecretNames;
use crate::options::{
    ConnectOptions, Hidden, LimiterOptions, default_text, limiter_options, set_to, setter_type,
};
#[cfg(feature = "bridge")]
use crate::options::{OptionValue, taken, unknown, value_type};
use crate::redis::{AsyncRedis, Backend, BlockingRedis, Host, RedisUrl};
use crate::regions::RegionMap;
use crate::rules::Fallback;
use crate::sequence::CallSettings;
use crate::sources::{Origin, RuleSource, TlsFiles};
use crate::text::words::quote;
use crate::tracking::TRUST;

/// Options of a limiter. Nothing is validated before [`build`](Self::build) or
/// [`connect`](Self::connect).
#[derive(Debug, Clone)]
#[must_use = "a builder does nothing until `build` or `connect` is called"]
pub struct Builder {
    url: Hidden,
    rules: Origin,
    options: LimiterOptions,
    connection: ConnectOptions,
}

impl RateLimiter {
    /// Begins a limiter on the backend that `url` names: `memory://`, `redis://`, `rediss://`,
    /// `unix://`, `redis-cluster://host1:port1,host2:port2` or
    /// `redis-sentinel://host1:port1,host2:port2/service`.
    pub fn builder(url: impl Into<String>) -> Builder {
        Builder::new(url.into())
    }
}

impl AsyncRateLimiter {
    /// Begins a limiter on the backend that `url` names, as
    /// [`RateLimiter::builder`](crate::RateLimiter::builder) does; end it with
    /// [`connect`](Builder::connect).
    pub fn builder(url: impl Into<String>) -> Builder {
        Builder::new(url.into())
    }
}

impl Builder {
    pub(super) fn new(url: String) -> Self {
        Self {
            url: Hidden(url),
            rules: Origin::default(),
            options: LimiterOptions::default(),
            connection: ConnectOptions::default(),
        }
    }

    /// The rules to decide by: [`Rules`](crate::Rules), or a source that is followed while the limiter runs
    /// (see [`sources`](crate::sources)). Default: none.
    pub fn rules(mut self, source: impl RuleSource) -> Self {
        self.rules.source = Arc::new(source);
        self
    }

    /// A blocking limiter. Opens no connection to Redis: the first call does, so a process may fork in
    /// between. Rules that are followed are loaded.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] when the URL or an option makes no sense; [`ErrorKind::InvalidRule`],
    /// [`ErrorKind::Connection`] and [`ErrorKind::Timeout`] when the rules cannot be loaded.
    pub fn build(mut self) -> Result<RateLimiter> {
        let wire = self.prepare()?;
        let backend = match Backend::parse(&self.url.0)? {
            Backend::Memory => backend::Backend::Memory(self.in_memory()),
            Backend::Redis(url) => {
                let servers = self.servers(&url, BlockingRedis::new)?;
                backend::Backend::Server(servers.into())
            }
        };
        let fallback = self.fallback_state(&wire)?;
        Ok(RateLimiter::new(Shared::new(self.rules.open()?, wire, fallback, &self.options), backend))
    }

    /// An async limiter, connected unless it is [`lazy`](Self::lazy). To be awaited on a Tokio runtime with timers and I/O enabled.
    ///
    /// # Errors
    /// As [`build`](Self::build); also [`ErrorKind::Connection`], [`ErrorKind::Timeout`] and
    /// [`ErrorKind::Server`] when no connection can be made.
    pub async fn connect(mut self) -> Result<AsyncRateLimiter> {
        let wire = self.prepare()?;
        let (fallback, in_memory) = (self.fallback_state(&wire)?, self.in_memory());
        let near = Backend::parse(&self.url.0)?;
        let servers = match &near {
            Backend::Memory => None,
            Backend::Redis(url) => Some(self.servers(url, |url, options| {
                Ok(Tasks { redis: self.redis(url, options, AsyncRedis::host()?)?, sleeper: None })
            })?),
        };
        let rules = if self.rules.is_fixed() {
            self.rules.open()?
        } else {
            let opening = tokio::task::spawn_blocking(move || self.rules.open());
            opening.await.map_err(|error| Error::new(ErrorKind::Connection, format!("rules: {error}")))??
        };
        let mut shared = Shared::new(rules, wire, fallback, &self.options);
        shared.is_lazy = self.options.lazy;
        let backend = match servers {
            None => backend::Backend::Memory(in_memory),
            Some(servers) => {
                if !shared.is_lazy {
                    let redis = &servers.near.redis;
                    let tried = redis.ping(redis.deadline(None)).await;
                    shared.tolerates(tried)?;
                }
                backend::Backend::Server(servers.into())
            }
        };
        Ok(AsyncRateLimiter::new(shared, backend, None))
    }

    /// An async limiter on an event loop that is not Rust's. Loads the rules; opens no connection. `host` makes what carries the
    /// connections to the servers of one region.
    #[cfg(feature = "bridge")]
    pub(crate) fn open_on(
        mut self,
        host: Option<&dyn Fn() -> Arc<dyn Host>>,
        sleeper: Arc<dyn Sleeper>,
    ) -> Result<AsyncRateLimiter> {
        let wire = self.prepare()?;
        let backend = match (Backend::parse(&self.url.0)?, host) {
            (Backend::Redis(url), Some(host)) => {
                let servers = self.servers(&url, |url, options| {
                    let redis = self.redis(url, options, host())?;
                    Ok(Tasks { redis, sleeper: Some(Arc::clone(&sleeper)) })
                })?;
                backend::Backend::Server(servers.into())
            }
            _ => backend::Backend::Memory(self.in_memory()),
        };
        let fallback = self.fallback_state(&wire)?;
        let mut shared = Shared::new(self.rules.open()?, wire, fallback, &self.options);
        shared.is_lazy = self.options.lazy;
        Ok(AsyncRateLimiter::new(shared, backend, Some(sleeper)))
    }

    /// What carries the calls of tasks. Where denials are remembered for long, servers are to say when that ends.
    fn redis(&self, url: &RedisUrl, options: &ConnectOptions, host: Arc<dyn Host>) -> Result<AsyncRedis> {
        let is_long = self.options.remember_denials > TRUST;
        let open = if is_long { AsyncRedis::tracking_keys } else { AsyncRedis::on };
        open(url, options, host)
    }

    /// Whether connecting takes no time, as there is nothing to connect to; validates everything.
    #[cfg(feature = "bridge")]
    pub(crate) fn is_immediate(&self) -> Result<bool> {
        let mut prepared = self.clone();
        prepared.prepare()?;
        Ok(matches!(Backend::parse(&prepared.url.0)?, Backend::Memory) && self.rules.is_fixed())
    }

    fn tls_files(&self) -> TlsFiles {
        let mut files = TlsFiles::default();
        files.ca.clone_from(&self.connection.tls_ca);
        files.cert.clone_from(&self.connection.tls_cert);
        files.key.clone_from(&self.connection.tls_key);
        files
    }

    /// Validates everything, and hands the rules what of the options concerns them. Returns how states are named.
    fn prepare(&mut self) -> Result<CallSettings> {
        self.connection.validate()?;
        self.options.validate_bounds()?;
        if !is_valid_prefix(&self.options.prefix) {
            return Err(invalid("prefix: must be 1 to 128 bytes without braces and control characters"));
        }
        let secret = self.options.identifier_secret.as_ref().map(|secret| secret.0.as_str());
        self.rules.cache.clone_from(&self.options.rules_cache);
        self.rules.secrets = SecretNames::new(secret)?;
        self.rules.share = Share::new(self.options.share);
        self.rules.top_denied = self.options.top_denied as usize;
        let regions = self.region_map()?;
        let backend = Backend::parse(&self.url.0)?;
        let has_tls = self.has_tls()?;
        if let Some(source) = self.rules.source.with_tls(&self.tls_files()) {
            self.rules.source = source?;
            if !has_tls {
                // They are not ignored, though the server has no use for them.
                self.connection = self.connection.without_tls_files();
            }
        }
        match &backend {
            Backend::Memory if !self.options.remember_denials.is_zero() => {
                return Err(invalid(
                    "remember_denials is for servers; memory:// decides in this process anyway (leave it out)",
                ));
            }
            Backend::Memory if self.connection.replicas > 0 => {
                return Err(invalid("replicas is for servers; memory:// has none (leave it out)"));
            }
            Backend::Memory if self.connection.credentials.is_some() => {
                return Err(invalid("credentials is for servers; memory:// asks for none (leave it out)"));
            }
            Backend::Memory => {
                self.connection.validate_without_tls()?;
            }
            Backend::Redis(_) if self.options.max_keys.is_some() => {
                return Err(invalid(
                    "max_keys is for memory://; the server has a bound of its own (maxmemory)",
                ));
            }
            Backend::Redis(_) => {}
        }
        let is_cluster =
            |url: &str| Ok(matches!(Backend::parse(url)?, Backend::Redis(url) if url.is_cluster()));
        let far = self.options.regions.iter().flatten().map(|(_, url)| is_cluster(&url.0));
        let near_cluster = is_cluster(&self.url.0)?;
        let cluster = far.collect::<Result<Vec<_>>>()?.contains(&true) || near_cluster;
        let default_timeout = self.connection.connect_timeout + self.connection.response_timeout;
        Ok(CallSettings {
            prefix: self.options.prefix.clone(),
            cluster,
            near_cluster,
            default_timeout: default_timeout.as_micros() as Micros,
            request_lifetime: self.request_lifetime(),
            regions,
        })
    }

    /// The regions that the options state. The URL becomes that of the own one.
    fn region_map(&mut self) -> Result<Option<Arc<RegionMap>>> {
        let LimiterOptions { regions, region, region_parts, .. } = &self.options;
        let Some(urls) = regions else {
            let alone = [("region", region.is_some()), ("region_parts", region_parts.is_some())];
            let alone = alone.into_iter().find(|(_, is_given)| *is_given);
            let needs = |(name, _)| Err(invalid(&format!("{name}: needs the option regions")));
            return alone.map_or(Ok(None), needs);
        };
        let map = RegionMap::new(urls, region.as_deref(), region_parts.as_ref())?;
        let own = region.as_ref().and_then(|region| urls.get(region)).map_or("", |url| &url.0);
        if !self.url.0.is_empty() && self.url.0 != own {
            return Err(invalid(
                "regions: the URL of the limiter has to be that of its own region, or empty",
            ));
        }
        let mut known: Vec<(&str, RedisUrl)> = Vec::new();
        for (name, url) in urls {
            let backend = Backend::parse(&url.0)
                .map_err(|error| invalid(&format!("regions: {}: {}", quote(name), error.message())))?;
            let Backend::Redis(url) = backend else {
                return Err(invalid(&format!("regions: {}: memory:// is nobody else's", quote(name))));
            };
            if let Some((other, _)) = known.iter().find(|(_, other)| other.has_server_of(&url)) {
                let both = format!("{} and {}", quote(other), quote(name));
                return Err(invalid(&format!("regions: {both} have the same server; each needs its own")));
            }
            known.push((name, url));
        }
        self.url = Hidden(own.to_owned());
        Ok(Some(Arc::new(map)))
    }

    /// The near servers, and those of other regions. TLS files are for those that have TLS; where none has, they are refused.
    fn servers<D>(
        &self,
        near: &RedisUrl,
        open: impl Fn(&RedisUrl, &ConnectOptions) -> Result<D>,
    ) -> Result<Servers<D>> {
        let (has_tls, plain) = (self.has_tls()?, self.connection.without_tls_files());
        let open = |url: &RedisUrl| open(url, if has_tls && !url.tls { &plain } else { &self.connection });
        let far = self.options.regions.iter().flatten().map(|(name, url)| match Backend::parse(&url.0)? {
            Backend::Redis(url) if Some(name) != self.options.region.as_ref() => open(&url).map(Some),
            _ => Ok(None),
        });
        Servers::new(open(near)?, far)
    }

    /// Whether any server has TLS.
    fn has_tls(&self) -> Result<bool> {
        let urls = self.options.regions.iter().flatten().map(|(_, url)| url).chain([&self.url]);
        let has_tls = |url: &Hidden| Ok(matches!(Backend::parse(&url.0)?, Backend::Redis(url) if url.tls));
        Ok(urls.map(has_tls).collect::<Result<Vec<_>>>()?.contains(&true))
    }

    fn request_lifetime(&self) -> Micros {
        self.options.request_id_seconds as Micros * 1_000_000
    }

    fn fallback_state(&self, wire: &CallSettings) -> Result<FallbackState> {
        let word = &self.options.fallback;
        let default = Fallback::named(word).ok_or_else(|| {
            invalid(&format!("fallback {word:?}: must be \"error\", \"allow\", \"deny\" or \"local\""))
        })?;
        let probe = self.connection.breaker_probe.as_micros() as Micros;
        let local = InMemory::new(self.options.clock.clone(), None, self.request_lifetime());
        Ok(FallbackState::new(default, self.options.instances, probe, wire.regions.clone(), local))
    }

    fn in_memory(&self) -> InMemory {
        InMemory::new(self.options.clock.clone(), self.options.max_keys, self.request_lifetime())
    }
}

macro_rules! setters {
    ($($(#[$about:meta])* $Group:ident, $group:ident {
        $($(#[doc = $doc:literal])+ $name:ident: $kind:ident($($of:tt)*) = $default:tt;)*
    })*) => {
        impl Builder {
            $($(
                $(#[doc = $doc])+
                ///
                #[doc = concat!("Default: ", default_text!($kind($($of)*) = $default), ".")]
                pub fn $name(mut self, value: setter_type!($kind($($of)*))) -> Self {
                    self.$group.$name = set_to!($kind($($of)*), value);
                    self
                }
            )*)*

            /// Sets the option of that name.
            ///
            /// # Errors
            /// [`ErrorKind::InvalidArgument`] where no option has that name, and for a number that is not a whole one.
            #[cfg(feature = "bridge")]
            pub fn set(self, name: &str, value: OptionValue) -> Result<Self> {
                match name {
                    $($(stringify!($name) => Ok(self.$name(taken::<value_type!($kind($($of)*))>(name, value)?)),)*)*
                    _ => Err(unknown(name)),
                }
            }
        }
    };
}
limiter_options!(setters);

fn invalid(reason: &str) -> Error {
    Error::new(ErrorKind::InvalidArgument, reason)
}
