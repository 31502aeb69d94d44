//! Plays the orders in which the steps of [`readers`](super::readers) may be taken, over a connection that is played too.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use shuttle::rand::Rng;
use shuttle::sync::{Condvar, Mutex};
use shuttle::thread;

use self::readers::Readers;
use crate::effort::by_day;

#[allow(clippy::duplicate_mod, reason = "the same steps, made of other primitives")]
#[path = "readers.rs"]
mod readers;

/// What `readers` is made of here.
mod primitives {
    pub(super) use shuttle::sync::atomic::{AtomicBool, AtomicU8, Ordering};
    pub(super) use shuttle::thread;

    #[derive(Default)]
    pub(super) struct Mutex<T>(shuttle::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(super) fn lock(&self) -> shuttle::sync::MutexGuard<'_, T> {
            self.0.lock().unwrap()
        }
    }
}

const THREADS: usize = 3;
const CALLS: usize = 2;
/// By day a third.
const ORDERS: u32 = 3_000;

enum Call {
    Waiting(Option<Waker>),
    Answered(Answer),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Answer {
    To(usize),
    Closed,
}

#[derive(Default)]
struct Connection {
    calls: Vec<Call>,
    /// Under way to the server.
    sent: VecDeque<usize>,
    /// Answers that nobody has read yet.
    arrived: VecDeque<usize>,
    is_closed: bool,
    /// Whether the thread that reads is to look at its own call.
    has_rung: bool,
}

#[derive(Default)]
struct World {
    connection: Mutex<Connection>,
    /// Something has arrived, for the server or for the thread that reads.
    news: Condvar,
    readers: Readers,
}

impl World {
    fn call(self: &Arc<Self>) -> (usize, Answer) {
        let mut connection = self.connection.lock().unwrap();
        let id = connection.calls.len();
        let call = if connection.is_closed { Call::Answered(Answer::Closed) } else { Call::Waiting(None) };
        connection.calls.push(call);
        connection.sent.push_back(id);
        drop(connection);
        self.news.notify_all();
        let poll = |context: &mut Context<'_>| self.connection.lock().unwrap().poll(id, context);
        (id, self.readers.wait(poll, || self.read(id)))
    }

    /// Reads for all until a call is answered.
    fn read(self: &Arc<Self>, id: usize) -> Answer {
        let waker = Waker::from(Arc::new(Ring(Arc::clone(self))));
        let mut context = Context::from_waker(&waker);
        let mut connection = self.connection.lock().unwrap();
        loop {
            if let Poll::Ready(answer) = connection.poll(id, &mut context) {
                return answer;
            }
            let is_idle = |connection: &mut Connection| connection.arrived.is_empty() && !connection.has_rung;
            connection = self.news.wait_while(connection, is_idle).unwrap();
            connection.has_rung = false;
            let woken: Vec<_> = std::mem::take(&mut connection.arrived)
                .into_iter()
                .filter_map(|arrived| connection.end(arrived, Answer::To(arrived)))
                .collect();
            drop(connection);
            woken.into_iter().for_each(Waker::wake);
            connection = self.connection.lock().unwrap();
        }
    }

    /// Answers so many calls.
    fn serve(&self, calls: usize) {
        for _ in 0..calls {
            let idle = |connection: &mut Connection| connection.sent.is_empty();
            let mut connection = self.news.wait_while(self.connection.lock().unwrap(), idle).unwrap();
            // Of several servers, the one that was asked last may answer first.
            let is_first = shuttle::rand::thread_rng().r#gen();
            let next = if is_first { connection.sent.pop_front() } else { connection.sent.pop_back() };
            connection.arrived.extend(next);
            drop(connection);
            self.news.notify_all();
        }
    }

    /// Ends all calls, as a thread does that closes the limiter.
    fn close(&self) {
        let mut connection = self.connection.lock().unwrap();
        connection.is_closed = true;
        let woken: Vec<_> =
            (0..connection.calls.len()).filter_map(|id| connection.end(id, Answer::Closed)).collect();
        drop(connection);
        woken.into_iter().for_each(Waker::wake);
    }
}

impl Connection {
    fn poll(&mut self, id: usize, context: &mut Context<'_>) -> Poll<Answer> {
        match &mut self.calls[id] {
            Call::Answered(answer) => Poll::Ready(*answer),
            Call::Waiting(waker) => {
                *waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }

    fn end(&mut self, id: usize, answer: Answer) -> Option<Waker> {
        match std::mem::replace(&mut self.calls[id], Call::Answered(answer)) {
            Call::Waiting(waker) => waker,
            Call::Answered(first) => {
                self.calls[id] = Call::Answered(first);
                None
            }
        }
    }
}

struct Ring(Arc<World>);

impl Wake for Ring {
    fn wake(self: Arc<Self>) {
        self.0.connection.lock().unwrap().has_rung = true;
        self.0.news.notify_all();
    }
}

/// Threads call, while `meanwhile` happens. Whoever waits in vain ends the test: shuttle notices when no thread can go on.
fn play(meanwhile: impl Fn(&World) + Send + Sync + Copy + 'static, is_right: fn(usize, Answer) -> bool) {
    let scenario = move || {
        let world = Arc::new(World::default());
        let callers = (0..THREADS).map(|_| {
            let world = Arc::clone(&world);
            thread::spawn(move || {
                for _ in 0..CALLS {
                    let (id, answer) = world.call();
                    assert!(is_right(id, answer), "{id} was answered {answer:?}");
                }
            })
        });
        let callers: Vec<_> = callers.collect();
        let server = Arc::clone(&world);
        let server = thread::spawn(move || server.serve(THREADS * CALLS));
        meanwhile(&world);
        callers.into_iter().for_each(|caller| caller.join().unwrap());
        server.join().unwrap();
    };
    let orders = by_day(ORDERS) as usize;
    shuttle::check_random(scenario, orders);
    shuttle::check_pct(scenario, orders, 3);
}

#[test]
fn whoever_calls_gets_the_answer_to_that_call() {
    play(|_| {}, |id, answer| answer == Answer::To(id));
}

#[test]
fn whoever_calls_while_it_is_closed_gets_an_answer() {
    play(World::close, |id, answer| answer == Answer::To(id) || answer == Answer::Closed);
}
