//! One limit of a rule, ready for deciding, whichever its algorithm.

use std::borrow::Cow;
use std::sync::Arc;

use sluicegate_lua::Kernel;

use super::applying::{self, Answered, Demand, Outcome};
use super::calendar::Calendar;
use super::concurrency::{Concurrency, Leases};
use super::decay::{Decay, Level};
use super::fixed_window::{Begins, FixedWindow, Window};
use super::gcra::{Debt, Gcra};
use super::holding::Holding;
use super::interface::Algorithm;
use super::key_record::KeyRecord;
use super::lease::Lease;
use super::numbers::{Numbers, ceil};
use super::sliding_buckets::{Buckets, SlidingBuckets};
use super::sliding_log::{Log, SlidingLog};
use super::sliding_window::{SlidingWindow, Windows};
use crate::rules::{self, Limit, Rule, Structure};
use crate::time::clock::{LATEST, Micros};

/// An algorithm with its numbers.
#[derive(Debug, Clone)]
pub(crate) enum Policy {
    FixedWindow(FixedWindow),
    SlidingWindow(SlidingWindow),
    SlidingLog(SlidingLog),
    SlidingBuckets(SlidingBuckets),
    Gcra(Gcra),
    Decay(Decay),
    Concurrency(Concurrency),
}

/// What is kept for one key of one limit.
#[derive(Debug, Clone)]
pub(crate) enum State {
    Window(Window),
    Windows(Windows),
    Log(Box<Log>),
    Buckets(Box<Buckets>),
    Debt(Debt),
    Level(Level),
    Leases(Leases),
    /// What is held for a key or a resource, beside the states of its limits.
    Holding(Box<Holding>),
    /// What stands beside the states of one key.
    KeyRecord(Box<KeyRecord>),
    /// What was answered to a request, beside the states of its first item.
    Answered(Box<Answered>),
}

/// Runs `$body` with the algorithm and its state. A state belongs to one policy for its whole life,
/// so the two always match; `$otherwise` is only there because the compiler cannot know.
macro_rules! dispatch {
    ($policy:expr, $state:expr, $otherwise:expr, |$algorithm:ident, $inner:ident| $body:expr) => {
        match ($policy, $state) {
            (Policy::FixedWindow($algorithm), State::Window($inner)) => $body,
            (Policy::SlidingWindow($algorithm), State::Windows($inner)) => $body,
            (Policy::SlidingLog($algorithm), State::Log($inner)) => $body,
            (Policy::SlidingBuckets($algorithm), State::Buckets($inner)) => $body,
            (Policy::Gcra($algorithm), State::Debt($inner)) => $body,
            (Policy::Decay($algorithm), State::Level($inner)) => $body,
            (Policy::Concurrency($algorithm), State::Leases($inner)) => $body,
            _ => $otherwise,
        }
    };
}

/// Runs `$body` with the algorithm; `$wrap` becomes the constructor of its state.
macro_rules! with_algorithm {
    ($policy:expr, |$algorithm:ident, $wrap:ident| $body:expr) => {
        match $policy {
            Policy::FixedWindow($algorithm) => {
                let $wrap = State::Window;
                $body
            }
            Policy::SlidingWindow($algorithm) => {
                let $wrap = State::Windows;
                $body
            }
            Policy::SlidingLog($algorithm) => {
                let $wrap = |log| State::Log(Box::new(log));
                $body
            }
            Policy::SlidingBuckets($algorithm) => {
                let $wrap = |buckets| State::Buckets(Box::new(buckets));
                $body
            }
            Policy::Gcra($algorithm) => {
                let $wrap = State::Debt;
                $body
            }
            Policy::Decay($algorithm) => {
                let $wrap = State::Level;
                $body
            }
            Policy::Concurrency($algorithm) => {
                let $wrap = State::Leases;
                $body
            }
        }
    };
}

