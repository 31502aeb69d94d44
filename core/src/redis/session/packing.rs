//! Requests become bytes, in batches in which calls of one kind share a script.

use std::time::Instant;

use smallvec::SmallVec;

use super::{About, Awaited, Bundle, PendingCommand, ROLE_INTERVAL, Session, SessionStage};
use crate::redis::bundle::bundle;
use crate::redis::command::RedisCommand;
use crate::redis::discovery::role;

impl Session {
    /// Packs the requests that wait, unless enough is under way: then they go together with those to come.
    pub(in crate::redis) fn flush(&mut self, now: Instant) {
        let held_back = self.queue.is_empty() || !self.output.is_empty() || self.batches >= self.window;
        if self.stage != SessionStage::Ready || held_back {
            return;
        }
        // Their callers have given up, or are about to.
        if self.queue.iter().any(|pending| pending.by <= now) {
            self.expire_unsent(now);
            if self.queue.is_empty() {
                return;
            }
        }
        if now >= self.role_asked + ROLE_INTERVAL {
            self.role_asked = now;
            self.pack(&role(), About::Role, now);
        }
        for bundle in bundle(std::mem::take(&mut self.queue), PendingCommand::call, self.minds_slots) {
            self.pack_bundle(bundle, false, now);
        }
        if let Some(last) = self.awaited.back_mut() {
            last.ends_batch = true;
            self.batches += 1;
        }
        self.note_deadline(now + self.response_timeout);
    }

    pub(super) fn pack_bundle(&mut self, bundle: Bundle, whole: bool, now: Instant) {
        if bundle.first().is_some_and(|pending| pending.asking) {
            self.pack(&::redis::cmd("ASKING"), About::Asking, now);
        }
        let Some(first) = bundle.first() else { return };
        let mut is_whole = whole;
        let cmd = match &first.request {
            RedisCommand::Plain(cmd, _) => cmd.clone(),
            RedisCommand::Script(call) => {
                let keys: SmallVec<[&str; 4]> = bundle.iter().flat_map(keys).collect();
                let script = call.script.for_keys(bundle.len());
                // Asked for the text, a server would come to what follows first.
                is_whole |= self.sent_scripts.insert(std::ptr::from_ref(script).addr());
                if is_whole { script.eval(&keys, &call.args) } else { script.evalsha(&keys, &call.args) }
            }
        };
        self.pack(&cmd, About::Requests(bundle, is_whole), now);
    }

    pub(super) fn pack(&mut self, cmd: &::redis::Cmd, about: About, now: Instant) {
        let start = self.written + self.output.len() as u64;
        cmd.write_packed_command(&mut self.output);
        self.awaited.push_back(Awaited { about, sent: now, start, ends_batch: false });
    }

    /// Whether there is such a request of which nothing was sent yet, although it is packed.
    pub(super) fn has_unsent(&self, is_such: impl Fn(&PendingCommand) -> bool) -> bool {
        let mut unsent = self.awaited.iter().rev().take_while(|awaited| awaited.start >= self.written);
        unsent.any(|awaited| match &awaited.about {
            About::Requests(bundle, _) => bundle.iter().any(&is_such),
            _ => false,
        })
    }

    /// Puts requests back into the queue of which nothing was sent yet.
    pub(super) fn unpack(&mut self) {
        if self.output.is_empty() {
            return;
        }
        let is_kept = |awaited: &Awaited| {
            awaited.start < self.written || !matches!(awaited.about, About::Asking | About::Requests(..))
        };
        let mut first = self.awaited.iter().rposition(is_kept).map_or(0, |last| last + 1);
        // ASKING is about the next command, whatever that is.
        if self.awaited.get(first).is_some_and(Awaited::follows_asking) {
            first += 1;
        }
        let Some(start) = self.awaited.get(first).map(|awaited| awaited.start) else { return };
        self.output.truncate(usize::try_from(start - self.written).unwrap_or(usize::MAX));
        let unpacked = self.awaited.split_off(first);
        self.batches -= unpacked.iter().filter(|awaited| awaited.ends_batch).count();
        let mut requests = Bundle::new();
        for awaited in unpacked {
            let About::Requests(bundle, is_whole) = awaited.about else { continue };
            if let (true, Some(RedisCommand::Script(call))) =
                (is_whole, bundle.first().map(|first| &first.request))
            {
                self.sent_scripts.remove(&std::ptr::from_ref(call.script.for_keys(bundle.len())).addr());
            }
            requests.extend(bundle.into_iter().filter(|pending| !pending.ended));
        }
        self.queue.splice(..0, requests);
    }
}

fn keys(pending: &PendingCommand) -> impl Iterator<Item = &str> {
    let keys = match &pending.request {
        RedisCommand::Script(call) => call.keys.as_slice(),
        RedisCommand::Plain(..) => &[],
    };
    keys.iter().map(String::as_str)
}
