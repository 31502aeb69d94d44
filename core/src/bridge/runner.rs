//! Runs the calls of a limiter: on the loop that watches its connections, or on a thread where none does.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::message::{Answer, Completion, OwnedCall, answer};
use super::tasks::Tasks;
use super::timers::Timers;
use crate::error::{Error, ErrorKind, Result};
use crate::limiter::{AsyncRateLimiter, Builder, Sleeper};
use crate::redis::{Host, Hub, LONGEST_SPIN, LoopHost, Spin, no_thread};
use crate::sync::inbox::Inbox;
use crate::sync::lock::Mutex;

/// The token of the first completion of a limiter.
pub(super) const OPENED: u64 = 0;

pub(super) struct Runner {
    /// The limiter once it is connected, or why there is none.
    limiter: OnceLock<Result<Arc<AsyncRateLimiter>>>,
    /// The connections, as soon as there are any: those to the near servers.
    hub: OnceLock<Arc<Hub>>,
    host: Arc<LoopHost>,
    /// Those to the servers of other regions.
    far: OnceLock<Vec<(Arc<LoopHost>, Arc<Hub>)>>,
    tasks: Tasks,
    timers: Timers,
    /// Answers that the loop has yet to fetch.
    pub(super) answers: Inbox<Completion>,
    /// Has the loop fetch answers.
    wake: Box<dyn Fn() + Send + Sync>,
    spin: Spin,
    /// When calls were last submitted.
    submitted: Mutex<Option<Instant>>,
    /// Whether the loop has the file.
    has_file: AtomicBool,
    /// Whether a thread watches them.
    has_thread: AtomicBool,
    /// The last one that did, until it is joined.
    thread: Mutex<Option<JoinHandle<()>>>,
    pub(super) is_closed: AtomicBool,
}

impl Runner {
    pub(super) fn new(wake: impl Fn() + Send + Sync + 'static) -> Arc<Self> {
        let host = Arc::new(LoopHost::default());
        Arc::new(Self {
            hub: OnceLock::new(),
            far: OnceLock::new(),
            limiter: OnceLock::new(),
            tasks: Tasks::new(Arc::clone(&host)),
            timers: Timers::new(Arc::clone(&host)),
            host,
            answers: Inbox::default(),
            wake: Box::new(wake),
            spin: Spin::default(),
            submitted: Mutex::default(),
            has_file: AtomicBool::new(false),
            has_thread: AtomicBool::new(false),
            thread: Mutex::default(),
            is_closed: AtomicBool::new(false),
        })
    }

    /// What tasks sleep by.
    pub(super) fn sleeper(&self) -> Arc<dyn Sleeper> {
        Arc::new(self.timers.clone())
    }

    /// Loads the rules and connects, on a thread that ends when a loop takes over.
    pub(super) fn open(self: &Arc<Self>, builder: Builder) -> Result<()> {
        self.host.open().map_err(|error| no_files(&error))?;
        let this = Arc::clone(self);
        self.has_thread.store(true, Ordering::Release);
        self.spawn(move || {
            let hosts = Mutex::new(Vec::new());
            // The near servers come first.
            let next = || -> Arc<dyn Host> {
                let mut hosts = hosts.lock();
                let is_near = hosts.is_empty();
                let host = if is_near { Arc::clone(&this.host) } else { Arc::new(this.host.beside()) };
                hosts.push(Arc::clone(&host));
                host
            };
            let opened = builder.open_on(Some(&next), this.sleeper());
            match opened {
                Ok(limiter) => this.connect(Arc::new(limiter), std::mem::take(&mut *hosts.lock())),
                Err(error) => this.opened(Err(error)),
            }
            this.serve();
        })
        .map_err(|error| no_files(&error))
    }

    fn connect(self: &Arc<Self>, limiter: Arc<AsyncRateLimiter>, hosts: Vec<Arc<LoopHost>>) {
        let mut links = hosts.into_iter().zip(limiter.hubs());
        if let Some((_, hub)) = links.next() {
            let _ = self.hub.set(hub);
            let _ = self.far.set(links.collect());
        }
        let this = Arc::clone(self);
        let connecting = async move {
            let result = limiter.connected().await;
            if result.is_err() {
                limiter.close();
            }
            // Nobody else opens it.
            let _ = this.limiter.set(result.clone().map(|()| limiter));
            result.map(|()| Answer::Done)
        };
        self.tasks.look();
        let mut done = self.tasks.begin(std::iter::once((OPENED, connecting)));
        done.extend(self.go_on());
        self.tell(done);
    }

