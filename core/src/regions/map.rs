//! The regions of a limiter, as its options state them.

use std::collections::BTreeMap;

use super::owner::owner;
use crate::error::{Error, ErrorKind, Result};
use crate::options::Hidden;
use crate::text::words::{one_of, quote};

/// Parts may add up to this.
const WHOLE: f64 = 1.0 + 1e-9;

/// The regions, by their places in the order of their names.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RegionMap {
    names: Vec<String>,
    /// The part of a limit that each region has while it is cut off.
    parts: Vec<f64>,
    own: usize,
}

impl RegionMap {
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] where the own region is none of them, or the parts make no sense.
    pub(crate) fn new(
        urls: &BTreeMap<String, Hidden>,
        own: Option<&str>,
        parts: Option<&BTreeMap<String, f64>>,
    ) -> Result<Self> {
        let names: Vec<_> = urls.keys().cloned().collect();
        let known = || one_of(&names.iter().map(String::as_str).collect::<Vec<_>>());
        let Some(own) = own else {
            return Err(invalid("regions: needs the option region, the name of the region of this limiter"));
        };
        let Some(place) = names.iter().position(|name| name == own) else {
            return Err(invalid(&format!(
                "region {} is not among regions; it has to be {}",
                quote(own),
                known()
            )));
        };
        if names.iter().any(String::is_empty) {
            return Err(invalid("regions: a name is empty"));
        }
        let parts = match parts {
            None => vec![1.0 / names.len() as f64; names.len()],
            Some(parts) => {
                if let Some(foreign) = parts.keys().find(|name| !names.contains(name)) {
                    let foreign = quote(foreign);
                    return Err(invalid(&format!(
                        "region_parts: {foreign} is not among regions; it has to be {}",
                        known()
                    )));
                }
                names.iter().map(|name| part(parts, name)).collect::<Result<Vec<_>>>()?
            }
        };
        let sum: f64 = parts.iter().sum();
        if sum > WHOLE {
            return Err(invalid(&format!("region_parts: add up to {sum}, and must not to more than 1")));
        }
        Ok(Self { names, parts, own: place })
    }

    /// The place of the region that is in charge of a key; `None`: it is that of this limiter.
    pub(crate) fn elsewhere(&self, rule: &str, key: &str) -> Option<usize> {
        Some(owner(&self.names, rule, key)).filter(|owner| *owner != self.own)
    }

    /// The name of the region at this place.
    pub(crate) fn name(&self, place: usize) -> &str {
        self.names.get(place).map_or("", String::as_str)
    }

    /// The name of this region.
    pub(crate) fn own_name(&self) -> &str {
        &self.names[self.own]
    }

    /// The part of this region.
    pub(crate) fn own_part(&self) -> f64 {
        self.parts[self.own]
    }
}

fn part(parts: &BTreeMap<String, f64>, name: &str) -> Result<f64> {
    let Some(&part) = parts.get(name) else {
        return Err(invalid(&format!("region_parts: {} has no part", quote(name))));
    };
    if part > 0.0 && part <= 1.0 {
        return Ok(part);
    }
    Err(invalid(&format!(
        "region_parts: {} has {part}; a part has to be above 0, and 1 at most",
        quote(name)
    )))
}

fn invalid(reason: &str) -> Error {
    Error::new(ErrorKind::InvalidArgument, reason)
}
