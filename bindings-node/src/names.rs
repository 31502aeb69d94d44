//! The names of rules: each crosses once, and then as a number.

use std::collections::HashMap;
use std::sync::Arc;

/// Names in the order in which they were met, which is their number. Rules come and go while a limiter runs,
/// so a name keeps its number for good.
#[derive(Default)]
pub(crate) struct Names {
    in_order: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, usize>,
    /// How many of them JavaScript knows.
    sent: usize,
}

impl Names {
    pub(crate) fn get(&self, number: usize) -> Option<&Arc<str>> {
        self.in_order.get(number)
    }

    pub(crate) fn number(&mut self, name: &str) -> usize {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        let (number, name) = (self.in_order.len(), Arc::from(name));
        self.in_order.push(Arc::clone(&name));
        self.numbers.insert(name, number);
        number
    }

    /// The names, in order, that JavaScript does not have yet.
    pub(crate) fn take_new(&mut self) -> Vec<String> {
        let unsent = self.in_order[self.sent..].iter().map(ToString::to_string).collect();
        self.sent = self.in_order.len();
        unsent
    }
}
