//! Requests become bytes, in batches in which calls of one kind share a script.

use std::ptr;
use std::time::Instant;

use hashbrown::HashMap;
use smallvec::SmallVec;

use super::merging::{begins_and_ends_alike, bring_together, callers_by_key, script_for};
use super::resp::write_command;
use super::{About, Awaited, Bundle, PendingCommand, ROLE_INTERVAL, Session, SessionStage, note_sooner};
use crate::keys::slots::slot_of;
use crate::redis::errors;
use crate::redis::wire::command::RedisCommand;
use crate::redis::wire::role::role;
use crate::script::{Argument, Script};

/// The most calls in one script: while it runs the server serves nobody else.
const LARGEST: usize = 64;

/// The most requests under way on one connection. With more, none would be answered sooner, and what is answered too late is
/// charged all the same.
const MOST_UNDER_WAY: usize = 2048;

/// So many that wait are sent together, or all.
const PORTION: usize = 512;

impl Session {
    /// Packs the requests that wait, unless enough is under way: then they go together with those to come.
    pub(in crate::redis) fn flush(&mut self, now: Instant) {
        // Of several batches that wait for replicas, each would wait for those before it.
        let is_held_back =
            self.queue.is_empty() || !self.output.is_empty() || self.is_busy() || self.awaits_replicas();
        if self.stage != SessionStage::Ready || is_held_back {
            return;
        }
        // Their callers have given up, or are about to.
        if self.queue.iter().any(|pending| pending.by <= now) {
            self.expire_unsent(now);
            if self.queue.is_empty() {
                return;
            }
        }
        let Some(mut portion) = self.next_portion(now) else { return };
        if now >= self.role_asked + ROLE_INTERVAL {
            self.role_asked = now;
            self.pack(&role(), About::Role, now);
        }
        self.pack_portion(&mut portion, now);
        self.pack_wait(now);
        if self.queue.capacity() == 0 {
            self.queue = portion;
        }
        if let Some(last) = self.awaited.back_mut() {
            last.ends_batch = true;
        }
        note_sooner(&mut self.next_deadline, now + self.response_timeout);
    }

    /// The requests to send next; `None` when they have to wait for those under way.
    fn next_portion(&mut self, now: Instant) -> Option<Vec<PendingCommand>> {
        let room = MOST_UNDER_WAY.saturating_sub(self.under_way());
        let has_room = self.queue.len() <= room;
        self.is_crowded |= !has_room;
        if !self.is_crowded {
            return Some(std::mem::take(&mut self.queue));
        }
        if !has_room && room < PORTION {
            return None;
        }
        self.refuse_late(now);
        let count = room.min(self.queue.len());
        self.is_crowded = count < self.queue.len();
        (count > 0).then(|| self.queue.drain(..count).collect())
    }

    /// Packs requests, and leaves none.
    fn pack_portion(&mut self, portion: &mut Vec<PendingCommand>, now: Instant) {
        if portion.len() == 1 {
            // Takes no memory.
            let only = portion.pop().map(|only| Bundle::from_buf([only]));
            return self.pack_bundle(only.unwrap_or_default(), false, now);
        }
        for bundle in bundle(portion, self.minds_slots) {
            self.pack_bundle(bundle, false, now);
        }
    }

    /// Ends requests, unsent, that have less than a quarter of their time left, since others were before them.
    fn refuse_late(&mut self, now: Instant) {
        let limit = self.response_timeout;
        let is_late = |pending: &mut PendingCommand| {
            let queued = pending.queued.unwrap_or(now);
            let until = pending.by.min(queued + limit);
            until.saturating_duration_since(now) * 4 < until.saturating_duration_since(queued)
        };
        let late: Bundle = self.queue.extract_if(.., is_late).collect();
        self.fail(&late, &errors::crowded(&self.address));
    }

    /// Whether enough is under way. Calls about one key wait for half as many batches: the more go together, the less work they
    /// are.
    fn is_busy(&self) -> bool {
        let batches = self.awaited.iter().filter(|awaited| awaited.ends_batch);
        let window = if begins_and_ends_alike(&self.queue) { self.window.div_ceil(2) } else { self.window };
        batches.count() >= window && self.under_way() >= self.busy / self.connections
    }

