//! The blocking driver: any number of threads share one connection to each server. The threads that wait for answers serve the
//! connections: there are no others.

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
use crate::error::{Error, Result};
use crate::metrics::ServerMetrics;
use crate::options::ConnectOptions;
use crate::redis::connecting::connector::Connector;
use crate::redis::connecting::stream::Stream;
use crate::redis::drivers::hub::{Host, Hub};
use crate::redis::drivers::multiplexer::{ConnectionId, Multiplexer, Need};
use crate::redis::drivers::spin::Spin;
use crate::redis::settings::url::RedisUrl;
use crate::redis::wire::command::{CallDeadline, RedisCommand};
use crate::redis::wire::session::Id;
use crate::script::ScriptCall;
use crate::sync::fork::PerProcess;
use crate::sync::lock::Mutex;

/// For so long a connection is trusted to be as it was when it was last read. Then a call looks first whether the server has
/// ended it.
const TRUSTED: Duration = Duration::from_secs(1);

/// Redis for threads. Opens connections when they are needed; survives `fork`.
pub(crate) struct BlockingRedis {
    connections: PerProcess<Connections>,
    closed: AtomicBool,
}

impl BlockingRedis {
    /// Checks URL, options and TLS files; opens no connection.
    pub(crate) fn new(url: &RedisUrl, options: &ConnectOptions) -> Result<Self> {
        let connections = PerProcess::new(Connections::new(Arc::new(Connector::new(url, options)?)));
        Ok(Self { connections, closed: AtomicBool::new(false) })
    }

    /// The time of a call that begins now and states `timeout`, or none.
    pub(crate) fn deadline(&self, timeout: Option<Duration>) -> CallDeadline {
        let connections = self.connections.get(Connections::inherited);
        CallDeadline::after(timeout.unwrap_or_else(|| connections.hub.connector.timeout()))
    }

    /// Runs the script at most once.
    pub(crate) fn call(&self, call: ScriptCall, deadline: CallDeadline) -> Result<Value> {
        self.connections()?.carry_out(RedisCommand::Script(call), deadline)
    }

    /// The same, sent now; what this returns waits for the reply.
    pub(crate) fn send(
        &self,
        call: ScriptCall,
        deadline: CallDeadline,
    ) -> impl FnOnce() -> Result<Value> + Send {
        let sent = self.connections().map(|it| (it, it.submit(RedisCommand::Script(call), deadline)));
        move || sent.and_then(|(Connections { hub, host }, id)| host.wait(hub, id))
    }

    /// Removes keys of one slot.
    pub(crate) fn delete(&self, keys: &[String], deadline: CallDeadline) -> Result<()> {
        self.connections()?.carry_out(RedisCommand::delete(keys), deadline).map(drop)
    }

    /// What is counted of each server that is known, by its address.
    pub(crate) fn servers(&self) -> Vec<(String, ServerMetrics)> {
        self.connections.get(Connections::inherited).hub.servers()
    }

    pub(crate) fn ping(&self, deadline: CallDeadline) -> Result<()> {
        self.connections()?.carry_out(RedisCommand::ping(), deadline).map(drop)
    }

    /// Whether connections speak RESP3.
    #[cfg(feature = "internal")]
    pub(crate) fn has_resp3(&self) -> bool {
        self.connections.get(Connections::inherited).hub.connector.url.resp3
    }

    /// Has a server carry out a command without keys.
    #[cfg(feature = "internal")]
    pub(crate) fn command(&self, words: &[&str], deadline: CallDeadline) -> Result<Value> {
        self.connections()?.carry_out(RedisCommand::without_keys(words), deadline)
    }

    /// Final. Calls under way end as they would have.
    pub(crate) fn close(&self) {
        if !self.closed.swap(true, Ordering::AcqRel) {
            let Connections { hub, host } = self.connections.get(Connections::inherited);
            hub.close();
            host.retire();
        }
    }

    pub(crate) fn ensure_open(&self) -> Result<()> {
        if self.closed.load(Ordering::Acquire) { Err(Error::closed()) } else { Ok(()) }
    }

    pub(super) fn connections(&self) -> Result<&Connections> {
        self.ensure_open()?;
        Ok(self.connections.get(Connections::inherited))
    }
}

impl Drop for BlockingRedis {
    fn drop(&mut self) {
        self.close();
    }
}

/// What one process has open.
pub(super) struct Connections {
    pub(super) hub: Arc<Hub>,
    pub(super) host: Arc<ThreadHost>,
}

impl Connections {
    fn new(connector: Arc<Connector>) -> Self {
        let host = Arc::new(ThreadHost::new());
        let hub = Hub::new(connector, Arc::clone(&host) as _);
        Self { hub, host }
    }

