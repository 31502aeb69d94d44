//! Rules that a test changes.

use std::sync::{Arc, Mutex};

use sluicegate::sources::{Following, RuleSource, Updates};
use tokio::sync::Notify;

/// Rules as a text, which limiters follow.
#[derive(Debug, Clone, Default)]
pub struct Switch(Arc<(Mutex<String>, Notify)>);

impl Switch {
    /// Puts other rules in the place of those that there are.
    pub fn put(&self, rules: &str) {
        rules.clone_into(&mut self.0.0.lock().unwrap());
        self.0.1.notify_one();
    }
}

impl RuleSource for Switch {
    fn name(&self) -> String {
        "switch".to_owned()
    }

    fn follow<'a>(&'a self, updates: &'a Updates) -> Following<'a> {
        Box::pin(async move {
            loop {
                let text = self.0.0.lock().unwrap().clone();
                updates.file(Ok(text));
                self.0.1.notified().await;
            }
        })
    }
}