impl Policy {
    /// The policy of one limit of a rule; `amount` takes the place of the limit that the rule states.
    pub(crate) fn new(rule: &Rule, limit: &Limit, amount: Option<u64>) -> Self {
        let count_denied = rule.count_denied;
        let window = limit.window_us as Micros;
        let resolution = limit.resolution_us as Micros;
        let calendar_window = limit.calendar;
        let limit = amount.map_or(limit.limit, |amount| amount as f64);
        match rule.algorithm {
            rules::Algorithm::FixedWindow { window_start } => {
                let calendar = |window| Begins::Calendar(Arc::new(Calendar::new(window)));
                let begins = calendar_window.map_or(window_start.into(), calendar);
                Self::FixedWindow(FixedWindow { limit, window, begins, count_denied })
            }
            rules::Algorithm::SlidingWindow => {
                Self::SlidingWindow(SlidingWindow { limit, window, count_denied })
            }
            rules::Algorithm::SlidingLog { structure } => {
                Self::SlidingLog(SlidingLog { limit, window, structure })
            }
            rules::Algorithm::SlidingBuckets => {
                Self::SlidingBuckets(SlidingBuckets { limit, window, resolution, count_denied })
            }
            rules::Algorithm::Gcra { burst, .. } => {
                Self::Gcra(Gcra::new(limit, window, burst.map_or(limit, |burst| burst as f64)))
            }
            rules::Algorithm::Decay { factor } => {
                Self::Decay(Decay::new(limit, resolution, factor, count_denied))
            }
            rules::Algorithm::Concurrency => Self::Concurrency(Concurrency { limit }),
        }
    }

    #[inline(always)]
    pub(crate) fn kernel(&self) -> Kernel {
        match self {
            Self::FixedWindow(FixedWindow { begins, .. }) => match begins {
                Begins::Aligned => Kernel::FixedWindow,
                Begins::FirstRequest => Kernel::FixedWindowFirstRequest,
                Begins::Calendar(_) => Kernel::FixedWindowCalendar,
            },
            Self::SlidingWindow(_) => Kernel::SlidingWindow,
            Self::SlidingLog(SlidingLog { structure: Structure::List, .. }) => Kernel::SlidingLogList,
            Self::SlidingLog(_) => Kernel::SlidingLogSortedSet,
            Self::SlidingBuckets(_) => Kernel::SlidingBuckets,
            Self::Gcra(_) => Kernel::Gcra,
            Self::Decay(_) => Kernel::Decay,
            Self::Concurrency(_) => Kernel::Concurrency,
        }
    }

    #[inline]
    pub(crate) fn fresh(&self, now: Micros) -> State {
        with_algorithm!(self, |algorithm, wrap| wrap(algorithm.fresh(now)))
    }

    #[inline]
    pub(crate) fn is_ahead(&self, state: &State, now: Micros) -> bool {
        dispatch!(self, state, false, |algorithm, inner| algorithm.is_ahead(inner, now))
    }

    #[inline]
    pub(crate) fn advance(&self, state: &mut State, now: Micros) {
        dispatch!(self, state, (), |algorithm, inner| algorithm.advance(inner, now));
    }

    /// Whether there is room for `cost`.
    #[inline]
    pub(crate) fn fits(&self, state: &State, now: Micros, cost: f64) -> bool {
        dispatch!(self, state, false, |algorithm, inner| applying::fits(algorithm, inner, now, cost))
    }

    /// Whether a charge of `cost` leaves no larger overdraft than can be counted.
    #[inline]
    pub(crate) fn bears(&self, state: &State, now: Micros, cost: f64) -> bool {
        dispatch!(self, state, false, |algorithm, inner| applying::bears(algorithm, inner, now, cost))
    }

    /// Whether a state that a script replied may be one to which `cost` was charged.
    pub(crate) fn may_have_charged(&self, state: &State, cost: f64) -> bool {
        dispatch!(self, state, false, |algorithm, inner| algorithm.bears(inner, algorithm.price(cost)))
    }

    /// What a charge of `cost` that asks for no room takes: in units of cost, and in the algorithm's own measure.
    pub(crate) fn overcharged(&self, cost: f64) -> (f64, f64) {
        with_algorithm!(self, |algorithm, _wrap| {
            let units = applying::overcharged(algorithm, cost);
            (units, algorithm.price(units))
        })
    }

