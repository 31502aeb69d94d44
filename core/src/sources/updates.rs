//! What a source reports: judged, put in force, and stated in the status.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Instant, SystemTime};

use arc_swap::{ArcSwap, Guard};

use super::book::{Book, SourceReport};
use super::cache;
use super::status::{Refusal, RulesStatus};
use super::update_log::UpdateLog;
use crate::catalog::Catalog;
use crate::error::{Error, ErrorKind, Result};
use crate::events::event;
use crate::rules::Rules;
use crate::sync::lock::Mutex;
use crate::text::printable::printable;
use crate::text::words::one_line;

/// Receives the reports of a source.
#[derive(Debug)]
pub struct Updates {
    name: String,
    /// Where the last good rules are kept.
    cache: Option<PathBuf>,
    current: ArcSwap<Catalog>,
    /// Changed with the state; known apart from it, whose lock may be held for ever in a forked child.
    cached: AtomicBool,
    /// Held for a whole report: to judge texts takes long, and so may the log.
    book: Mutex<Book>,
    /// Reading the status waits for it: it is held for a moment, or until the copy is written, since
    /// rules that the status lists are in the copy. Taken after the book, if both are.
    state: Mutex<SourceStatus>,
    log: UpdateLog,
}

#[derive(Debug)]
struct SourceStatus {
    loaded_at: SystemTime,
    updates: u64,
    refusals: u64,
    refused: Vec<Refusal>,
    reachable: bool,
    last_error: Option<String>,
    /// Receives the result of the first report; `None` after that.
    started: Option<mpsc::Sender<Result<()>>>,
}

/// What a report has changed.
#[derive(Debug, Default)]
struct Noted {
    /// Whether other rules are in force than the first ones.
    is_change: bool,
    /// Why the copy of the rules cannot be written.
    uncopied: Option<String>,
}

impl Updates {
    pub(super) fn new(
        name: &str,
        cache: Option<PathBuf>,
        catalog: Arc<Catalog>,
        started: Option<mpsc::Sender<Result<()>>>,
    ) -> Self {
        let state = SourceStatus {
            loaded_at: SystemTime::now(),
            updates: 0,
            refusals: 0,
            refused: Vec::new(),
            reachable: true,
            last_error: None,
            started,
        };
        let mut book = Book::of_share(catalog.share());
        book.begin_with(catalog.rules().without(catalog.added()));
        book.reserve(catalog.added().clone());
        let name = printable(name).into_owned();
        let (current, cached) = (ArcSwap::new(catalog), AtomicBool::new(false));
        let log = UpdateLog::of(&name);
        Self { name, cache, current, cached, book: Mutex::new(book), state: Mutex::new(state), log }
    }

    /// All rules in one text, which is taken or refused as a whole. `Err` says why it cannot be had; the last
    /// good one stays in force.
    pub fn file(&self, text: Result<String, String>) {
        self.report(SourceReport::File(text));
    }

    /// All the rules there are: the name of each and its text, or why that cannot be had. Each is taken or
    /// refused by itself; rules that are not listed are gone.
    pub fn rules(&self, texts: Vec<(String, Result<String, String>)>) {
        self.report(SourceReport::Rules(texts));
    }

    /// Rules that are new, or changed, or gone, which `None` says. They take effect together.
    pub fn changed(&self, texts: Vec<(String, Option<Result<String, String>>)>) {
        self.report(SourceReport::Changed(texts));
    }

    /// The source cannot be read for now. Before the first report this ends the start of the limiter.
    pub fn unreachable(&self, reason: impl AsRef<str>) {
        let what = format!("rules: {}: {}", self.name, printable(reason.as_ref()));
        let mut state = self.state.lock();
        // Before the first report, the constructor of the limiter returns the error.
        let is_news = state.updates > 0;
        state.reachable = false;
        state.last_error = Some(what.clone());
        state.first(Err(Error::new(ErrorKind::Connection, &*what)));
        drop(state);
        if is_news {
            self.log.unreachable(&what, Instant::now());
        }
    }

    /// Adds rules of the application, which stay whatever the source says.
    pub(super) fn add(&self, more: &Rules) -> Result<()> {
        let mut book = self.book.lock();
        let catalog = self.current.load().with(more)?;
        book.reserve(catalog.added().clone());
        self.current.store(Arc::new(catalog));
        Ok(())
    }

    fn report(&self, report: SourceReport) {
        let reachable = !matches!(report, SourceReport::File(Err(_)));
        let mut book = self.book.lock();
        let effect = book.apply(&self.name, report);
        let refused: Vec<_> = effect.refused.iter().map(|refusal| self.message(refusal)).collect();
        let before = self.current.load_full();
        let noted = self.note(&book, effect.changed, &refused, reachable);
        let (after, unusable, now) = (self.current.load_full(), self.unusable(&book), Instant::now());
        if noted.is_change {
            self.log.changed(after.rules(), now);
        }
        // Where nothing was ever good, who opens the source gets that as an error.
        if unusable.is_none() {
            self.log.refused(&refused, now);
        }
        if let Some(what) = noted.uncopied {
            self.log.uncopied(&what, now);
        }
        self.log.lost(&before, &after, now);
        self.state.lock().first(unusable.map_or(Ok(()), Err));
    }

