//! One limit over several regions: which region is in charge of a key, and the part of each while it is cut off.

#[cfg(test)]
pub(crate) mod allotment;
mod deposit;
#[cfg(any(test, feature = "internal"))]
pub(crate) mod lending;
mod map;
mod once;
mod owner;
mod stated;

pub(crate) use deposit::Deposit;
pub(crate) use map::RegionMap;
pub(crate) use once::OnceRegion;
pub(crate) use stated::StatedTerms;
