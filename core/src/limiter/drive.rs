//! Conversations with a server.

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
        let mut is_replicated = None;
        while let Some(call) = conversation.next() {
            let (sent, server) = (Instant::now(), self.servers.at(conversation.region()));
            let reply = if let Some(error) = out_of_time(conversation, deadline) {
                server.send_detached(call);
                Err(error)
            } else if conversation.may_repeat() {
                D::apart(repeat(server, call, deadline)).await
            } else {
                server.call(call, deadline).await
            };
            if reply.is_ok() {
                self.shared.counters.answered(sent.elapsed());
                self.servers.note_trip(conversation.region(), sent);
            }
            conversation.feed(reply.map(|reply| {
                let (reply, is_on_replicas) = split_replicated(reply);
                is_replicated = Some(is_replicated != Some(false) && is_on_replicas);
                reply
            }));
        }
        is_replicated == Some(true)
    }
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
