//! Of the threads that wait for answers, one reads for all.
//!
//! It wakes those whose calls are answered. When its own is, it wakes one that still waits to go on reading. Known as leader
//! and followers: Schmidt, O'Ryan, Kircher, Pyarali, Buschmann: "Leader/Followers. A Design Pattern for Efficient
//! Multi-threaded Event Demultiplexing and Dispatching", PLoP 2000.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use super::primitives::thread::{self, Thread};
use super::primitives::{AtomicBool, AtomicU8, Mutex, Ordering};

/// How often a thread looks whether it was woken, and lets others run, before it sleeps: to be woken takes longer than that,
/// and costs the waking thread as much.
const LOOKS: u32 = 5;

#[derive(Default)]
pub(super) struct Readers {
    /// Whether a thread reads.
    is_read: AtomicBool,
    /// Those that wait, to be woken when the reader leaves. Some may have left.
    followers: Mutex<VecDeque<Arc<Follower>>>,
}

impl Readers {
    /// Waits until `poll` answers, which has to wake its context when it is worth to be asked again. If no thread reads, this
    /// one does: `read` returns when the answer is there.
    pub(super) fn wait<T>(&self, poll: impl Fn(&mut Context<'_>) -> Poll<T>, read: impl FnOnce() -> T) -> T {
        if let Some(_reading) = self.begin() {
            return read();
        }
        let following = Following { readers: self, follower: Arc::new(Follower::new()) };
        let waker = Waker::from(Arc::clone(&following.follower));
        loop {
            following.follower.state.store(AWAKE, Ordering::SeqCst);
            if let Some(_reading) = self.begin() {
                return read();
            }
            if let Poll::Ready(answer) = poll(&mut Context::from_waker(&waker)) {
                return answer;
            }
            following.sleep();
        }
    }

    fn begin(&self) -> Option<Reading<'_>> {
        (!self.is_read.swap(true, Ordering::SeqCst)).then(|| Reading(self))
    }

    /// Has one of those that wait go on reading, if no thread reads.
    fn pass_on(&self) {
        while !self.is_read.load(Ordering::SeqCst) {
            let Some(next) = self.followers.lock().pop_front() else { return };
            next.is_queued.store(false, Ordering::SeqCst);
            // One that leaves just now passes on itself.
            if next.is_waiting.load(Ordering::SeqCst) {
                return next.wake_by_ref();
            }
        }
    }
}

/// The turn of the thread that reads. Ends whatever happens to it.
struct Reading<'a>(&'a Readers);

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        self.0.is_read.store(false, Ordering::SeqCst);
        self.0.pass_on();
    }
}

/// A thread that waits while another one reads.
struct Following<'a> {
    readers: &'a Readers,
    follower: Arc<Follower>,
}

impl Following<'_> {
    /// Sleeps until it is woken: its call is answered, or it is to read.
    fn sleep(&self) {
        for _ in 0..LOOKS {
            if self.follower.is_woken() {
                return;
            }
            thread::yield_now();
        }
        if !self.follower.is_queued.swap(true, Ordering::SeqCst) {
            self.readers.followers.lock().push_back(Arc::clone(&self.follower));
        }
        // The reader may have left before it could see this one.
        if self.readers.is_read.load(Ordering::SeqCst) {
            self.follower.sleep();
        }
    }
}

impl Drop for Following<'_> {
    fn drop(&mut self) {
        self.follower.is_waiting.store(false, Ordering::SeqCst);
        // It may have been woken to read, and be answered meanwhile.
        self.readers.pass_on();
    }
}

const AWAKE: u8 = 0;
const ASLEEP: u8 = 1;
const WOKEN: u8 = 2;

struct Follower {
    thread: Thread,
    state: AtomicU8,
    is_waiting: AtomicBool,
    /// Whether it is among those that a reader who leaves may wake.
    is_queued: AtomicBool,
}

impl Follower {
    fn new() -> Self {
        Self {
            thread: thread::current(),
            state: AtomicU8::new(AWAKE),
            is_waiting: AtomicBool::new(true),
            is_queued: AtomicBool::new(false),
        }
    }

    fn is_woken(&self) -> bool {
        self.state.load(Ordering::SeqCst) == WOKEN
    }

    fn sleep(&self) {
        if self.state.compare_exchange(AWAKE, ASLEEP, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
            while !self.is_woken() {
                thread::park();
            }
        }
    }
}

impl Wake for Follower {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // Only one that sleeps: to wake a thread is a system call.
        if self.state.swap(WOKEN, Ordering::SeqCst) == ASLEEP {
            self.thread.unpark();
        }
    }
}
