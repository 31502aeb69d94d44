//! Conversations with a server.

use std::future::poll_fn;
use std::task::Poll;
use std::time::Instant;

use redis::Value;

use super::backend::ServerCalls;
use super::driver::Driver;
use crate::error::{Error, Result};
use crate::redis::{Attempts, CallDeadline, split_replicated};
use crate::script::ScriptCall;
use crate::sequence::ScriptSequence;

impl<D: Driver> ServerCalls<'_, D> {
    /// Holds a conversation with the server. All requests of a call share its time. What does no harm when it is carried
    /// out twice is sent again for as long as there is no answer. Answers whether replicas have the effects of all of it.
    pub(super) async fn drive(self, conversation: &mut impl ScriptSequence, deadline: CallDeadline) -> bool {
        self.drive_since(Instant::now(), conversation, deadline).await
    }

    /// The same, of a conversation that began now, as the caller knows: the clock takes as long as counting does.
    pub(super) async fn drive_since(
        self,
        mut sent: Instant,
        conversation: &mut impl ScriptSequence,
        deadline: CallDeadline,
    ) -> bool {
        let mut is_replicated = None;
        while let Some(call) = conversation.next() {
            let server = self.servers.at(conversation.region());
            let reply = if let Some(error) = out_of_time(conversation, deadline) {
                server.send_detached(call);
                Err(error)
            } else if conversation.may_repeat() {
                D::apart(repeat(server, call, deadline)).await
            } else {
                server.call(call, deadline).await
            };
            let now = Instant::now();
            if reply.is_ok() {
                let took = now.saturating_duration_since(sent);
                self.shared.counters.answered(took);
                self.servers.note_trip(conversation.region(), took);
            }
            sent = now;
            conversation.feed(reply.map(|reply| {
                let (reply, is_on_replicas) = split_replicated(reply);
                is_replicated = Some(is_replicated != Some(false) && is_on_replicas);
                reply
            }));
        }
        is_replicated == Some(true)
    }

    /// Asks servers of regions, by their places, all at the same time. Answers also whether replicas have the effects of all.
    pub(super) async fn ask_all(
        self,
        asks: Vec<(usize, ScriptCall)>,
        deadline: CallDeadline,
    ) -> (Vec<Result<Value>>, bool) {
        let ask = |(region, call)| {
            let (sent, reply) = (Instant::now(), self.servers.at(Some(region)).send(call, deadline));
            async move {
                let reply = reply.await;
                if reply.is_ok() {
                    let took = sent.elapsed();
                    self.shared.counters.answered(took);
                    self.servers.note_trip(Some(region), took);
                }
                reply.map(split_replicated)
            }
        };
        let replies = all(asks.into_iter().map(ask).collect()).await;
        let have_replicas = replies.iter().all(|reply| reply.as_ref().is_ok_and(|(_, have)| *have));
        (replies.into_iter().map(|reply| reply.map(|(reply, _)| reply)).collect(), have_replicas)
    }
}

/// Waits for all at the same time; by a driver that blocks, for one after the other.
async fn all<F: Future>(futures: Vec<F>) -> Vec<F::Output> {
    let mut waiting: Vec<_> = futures.into_iter().map(|future| (Box::pin(future), None)).collect();
    poll_fn(|context| {
        for (future, output) in waiting.iter_mut().filter(|(_, output)| output.is_none()) {
            if let Poll::Ready(ready) = future.as_mut().poll(context) {
                *output = Some(ready);
            }
        }
        if waiting.iter().all(|(_, output)| output.is_some()) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    waiting.into_iter().filter_map(|(_, output)| output).collect()
}

/// Sends a call until it is answered, as long as there is time.
async fn repeat<D: Driver>(server: &D, mut call: ScriptCall, deadline: CallDeadline) -> Result<Value> {
    let mut attempts = Attempts::new(deadline, &call);
    let reply = loop {
        let reply = server.call(call, deadline).await;
        let Some((pause, again)) = attempts.next(&reply) else { break reply };
        if let Err(error) = server.pause(pause).await {
            break Err(error);
        }
        call = again;
    };
    attempts.last(reply)
}

/// The error of a call whose time is up while it undoes what it did: that still happens, but nobody waits for it.
fn out_of_time(conversation: &impl ScriptSequence, deadline: CallDeadline) -> Option<Error> {
    if conversation.is_undoing() { deadline.over() } else { None }
}
