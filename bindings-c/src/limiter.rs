//! The handle: how it is made and how it ends.

use std::ffi::c_char;

use sluicegate::RateLimiter;
use sluicegate::sources::{FileSource, RuleSource, named};

use crate::argument::Handle;
use crate::check::timeout;
use crate::error::Failure;
use crate::log::ensure_log;
use crate::options::{Given, Options};

/// Decides whether a cost is admitted; blocks the calling thread for one round trip. Threads may share
/// it: calls use a pool of connections that are opened when they are first needed.
pub struct Limiter(pub(crate) RateLimiter);

impl Handle for Limiter {}

export! {
    /// Makes a limiter, to be freed, on the backend that `url` names: "memory://", "redis://host:port",
    /// "rediss://", "unix://path", "redis-cluster://host1:port1,host2:port2" or
    /// "redis-sentinel://host1:port1,host2:port2/service". `options` may be NULL. Opens no connection to
    /// Redis: the first call does.
    ///
    /// `rules` is JSON text (what begins with a bracket, a brace or a comment), or where rules are kept and
    /// followed: "zookeeper://host1:port1,host2:port2/path", or else the path of a file. What changes there
    /// takes effect within a second, all counts kept; what is not valid is refused, and stays as it was:
    /// see sluicegate_rules_status. To begin, such rules have to be valid and readable; that takes
    /// milliseconds for a file, and up to ten seconds for a ZooKeeper that does not answer.
    fn sluicegate_limiter_new(
        url: *const c_char,
        rules: *const c_char,
        options: *const Options,
        limiter: *mut *mut Limiter,
    ) {
        limiter.write(open(url, named(rules)?, options)?);
        Ok(())
    }
}

export! {
    /// As sluicegate_limiter_new, with rules in a file, whatever its path looks like.
    fn sluicegate_limiter_new_from_file(
        url: *const c_char,
        rules_path: *const c_char,
        options: *const Options,
        limiter: *mut *mut Limiter,
    ) {
        limiter.write(open(url, FileSource::new(rules_path), options)?);
        Ok(())
    }
}

fn open(url: &str, rules: impl RuleSource, given: Given) -> Result<*mut Limiter, Failure> {
    ensure_log();
    let builder = given.apply(RateLimiter::builder(url).rules(rules))?;
    Ok(Box::into_raw(Box::new(Limiter(builder.build()?))))
}

export! {
    /// Tries the server.
    fn sluicegate_limiter_ping(limiter: *const Limiter) {
        Ok(limiter.0.ping()?)
    }
}

export! {
    /// As sluicegate_limiter_ping, for `timeout_us` microseconds at most, as sluicegate_check_options has it. 0: by
    /// default.
    fn sluicegate_limiter_ping_with(limiter: *const Limiter, timeout_us: u64) {
        Ok(timeout(timeout_us).map_or_else(|| limiter.0.ping(), |timeout| limiter.0.ping_with(timeout))?)
    }
}

export! {
    /// Closes the connections. Final: later calls, and waits that are under way in other threads, end with
    /// SLUICEGATE_CLOSED; what only looks at the rules still answers. Closing twice is fine. The handle is still to be freed.
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
