//! The connections of a multiplexer, served by the threads that wait for answers: there are no others.

use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use ::redis::Value;
use rustix::event::{PollFd, PollFlags};
use smallvec::SmallVec;

use super::alarm::Alarm;
use super::readers::Readers;
use crate::error::Result;
use crate::redis::connecting::stream::Stream;
use crate::redis::drivers::hub::{Host, Hub};
use crate::redis::drivers::multiplexer::{ConnectionId, Multiplexer, Need};
use crate::redis::drivers::spin::Spin;
use crate::redis::wire::session::Id;
use crate::sync::lock::Mutex;

/// For so long a connection is trusted to be as it was when it was last read. Then a call looks first whether the server has
/// ended it.
const TRUSTED: Duration = Duration::from_secs(1);

/// A connection, and its socket.
type Watched = (ConnectionId, Arc<TcpStream>);

pub(super) struct ThreadHost {
    readers: Readers,
    watched: Mutex<SmallVec<[Watched; 4]>>,
    /// Ends the wait of the thread that reads.
    alarm: Arc<Alarm>,
    /// Rings it for the calls of that thread.
    waker: Waker,
    spin: Spin,
    began: Instant,
    /// Whether a thread is there for calls that nobody waits for.
    is_attended: AtomicBool,
    /// When something was last read, in milliseconds since it began.
    read_at: AtomicU64,
}

impl ThreadHost {
    pub(super) fn new() -> Self {
        let alarm = Arc::default();
        Self {
            waker: Waker::from(Arc::new(Ring(Arc::clone(&alarm)))),
            alarm,
            readers: Readers::default(),
            watched: Mutex::default(),
            spin: Spin::default(),
            is_attended: AtomicBool::new(false),
            began: Instant::now(),
            read_at: AtomicU64::new(0),
        }
    }

    /// Takes note of what happened to connections since they were last read, if that was long ago.
    pub(super) fn look_after(&self, multiplexer: &mut Multiplexer<Stream>, now: Instant) {
        let now_ms = self.millis(now);
        let read_at = self.read_at.load(Ordering::Relaxed);
        if now_ms.saturating_sub(read_at) > TRUSTED.as_millis() as u64 {
            self.read_at.store(now_ms, Ordering::Relaxed);
            for connection in multiplexer.connections() {
                multiplexer.pump(connection, now);
            }
        }
    }

    /// Waits for the answer to a call, and serves those of all threads unless another one does.
    pub(super) fn wait(&self, hub: &Arc<Hub>, id: Id) -> Result<Value> {
        let poll = |context: &mut Context<'_>| hub.lock().poll(id, context).0;
        self.readers.wait(poll, || self.read(hub, |multiplexer, context| multiplexer.poll(id, context).0))
    }

    /// Whether a thread is needed for calls that nobody waits for: no other one is there for them.
    pub(super) fn begin_to_attend(&self, hub: &Hub) -> bool {
        hub.is_releasing() && !self.is_attended.swap(true, Ordering::SeqCst)
    }

    pub(super) fn end_to_attend(&self) {
        self.is_attended.store(false, Ordering::SeqCst);
    }

    /// Serves the calls of all threads until none is left that nobody waits for, or the limiter is closed.
    pub(super) fn attend(&self, hub: &Arc<Hub>) {
        let is_over = |multiplexer: &mut Multiplexer<Stream>, _: &mut Context<'_>| {
            let is_needed = multiplexer.is_releasing() && !multiplexer.is_closed();
            if is_needed { Poll::Pending } else { Poll::Ready(()) }
        };
        loop {
            let poll = |context: &mut Context<'_>| is_over(&mut hub.lock(), context);
            self.readers.wait(poll, || self.read(hub, is_over));
            self.end_to_attend();
            // One that came in between found a thread.
            if hub.lock().is_closed() || !self.begin_to_attend(hub) {
                return;
            }
        }
    }

    /// Closes what a forked child inherited.
    pub(super) fn disown(&self) {
        if let Ok(mut watched) = self.watched.try_lock() {
            watched.clear();
        }
        self.alarm.disown();
    }

    /// Keeps no descriptor longer than the calls under way.
    pub(super) fn retire(&self) {
        self.alarm.retire();
    }

    fn millis(&self, now: Instant) -> u64 {
        now.saturating_duration_since(self.began).as_millis() as u64
    }

    /// Serves all calls until `poll` answers.
    fn read<T>(
        &self,
        hub: &Arc<Hub>,
        poll: impl Fn(&mut Multiplexer<Stream>, &mut Context<'_>) -> Poll<T>,
    ) -> T {
        let mut context = Context::from_waker(&self.waker);
        let mut answer = poll(&mut hub.lock(), &mut context);
        if answer.is_pending() && hub.is_alone() {
            self.spin.poll(|now| {
                answer = hub.act(|multiplexer| {
                    multiplexer.pump_busy(now);
                    poll(multiplexer, &mut context)
                });
                answer.is_ready()
            });
        }
        loop {
            if let Poll::Ready(answer) = answer {
                self.read_at.store(self.millis(Instant::now()), Ordering::Relaxed);
                return answer;
            }
            let ready = self.ready(hub);
            answer = hub.act(|multiplexer| {
                let now = Instant::now();
                for connection in ready {
                    multiplexer.pump(connection, now);
                }
                multiplexer.expire(now);
                poll(multiplexer, &mut context)
            });
        }
    }

    /// Waits until connections are ready, or something else is to be done, or the next deadline. Answers the connections.
    fn ready(&self, hub: &Hub) -> SmallVec<[ConnectionId; 4]> {
        let watched = self.watched.lock().clone();
        let multiplexer = hub.lock();
        let mut sockets: SmallVec<[PollFd<'_>; 4]> = SmallVec::new();
        for (connection, socket) in &watched {
            let wants_write = multiplexer.wants_write(*connection);
            let ready = if wants_write { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
            sockets.push(PollFd::new(&**socket, ready));
        }
        let deadline = multiplexer.deadline();
        drop(multiplexer);
        self.alarm.wait(&sockets, deadline).into_iter().map(|at| watched[at].0).collect()
    }

    fn close(&self, hub: &Hub, connection: ConnectionId) {
        let mut multiplexer = hub.lock();
        // Else another one has its number by now.
        if multiplexer.is_over(connection) {
            self.watched.lock().retain(|(watched, _)| *watched != connection);
            multiplexer.remove(connection);
        }
    }
}

/// Has the thread that reads look at its own call, which another one has ended.
struct Ring(Arc<Alarm>);

impl Wake for Ring {
    fn wake(self: Arc<Self>) {
        self.0.ring();
    }
}

impl Host for ThreadHost {
    /// Every flush is a system call of its own: calls that come while the server is at work go together.
    fn busy(&self) -> usize {
        1
    }

    fn watch(&self, hub: &Arc<Hub>, connection: ConnectionId) {
        let multiplexer = hub.lock();
        if let Some(stream) = multiplexer.stream(connection) {
            self.watched.lock().push((connection, Arc::clone(&stream.socket)));
        }
        drop(multiplexer);
        self.alarm.ring();
    }

    fn serve(&self, hub: &Arc<Hub>, connection: ConnectionId, need: Need) {
        match need {
            Need::Flush | Need::Send => hub.act(|multiplexer| multiplexer.flush(connection, Instant::now())),
            Need::Read | Need::Watch => self.alarm.ring(),
            Need::Close => self.close(hub, connection),
        }
    }

    fn wake(&self) {
        self.alarm.ring();
    }

    fn hurry(&self) {
        self.alarm.ring();
    }
}