    /// The most units that one charge adds which asks for no room, as a multiple of the limit; 0: there is no bound.
    pub(crate) fn most_charged_in_limits(&self) -> f64 {
        with_algorithm!(self, |algorithm, _wrap| {
            let most = algorithm.most_charged();
            if most.is_finite() { most / algorithm.most() } else { 0.0 }
        })
    }

    /// Carries out what is asked of a state, and says how it stands then. `permitted` is whether all the
    /// limits that are decided together have room.
    pub(crate) fn decide(&self, state: &mut State, demand: Demand, permitted: bool) -> Outcome {
        self.decide_inline(state, demand, permitted)
    }

    /// [`decide`](Self::decide) for a check in memory: always inline, since outcomes are long.
    #[inline(always)]
    pub(crate) fn decide_inline(&self, state: &mut State, demand: Demand, permitted: bool) -> Outcome {
        dispatch!(self, state, Outcome::NONE, |algorithm, inner| {
            applying::decide(algorithm, inner, demand, permitted)
        })
    }

    /// [`decide`](Self::decide) for a state that was advanced, of which it is known whether the cost `fits`.
    pub(crate) fn apply(&self, state: &mut State, demand: Demand, fits: bool, permitted: bool) -> Outcome {
        dispatch!(self, state, Outcome::NONE, |algorithm, inner| {
            applying::apply(algorithm, inner, demand, fits, permitted)
        })
    }

    /// [`apply`](Self::apply) where weight is held beside the state.
    #[inline]
    pub(crate) fn apply_beside(
        &self,
        state: &mut State,
        demand: Demand,
        fits: bool,
        permitted: bool,
        held: f64,
    ) -> Outcome {
        dispatch!(self, state, Outcome::NONE, |algorithm, inner| {
            applying::apply_beside(algorithm, inner, demand, fits, permitted, held)
        })
    }

    /// Charges what was held until `at`, the end of its lease.
    pub(crate) fn charge_late(&self, state: &mut State, at: Micros, now: Micros, lease: &Lease) {
        let policy = lease.price.map_or(Cow::Borrowed(self), |price| Cow::Owned(self.at_price(price)));
        dispatch!(policy.as_ref(), state, (), |algorithm, inner| {
            applying::charge_late(algorithm, inner, at, now, lease.weight)
        });
    }

    /// The same limit, whose units have another price: that which they have at another limit.
    fn at_price(&self, price: f64) -> Self {
        let mut policy = self.clone();
        if let Self::Gcra(gcra) = &mut policy {
            gcra.unit = price;
        }
        policy
    }

    /// What one unit takes, in the algorithm's own measure.
    #[inline]
    pub(crate) fn price(&self) -> f64 {
        with_algorithm!(self, |algorithm, _wrap| algorithm.price(1.0))
    }

    /// Whether anything is kept beside what is held.
    #[inline]
    pub(crate) fn keeps_state(&self) -> bool {
        !matches!(self, Self::Concurrency(_))
    }

    /// Whether a price depends on the limit.
    #[inline]
    pub(crate) fn has_price(&self) -> bool {
        matches!(self, Self::Gcra(_))
    }

    /// How long a charge counts at most for which there was room.
    #[inline]
    pub(crate) fn longest(&self) -> Micros {
        match self {
            Self::FixedWindow(fixed) => fixed.longest(),
            Self::SlidingLog(SlidingLog { window, .. }) | Self::Gcra(Gcra { window, .. }) => *window,
            Self::SlidingWindow(SlidingWindow { window, .. }) => 2 * window,
            Self::SlidingBuckets(SlidingBuckets { window, resolution, .. }) => window + resolution,
            Self::Decay(decay) => decay.longest(),
            Self::Concurrency(_) => 0,
        }
    }

