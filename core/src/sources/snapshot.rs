//! The rules at one instant.

use std::ops::Deref;
use std::sync::Arc;

use arc_swap::Guard;

use crate::catalog::Catalog;

/// The rules that one call decides by, from beginning to end.
pub(crate) enum Snapshot<'a> {
    Fixed(&'a Arc<Catalog>),
    Current(Guard<Arc<Catalog>>),
}

impl Deref for Snapshot<'_> {
    type Target = Catalog;

    fn deref(&self) -> &Catalog {
        match self {
            Self::Fixed(catalog) => catalog,
            Self::Current(catalog) => catalog,
        }
    }
}
