//! Calls of both limiters about one key under every rule: to look at it, and to forget it.

use super::asynchronous::AsyncRateLimiter;
use super::blocking::RateLimiter;
use crate::decision::Decision;
use crate::error::Result;
use crate::request::CheckOptions;

impl RateLimiter {
    /// Looks at `key` under every rule: what each of them would answer to a check of cost 1 now. Changes nothing.
    ///
    /// `parts` holds one decision per rule, in the order of the rules; the decision itself is that of
    /// [`check_all`](Self::check_all). A rule that limits a resource is left out, unless
    /// [`inspect_with`](Self::inspect_with) names one. Where no rule is left,
    /// [`rule_applied`](Decision::rule_applied) is false. On a Redis Cluster each hash slot is looked at by itself.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    ///
    /// ```
    /// use sluicegate::{RateLimiter, Rules};
    ///
    /// let rules = r#"[{"rule_id": "login", "rate": "5/minute"}, {"rule_id": "orders", "rate": "9/s"}]"#;
    /// let limiter = RateLimiter::builder("memory://").rules(Rules::from_json(rules)?).build()?;
    /// limiter.check("login", "alice")?;
    ///
    /// let remaining = |part: &sluicegate::Decision| (part.rule.to_string(), part.remaining);
    /// let parts: Vec<_> = limiter.inspect("alice")?.parts.iter().map(remaining).collect();
    /// assert_eq!(parts, [("login".to_owned(), 4), ("orders".to_owned(), 9)]);
    /// limiter.reset_all("alice")?;
    /// assert_eq!(limiter.peek("login", "alice")?.remaining, 5);
    /// # Ok::<(), sluicegate::Error>(())
    /// ```
    pub fn inspect(&self, key: &str) -> Result<Decision> {
        self.inspect_with(key, CheckOptions::new())
    }

    /// [`inspect`](Self::inspect) of rules that limit a resource, too: of the key's use of this one. Cost and limit say
    /// nothing.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub fn inspect_with(&self, key: &str, options: CheckOptions<'_>) -> Result<Decision> {
        let catalog = self.centre.rules.snapshot();
        let checks = catalog.checks_of(key, options);
        self.peek_all(&catalog, &checks)
    }

    /// Forgets what was counted for `key` under every rule, one rule after the other. A rule that limits a resource is
    /// left out, unless [`reset_all_with`](Self::reset_all_with) names one.
    ///
    /// # Errors
    /// As [`reset`](Self::reset); then some rules may have forgotten the key, and others not.
    pub fn reset_all(&self, key: &str) -> Result<()> {
        self.reset_all_with(key, CheckOptions::new())
    }

    /// [`reset_all`](Self::reset_all) of rules that limit a resource, too: of the key's use of this one, as
    /// [`reset_with`](Self::reset_with). Cost and limit say nothing.
    ///
    /// # Errors
    /// As [`reset_all`](Self::reset_all).
    pub fn reset_all_with(&self, key: &str, options: CheckOptions<'_>) -> Result<()> {
        self.ensure_open()?;
        let catalog = self.centre.rules.snapshot();
        for check in catalog.checks_of(key, options) {
            self.forget(&catalog, check)?;
        }
        Ok(())
    }
}

impl AsyncRateLimiter {
    /// Looks at `key` under every rule: what each of them would answer to a check of cost 1 now. Changes nothing.
    ///
    /// `parts` holds one decision per rule, in the order of the rules; the decision itself is that of
    /// [`check_all`](Self::check_all). A rule that limits a resource is left out, unless
    /// [`inspect_with`](Self::inspect_with) names one. Where no rule is left,
    /// [`rule_applied`](Decision::rule_applied) is false. On a Redis Cluster each hash slot is looked at by itself.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub async fn inspect(&self, key: &str) -> Result<Decision> {
        self.inspect_with(key, CheckOptions::new()).await
    }

    /// [`inspect`](Self::inspect) of rules that limit a resource, too: of the key's use of this one. Cost and limit say
    /// nothing.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub async fn inspect_with(&self, key: &str, options: CheckOptions<'_>) -> Result<Decision> {
        let catalog = self.centre.rules.snapshot();
        let checks = catalog.checks_of(key, options);
        self.peek_all(&catalog, &checks).await
    }

    /// Forgets what was counted for `key` under every rule, one rule after the other. A rule that limits a resource is
    /// left out, unless [`reset_all_with`](Self::reset_all_with) names one.
    ///
    /// # Errors
    /// As [`reset`](Self::reset); then some rules may have forgotten the key, and others not.
    pub async fn reset_all(&self, key: &str) -> Result<()> {
        self.reset_all_with(key, CheckOptions::new()).await
    }

    /// [`reset_all`](Self::reset_all) of rules that limit a resource, too: of the key's use of this one, as
    /// [`reset_with`](Self::reset_with). Cost and limit say nothing.
    ///
    /// # Errors
    /// As [`reset_all`](Self::reset_all).
    pub async fn reset_all_with(&self, key: &str, options: CheckOptions<'_>) -> Result<()> {
        self.ensure_open()?;
        let catalog = self.centre.rules.snapshot();
        for check in catalog.checks_of(key, options) {
            self.forget(&catalog, check).await?;
        }
        Ok(())
    }
}