    /// How many requests were packed and are not answered.
    pub(in crate::redis) fn under_way(&self) -> usize {
        self.awaited.iter().map(|awaited| awaited.requests().len()).sum()
    }

    /// Whether the server has nothing to do although none of `calls` is missing, or half of them keep it at work
    /// until the others are there. From then on it works on one half while the answers to the other are taken up. Calls
    /// about one key are one, which is no work: they wait for all.
    pub(in crate::redis) fn starves(&self, calls: usize) -> bool {
        let queued = self.queue.len();
        let is_half = || queued >= self.busy && queued * 2 >= calls && !begins_and_ends_alike(&self.queue);
        self.awaited.is_empty() && (queued >= calls || is_half())
    }

    /// Packs requests that one script carries out; `is_whole` sends its text even if the server should know it.
    pub(super) fn pack_bundle(&mut self, mut bundle: Bundle, mut is_whole: bool, now: Instant) {
        bring_together(&mut bundle);
        let Some(first) = bundle.first() else { return };
        if first.asking {
            self.pack(&::redis::cmd("ASKING"), About::Asking, now);
        }
        self.pack_caching(first, now);
        let start = self.output.len();
        match &first.request {
            RedisCommand::Plain(cmd, _) => cmd.write_packed_command(&mut self.output),
            RedisCommand::Script(call) => {
                let script = script_for(call, &bundle);
                // Asked for the text, a server would come to what follows first.
                is_whole |= self.sent_scripts.insert(ptr::from_ref(script).addr());
                let command = if is_whole { script.eval() } else { script.evalsha() };
                write_call(&mut self.output, command, &bundle, &call.args);
            }
        }
        self.awaits(About::Requests(bundle, is_whole), start, now);
    }

    /// Ends a batch with the question how many replicas have what it has written, unless it has no script, or the answer to
    /// such a question is awaited: behind that, the next one is asked.
    pub(super) fn pack_wait(&mut self, now: Instant) {
        let Some(replication) = &self.replication else { return };
        let is_script = |pending: &PendingCommand| matches!(pending.request, RedisCommand::Script(_));
        let has_scripts = self.awaited.iter().flat_map(Awaited::requests).any(is_script);
        // To a server that was silent, a part of a request may have been sent: nothing can follow it.
        if (has_scripts || replication.has_answers()) && !self.awaits_replicas() && !self.is_silent {
            let wait = replication.wait.clone();
            self.pack(&wait, About::Replicas, now);
        }
    }

    pub(super) fn awaits_replicas(&self) -> bool {
        self.replication.is_some()
            && self.awaited.iter().any(|awaited| matches!(awaited.about, About::Replicas))
    }

    pub(super) fn pack(&mut self, cmd: &::redis::Cmd, about: About, now: Instant) {
        let start = self.output.len();
        cmd.write_packed_command(&mut self.output);
        self.awaits(about, start, now);
    }

    /// Takes note of what the reply to the command at this place of the output will be about.
    fn awaits(&mut self, about: About, start: usize, now: Instant) {
        let start = self.written + start as u64;
        if let Some(tracking) = &mut self.tracking {
            tracking.asked(now);
        }
        self.awaited.push_back(Awaited { about, sent: now, start, ends_batch: false });
    }

    /// Whether there is such a request of which nothing was sent yet, although it is packed.
    pub(super) fn has_unsent(&self, is_such: impl Fn(&PendingCommand) -> bool) -> bool {
        let unsent = self.awaited.iter().rev().take_while(|awaited| awaited.start >= self.written);
        unsent.flat_map(Awaited::requests).any(is_such)
    }

    /// Whether the last of so many commands has the server watch the keys of the next one.
    fn ends_with_caching(&self, commands: usize) -> bool {
        let last = commands.checked_sub(1).and_then(|last| self.awaited.get(last));
        last.is_some_and(|last| matches!(last.about, About::Caching(_)))
    }

