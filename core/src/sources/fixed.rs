//! Rules that no source changes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use arc_swap::ArcSwap;

use super::snapshot::Snapshot;
use super::source::RuleSource;
use super::status::RulesStatus;
use crate::catalog::Catalog;
use crate::error::Result;
use crate::rules::Rules;
use crate::sync::lock::Mutex;

/// Rules that stay, to which the application may add some.
#[derive(Debug)]
pub(crate) struct FixedRules {
    first: Arc<Catalog>,
    /// Whether there are more than the first: as long as there are not, a call reads nothing that may change.
    is_extended: AtomicBool,
    current: ArcSwap<Catalog>,
    adding: Mutex<()>,
    loaded_at: SystemTime,
}

impl FixedRules {
    pub(super) fn new(catalog: Catalog) -> Self {
        let first = Arc::new(catalog);
        Self {
            current: ArcSwap::new(Arc::clone(&first)),
            first,
            is_extended: AtomicBool::new(false),
            adding: Mutex::default(),
            loaded_at: SystemTime::now(),
        }
    }

    #[inline(always)]
    pub(super) fn snapshot(&self) -> Snapshot<'_> {
        if self.is_extended.load(Ordering::Acquire) {
            return Snapshot::Current(self.current.load());
        }
        Snapshot::Fixed(&self.first)
    }

    pub(super) fn add(&self, more: &Rules) -> Result<()> {
        let _adding = self.adding.lock();
        self.current.store(Arc::new(self.current.load().with(more)?));
        self.is_extended.store(true, Ordering::Release);
        Ok(())
    }

    pub(super) fn status(&self) -> RulesStatus {
        let catalog = self.snapshot();
        RulesStatus {
            source: catalog.rules().name(),
            version: catalog.rules().version().to_owned(),
            rules: catalog.rules().len(),
            loaded_at: self.loaded_at,
            updates: 1,
            refusals: 0,
            refused: Vec::new(),
            reachable: true,
            cached: false,
            last_error: None,
        }
    }
}
