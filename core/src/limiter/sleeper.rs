//! How tasks of the async limiter sleep.

use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::Handle;

use crate::error::{Error, ErrorKind, Result};

/// A source of sleeps.
pub(crate) trait Sleeper: Send + Sync {
    /// Ends at `end`.
    fn sleep(&self, end: Instant) -> Pin<Box<dyn Future<Output = ()> + Send>>;

    /// Has this done after each `span`, until it answers false.
    fn repeat(&self, span: Duration, what: Repeated);
}

/// What is done again and again.
pub(crate) type Repeated = Box<dyn FnMut() -> bool + Send>;

/// A limiter's own sleeper, or else the timers of a Tokio runtime, where there is one: elsewhere they panic.
pub(super) fn sleeper(own: Option<&Arc<dyn Sleeper>>) -> Result<&dyn Sleeper> {
    if let Some(own) = own {
        return Ok(own.as_ref());
    }
    if Handle::try_current().is_err() {
        let what = "the limiter needs a Tokio runtime to wait on";
        return Err(Error::new(ErrorKind::Connection, what).lasting());
    }
    Ok(&Tokio)
}

struct Tokio;

impl Sleeper for Tokio {
    fn sleep(&self, end: Instant) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(tokio::time::sleep_until(end.into()))
    }

    /// On the runtime of the caller.
    fn repeat(&self, span: Duration, mut what: Repeated) {
        tokio::spawn(async move {
            while {
                tokio::time::sleep(span).await;
                what()
            } {}
        });
    }
}