    /// Puts requests back into the queue of which nothing was sent yet.
    pub(super) fn unpack(&mut self) {
        if self.output.is_empty() {
            return;
        }
        let is_kept = |awaited: &Awaited| {
            awaited.start < self.written
                || !matches!(
                    awaited.about,
                    About::Asking | About::Caching(_) | About::Replicas | About::Requests(..)
                )
        };
        let mut first = self.awaited.iter().rposition(is_kept).map_or(0, |last| last + 1);
        // These are about the next command, whatever that is.
        let follows_asking =
            |awaited: &Awaited| awaited.requests().first().is_some_and(|pending| pending.asking);
        if self.awaited.get(first).is_some_and(follows_asking) || self.ends_with_caching(first) {
            first += 1;
        }
        let Some(start) = self.awaited.get(first).map(|awaited| awaited.start) else { return };
        self.output.truncate(usize::try_from(start - self.written).unwrap_or(usize::MAX));
        let unpacked = self.awaited.split_off(first);
        let mut requests = Bundle::new();
        for awaited in unpacked {
            let About::Requests(bundle, is_whole) = awaited.about else { continue };
            if let (true, Some(RedisCommand::Script(call))) =
                (is_whole, bundle.first().map(|first| &first.request))
            {
                self.sent_scripts.remove(&ptr::from_ref(script_for(call, &bundle)).addr());
            }
            requests.extend(bundle.into_iter().filter(|pending| !pending.ended));
        }
        self.queue.splice(..0, requests);
        // What is left of the batch ends here.
        let last = self.awaited.back().map(|awaited| awaited.sent);
        self.pack_wait(last.or(self.heard).unwrap_or(self.opened));
    }
}

/// Appends a script's command and its text or digest, with the keys of all calls of a bundle; where several calls have one
/// key, once, and how many they are.
fn write_call(output: &mut Vec<u8>, command: [&str; 2], bundle: &[PendingCommand], args: &[Argument]) {
    let callers = callers_by_key(bundle);
    let texts: SmallVec<[String; 4]> = callers.iter().flatten().map(usize::to_string).collect();
    let mut digits = itoa::Buffer::new();
    let mut parts: SmallVec<[&[u8]; 8]> = SmallVec::new();
    parts.extend([command[0].as_bytes(), command[1].as_bytes(), &[]]);
    let head = parts.len();
    match &callers {
        None => parts.extend(bundle.iter().flat_map(PendingCommand::keys).map(String::as_bytes)),
        Some(callers) => {
            let mut rest = bundle;
            for &alike in callers {
                parts.extend(rest.iter().take(1).flat_map(PendingCommand::keys).map(String::as_bytes));
                rest = rest.get(alike..).unwrap_or_default();
            }
        }
    }
    parts[head - 1] = digits.format(parts.len() - head).as_bytes();
    parts.extend(args.iter().map(SmallVec::as_slice));
    parts.extend(texts.iter().map(String::as_bytes));
    write_command(output, &parts);
}

/// What calls have in common that can share a script: script, arguments and, where that matters, hash slot.
type BundleKey<'a> = (*const Script, &'a [u8], Option<u16>);

/// The kind of a call; `None` if it has to be sent on its own.
fn kind(pending: &PendingCommand, minds_slots: bool) -> Option<BundleKey<'_>> {
    let call = pending.call()?;
    match (&call.script.each, call.keys.as_slice(), call.args.as_slice()) {
        (Some(_), [key], [arg]) => {
            let slot = minds_slots.then(|| slot_of(key.as_bytes()));
            Some((ptr::from_ref(call.script), arg.as_slice(), slot))
        }
        _ => None,
    }
}

/// Divides requests into bundles, in the order in which to send them. Of calls that touch the same key, the earlier ones
/// stay before the later ones.
fn bundle(queue: &mut Vec<PendingCommand>, minds_slots: bool) -> Vec<Bundle> {
    let (places, sizes) = places(queue, minds_slots);
    let mut bundles: Vec<Bundle> = sizes.into_iter().map(SmallVec::with_capacity).collect();
    for (pending, place) in queue.drain(..).zip(places) {
        bundles[place].push(pending);
    }
    bundles
}

