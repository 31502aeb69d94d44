//! The handle: how it is made and how it ends.

use std::ffi::c_char;

use sluicegate::{RateLimiter, Rules};

use crate::argument::Handle;
use crate::error::Failure;
use crate::options::{Options, Settings};

/// Decides whether a cost is admitted; blocks the calling thread for one round trip. Threads may share
/// it: calls use a pool of connections that are opened when they are first needed.
pub struct Limiter(pub(crate) RateLimiter);

impl Handle for Limiter {}

export! {
    /// Makes a limiter, to be freed, on the backend that `url` names: "memory://", "redis://host:port",
    /// "rediss://", "unix://path", "redis-cluster://host1:port1,host2:port2" or
    /// "redis-sentinel://host1:port1,host2:port2/service". `rules` is JSON text. `options` may be NULL.
    /// Opens no connection: the first call does.
    fn sluicegate_limiter_new(
        url: *const c_char,
        rules: *const c_char,
        options: *const Options,
        limiter: *mut *mut Limiter,
    ) {
        limiter.write(open(url, Rules::from_json(rules)?, options)?);
        Ok(())
    }
}

export! {
    /// As sluicegate_limiter_new, with the rules in a file.
    fn sluicegate_limiter_new_from_file(
        url: *const c_char,
        rules_path: *const c_char,
        options: *const Options,
        limiter: *mut *mut Limiter,
    ) {
        limiter.write(open(url, Rules::from_file(rules_path)?, options)?);
        Ok(())
    }
}

fn open(url: &str, rules: Rules, settings: Settings<'_>) -> Result<*mut Limiter, Failure> {
    let builder = settings.apply(RateLimiter::builder(url).rules(rules));
    Ok(Box::into_raw(Box::new(Limiter(builder.build()?))))
}

export! {
    /// Tries the server.
    fn sluicegate_limiter_ping(limiter: *const Limiter) {
        Ok(limiter.0.ping()?)
    }
}

export! {
    /// Closes the connections. Final: later calls, also of other threads, end with SLUICEGATE_CLOSED.
    /// Closing twice is fine. The handle is still to be freed.
    fn sluicegate_limiter_close(limiter: *const Limiter) {
        limiter.0.close();
        Ok(())
    }
}

export! {
    /// Closes and frees a limiter that no other thread is using. NULL is fine.
    fn sluicegate_limiter_free(limiter: Option<Box<Limiter>>) -> () {
        drop(limiter);
    }
}
