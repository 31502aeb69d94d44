//! The servers of a limiter: the near one, and one for each other region.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::driver::Driver;
use crate::algorithm::Micros;
use crate::error::Result;
use crate::regions::StatedTerms;

/// How long it takes to a region and back before that was measured, in microseconds.
const TRIP: u64 = 50_000;
/// What one measurement counts for, against all before.
const WEIGHT: u64 = 8;

pub(super) struct Servers<D> {
    pub(super) near: D,
    /// By the places of regions; none at that of the own one.
    far: Vec<Option<Far<D>>>,
    /// On which terms regions decide.
    pub(super) stated: StatedTerms,
}

struct Far<D> {
    server: D,
    /// How long it takes there and back, in microseconds; 0: nobody knows.
    trip: AtomicU64,
}

impl<D> Servers<D> {
    /// `far` opens those of other regions.
    pub(super) fn new(near: D, far: impl Iterator<Item = Result<Option<D>>>) -> Result<Self> {
        let far = far.map(|opened| Ok(opened?.map(|server| Far { server, trip: AtomicU64::new(0) })));
        Ok(Self { near, far: far.collect::<Result<_>>()?, stated: StatedTerms::default() })
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &D> {
        std::iter::once(&self.near).chain(self.far.iter().flatten().map(|far| &far.server))
    }

    /// The server of a region; without one, the near one.
    #[inline(always)]
    pub(super) fn at(&self, region: Option<usize>) -> &D {
        self.far(region).map_or(&self.near, |far| &far.server)
    }

    /// How long it takes to a region and back.
    pub(super) fn trip(&self, region: usize) -> Micros {
        let measured = self.far(Some(region)).map_or(0, |far| far.trip.load(Ordering::Relaxed));
        if measured == 0 { TRIP as Micros } else { measured as Micros }
    }

    /// Takes note of how long it took since something was sent. (Of two at once, one may not count.)
    #[inline(always)]
    pub(super) fn note_trip(&self, region: Option<usize>, took: Duration) {
        let Some(far) = self.far(region) else { return };
        let took = (took.as_micros() as u64).max(1);
        let before = far.trip.load(Ordering::Relaxed);
        let mean = if before == 0 { took } else { (before * (WEIGHT - 1) + took) / WEIGHT };
        far.trip.store(mean.max(1), Ordering::Relaxed);
    }

    #[inline(always)]
    fn far(&self, region: Option<usize>) -> Option<&Far<D>> {
        region.and_then(|region| self.far.get(region)?.as_ref())
    }
}

impl<D: Driver> Servers<D> {
    pub(super) fn close(&self) {
        self.all().for_each(Driver::close);
    }
}
