//! Which amounts a limit may have.

use crate::rules::{Algorithm, Limit, MAX_BURST, MAX_LOG, MAX_MICROS, Rule};

/// Why an amount cannot take the place of a limit; the bounds are those of the rules themselves.
pub(super) fn refusal(rule: &Rule, stated: &Limit, amount: u64) -> Option<&'static str> {
    if amount == 0 {
        return Some("must be at least 1");
    }
    if amount >= MAX_MICROS {
        return Some("must be below 2^53");
    }
    match rule.algorithm {
        Algorithm::SlidingLog { .. } if amount > MAX_LOG as u64 => {
            Some("a sliding_log keeps an entry per unit and is limited to 100000")
        }
        Algorithm::Gcra { burst: None, .. } if amount > MAX_BURST => {
            Some("a burst of more than 2^32 cannot be counted")
        }
        Algorithm::Gcra { burst, .. } => {
            let full =
                u128::from(burst.unwrap_or(amount)) * u128::from(stated.window_us) / u128::from(amount);
            (full > u128::from(MAX_MICROS))
                .then_some("its burst would take longer than 2^53 microseconds to refill")
        }
        _ => None,
    }
}
