//! The thread with a runtime of its own on which calls to a server are carried out.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::AbortHandle;
use tokio::{runtime, spawn};

use super::{Answer, Ask, Bridge, Completion, Kind, Shared};
use crate::error::{Error, ErrorKind, Result};
use crate::limiter::{AsyncRateLimiter, Builder};
use crate::plan::Op;
use crate::request::Check;

/// A handle to the thread, which ends when this is dropped.
pub(super) struct Runner {
    sender: UnboundedSender<Message>,
}

/// Where the thread's limiter comes from.
pub(super) enum Source {
    Builder(Builder),
    Limiter(Arc<AsyncRateLimiter>),
}

enum Message {
    Calls(Vec<(u64, Ask)>),
    Cancel(u64),
    /// A direct connection is wanted.
    #[cfg(unix)]
    Open,
    Close,
}

impl Runner {
    pub(super) fn start(source: Source, shared: &Arc<Shared>) -> Self {
        let (sender, messages) = unbounded_channel();
        let shared = Arc::clone(shared);
        let thread = thread::Builder::new().name("sluicegate".to_owned());
        // Without a thread the receiver is dropped, and every call is answered with `stopped`.
        let _ = thread.spawn(move || run(source, messages, &shared));
        Self { sender }
    }

    pub(super) fn submit(&self, asks: Vec<(u64, Ask)>, shared: &Shared) {
        if let Err(unsent) = self.sender.send(Message::Calls(asks))
            && let Message::Calls(asks) = unsent.0
        {
            shared.refuse(asks, &stopped());
        }
    }

    pub(super) fn cancel(&self, token: u64) {
        // A thread that has ended has no waits.
        let _ = self.sender.send(Message::Cancel(token));
    }

    #[cfg(unix)]
    pub(super) fn open(&self) {
        let _ = self.sender.send(Message::Open);
    }

    pub(super) fn close(&self) {
        let _ = self.sender.send(Message::Close);
    }
}

fn stopped() -> Error {
    Error::new(ErrorKind::Connection, "the limiter's thread is not running")
}

fn run(source: Source, messages: UnboundedReceiver<Message>, shared: &Arc<Shared>) {
    match runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime.block_on(serve(source, messages, shared)),
        Err(error) => {
            let what = format!("the limiter's thread cannot start: {error}");
            let result = Err(Error::new(ErrorKind::Connection, what));
            shared.complete([Completion { token: Bridge::OPENED, result }]);
        }
    }
}

async fn serve(source: Source, messages: UnboundedReceiver<Message>, shared: &Arc<Shared>) {
    let opened = match source {
        Source::Limiter(limiter) => Ok(limiter),
        Source::Builder(builder) => {
            let opened = builder.connect().await.map(Arc::new);
            if let Ok(limiter) = &opened {
                // Nobody else opens it.
                let _ = shared.limiter.set(Arc::clone(limiter));
            }
            let result = opened.as_ref().map(|_| Answer::Done).map_err(Error::clone);
            shared.complete([Completion { token: Bridge::OPENED, result }]);
            opened
        }
    };
    match opened {
        Ok(limiter) => carry_out(&limiter, messages, shared).await,
        Err(error) => refuse(&error, messages, shared).await,
    }
}

async fn carry_out(
    limiter: &Arc<AsyncRateLimiter>,
    mut messages: UnboundedReceiver<Message>,
    shared: &Arc<Shared>,
) {
    let waits = Waits::default();
    while let Some(message) = messages.recv().await {
        match message {
            Message::Calls(asks) => begin(limiter, asks, shared, &waits),
            Message::Cancel(token) => waits.cancel(token),
            #[cfg(unix)]
            Message::Open => drop(spawn(super::direct::open(Arc::clone(limiter), Arc::clone(shared)))),
            Message::Close => {
                limiter.close();
                let ended = waits.give_up().into_iter();
                shared.complete(ended.map(|token| Completion { token, result: Err(Error::closed()) }));
            }
        }
    }
}

