//! The servers of a limiter: the near one, and one for each other region.

use super::driver::Driver;
use crate::error::Result;

pub(super) struct Servers<D> {
    pub(super) near: D,
    /// By the places of regions; none at that of the own one.
    far: Vec<Option<D>>,
}

impl<D> Servers<D> {
    /// `far` opens those of other regions.
    pub(super) fn new(near: D, far: impl Iterator<Item = Result<Option<D>>>) -> Result<Self> {
        Ok(Self { near, far: far.collect::<Result<_>>()? })
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &D> {
        std::iter::once(&self.near).chain(self.far.iter().flatten())
    }

    /// The server of a region; without one, the near one.
    #[inline(always)]
    pub(super) fn at(&self, region: Option<usize>) -> &D {
        region.and_then(|region| self.far.get(region)?.as_ref()).unwrap_or(&self.near)
    }
}

impl<D: Driver> Servers<D> {
    pub(super) fn close(&self) {
        self.all().for_each(Driver::close);
    }
}
