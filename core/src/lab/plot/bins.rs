//! Bins, as many as a picture has room for.

use crate::lab::Bin;

/// Neighbouring bins together, so that there are at most so many.
pub(super) fn merged(bins: &[Bin], most: usize) -> Vec<Bin> {
    let group = bins.len().div_ceil(most).max(1);
    let sum = |bins: &[Bin]| {
        bins.iter().fold(Bin::default(), |sum, bin| Bin {
            admitted: sum.admitted + bin.admitted,
            denied: sum.denied + bin.denied,
            cost: sum.cost + bin.cost,
            fullest: sum.fullest.max(bin.fullest),
        })
    };
    bins.chunks(group).map(sum).collect()
}
