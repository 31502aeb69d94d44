//! Where the server watches keys: what it is asked, and what becomes of its messages.

use std::sync::Arc;
use std::time::Instant;

use ::redis::{Cmd, PushKind, RedisError, Value, cmd};

use super::tracking::BEAT;
use super::{About, PendingCommand, Session, SessionStage, note_sooner};
use crate::redis::wire::command::RedisCommand;
use crate::redis::wire::role::role;
use crate::tracking::Registration;

/// What asks the server to announce changes of the next command's keys.
fn caching() -> Cmd {
    cmd("CLIENT").arg("CACHING").arg("YES").take()
}

impl PendingCommand {
    /// What its keys are to be watched for.
    fn registration(&self) -> Option<&Arc<Registration>> {
        match &self.request {
            RedisCommand::Script(call) => call.registration.as_ref(),
            RedisCommand::Plain(..) => None,
        }
    }
}

impl Session {
    /// Asks the server to watch the keys of the request that is packed next.
    pub(super) fn pack_caching(&mut self, pending: &PendingCommand, now: Instant) {
        let Some(registration) = pending.registration() else { return };
        let Some(tracking) = &mut self.tracking else { return registration.refused() };
        // Between ASKING and the request nothing may stand.
        if pending.asking {
            return;
        }
        tracking.register(pending.keys(), registration, now);
        note_sooner(&mut self.next_deadline, now + BEAT);
        self.pack(&caching(), About::Caching(Arc::clone(registration)), now);
    }

    /// The answer to that.
    pub(super) fn cached(&mut self, registration: &Registration, answer: &Value, now: Instant) {
        match (answer, &self.tracking) {
            (Value::ServerError(reason), _) => {
                registration.refused();
                self.refuse_tracking(&RedisError::from(reason.clone()), now);
            }
            (_, Some(tracking)) => registration.watched(tracking.line()),
            (_, None) => registration.refused(),
        }
    }

    /// The server watches no keys.
    pub(super) fn refuse_tracking(&mut self, reason: &RedisError, now: Instant) {
        if let Some(tracking) = self.tracking.take() {
            tracking.refused(&self.address, reason, now);
        }
    }

    /// Takes up a message that answers nothing.
    pub(super) fn announced(&mut self, kind: &PushKind, data: &[Value]) {
        if let (PushKind::Invalidate, Some(tracking)) = (kind, &mut self.tracking) {
            tracking.announced(data.first());
        }
    }

    /// Keys are elsewhere than they were.
    pub(super) fn mistrust(&mut self, now: Instant) {
        if let Some(tracking) = &mut self.tracking {
            tracking.begin_anew(now);
            if self.stage != SessionStage::Ready {
                tracking.end();
            }
        }
    }

    /// Asks the server something where nothing else was asked for a while, and what is remembered relies on it.
    pub(super) fn beat(&mut self, now: Instant) {
        let Some(tracking) = self.tracking.as_ref().filter(|tracking| tracking.is_needed(now)) else {
            return;
        };
        let due = tracking.last_asked() + BEAT;
        if due > now {
            return note_sooner(&mut self.next_deadline, due);
        }
        if self.stage == SessionStage::Ready && self.output.is_empty() {
            self.role_asked = now;
            self.pack(&role(), About::Role, now);
        }
        note_sooner(&mut self.next_deadline, now + BEAT);
    }
}
