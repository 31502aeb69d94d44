//! From the options of `connect` to a builder.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use napi::bindgen_prelude::Reference;
use napi_derive::napi;
use sluicegate::bridge::{OptionKind, OptionSpec, OptionValue};
use sluicegate::sources::{RuleSource, named};
use sluicegate::{AsyncRateLimiter, Builder, Result, Rules};

use crate::clock::NativeClock;
use crate::credentials::NativeCredentials;

/// The options, of the right types already.
#[napi(object, object_to_js = false)]
pub(crate) struct Options {
    /// Where rules come from: a path, the address of a ZooKeeper, or JSON.
    pub rules: Option<String>,
    /// Rules as JSON, whatever it looks like.
    pub rules_json: Option<String>,
    /// Instead of the server's clock.
    pub clock: Option<Reference<NativeClock>>,
    /// Gives user and password of new connections.
    pub credentials: Option<Reference<NativeCredentials>>,
    /// Texts, and objects as JSON, by the names of options in core.
    pub text: HashMap<String, String>,
    /// Numbers likewise; times in milliseconds.
    pub number: HashMap<String, f64>,
}

impl Options {
    fn source(&self) -> Result<Arc<dyn RuleSource>> {
        match &self.rules {
            Some(text) => named(text),
            None => Ok(Arc::new(Rules::from_json(self.rules_json.as_deref().unwrap_or_default())?)),
        }
    }

    pub(crate) fn builder(self, url: String) -> Result<Builder> {
        let mut builder = AsyncRateLimiter::builder(url).rules(self.source()?);
        if let Some(clock) = self.clock {
            builder = builder.clock(clock.0.clone());
        }
        if let Some(provider) = self.credentials.and_then(|credentials| credentials.provider()) {
            builder = builder.credentials(provider);
        }
        for (name, text) in self.text {
            let value = match kind(&name) {
                Some(OptionKind::Path) => OptionValue::Path(text.into()),
                Some(OptionKind::Texts | OptionKind::Numbers) => OptionValue::Object(text),
                _ => OptionValue::Text(text),
            };
            builder = builder.set(&name, value)?;
        }
        for (name, number) in self.number {
            let value = match kind(&name) {
                Some(OptionKind::Time(_)) => OptionValue::Time(time(number)),
                Some(OptionKind::Flag) => OptionValue::Flag(number != 0.0),
                Some(OptionKind::Part(_)) => OptionValue::Part(number),
                _ => OptionValue::Count(number),
            };
            builder = builder.set(&name, value)?;
        }
        Ok(builder)
    }
}

fn kind(name: &str) -> Option<OptionKind> {
    OptionSpec::named(name).map(|option| option.kind)
}

/// What is below zero, no number or too long becomes the longest time, which no option takes.
fn time(ms: f64) -> Duration {
    Duration::try_from_secs_f64(ms / 1e3).unwrap_or(Duration::MAX)
}

/// What is below zero, or no number, becomes zero, which is refused where zero makes no sense; what is
/// too large becomes the largest.
pub(crate) fn milliseconds(ms: f64) -> Duration {
    if ms > 0.0 { Duration::try_from_secs_f64(ms / 1e3).unwrap_or(Duration::MAX) } else { Duration::ZERO }
}