    /// Takes a limiter that needed no connection, or why there is none.
    pub(super) fn opened(&self, limiter: Result<AsyncRateLimiter>) {
        let _ = self.limiter.set(limiter.map(Arc::new));
        let result = self.connected().map(|_| Answer::Done);
        self.tell(vec![Completion { token: OPENED, result }]);
    }

    pub(super) fn limiter(&self) -> Option<&AsyncRateLimiter> {
        self.limiter.get()?.as_deref().ok()
    }

    fn connected(&self) -> Result<&Arc<AsyncRateLimiter>> {
        let unopened = || Err(Error::new(ErrorKind::Connection, "the limiter is not connected yet"));
        self.limiter.get().map_or_else(unopened, |limiter| limiter.as_ref().map_err(Clone::clone))
    }

    /// Begins calls, and sends what they have to send.
    pub(super) fn submit(self: &Arc<Self>, calls: impl Iterator<Item = (u64, OwnedCall)>) {
        self.tasks.look();
        let mut done = match self.connected() {
            Ok(limiter) => self.tasks.begin(calls.map(|(token, call)| {
                let limiter = Arc::clone(limiter);
                (token, async move { answer(&limiter, &call).await })
            })),
            Err(error) => calls.map(|(token, _)| Completion { token, result: Err(error.clone()) }).collect(),
        };
        done.extend(self.go_on());
        *self.submitted.lock() = Some(Instant::now());
        if self.is_watched() {
            self.answers.put(done);
        } else {
            self.tell(done);
            self.serve_by_thread();
        }
    }

    /// Sends what calls have to send, and goes on with those that can. Answers those that have ended.
    fn go_on(&self) -> Vec<Completion> {
        self.flush();
        let done = self.tasks.run();
        self.flush();
        done
    }

    /// Adds answers, and wakes the loop unless it has yet to fetch earlier ones.
    fn tell(&self, answers: Vec<Completion>) {
        if self.answers.put(answers) {
            (self.wake)();
        }
    }

    /// The connections, and what watches them.
    fn links(&self) -> impl Iterator<Item = (&Arc<LoopHost>, &Arc<Hub>)> {
        let near = self.hub.get().map(|hub| (&self.host, hub));
        near.into_iter().chain(self.far.get().into_iter().flatten().map(|(host, hub)| (host, hub)))
    }

    fn flush(&self) {
        self.links().for_each(|(host, hub)| host.flush_dirty(hub));
    }

    pub(super) fn cancel(&self, token: u64) -> bool {
        self.tasks.look();
        let is_cancelled = self.tasks.cancel(token);
        // Sends what the call released, and lets the waiters for it go on.
        self.tell(self.go_on());
        // The next waiter may sleep for less long than the one that left.
        if self.host.is_hurried() {
            if self.is_watched() { (self.wake)() } else { self.host.notify() }
        }
        is_cancelled
    }

    /// Whether the server has yet to answer something that nobody waits for.
    pub(super) fn is_releasing(&self) -> bool {
        self.links().any(|(_, hub)| hub.is_releasing())
    }

    pub(super) fn close(&self) {
        if let Some(limiter) = self.limiter() {
            limiter.close();
        }
        self.host.notify();
    }

    /// The file for the loop to watch, once.
    pub(super) fn new_file(&self) -> Option<i32> {
        let is_connected = self.limiter().is_some() && self.hub.get().is_some();
        if !is_connected || self.is_closed.load(Ordering::Acquire) {
            return None;
        }
        let descriptor = self.host.descriptor()?;
        if self.has_file.swap(true, Ordering::AcqRel) {
            return None;
        }
        // Ends the thread that has watched so far.
        self.host.notify();
        Some(descriptor)
    }

    /// Whether nothing more comes of the connections.
    pub(super) fn is_over(&self) -> bool {
        let is_ended = self.is_closed.load(Ordering::Acquire) || matches!(self.limiter.get(), Some(Err(_)));
        is_ended && self.tasks.is_empty()
    }

    /// Closes the file, which is not watched any more, and with it the connections.
    pub(super) fn end_file(&self) {
        self.has_file.store(false, Ordering::Release);
        self.host.close_file();
        self.links().for_each(|(_, hub)| hub.abort());
    }

    /// Whether no call is under way.
    pub(super) fn is_idle(&self) -> bool {
        self.hub.get().is_some() && self.tasks.is_empty()
    }

    /// Takes up what has come, on the thread of the loop.
    pub(super) fn turn(&self) {
        if !self.is_watched() {
            return;
        }
        let done = self.take_turn();
        self.answers.put(done);
        if self.host.is_hurried() || self.is_over() {
            // The loop is to ask when to come back, or whether to go on watching.
            (self.wake)();
        }
    }

