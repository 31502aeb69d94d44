//! Requests, decided by all the rules that match them.

use super::backend::{Limiter, awaited};
use super::both::both_limiters;
use super::driver::Driver;
use crate::catalog::Catalog;
use crate::decision::Decision;
use crate::error::Result;
use crate::matching::{Explanation, Request, RequestMatch};
use crate::plan::{Form, Op};
use crate::request::Check;
use crate::reservation::Reservation;

both_limiters! {
    /// Decides a request by all the rules that match it, together, as [`check_all`](Self::check_all) does:
    /// `parts` holds one decision per rule, in order of priority. A request that no rule matches is
    /// admitted, and [`rule_applied`](Decision::rule_applied) says so.
    ///
    /// # Errors
    /// As [`check`](Self::check); a request without a path, a method or a header's name that is no token
    /// of HTTP and an `ip` that is no address are an `InvalidArgument`, and so is one that a rule with the algorithm
    /// `concurrency` matches: that needs [`reserve_request`](Self::reserve_request).
    #[inline]
    pub async fn check_request(&self, request: &Request<'_>) -> Result<Decision> {
        self.check_matching(request)
    }

    /// [`check_request`](Self::check_request) that reserves under the rules that have reservations, as
    /// [`reserve_all`](Self::reserve_all) does, and charges the others at once: for requests whose cost is known late, and
    /// for rules whose algorithm is `concurrency`, to be released or committed when the response is over.
    ///
    /// Where no rule that matches has reservations, nothing is held: [`id`](Reservation::id) is `None`, and to end it has no
    /// effect.
    ///
    /// # Errors
    /// As [`check_request`](Self::check_request).
    pub async fn reserve_request(&self, request: &Request<'_>) -> Result<Reservation> {
        self.reserve_matching(request)
    }
}

both_limiters! {
    /// Returns the rules that [`check_request`](Self::check_request) would apply, in order of priority, then of
    /// their file. Nothing is counted.
    ///
    /// # Errors
    /// `InvalidArgument`, as [`check_request`](Self::check_request).
    pub fn match_request(&self, request: &Request<'_>) -> Result<Vec<RequestMatch>> {
        self.limiter.catalog().matcher().matches(request)
    }

    /// For every rule, in the same order, whether it matches and, if not, the first condition that does
    /// not hold. Evaluates every rule: use it for diagnosis, not for every request.
    ///
    /// # Errors
    /// `InvalidArgument`, as [`check_request`](Self::check_request).
    pub fn explain_request(&self, request: &Request<'_>) -> Result<Vec<Explanation>> {
        self.limiter.catalog().matcher().explain(request)
    }
}

impl<D: Driver> Limiter<D> {
    pub(super) async fn check_matching(&self, request: &Request<'_>) -> Result<Decision> {
        self.ensure_open()?;
        let catalog = self.catalog();
        let matches = matches(&catalog, request)?;
        if matches.is_empty() {
            return self.unruled();
        }
        let checks = checks(&matches, request);
        catalog.ensure_no_places(&checks)?;
        awaited!(self, together(&catalog, &checks, Op::Check, None))
    }

    pub(super) async fn reserve_matching(&self, request: &Request<'_>) -> Result<Reservation> {
        self.ensure_open()?;
        let catalog = self.catalog();
        let matches = matches(&catalog, request)?;
        if matches.is_empty() {
            return self.unruled().map(Reservation::unheld);
        }
        let checks = checks(&matches, request);
        if catalog.holds_any(&checks) {
            return awaited!(self, hold(&catalog, &checks, Form::WithParts)).map(|held| held.answer);
        }
        awaited!(self, together(&catalog, &checks, Op::Check, None)).map(Reservation::unheld)
    }
}

#[inline]
fn matches(catalog: &Catalog, request: &Request<'_>) -> Result<Vec<RequestMatch>> {
    request.validate_timeout()?;
    catalog.matcher().matches(request)
}

#[inline]
fn checks<'a>(matches: &'a [RequestMatch], request: &Request<'_>) -> Vec<Check<'a>> {
    matches.iter().map(|found| found.check(request.timeout)).collect()
}