/// The bundle of each request, and how many each bundle has.
fn places(queue: &[PendingCommand], minds_slots: bool) -> (Vec<usize>, Vec<usize>) {
    let common = queue.first().and_then(|pending| kind(pending, minds_slots));
    if common.is_some() && queue.iter().all(|pending| kind(pending, minds_slots) == common) {
        return in_order(queue.len());
    }
    let mut sizes: Vec<usize> = Vec::new();
    let mut growing: HashMap<BundleKey<'_>, usize> = HashMap::new();
    let mut last_with: HashMap<&str, usize> = HashMap::with_capacity(queue.len());
    let mut places = Vec::with_capacity(queue.len());
    for pending in queue {
        if pending.call().is_none() {
            // The keys of a plain command are not known here: nothing that follows may overtake it.
            growing.clear();
        }
        let (keys, kind) = (pending.keys(), kind(pending, minds_slots));
        let earliest = keys.iter().filter_map(|key| last_with.get(key.as_str())).max().copied();
        let open = kind.and_then(|kind| growing.get(&kind)).copied();
        let place = match open.filter(|&open| Some(open) >= earliest && sizes[open] < LARGEST) {
            Some(open) => open,
            None => {
                sizes.push(0);
                sizes.len() - 1
            }
        };
        sizes[place] += 1;
        growing.extend(kind.map(|kind| (kind, place)));
        last_with.extend(keys.iter().map(|key| (key.as_str(), place)));
        places.push(place);
    }
    (places, sizes)
}

/// The same where all are of one kind: no key needs to be looked at.
fn in_order(count: usize) -> (Vec<usize>, Vec<usize>) {
    let sizes = (0..count).step_by(LARGEST).map(|first| LARGEST.min(count - first));
    ((0..count).map(|place| place / LARGEST).collect(), sizes.collect())
}

#[cfg(test)]
mod tests {
    use smallvec::smallvec;

    use super::*;
    use crate::redis::tests::eternal;
    use crate::script::ScriptCall;

    const REFUND: u8 = u8::MAX;

    /// Not a call of a script.
    const RESET: u8 = REFUND - 1;

    /// The places in each bundle of calls given as (key, argument). A refund has no script for several keys.
    fn bundled(calls: &[(&str, u8)], minds_slots: bool) -> Vec<Vec<usize>> {
        let check = eternal(Script::new("one".to_owned()).with_each("each".to_owned()));
        let refund = eternal(Script::new("refund".to_owned()));
        let pending = |(place, (key, arg)): (usize, &(&str, u8))| {
            let (script, keys) = (if *arg == REFUND { refund } else { check }, smallvec![(*key).to_owned()]);
            let request = match *arg {
                RESET => RedisCommand::delete(&keys),
                arg => RedisCommand::Script(ScriptCall::new(script, keys, smallvec![smallvec![arg]])),
            };
            PendingCommand::new(place, request, false, Instant::now())
        };
        let mut queue: Vec<_> = calls.iter().enumerate().map(pending).collect();
        let bundles = bundle(&mut queue, minds_slots).into_iter();
        bundles.map(|bundle| bundle.into_iter().map(|pending| pending.id).collect()).collect()
    }

    #[test]
    fn what_is_asked_alike_goes_together() {
        assert_eq!(bundled(&[("a", 1), ("b", 2), ("c", 1), ("a", 1)], false), [vec![0, 2, 3], vec![1]]);
    }

    #[test]
    fn calls_about_one_key_keep_their_order() {
        // The peek of b must not overtake its check.
        let (peek, check) = (0, 1);
        let calls = [("a", peek), ("b", check), ("b", peek), ("c", check), ("a", peek)];
        assert_eq!(bundled(&calls, false), [vec![0], vec![1, 3], vec![2, 4]]);
        let calls = [("a", check), ("b", REFUND), ("b", check), ("c", check)];
        assert_eq!(bundled(&calls, false), [vec![0], vec![1], vec![2, 3]]);
    }

    #[test]
    fn nothing_overtakes_what_is_sent_alone() {
        assert_eq!(bundled(&[("a", 1), ("a", RESET), ("a", 1)], false), [vec![0], vec![1], vec![2]]);
    }

    #[test]
    fn a_bundle_has_a_largest_size() {
        let calls = vec![("a", 1); LARGEST * 2 + 1];
        let sizes: Vec<_> = bundled(&calls, false).iter().map(Vec::len).collect();
        assert_eq!(sizes, [LARGEST, LARGEST, 1]);
    }

    #[test]
    fn slots_are_kept_apart_where_they_matter() {
        let calls = [("{a}1", 1), ("{b}1", 1), ("{a}2", 1)];
        assert_eq!(bundled(&calls, true), [vec![0, 2], vec![1]]);
        assert_eq!(bundled(&calls, false), [vec![0, 1, 2]]);
    }
}
