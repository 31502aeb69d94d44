//! The region in charge of one key, looked up once: a call asks for it several times, and that takes a few hashes.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Empty until it is asked for.
#[derive(Debug, Default)]
pub(crate) struct OnceRegion(AtomicUsize);

impl OnceRegion {
    /// The place of the region in charge, where that is another one.
    #[inline(always)]
    pub(crate) fn get_or(&self, look_up: impl FnOnce() -> Option<usize>) -> Option<usize> {
        match self.0.load(Ordering::Relaxed) {
            0 => {
                let region = look_up();
                self.0.store(region.map_or(1, |region| region + 2), Ordering::Relaxed);
                region
            }
            known => known.checked_sub(2),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_looked_up_once() {
        for region in [None, Some(0), Some(7)] {
            let (once, mut looked_up) = (OnceRegion::default(), 0);
            for _ in 0..3 {
                let found = once.get_or(|| {
                    looked_up += 1;
                    region
                });
                assert_eq!(found, region);
            }
            assert_eq!(looked_up, 1);
        }
    }
}
