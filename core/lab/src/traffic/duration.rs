//! How long calls are under way, where it is not stated for the single call.

use std::str::FromStr;

use sluicegate::Error;
use sluicegate::internal;
use sluicegate::internal::quote;

use super::pick::Amount;
use crate::random::Random;

/// How long calls are under way: `200ms`, a range such as `50ms..2s`, or `exp(500ms)` for an exponential distribution
/// with this mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CallDuration(Amount);

impl CallDuration {
    pub(super) const RIGHT: &'static str =
        "a time from 1us to 1d such as 200ms, a range such as 50ms..2s, or exp(MEAN), as in exp(500ms)";

    pub(crate) fn draw_us(self, random: &mut Random) -> u64 {
        self.0.draw(random)
    }
}

impl FromStr for CallDuration {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = || format!("duration {}: it has to be {}", quote(text), Self::RIGHT);
        let amount = Amount::duration(text);
        amount.map(Self).ok_or_else(|| internal::invalid_argument(wrong()))
    }
}
