//! Single checks, many at once, for the bindings to other languages.

#[cfg(unix)]
use std::sync::Arc;

use redis::Value;

use super::AsyncRateLimiter;
use super::asynchronous::Backend;
use crate::catalog::Catalog;
use crate::decision::Decision;
use crate::error::Result;
use crate::plan::{Form, Op, Plan, Verdict};
use crate::request::Check;
use crate::transaction::{Request, unanswered};

impl AsyncRateLimiter {
    pub(crate) fn is_embedded(&self) -> bool {
        matches!(self.backend, Backend::Local(_))
    }

    /// What is made of the verdict on a single check, if it needs no I/O.
    #[inline]
    pub(crate) fn at_once<T>(
        &self,
        op: Op,
        check: &Check<'_>,
        make: impl FnOnce(Verdict<'_>) -> T,
    ) -> Option<Result<T>> {
        match &self.backend {
            Backend::Local(local) => Some(local.decide(&self.centre.rules.snapshot(), check, op, make)),
            Backend::Server(_) => None,
        }
    }

    /// Many single checks, each decided for itself, in as few round trips as there are servers.
    pub(crate) async fn each(&self, calls: &[(Op, Check<'_>)]) -> Vec<Result<Decision>> {
        let catalog = self.centre.rules.snapshot();
        let redis = match &self.backend {
            Backend::Server(redis) => redis,
            Backend::Local(local) => {
                let single = |(op, check): &(Op, Check<'_>)| local.single(&catalog, check, *op);
                return calls.iter().map(single).collect();
            }
        };
        let requests: Vec<_> = calls.iter().map(|(op, check)| self.request(&catalog, *op, check)).collect();
        let sent: Vec<_> = requests.iter().flatten().map(Request::call).collect();
        let mut replies = redis.call_many(&sent).await.into_iter();
        let decide = |((op, check), request): (&(Op, Check<'_>), Result<_>)| {
            request?;
            self.decision(&catalog, *op, check, replies.next().unwrap_or_else(|| Err(unanswered())))
        };
        calls.iter().zip(requests).map(decide).collect()
    }

    /// How to open a connection to the server that a foreign loop serves itself.
    #[cfg(unix)]
    pub(crate) fn opener(&self) -> Option<crate::redis::Opener> {
        match &self.backend {
            Backend::Server(redis) => redis.opener(),
            Backend::Local(_) => None,
        }
    }

    /// Makes no more use of the connections that there are.
    #[cfg(unix)]
    pub(crate) fn renew(&self) {
        if let Backend::Server(redis) = &self.backend {
            redis.renew();
        }
    }

    /// The rules to make a call by, and later to read its reply by.
    #[cfg(unix)]
    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        self.centre.rules.kept()
    }

    /// What a single check asks a server: as it lies in one slot, that is one request.
    pub(crate) fn request(&self, catalog: &Catalog, op: Op, check: &Check<'_>) -> Result<Request> {
        self.ensure_open()?;
        let plan = Plan::new(catalog, &[*check])?;
        self.centre.transaction(&plan, op).next().ok_or_else(unanswered)
    }

    /// What the reply to that request means.
    pub(crate) fn decision(
        &self,
        catalog: &Catalog,
        op: Op,
        check: &Check<'_>,
        reply: Result<Value>,
    ) -> Result<Decision> {
        let plan = Plan::new(catalog, &[*check])?;
        let mut transaction = self.centre.transaction(&plan, op);
        transaction.feed(reply);
        transaction.finish(Form::Single)
    }
}
