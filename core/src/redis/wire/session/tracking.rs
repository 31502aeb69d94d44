//! Keys that the server watches for a connection, and what it announces of them.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use ::redis::{RedisError, Value};
use hashbrown::HashMap;

use crate::events::{Seldom, event};
use crate::net::address::Address;
use crate::tracking::{Line, Registration, TRUST};

/// While answers are remembered, something is asked of the server this often.
pub(super) const BEAT: Duration = TRUST.checked_div(4).unwrap();

/// So many keys are kept before those are forgotten of which nobody remembers anything.
const KEYS: usize = 20_000;

/// What one connection knows of the keys that its server watches.
pub(super) struct Tracking {
    line: Arc<Line>,
    registrations: HashMap<String, Vec<Weak<Registration>>>,
    /// Until when answers are remembered.
    until: Instant,
    /// When something was last asked of the server.
    asked: Instant,
    refusals: Arc<Seldom>,
}

impl Tracking {
    pub(super) fn new(refusals: Arc<Seldom>, now: Instant) -> Self {
        Self { line: Line::new(now), registrations: HashMap::new(), until: now, asked: now, refusals }
    }

    /// The server watches no keys.
    pub(super) fn refused(self, server: &Address, reason: &RedisError, now: Instant) {
        if self.refusals.due(now).is_some() {
            event!(
                Warn,
                tracking_refused,
                "{server} announces no changes of keys: {reason} (denials are remembered for remember_denials; allow the user \
                 CLIENT|TRACKING and CLIENT|CACHING)"
            );
        }
    }

    pub(super) fn asked(&mut self, now: Instant) {
        self.asked = now;
    }

    pub(super) fn heard(&self, sent: Instant) {
        self.line.heard(sent);
    }

    /// Before the keys are watched: an older server announces what a script does before it answers.
    pub(super) fn register(&mut self, keys: &[String], registration: &Arc<Registration>, now: Instant) {
        self.until = self.until.max(now + registration.age);
        if self.registrations.len() >= KEYS {
            self.registrations.retain(|_, all| all.iter().any(|kept| kept.strong_count() > 0));
        }
        for key in keys {
            let all = self.registrations.entry(key.clone()).or_default();
            all.retain(|kept| kept.strong_count() > 0);
            all.push(Arc::downgrade(registration));
        }
    }

    /// What a message says: that keys have changed, or all of them.
    pub(super) fn announced(&mut self, keys: Option<&Value>) {
        let changed = |all: Vec<Weak<Registration>>| {
            all.iter().filter_map(Weak::upgrade).for_each(|registration| registration.changed());
        };
        let Some(Value::Array(keys)) = keys else {
            return std::mem::take(&mut self.registrations).into_values().for_each(changed);
        };
        let names = keys.iter().filter_map(|key| match key {
            Value::BulkString(name) => std::str::from_utf8(name).ok(),
            _ => None,
        });
        names.filter_map(|name| self.registrations.remove(name)).for_each(changed);
    }

    /// What was watched may be elsewhere by now. What is about to be watched stays registered.
    pub(super) fn begin_anew(&mut self, now: Instant) {
        self.line.end();
        self.line = Line::new(now);
    }

    /// Nothing more is announced.
    pub(super) fn end(&self) {
        self.line.end();
    }

    pub(super) fn line(&self) -> &Arc<Line> {
        &self.line
    }

    /// When something was last asked of the server.
    pub(super) fn last_asked(&self) -> Instant {
        self.asked
    }

    /// Whether anybody relies on the server to be heard.
    pub(super) fn is_needed(&self, now: Instant) -> bool {
        now < self.until && Arc::strong_count(&self.line) > 1
    }
}

impl Drop for Tracking {
    fn drop(&mut self) {
        self.line.end();
    }
}