    /// Logs what was held back for a minute, when that is over.
    pub(super) fn log_overdue(&self, now: Instant) {
        let refused: Vec<_> = self.state.lock().refused.iter().map(|refusal| self.message(refusal)).collect();
        self.log.overdue(self.current.load().rules(), &refused, now);
    }

    /// Puts the rules of the book in force, unless nothing was ever good or they are so already, and says in
    /// the status the effect of a report.
    fn note(&self, book: &Book, changed: bool, refused: &[String], reachable: bool) -> Noted {
        let is_due = changed || self.is_cached() || self.state.lock().updates == 0;
        let catalog = (is_due && !book.is_blank()).then(|| self.current.load().after(book.in_force()));
        let all_refused = book.refused(&self.name);
        let mut state = self.state.lock();
        state.reachable = reachable;
        let noted = catalog.map(|catalog| self.publish(&mut state, catalog, book)).unwrap_or_default();
        state.refusals += refused.len() as u64;
        state.refused = all_refused;
        if let Some(what) = refused.last().or(noted.uncopied.as_ref()) {
            state.last_error = Some(what.clone());
        }
        noted
    }

    fn publish(&self, state: &mut SourceStatus, catalog: Catalog, book: &Book) -> Noted {
        // The first rules are no change.
        let is_change = state.updates > 0;
        self.current.store(Arc::new(catalog));
        state.updates += 1;
        state.loaded_at = SystemTime::now();
        self.cached.store(false, Ordering::Relaxed);
        Noted { is_change, uncopied: self.copy(book) }
    }

    /// Writes the copy of the last good rules, if there is to be one. Returns why it cannot be written.
    fn copy(&self, book: &Book) -> Option<String> {
        let (path, text) = (self.cache.as_ref()?, book.text()?);
        let error = cache::write(path, &text).err()?;
        Some(format!("rules_cache: {}: cannot be written: {error}", one_line(path)))
    }

    /// Why there is nothing to start with: the source is one text, and it is not good.
    fn unusable(&self, book: &Book) -> Option<Error> {
        let refused = book.refused(&self.name);
        let refusal = refused.first().filter(|_| book.is_blank())?;
        Some(Error::new(ErrorKind::InvalidRule, self.message(refusal)))
    }

    fn message(&self, Refusal { unit, reason }: &Refusal) -> String {
        let name = &self.name;
        if unit == name { format!("{name}: {reason}") } else { format!("{name}/{unit}: {reason}") }
    }

    pub(super) fn silent(&self, seconds: u64) -> Error {
        let what = format!("rules: {}: no response within {seconds} s", self.name);
        Error::new(ErrorKind::Timeout, what)
    }

    /// Begins with the copy of the last good rules, if there is one to be used.
    pub(super) fn start_from_cache(&self, error: Error) -> Result<()> {
        let Some(path) = &self.cache else { return Err(error) };
        let rules = cache::read(path).map_err(|unread| {
            let what = format!("{}; and rules_cache: {}", error.message(), unread.message());
            Error::new(error.kind(), what)
        })?;
        let mut book = self.book.lock();
        let mut state = self.state.lock();
        // It may have been heard of at last.
        if state.updates > 0 {
            return Ok(());
        }
        self.current.load().share().validate(&rules)?;
        book.begin_with(rules.clone());
        self.current.store(Arc::new(self.current.load().after(rules)));
        state.updates = 1;
        self.cached.store(true, Ordering::Relaxed);
        drop((state, book));
        event!(Warn, rules_cached, "{}; beginning with {}", error.message(), one_line(path));
        Ok(())
    }

    pub(super) fn status(&self) -> RulesStatus {
        let state = self.state.lock();
        let current = self.current.load();
        RulesStatus {
            source: self.name.clone(),
            version: current.rules().version().to_owned(),
            rules: current.rules().len(),
            loaded_at: state.loaded_at,
            updates: state.updates,
            refusals: state.refusals,
            refused: state.refused.clone(),
            reachable: state.reachable,
            cached: self.is_cached(),
            last_error: state.last_error.clone(),
        }
    }

    pub(super) fn in_force(&self) -> Arc<Catalog> {
        self.current.load_full()
    }

    pub(super) fn current(&self) -> Guard<Arc<Catalog>> {
        self.current.load()
    }

    /// Takes over whether the rules in force are those of the copy.
    pub(super) fn inherit(&self, parent: &Self) {
        self.cached.store(parent.is_cached(), Ordering::Relaxed);
    }

    pub(super) fn is_cached(&self) -> bool {
        self.cached.load(Ordering::Relaxed)
    }
}

impl SourceStatus {
    /// Wakes the constructor that waits for the first report; later reports have no receiver.
    fn first(&mut self, outcome: Result<()>) {
        if let Some(started) = self.started.take() {
            // The waiter may have timed out.
            let _ = started.send(outcome);
        }
    }
}
