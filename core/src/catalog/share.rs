//! The part of every limit that one limiter may use.

use std::sync::Arc;

use super::amount::refusal;
use crate::algorithm::Amounts;
use crate::error::{Error, ErrorKind, Result};
use crate::rules::{Algorithm, Rule, Rules};

/// A part of every limit: above 0, and 1 at most.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Share(f64);

impl Default for Share {
    fn default() -> Self {
        Self(1.0)
    }
}

impl Share {
    pub(crate) const fn new(part: f64) -> Self {
        Self(part)
    }

    /// The part of a limit, in whole units.
    pub(super) fn of(self, limit: f64) -> f64 {
        (limit * self.0 + 1e-9).floor()
    }

    /// The part of a limit that a call brings, or that is stored for a key: at least 1.
    #[inline]
    pub(crate) fn of_amount(self, amount: u64) -> u64 {
        if self.is_whole() { amount } else { (self.of(amount as f64) as u64).max(1) }
    }

    /// The part of a limit and its burst, of which there is at least 1.
    pub(super) fn of_amounts(self, Amounts { limit, burst }: Amounts) -> Amounts {
        Amounts { limit: self.of(limit), burst: burst.map(|burst| (self.of(burst as f64) as u64).max(1)) }
    }

    /// The rule by its part; where that leaves less than 1 of a limit, which [`validate`](Self::validate) refuses, that is 1.
    pub(super) fn of_rule(self, rule: &Arc<Rule>) -> Arc<Rule> {
        if self.is_whole() {
            return Arc::clone(rule);
        }
        let mut shared = Rule::clone(rule);
        for limit in &mut shared.limits {
            limit.limit = self.of(limit.limit).max(1.0);
        }
        if let Algorithm::Gcra { burst: Some(burst), .. } = &mut shared.algorithm {
            *burst = self.of_amount(*burst);
        }
        Arc::new(shared)
    }

    /// Refuses rules of which it leaves too little.
    pub(crate) fn validate(self, rules: &Rules) -> Result<()> {
        let checked = rules.iter().try_for_each(|rule| self.validate_rule(rule));
        checked.map_err(|reason| Error::new(ErrorKind::InvalidRule, reason))
    }

    /// Says why the rule has no such part.
    pub(crate) fn validate_rule(self, rule: &Arc<Rule>) -> std::result::Result<(), String> {
        if self.is_whole() {
            return Ok(());
        }
        let shared = self.of_rule(rule);
        for (stated, limit) in rule.limits.iter().zip(&shared.limits) {
            let part = self.of(stated.limit);
            let reason = if part < 1.0 {
                Some("that is less than 1 (raise the limit or the share)")
            } else {
                refusal(&shared, limit, part as u64)
            };
            if let Some(reason) = reason {
                let Self(share) = self;
                return Err(format!(
                    "rule \"{}\": limit {} with share {share}: {reason}",
                    rule.id, stated.limit
                ));
            }
        }
        Ok(())
    }

    const fn is_whole(self) -> bool {
        self.0 >= 1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(fields: &str) -> Rules {
        Rules::from_json(&format!(r#"[{{"rule_id": "a", {fields}}}]"#)).unwrap()
    }

    #[test]
    fn a_part_is_rounded_down_except_for_the_error_of_doubles() {
        // 0.29 * 100 is a little less than 29 in doubles.
        for (limit, share, part) in [(100.0, 0.29, 29.0), (3.0, 1.0 / 3.0, 1.0), (7.0, 0.5, 3.0)] {
            assert_eq!(Share::new(share).of(limit), part, "{limit} x {share}");
        }
        assert_eq!(Share::new(0.1).of_amount(3), 1);
        assert_eq!(Share::default().of_amount((1 << 53) - 1), (1 << 53) - 1);
    }

    #[test]
    fn a_burst_is_shared_and_that_of_uniform_stays() {
        let burst = |fields: &str| {
            let rules = rules(fields);
            let shared = Share::new(0.25).of_rule(rules.iter().next().unwrap());
            (shared.limits[0].limit, shared.algorithm)
        };
        let is = |(limit, algorithm), right: f64, most: Option<u64>| {
            assert_eq!(limit, right);
            assert!(matches!(algorithm, Algorithm::Gcra { burst, .. } if burst == most), "{algorithm:?}");
        };
        is(burst(r#""rate": "100/s", "burst": 10"#), 25.0, Some(2));
        is(burst(r#""rate": "100/s", "burst": 2"#), 25.0, Some(1));
        is(burst(r#""rate": "100/s""#), 25.0, None);
        is(burst(r#""algorithm": "uniform", "rate": "100/s""#), 25.0, Some(1));
    }

    #[test]
    fn less_than_one_of_a_limit_is_refused_by_the_name_of_the_rule() {
        let error = Share::new(0.25).validate(&rules(r#""rate": "3/s""#)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidRule);
        let what = "rule \"a\": limit 3 with share 0.25: that is less than 1 (raise the limit or the share)";
        assert_eq!(error.message(), what);
        Share::new(0.25).validate(&rules(r#""rate": "4/s""#)).unwrap();
        Share::default()
            .validate(&rules(r#""algorithm": "decay", "limit": 1.5, "resolution_seconds": 1"#))
            .unwrap();
    }
}
