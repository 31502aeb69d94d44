//! Who takes part.

use std::collections::HashMap;
use std::time::Duration;

use limitador::limit::{Context, Limit, Namespace};
use limitador::storage::AsyncStorage;
use limitador::storage::redis::CachedRedisStorageBuilder;
use sluicegate::{AsyncRateLimiter, Rules};

use crate::{BURST, LIMIT, PROCESSES, Result};

/// What each is called, and which package it is of.
pub(crate) const NAMES: [&str; 11] = [
    "sluicegate gcra",
    "sluicegate gcra, remembered denials",
    "sluicegate gcra, leases",
    "sluicegate fixed_window",
    "sluicegate fixed_window, remembered denials",
    "sluicegate fixed_window, leases",
    "limitador, cached, flushed every second",
    "limitador, cached, flushed every 20 ms",
    "rateguard",
    "rate-limiter-flexible",
    "rate-limiter-flexible, inMemoryBlockOnConsumed",
];

/// Whether an idle key has a burst beside the limit.
pub(crate) fn has_burst(name: &str) -> bool {
    name.contains("gcra") || name == "rateguard"
}

/// Runs in Node.
pub(crate) fn is_of_node(name: &str) -> bool {
    name.starts_with("rate-limiter-flexible")
}

pub(crate) enum Contender {
    Sluicegate(AsyncRateLimiter),
    Limitador(limitador::AsyncRateLimiter, Namespace, Context<'static>),
    Rateguard(rateguard::Guard),
}

impl Contender {
    pub(crate) async fn connect(name: &str, url: &str, ports: &[String], number: usize) -> Result<Self> {
        if name.starts_with("sluicegate") {
            return sluicegate(name, url).await;
        }
        if name.starts_with("limitador") {
            return limitador(name, url).await;
        }
        let address = |port: &String| format!("127.0.0.1:{port}");
        let others = ports.iter().enumerate().filter(|(other, _)| *other != number);
        let guard = rateguard::Guard::builder()
            .bind(address(&ports[number]))
            .seeds(others.map(|(_, port)| address(port)))
            .limit(LIMIT as u32)
            .burst((BURST / PROCESSES as u64) as u32)
            .spawn()?;
        Ok(Self::Rateguard(guard))
    }

    pub(crate) async fn check(&self) -> Result<bool> {
        Ok(match self {
            Self::Sluicegate(limiter) => limiter.check("rule", "hot").await?.allowed,
            Self::Limitador(limiter, namespace, context) => {
                let checked = limiter.check_rate_limited_and_update(namespace, context, 1).await;
                !checked.map_err(|error| error.to_string())?.limited
            }
            Self::Rateguard(guard) => guard.check("hot").is_allowed(),
        })
    }
}

async fn sluicegate(name: &str, url: &str) -> Result<Contender> {
    let algorithm = if name.contains("gcra") { "gcra" } else { "fixed_window" };
    let burst = if name.contains("gcra") { format!(r#", "burst": {BURST}"#) } else { String::new() };
    let lease = if name.contains("leases") { r#", "lease": {"max_age_ms": 20}"# } else { "" };
    let rules = format!(
        r#"[{{"rule_id": "rule", "algorithm": "{algorithm}", "limit": {LIMIT}, "window_size_seconds": 1{burst}{lease}}}]"#
    );
    let mut builder = AsyncRateLimiter::builder(url).rules(Rules::from_json(&rules)?);
    if name.contains("remembered") {
        builder = builder.remember_denials(Duration::from_secs(1));
    }
    Ok(Contender::Sluicegate(builder.connect().await?))
}

async fn limitador(name: &str, url: &str) -> Result<Contender> {
    let mut builder = CachedRedisStorageBuilder::new(url);
    if name.contains("20 ms") {
        builder = builder.flushing_period(Duration::from_millis(20));
    }
    let storage = AsyncStorage::with_counter_storage(Box::new(builder.build().await?));
    let limiter = limitador::AsyncRateLimiterBuilder::new(storage).build();
    limiter.add_limit(Limit::new("benchmark", LIMIT, 1, vec![], vec!["key".try_into()?]));
    let context = HashMap::from([("key".to_owned(), "hot".to_owned())]).into();
    Ok(Contender::Limitador(limiter, "benchmark".into(), context))
}
