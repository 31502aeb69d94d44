//! What is known of keys whose changes a server announces: server-assisted invalidation, without I/O and clock.
//!
//! A call that is denied has the server watch its keys, on the connection that it is sent on. The server says there when one of them
//! changes. That nothing was said means that nothing has changed, as long as the connection is heard.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// For so long after it was sent what a server has answered holds, although the server announces nothing.
pub(crate) const TRUST: Duration = Duration::from_secs(1);

/// A connection on which a server announces changes.
#[derive(Debug)]
pub(crate) struct Line {
    began: Instant,
    /// When the latest request was sent that was answered, in microseconds after that.
    heard: AtomicU64,
    is_over: AtomicBool,
}

impl Line {
    pub(crate) fn new(now: Instant) -> Arc<Self> {
        Arc::new(Self { began: now, heard: AtomicU64::new(0), is_over: AtomicBool::new(false) })
    }

    /// Takes note that a request is answered that was sent at this time: what has changed before was announced.
    pub(crate) fn heard(&self, sent: Instant) {
        let sent = sent.saturating_duration_since(self.began).as_micros() as u64;
        self.heard.fetch_max(sent, Ordering::Relaxed);
    }

    /// Nothing more is announced on it.
    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::Release);
    }

    fn is_trusted(&self, now: Instant) -> bool {
        let heard = self.began + Duration::from_micros(self.heard.load(Ordering::Relaxed));
        !self.is_over.load(Ordering::Acquire) && now < heard + TRUST
    }
}

/// What was agreed about the keys of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Agreement {
    /// The server was not asked to watch them.
    None,
    /// It watches no keys.
    Refused,
    Watched,
}

/// The keys of a call that a server is to watch.
#[derive(Debug)]
pub(crate) struct Registration {
    /// How long its answer is of use.
    pub(crate) age: Duration,
    line: OnceLock<Arc<Line>>,
    is_refused: AtomicBool,
    has_changed: AtomicBool,
}

impl Registration {
    pub(crate) fn new(age: Duration) -> Arc<Self> {
        Arc::new(Self {
            age,
            line: OnceLock::new(),
            is_refused: AtomicBool::new(false),
            has_changed: AtomicBool::new(false),
        })
    }

    /// The server watches the keys. Sent on another connection since, the call is taken to be on the first one, which is over.
    pub(crate) fn watched(&self, line: &Arc<Line>) {
        let _ = self.line.set(Arc::clone(line));
    }

    pub(crate) fn refused(&self) {
        self.is_refused.store(true, Ordering::Release);
    }

    /// The server says that one of the keys has changed.
    pub(crate) fn changed(&self) {
        self.has_changed.store(true, Ordering::Release);
    }

    pub(crate) fn agreement(&self) -> Agreement {
        match self.line.get() {
            Some(_) => Agreement::Watched,
            None if self.is_refused.load(Ordering::Acquire) => Agreement::Refused,
            None => Agreement::None,
        }
    }

    /// Whether an answer still holds that is older than [`TRUST`], or is not.
    pub(crate) fn holds(&self, is_old: bool, now: Instant) -> bool {
        let is_trusted = || self.line.get().is_some_and(|line| line.is_trusted(now));
        !self.has_changed.load(Ordering::Acquire) && (!is_old || is_trusted())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registered() -> (Instant, Arc<Line>, Arc<Registration>) {
        let now = Instant::now();
        let (line, registration) = (Line::new(now), Registration::new(TRUST * 60));
        registration.watched(&line);
        (now, line, registration)
    }

    #[test]
    fn an_old_answer_holds_for_a_second_after_what_was_answered_last() {
        let (start, line, registration) = registered();
        let holds = |millis| registration.holds(true, start + Duration::from_millis(millis));
        assert_eq!([holds(999), holds(1000)], [true, false]);
        line.heard(start + Duration::from_millis(400));
        // An older request may be answered later, by another kind of reply.
        line.heard(start + Duration::from_millis(300));
        assert_eq!([holds(1399), holds(1400)], [true, false]);
        assert!(registration.holds(false, start + TRUST * 9), "a fresh answer needs nobody");
    }

    #[test]
    fn the_end_of_the_connection_ends_old_answers_and_a_change_all() {
        let (now, line, registration) = registered();
        line.end();
        assert_eq!([true, false].map(|is_old| registration.holds(is_old, now)), [false, true]);
        registration.changed();
        assert!(!registration.holds(false, now));
    }

    #[test]
    fn what_nobody_watches_is_not_old() {
        let registration = Registration::new(TRUST);
        assert_eq!(registration.agreement(), Agreement::None);
        assert!(!registration.holds(true, Instant::now()));
        registration.refused();
        assert_eq!(registration.agreement(), Agreement::Refused);
    }
}
