//! One limit over several regions: which region is in charge of a key, and the part of each while it is cut off.

mod map;
mod owner;

pub(crate) use map::RegionMap;