    /// A child's own, in place of its parent's.
    fn inherited(parent: &Self) -> Self {
        parent.host.disown();
        parent.hub.disown();
        Self::new(Arc::new(parent.hub.connector.inherited()))
    }

    fn carry_out(&self, request: RedisCommand, deadline: CallDeadline) -> Result<Value> {
        let id = self.submit(request, deadline);
        self.host.wait(&self.hub, id)
    }

    #[inline(always)]
    fn submit(&self, request: RedisCommand, deadline: CallDeadline) -> Id {
        self.hub.act(|multiplexer| {
            let now = Instant::now();
            self.host.look_after(multiplexer, now);
            multiplexer.submit(request, deadline, now)
        })
    }
}

/// A connection, and its socket.
type Watched = (ConnectionId, Arc<TcpStream>);

/// Serves the connections of a multiplexer, on the threads that wait for answers.
pub(super) struct ThreadHost {
    pub(super) readers: Readers,
    watched: Mutex<SmallVec<[Watched; 4]>>,
    /// Ends the wait of the thread that reads.
    alarm: Arc<Alarm>,
    /// Rings it for the calls of that thread.
    waker: Waker,
    spin: Spin,
    began: Instant,
    /// Whether a thread is there for calls that nobody waits for.
    pub(super) is_attended: AtomicBool,
    /// When something was last read, in milliseconds since it began.
    read_at: AtomicU64,
}

impl ThreadHost {
    fn new() -> Self {
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
    fn wait(&self, hub: &Arc<Hub>, id: Id) -> Result<Value> {
        let poll = |context: &mut Context<'_>| hub.lock().poll(id, context).0;
        self.readers.wait(poll, || self.read(hub, |multiplexer, context| multiplexer.poll(id, context).0))
    }

    /// Closes what a forked child inherited.
    fn disown(&self) {
        if let Ok(mut watched) = self.watched.try_lock() {
            watched.clear();
        }
        self.alarm.disown();
    }

    /// Keeps no descriptor longer than the calls under way.
    fn retire(&self) {
        self.alarm.retire();
    }

    fn millis(&self, now: Instant) -> u64 {
        now.saturating_duration_since(self.began).as_millis() as u64
    }

    /// Serves all calls until `poll` answers.
    pub(super) fn read<T>(
        &self,
        hub: &Arc<Hub>,
        poll: impl Fn(&mut Multiplexer<Stream>, &mut Context<'_>) -> Poll<T>,
    ) -> T {
        let mut context = Context::from_waker(&self.waker);
        let (mut answer, mut looked) = self.look(hub, &poll);
        if answer.is_pending() {
            answer = poll(&mut hub.lock(), &mut context);
        }
        loop {
            if let Poll::Ready(answer) = answer {
                if let Some(looked) = looked {
                    self.read_at.store(self.millis(looked), Ordering::Relaxed);
                }
                return answer;
            }
            let ready = self.ready(hub);
            answer = hub.act(|multiplexer| {
                let now = Instant::now();
                looked = Some(now);
                for connection in ready {
                    multiplexer.pump(connection, now);
                }
                multiplexer.expire(now);
                poll(multiplexer, &mut context)
            });
        }
    }

    /// Looks whether `poll` answers: if there is no other call, for a short time, in which nobody needs to ring. Answers also
    /// when the connections were last read.
    #[inline]
    fn look<T>(
        &self,
        hub: &Arc<Hub>,
        poll: &impl Fn(&mut Multiplexer<Stream>, &mut Context<'_>) -> Poll<T>,
    ) -> (Poll<T>, Option<Instant>) {
        let (mut context, mut looked) = (Context::from_waker(Waker::noop()), None);
        let mut multiplexer = hub.lock();
        let (mut answer, is_alone) = (poll(&mut multiplexer, &mut context), multiplexer.is_alone());
        drop(multiplexer);
        if answer.is_pending() && is_alone {
            self.spin.poll(|now| {
                looked = Some(now);
                answer = hub.act(|multiplexer| {
                    multiplexer.pump_busy(now);
                    poll(multiplexer, &mut context)
                });
                answer.is_ready()
            });
        }
        (answer, looked)
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

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;
    use crate::error::ErrorKind;
    use crate::redis::settings::url::Backend;

    #[test]
    fn calls_whose_search_is_cancelled_say_that_the_limiter_is_closed() {
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("redis-cluster://{}", silent.local_addr().unwrap());
        let Ok(Backend::Redis(url)) = Backend::parse(&url) else { unreachable!() };
        let redis = BlockingRedis::new(&url, &ConnectOptions::default()).unwrap();
        let error = thread::scope(|scope| {
            let call = scope.spawn(|| redis.ping(redis.deadline(None)).unwrap_err());
            let _accepted = silent.accept().unwrap();
            redis.close();
            call.join().unwrap()
        });
        assert_eq!(error.kind(), ErrorKind::Closed, "{error}");
    }
}