/// Without a limiter, every call is answered with the reason.
async fn refuse(error: &Error, mut messages: UnboundedReceiver<Message>, shared: &Arc<Shared>) {
    while let Some(message) = messages.recv().await {
        if let Message::Calls(asks) = message {
            shared.refuse(asks, error);
        }
    }
}

/// Starts the calls of one batch; those about single items go as one pipeline.
fn begin(limiter: &Arc<AsyncRateLimiter>, asks: Vec<(u64, Ask)>, shared: &Arc<Shared>, waits: &Waits) {
    let (singles, others): (Vec<_>, Vec<_>) =
        asks.into_iter().partition(|(_, ask)| matches!(ask, Ask::Single(..)));
    if !singles.is_empty() {
        spawn(pipeline(Arc::clone(limiter), singles, Arc::clone(shared)));
    }
    for (token, ask) in others {
        let (limiter, shared, done) = (Arc::clone(limiter), Arc::clone(shared), waits.clone());
        let is_wait = matches!(ask, Ask::Wait(..));
        let task = spawn(async move {
            let result = answer(&limiter, &ask).await;
            // A wait that was given up has been answered.
            if done.forget(token) || !is_wait {
                shared.complete([Completion { token, result }]);
            }
        });
        if is_wait {
            waits.note(token, task.abort_handle());
        }
    }
}

async fn pipeline(limiter: Arc<AsyncRateLimiter>, asks: Vec<(u64, Ask)>, shared: Arc<Shared>) {
    let calls: Vec<_> = asks.iter().filter_map(|(_, ask)| single(ask)).collect();
    let results = limiter.each(&calls).await;
    let completion = |((token, _), result): (&(u64, Ask), Result<_>)| Completion {
        token: *token,
        result: result.map(Answer::Decision),
    };
    shared.complete(asks.iter().zip(results).map(completion));
}

fn single(ask: &Ask) -> Option<(Op, Check<'_>)> {
    match ask {
        Ask::Single(kind, item) => Some(((*kind).into(), item.check())),
        Ask::All(_) | Ask::Request(_) | Ask::Reset(_) | Ask::Wait(..) | Ask::Ping => None,
    }
}

/// Carries out one call.
pub(super) async fn answer(limiter: &AsyncRateLimiter, ask: &Ask) -> Result<Answer> {
    let decision = match ask {
        Ask::Single(Kind::Check, item) => limiter.check_with(&item.rule, &item.key, item.options()).await,
        Ask::Single(Kind::Peek, item) => limiter.peek_with(&item.rule, &item.key, item.options()).await,
        Ask::Single(Kind::Refund, item) => limiter.refund_with(&item.rule, &item.key, item.options()).await,
        Ask::Request(request) => limiter.check_request(&request.request()).await,
        Ask::All(items) => limiter.check_all(&items.iter().map(super::Item::check).collect::<Vec<_>>()).await,
        Ask::Wait(item, timeout) => limiter.wait_with(&item.rule, &item.key, item.options(), *timeout).await,
        Ask::Reset(item) => {
            limiter.reset_with(&item.rule, &item.key, item.options()).await?;
            return Ok(Answer::Done);
        }
        Ask::Ping => {
            limiter.ping().await?;
            return Ok(Answer::Done);
        }
    };
    decision.map(Answer::Decision)
}

impl From<Kind> for Op {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Check => Self::Check,
            Kind::Peek => Self::Peek,
            Kind::Refund => Self::Refund,
        }
    }
}

/// The waits under way, so that they can be given up.
#[derive(Clone, Default)]
struct Waits(Arc<Mutex<HashMap<u64, AbortHandle>>>);

impl Waits {
    fn note(&self, token: u64, task: AbortHandle) {
        self.lock().insert(token, task);
    }

    /// Ends all waits and returns their tokens.
    fn give_up(&self) -> Vec<u64> {
        let mut waits = self.lock();
        let given_up = waits.drain().map(|(token, task)| {
            task.abort();
            token
        });
        given_up.collect()
    }

    /// Whether it was still there.
    fn forget(&self, token: u64) -> bool {
        self.lock().remove(&token).is_some()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, AbortHandle>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn cancel(&self, token: u64) {
        if let Some(task) = self.lock().remove(&token) {
            task.abort();
        }
    }
}