    fn take_turn(&self) -> Vec<Completion> {
        self.tasks.look();
        self.links().for_each(|(host, hub)| host.turn(hub));
        self.go_on()
    }

    /// Spins for the answer to a call that is alone, unless it was sent some time ago: a loop that did other things
    /// since then seldom sleeps.
    pub(super) fn spin(&self) {
        let submitted = self.submitted.lock().take();
        let Some(hub) = self.hub.get() else { return };
        if submitted.is_none_or(|at| at.elapsed() > LONGEST_SPIN) || !hub.is_alone() {
            return;
        }
        self.tasks.look();
        self.spin.poll(|now| {
            self.host.look(hub, now);
            self.tasks.is_ready()
        });
        self.answers.put(self.go_on());
    }

    /// Ends calls whose time is up. Answers when there are more to end, or something else is to be done.
    pub(super) fn expire(&self) -> Option<Duration> {
        let done = self.end_overdue();
        self.answers.put(done);
        self.host.take_hurry();
        let is_needed = !self.tasks.is_empty() || self.timers.repeats() || self.is_relied_on();
        if is_needed { self.next() } else { None }
    }

    /// Whether a server is to be asked whether denials hold that are remembered.
    fn is_relied_on(&self) -> bool {
        self.links().any(|(_, hub)| hub.is_relied_on())
    }

    pub(super) fn is_hurried(&self) -> bool {
        self.is_watched() && self.host.is_hurried()
    }

    fn end_overdue(&self) -> Vec<Completion> {
        let now = Instant::now();
        self.tasks.look();
        self.timers.expire(now);
        self.links().for_each(|(_, hub)| hub.expire(now));
        self.go_on()
    }

    /// How long until a sleep or the time of a call ends.
    fn next(&self) -> Option<Duration> {
        let calls = self.links().filter_map(|(_, hub)| hub.deadline());
        let next = self.timers.next().into_iter().chain(calls).min();
        next.map(|next| next.saturating_duration_since(Instant::now()))
    }

    /// Where no loop watches the connections, a thread does.
    fn serve_by_thread(self: &Arc<Self>) {
        if self.tasks.is_empty() || self.has_thread.swap(true, Ordering::SeqCst) {
            self.host.notify();
            return;
        }
        let this = Arc::clone(self);
        if let Err(error) = self.spawn(move || this.serve()) {
            self.has_thread.store(false, Ordering::Release);
            // Nobody would go on with them; what they sent, unless they are in memory, may be carried out.
            let error = no_thread(&error);
            self.tell(self.tasks.end(&if self.hub.get().is_some() { error.maybe_done() } else { error }));
        }
    }

    fn spawn(&self, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let thread = thread::Builder::new().name("sluicegate".to_owned()).spawn(work)?;
        // An earlier one has nothing more to do: else there would be no new one.
        join(self.thread.lock().replace(thread));
        Ok(())
    }

    /// Waits for the end of the thread of a closed limiter, whose calls were ended. Not for one that still connects, which
    /// may take long.
    pub(super) fn join(&self) {
        if self.is_closed.load(Ordering::Acquire) && self.limiter().is_some() {
            join(self.thread.lock().take());
        }
    }

    /// In a forked child, which has no such thread.
    pub(super) fn forget(&self) {
        if let Ok(mut thread) = self.thread.try_lock() {
            std::mem::forget(thread.take());
        }
        self.tasks.forget();
    }

    /// Runs calls until a loop takes over, or there is nothing more to do.
    fn serve(&self) {
        loop {
            while !self.is_served() {
                self.host.wait(self.next());
                self.tell(self.take_turn());
                self.tell(self.end_overdue());
            }
            self.has_thread.store(false, Ordering::SeqCst);
            // A call that came in between found a thread, and started none.
            if self.is_served() || self.has_thread.swap(true, Ordering::SeqCst) {
                break;
            }
        }
        if self.is_over() && !self.is_watched() {
            self.end_file();
            // Who closed the limiter may wait for that.
            return (self.wake)();
        }
        // What came in between is the loop's.
        self.host.notify();
    }

    /// Whether a thread need not serve the calls.
    fn is_served(&self) -> bool {
        let is_local = self.hub.get().is_none();
        self.is_watched() || self.is_over() || is_local && self.tasks.is_empty()
    }

    /// Whether a loop watches the connections.
    fn is_watched(&self) -> bool {
        self.has_file.load(Ordering::Acquire)
    }
}

fn join(thread: Option<JoinHandle<()>>) {
    // One that panicked has ended too.
    thread.map(JoinHandle::join);
}

fn no_files(error: &io::Error) -> Error {
    Error::new(ErrorKind::Connection, format!("cannot open a limiter: {error}"))
}
