//! Conversations with the server, by tasks and by threads.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use redis::Value;

use super::sleeper::{self, Sleeper};
use crate::error::{Error, Result};
use crate::redis::{AsyncRedis, Attempts, BlockingRedis, CallDeadline};
use crate::script::ScriptCall;
use crate::transaction::Conversation;

/// Holds a conversation with the server. All requests of a call share its time. What does no harm when it is carried
/// out twice is sent again for as long as there is no answer.
pub(super) async fn talk(
    sleeper: Option<&Arc<dyn Sleeper>>,
    redis: &AsyncRedis,
    conversation: &mut impl Conversation,
    timeout: Option<Duration>,
) {
    let deadline = redis.deadline(timeout);
    while let Some(call) = conversation.next() {
        let reply = if let Some(error) = out_of_time(conversation, deadline) {
            redis.cast(call);
            Err(error)
        } else if conversation.may_repeat() {
            // In a place of its own: other calls need not carry along what only these need.
            Box::pin(repeat(sleeper, redis, call, deadline)).await
        } else {
            redis.call(call, deadline).await
        };
        conversation.feed(reply);
    }
}

/// The error of a call whose time is up while it undoes what it did: that still happens, but nobody waits for it.
fn out_of_time(conversation: &impl Conversation, deadline: CallDeadline) -> Option<Error> {
    if conversation.is_undoing() { deadline.over() } else { None }
}

/// Sends a call until it is answered, as long as there is time.
async fn repeat(
    sleeper: Option<&Arc<dyn Sleeper>>,
    redis: &AsyncRedis,
    mut call: ScriptCall,
    deadline: CallDeadline,
) -> Result<Value> {
    let mut attempts = Attempts::new(deadline, &call);
    let reply = loop {
        let reply = redis.call(call, deadline).await;
        let Some((pause, again)) = attempts.next(&reply) else { break reply };
        match sleeper::sleeper(sleeper) {
            Ok(sleeper) => sleeper.sleep(Instant::now() + pause).await,
            Err(error) => break Err(error),
        }
        call = again;
    };
    attempts.last(reply)
}

/// The same on the caller's thread.
pub(super) fn talk_blocking(
    redis: &BlockingRedis,
    conversation: &mut impl Conversation,
    timeout: Option<Duration>,
) {
    let deadline = redis.deadline(timeout);
    while let Some(call) = conversation.next() {
        let reply = if let Some(error) = out_of_time(conversation, deadline) {
            redis.cast(call);
            Err(error)
        } else if conversation.may_repeat() {
            repeat_blocking(redis, call, deadline)
        } else {
            redis.call(call, deadline)
        };
        conversation.feed(reply);
    }
}

fn repeat_blocking(redis: &BlockingRedis, mut call: ScriptCall, deadline: CallDeadline) -> Result<Value> {
    let mut attempts = Attempts::new(deadline, &call);
    let reply = loop {
        let reply = redis.call(call, deadline);
        let Some((pause, again)) = attempts.next(&reply) else { break reply };
        thread::sleep(pause);
        call = again;
    };
    attempts.last(reply)
}
