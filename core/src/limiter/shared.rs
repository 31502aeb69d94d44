//! What both limiters share: rules in, plans and conversations out. No I/O happens here.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::fallback::FallbackState;
use super::queue::{Moment, WaitQueue};
use crate::algorithm::{HoldId, Micros};
use crate::cells::Cells;
use crate::error::{Error, Result};
use crate::metrics::LimiterCounters;
use crate::options::LimiterOptions;
use crate::plan::{End, Op, Plan};
use crate::sequence::{CallSettings, DecisionSequence, Ending};
use crate::sources::RuleBook;
use crate::time::clock::ManualClock;

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) rules: RuleBook,
    pub(super) wire: CallSettings,
    /// Those who wait for room.
    pub(super) queue: WaitQueue,
    /// What decides when no server can.
    pub(super) fallback: FallbackState,
    pub(super) counters: LimiterCounters,
    /// Whether no server is tried when the limiter is made.
    pub(super) is_lazy: bool,
    /// Denials that are remembered, and units that were borrowed.
    pub(super) cells: Arc<Cells>,
    clock: Option<ManualClock>,
    pub(super) began: Instant,
}

impl Shared {
    pub(super) fn new(
        rules: RuleBook,
        wire: CallSettings,
        fallback: FallbackState,
        options: &LimiterOptions,
    ) -> Self {
        let age = options.remember_denials.as_micros() as u64;
        Self {
            rules,
            wire,
            queue: WaitQueue::new(),
            fallback,
            counters: LimiterCounters::default(),
            is_lazy: false,
            cells: Arc::new(Cells::new(age)),
            clock: options.clock.clone(),
            began: Instant::now(),
        }
    }

    /// Changes how many processes share the limits while no server decides.
    pub(super) fn set_instances(&self, instances: u32) -> Result<()> {
        LimiterOptions { instances, ..LimiterOptions::default() }.validate_bounds()?;
        self.fallback.set_instances(instances);
        Ok(())
    }

    /// The result of trying a server when a limiter is made: an outage then is none where calls are decided all the same.
    pub(super) fn tolerates(&self, tried: Result<()>) -> Result<()> {
        let is_tolerable =
            |error: &Error| error.is_undecided() && !self.fallback.is_error(&self.rules.snapshot());
        tried.or_else(|error| if is_tolerable(&error) { Ok(()) } else { Err(error) })
    }

    /// The conversation that carries out a plan on a server; `id` names what is reserved.
    pub(super) fn sequence<'a>(&'a self, plan: &'a Plan<'a>, op: Op, id: HoldId) -> DecisionSequence<'a> {
        DecisionSequence::named(plan, &self.wire, op, self.now(), id)
    }

    /// The conversation that ends or renews a reservation; `names` are the reservation's and the call's.
    pub(super) fn ending<'a>(&'a self, plan: &'a Plan<'a>, end: End, names: (HoldId, HoldId)) -> Ending<'a> {
        Ending::new(plan, &self.wire, end, names, self.now())
    }

    /// A manual clock's time.
    pub(super) fn now(&self) -> Option<Micros> {
        self.clock.as_ref().map(ManualClock::now)
    }

    /// The manual clock, if there is one.
    pub(super) fn manual_clock(&self) -> Option<&ManualClock> {
        self.clock.as_ref()
    }

    /// Whether time passes by a clock that the caller moves.
    pub(super) fn is_manual(&self) -> bool {
        self.clock.is_some()
    }

    /// The time by which waits are measured: what has passed in truth and by a manual clock.
    pub(super) fn moment(&self) -> Moment {
        self.moment_after(self.passed())
    }

    /// What has passed in truth.
    pub(super) fn passed(&self) -> Moment {
        Moment::try_from(self.began.elapsed().as_micros()).unwrap_or(Moment::MAX)
    }

    /// The time by which one asks and is answered who last slept until `passed`. By a manual clock this takes no time, so
    /// that the clock alone says whether a wait is over, and whether it fits into its timeout.
    pub(super) fn moment_of_asking(&self, passed: Moment) -> Moment {
        self.moment_after(if self.is_manual() { passed } else { self.passed() })
    }

    fn moment_after(&self, passed: Moment) -> Moment {
        passed.saturating_add(self.clock.as_ref().map_or(0, ManualClock::now_us))
    }

    /// Lets a wait pass: a manual clock is moved on; answers by how much it was. Without one, the caller has to
    /// sleep.
    pub(super) fn pass(&self, wait: Duration) -> Option<Duration> {
        let clock = self.clock.as_ref()?;
        let before = clock.now_us();
        clock.advance(wait);
        Some(Duration::from_micros(clock.now_us().saturating_sub(before)))
    }
}
