//! The thread on which a source is followed.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use arc_swap::Guard;
use tokio::runtime;
use tokio::sync::watch;

use super::origin::Origin;
use super::source::RuleSource;
use super::status::RulesStatus;
use super::updates::Updates;
use crate::catalog::Catalog;
use crate::error::{Error, ErrorKind, Result};
use crate::rules::Rules;

/// The longest time to the first report of a source.
const START_TIMEOUT: Duration = Duration::from_secs(10);

/// Time until a source that gave up is called again.
const RESTART_AFTER: Duration = Duration::from_secs(1);

/// How often it is looked whether the log owes something.
const LOG_EVERY: Duration = Duration::from_secs(10);

/// The longest time that its end is waited for.
const END_TIMEOUT: Duration = Duration::from_secs(1);

/// A source that is followed in this process, until this is dropped.
#[derive(Debug)]
pub(crate) struct Followed {
    origin: Origin,
    updates: Arc<Updates>,
    /// True when it is over.
    over: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
    /// Known apart from the channel, whose lock may be held for ever in a forked child.
    stopped: AtomicBool,
}

impl Followed {
    /// Begins to follow, and waits for the first report.
    pub(super) fn start(origin: Origin) -> Result<Self> {
        let (started, first) = mpsc::channel();
        let nothing = Arc::new(
            Catalog::new(Rules::default(), origin.secrets.clone(), origin.share).reporting(origin.top_denied),
        );
        let updates = Updates::new(&origin.source.name(), origin.cache.clone(), nothing, Some(started));
        let followed = Self::begin(origin, updates);
        let outcome = first.recv_timeout(START_TIMEOUT).unwrap_or_else(|error| {
            let seconds = START_TIMEOUT.as_secs();
            Err(match error {
                RecvTimeoutError::Timeout => followed.updates.silent(seconds),
                RecvTimeoutError::Disconnected => no_thread(),
            })
        });
        match outcome {
            Ok(()) => Ok(followed),
            Err(error) => followed.updates.start_from_cache(error).map(|()| followed),
        }
    }

    /// What a forked child uses: the parent's rules until its own follower reports, if it is to have one.
    pub(super) fn in_child(parent: &Self) -> Self {
        let origin = parent.origin.clone();
        let updates =
            Updates::new(&origin.source.name(), origin.cache.clone(), parent.updates.in_force(), None);
        updates.inherit(&parent.updates);
        let child = Self::begin(origin, updates);
        if parent.stopped.load(Ordering::Relaxed) {
            child.stop();
        }
        child
    }

    fn begin(origin: Origin, updates: Updates) -> Self {
        let updates = Arc::new(updates);
        let (over, watched) = watch::channel(false);
        let follower = (Arc::clone(&origin.source), Arc::clone(&updates));
        let thread = thread::Builder::new().name("sluicegate-rules".to_owned());
        let thread = thread.spawn(move || follow(&*follower.0, &follower.1, &watched)).ok();
        if thread.is_none() {
            updates.unreachable(no_thread().message());
        }
        Self { origin, updates, over, thread, stopped: AtomicBool::new(false) }
    }

    pub(super) fn current(&self) -> Guard<Arc<Catalog>> {
        self.updates.current()
    }

    pub(super) fn add(&self, more: &Rules) -> Result<()> {
        self.updates.add(more)
    }

    pub(super) fn status(&self) -> RulesStatus {
        self.updates.status()
    }

    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
        self.over.send_replace(true);
    }
}

impl Drop for Followed {
    fn drop(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            join(thread);
        }
    }
}

/// Lets a thread come to its end, so that nothing of it is at work when the library is unloaded, unless it is
/// held up by a file system.
fn join(thread: JoinHandle<()>) {
    let began = Instant::now();
    while !thread.is_finished() && began.elapsed() < END_TIMEOUT {
        thread::sleep(Duration::from_millis(1));
    }
    if thread.is_finished() {
        // A panic of a source was noted when it happened.
        let _ = thread.join();
    }
}

fn no_thread() -> Error {
    Error::new(ErrorKind::Connection, "rules: the thread that follows them cannot be started")
}

fn follow(source: &dyn RuleSource, updates: &Updates, over: &watch::Receiver<bool>) {
    while !*over.borrow() {
        let followed = catch_unwind(AssertUnwindSafe(|| follow_once(source, updates, over.clone())));
        match followed {
            Ok(Ok(())) => return,
            Ok(Err(error)) => updates.unreachable(format!("no runtime: {error}")),
            Err(_) => updates.unreachable("its follower panicked"),
        }
        thread::sleep(RESTART_AFTER);
    }
}

/// Follows until it is over.
fn follow_once(
    source: &dyn RuleSource,
    updates: &Updates,
    mut over: watch::Receiver<bool>,
) -> std::io::Result<()> {
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let following = async {
            loop {
                source.follow(updates).await;
                tokio::time::sleep(RESTART_AFTER).await;
            }
        };
        let logging = async {
            loop {
                tokio::time::sleep(LOG_EVERY).await;
                updates.log_overdue(Instant::now());
            }
        };
        tokio::select! {
            // Also when there is nobody left who could say so.
            _ = over.wait_for(|over| *over) => (),
            () = following => (),
            () = logging => (),
        }
    });
    // A look-up of a host's name may still be under way; nobody waits for it.
    runtime.shutdown_background();
    Ok(())
}
