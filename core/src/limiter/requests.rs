//! Requests, decided by all the rules that match them.

use super::asynchronous::AsyncRateLimiter;
use super::blocking::RateLimiter;
use crate::catalog::Catalog;
use crate::decision::Decision;
use crate::error::Result;
use crate::matching::{Request, RequestMatch};
use crate::plan::Form;
use crate::request::Check;
use crate::reservation::Reservation;

impl RateLimiter {
    /// Decides a request by all the rules that match it, together, as [`check_all`](Self::check_all) does:
    /// `parts` holds one decision per rule, in order of priority. A request that no rule matches is
    /// admitted, and [`rule_applied`](Decision::rule_applied) says so.
    ///
    /// # Errors
    /// As [`check`](Self::check); a request without a path, a method or a header's name that is no token
    /// of HTTP and an `ip` that is no address are an `InvalidArgument`, and so is one that a rule with the algorithm
    /// `concurrency` matches: that needs [`reserve_request`](Self::reserve_request).
    #[inline]
    pub fn check_request(&self, request: &Request<'_>) -> Result<Decision> {
        self.ensure_open()?;
        let catalog = self.centre.rules.snapshot();
        let matches = matches(&catalog, request)?;
        if matches.is_empty() {
            return Ok(Decision::unruled(self.source()));
        }
        let checks = checks(&matches, request);
        catalog.ensure_no_places(&checks)?;
        self.all(&catalog, &checks)
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
    pub fn reserve_request(&self, request: &Request<'_>) -> Result<Reservation> {
        self.ensure_open()?;
        let catalog = self.centre.rules.snapshot();
        let matches = matches(&catalog, request)?;
        if matches.is_empty() {
            return Ok(Reservation::unheld(Decision::unruled(self.source())));
        }
        let checks = checks(&matches, request);
        if catalog.holds_any(&checks) {
            return Ok(self.hold(&catalog, &checks, Form::WithParts)?.answer);
        }
        self.all(&catalog, &checks).map(Reservation::unheld)
    }
}

impl AsyncRateLimiter {
    /// Decides a request by all the rules that match it, together, as [`check_all`](Self::check_all) does:
    /// `parts` holds one decision per rule, in order of priority. A request that no rule matches is
    /// admitted, and [`rule_applied`](Decision::rule_applied) says so.
    ///
    /// # Errors
    /// As [`check`](Self::check); a request without a path, a method or a header's name that is no token
    /// of HTTP and an `ip` that is no address are an `InvalidArgument`, and so is one that a rule with the algorithm
    /// `concurrency` matches: that needs [`reserve_request`](Self::reserve_request).
    pub async fn check_request(&self, request: &Request<'_>) -> Result<Decision> {
        self.ensure_open()?;
        let catalog = self.centre.rules.snapshot();
        let matches = matches(&catalog, request)?;
        if matches.is_empty() {
            return self.unruled();
        }
        let checks = checks(&matches, request);
        catalog.ensure_no_places(&checks)?;
        self.all(&catalog, &checks).await
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
        self.ensure_open()?;
        let catalog = self.centre.rules.snapshot();
        let matches = matches(&catalog, request)?;
        if matches.is_empty() {
            return self.unruled().map(Reservation::unheld);
        }
        let checks = checks(&matches, request);
        if catalog.holds_any(&checks) {
            return Ok(self.hold(&catalog, &checks, Form::WithParts).await?.answer);
        }
        self.all(&catalog, &checks).await.map(Reservation::unheld)
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