    /// The same where it may be charged by another limit of the rule, at whose interval each unit counts longer.
    #[inline]
    pub(crate) fn longest_by(&self, other: &Self) -> Micros {
        match (self, other) {
            (Self::Gcra(own), Self::Gcra(other)) => own.window.max(ceil(own.burst * other.unit).min(LATEST)),
            _ => self.longest(),
        }
    }

    /// By how much longer, in microseconds, a charge counts on a state that is overdrawn, or will be when what is `held`
    /// has been charged.
    #[inline]
    pub(crate) fn overdraft(&self, state: &State, now: Micros, held: f64) -> Micros {
        match (self, state) {
            (Self::Gcra(gcra), State::Debt(debt)) => {
                (gcra.price(held) - gcra.room(debt, now)).clamp(0.0, LATEST as f64) as Micros
            }
            _ => 0,
        }
    }

    /// The time until a state is as if never seen.
    #[inline]
    pub(crate) fn reset_after(&self, state: &State, now: Micros) -> Micros {
        dispatch!(self, state, 0, |algorithm, inner| algorithm.reset_after(inner, now))
    }

    /// Charges a cost whether or not there is room.
    #[inline]
    pub(crate) fn charge(&self, state: &mut State, now: Micros, cost: f64) {
        dispatch!(self, state, (), |algorithm, inner| {
            applying::charge(algorithm, inner, now, applying::overcharged(algorithm, cost));
        });
    }

    /// Charges a cost so many times, one after the other.
    pub(crate) fn charge_times(&self, state: &mut State, now: Micros, cost: f64, times: usize) {
        dispatch!(self, state, (), |algorithm, inner| {
            applying::charge_times(algorithm, inner, now, cost, times);
        });
    }

    /// How many units there is room for; below zero when overdrawn.
    #[inline]
    pub(crate) fn room(&self, state: &State, now: Micros) -> f64 {
        dispatch!(self, state, 0.0, |algorithm, inner| applying::whole_room(algorithm, inner, now) as f64)
    }

    /// Gives back `cost`: the newest first or, where it is known when it was charged, what is left of that
    /// charge. When the clock stepped back since, the limiter cannot know whether it still counts: then nothing is touched.
    pub(crate) fn refund(&self, state: &mut State, now: Micros, cost: f64, charged_at: Option<Micros>) {
        if charged_at.is_some_and(|at| at > now || self.is_ahead(state, now)) {
            return;
        }
        dispatch!(self, state, (), |algorithm, inner| {
            algorithm.advance(inner, now);
            algorithm.refund(inner, now, algorithm.price(cost), charged_at);
        });
    }

    /// The most that a key never seen admits at once: the limit that is reported.
    #[inline(always)]
    pub(crate) fn most(&self) -> u64 {
        // Processors convert to signed numbers in one step.
        with_algorithm!(self, |algorithm, _wrap| (algorithm.most() as Micros).unsigned_abs())
    }

    /// The time in which that much is admitted anew; 0 for `decay`, which has no window.
    #[inline(always)]
    pub(crate) fn window(&self) -> Micros {
        match self {
            Self::FixedWindow(FixedWindow { window, .. })
            | Self::SlidingWindow(SlidingWindow { window, .. })
            | Self::SlidingLog(SlidingLog { window, .. })
            | Self::SlidingBuckets(SlidingBuckets { window, .. })
            | Self::Gcra(Gcra { window, .. }) => *window,
            Self::Decay(_) | Self::Concurrency(_) => 0,
        }
    }

    /// The numbers a script needs; `now` is the time by the caller's clock, which is asked for windows of the calendar
    /// alone.
    pub(crate) fn numbers(&self, cost: f64, now: impl FnOnce() -> Micros, out: &mut Numbers) {
        with_algorithm!(self, |algorithm, _wrap| algorithm.numbers(cost, out));
        if let Self::FixedWindow(algorithm) = self {
            algorithm.windows(now, out);
        }
    }

    /// The state from a script's numbers: now, then what the script's file states.
    pub(crate) fn parse(&self, numbers: &[f64], cost: f64) -> Option<State> {
        with_algorithm!(self, |algorithm, wrap| algorithm.parse(numbers, cost).map(wrap))
    }
}
