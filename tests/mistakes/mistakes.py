"""Known mistakes in the Redis driver, and in how regions and processes borrow: what a simulation, or the player of
interleavings, has to find, one at a time."""

from typing import NamedTuple


class Mistake(NamedTuple):
    """A change of one place in the source of core that is wrong."""

    name: str
    file: str
    right: str
    wrong: str
    found_by: str = "redis::simulation"


INTERLEAVINGS = "redis::drivers::threads::interleavings"


def among_threads(name: str, right: str, wrong: str) -> Mistake:
    """A mistake in how threads take turns to read."""
    return Mistake(name, "redis/drivers/threads/readers.rs", right, wrong, INTERLEAVINGS)


def in_lending(name: str, file: str, right: str, wrong: str, test: str = "") -> Mistake:
    """A mistake in what regions lend, spend and give back, found by one test of the simulation or by any."""
    return Mistake(name, file, right, wrong, "sequence::tests::lending" + test)


def in_leases(name: str, right: str, wrong: str) -> Mistake:
    """A mistake in what processes borrow, spend and give back."""
    return Mistake(name, "cells/lease.rs", right, wrong, "sequence::tests::leases")


MISTAKES = [
    Mistake(
        "a call is sent again after a timeout",
        "redis/wire/session/ending.rs",
        "self.outcomes.push_back((pending.id, CommandOutcome::Done(Err(failure))));\n            }\n        }\n        is_silent",
        "let redirect = crate::redis::wire::command::Redirect::Unsent(failure, pending.by);\n"
        "                let unexecuted = crate::redis::wire::command::Unexecuted { request: pending.request.clone(), asking: pending.asking, redirect };\n"
        "                self.outcomes.push_back((pending.id, CommandOutcome::NotExecuted(Box::new(unexecuted))));\n"
        "            }\n        }\n        is_silent",
    ),
    Mistake(
        "a call is sent again after a broken connection",
        "redis/wire/session/ending.rs",
        "            if let About::Requests(bundle, _) = awaited.about {\n                self.fail(&bundle, &failure);",
        "            if let About::Requests(bundle, _) = awaited.about {\n"
        "                self.give_back(bundle, &failure);",
    ),
    Mistake(
        "a call is sent again although a replica answered it, which may have been promoted",
        "redis/wire/session/replies.rs",
        "                self.fail(&bundle, &failure);\n                return self.retire(&failure);",
        "                self.again(bundle, |_| Redirect::NotOwner(failure.clone()));\n                return self.retire(&failure);",
    ),
    Mistake(
        "the answers of two calls of a bundle are swapped",
        "redis/wire/session/replies.rs",
        ".zip(values) {",
        ".zip(values.into_iter().rev()) {",
    ),
    Mistake(
        "callers who are decided together all get the first one's decision",
        "callers.rs",
        "(0..count).map(|place| behind(place, reply))",
        "(0..count).map(|_| behind(0, reply))",
    ),
    Mistake(
        "a key is charged for one caller more than there are",
        "redis/wire/session/packing.rs",
        "callers.iter().flatten().map(usize::to_string)",
        "callers.iter().flatten().map(|callers| (callers + 1).to_string())",
    ),
    Mistake(
        "an answer is replicated as soon as a replica has it",
        "redis/wire/session/replication.rs",
        "*count >= self.replicas",
        "*count >= 1",
    ),
    Mistake(
        "the place of a call that has ended is given to the next one",
        "redis/wire/session/ending.rs",
        "        self.is_silent |= is_silent;",
        "        self.is_silent |= is_silent;\n"
        "        self.awaited.retain(|awaited| !matches!(&awaited.about, About::Requests(bundle, _)"
        " if bundle.iter().all(|pending| pending.ended)));",
    ),
    Mistake(
        "the late answer to a call that has ended is delivered",
        "redis/wire/session/replies.rs",
        "        if !pending.ended {\n            self.hand_on",
        "        if true {\n            self.hand_on",
    ),
    Mistake(
        "the name of an abandoned call is given to another one",
        "redis/drivers/multiplexer/calls.rs",
        "        if withdrawn {\n            self.calls.remove(call);",
        "        if withdrawn || true {\n            self.calls.remove(call);",
    ),
    Mistake(
        "an abandoned call is not taken back from the queue",
        "redis/wire/session/mod.rs",
        "self.queue.extract_if(.., |pending| pending.id == id)",
        "self.queue.extract_if(.., |_| false)",
    ),
    Mistake(
        "what was packed is sent although its time is up",
        "redis/wire/session/ending.rs",
        "if self.has_unsent(|pending| pending.by <= now) {",
        "if false {",
    ),
    Mistake(
        "the deadline of a call in the queue is ignored",
        "redis/wire/session/ending.rs",
        "if pending.by.min(attempt) <= now {",
        "if false {",
    ),
    Mistake(
        "the deadline of a call that waits for a connection is ignored",
        "redis/drivers/multiplexer/waiting.rs",
        "        let until = until.min(pending.by);\n",
        "        let until = if let Reason::Connection(_) = reason { until + std::time::Duration::from_secs(3600) } else { until.min(pending.by) };\n",
    ),
    Mistake(
        "calls given back by a connection are queued on it again",
        "redis/drivers/multiplexer/mod.rs",
        "        self.detach(id);\n        while",
        "        while",
    ),
    Mistake(
        "ASKING is not sent",
        "redis/wire/session/packing.rs",
        "if first.asking {",
        "if false {",
    ),
    Mistake(
        "CROSSSLOT to a bundle is not divided",
        "redis/wire/session/replies.rs",
        '("CROSSSLOT", _) if is_batch',
        '("CROSSSLOT", _) if is_batch && self.minds_slots',
    ),
    Mistake(
        "NOSCRIPT is delivered as an error",
        "redis/wire/session/replies.rs",
        '("NOSCRIPT", _) if !whole => {',
        '("NOSCRIPT", _) if false => {',
    ),
    Mistake(
        "a replica is used on",
        "redis/wire/session/replies.rs",
        '("READONLY" | "MASTERDOWN", _) => {',
        '("READONLY" | "MASTERDOWN", _) if false => {',
    ),
    Mistake(
        "the old primary is used until it fails",
        "redis/drivers/multiplexer/waiting.rs",
        "        self.retire_gone(now);\n",
        "",
    ),
    Mistake(
        "a server that a Sentinel names is not asked whether it is a primary",
        "redis/topology/search.rs",
        "Some(server) if matches!(discovery, Discovery::Sentinel(_)) && !self.learned.knows(&topology) => {",
        "Some(server) if false => {",
    ),
    Mistake(
        "a replica confirms that it is a primary",
        "redis/topology/search.rs",
        "if is_primary(&role?) {",
        "if role.is_ok() {",
    ),
    Mistake(
        "bundles overtake calls of the same key",
        "redis/wire/session/packing.rs",
        "open.filter(|&open| Some(open) >= earliest && ",
        "open.filter(|&open| ",
    ),
    Mistake(
        "the circuit breaker opens one failure too late",
        "redis/connecting/breaker.rs",
        "fetch_add(1, Ordering::Relaxed) + 1 < self.threshold",
        "fetch_add(1, Ordering::Relaxed) < self.threshold",
    ),
    Mistake(
        "every call that a broken connection takes along is a failure for the circuit breaker",
        "redis/connecting/breaker.rs",
        "if self.threshold == 0 || !self.counts(unanswered, now) {",
        "let _ = self.counts(unanswered, now);\n        if self.threshold == 0 {",
    ),
    Mistake(
        "answers do not reset the count of the circuit breaker",
        "redis/connecting/breaker.rs",
        "            self.failures.store(0, Ordering::Relaxed);\n        }\n    }\n\n    /// The server did not",
        "        }\n    }\n\n    /// The server did not",
    ),
    Mistake(
        "calls pass an open circuit breaker",
        "redis/connecting/breaker.rs",
        "        if !self.is_open() {\n            return Ok(());",
        "        if !self.is_open() || self.failures.load(Ordering::Relaxed) % 2 == 0 {\n            return Ok(());",
    ),
    Mistake(
        "an open circuit breaker probes with every call",
        "redis/connecting/breaker.rs",
        "let probe = !outage.probing && now >= outage.next_probe;",
        "let probe = !outage.probing;",
    ),
    Mistake(
        "the connection is kept when the circuit breaker opens",
        "redis/drivers/multiplexer/calls.rs",
        "            self.connections[connection].channel.session.retire(&errors::unsent(&peer.address));\n            self.detach(connection);",
        "",
    ),
    Mistake(
        "a connection is closed twice",
        "redis/drivers/multiplexer/mod.rs",
        " && !std::mem::replace(&mut connection.is_closing, true)",
        "",
    ),
    Mistake(
        "requests that waited for room are not sent when there is some",
        "redis/wire/channel.rs",
        "        self.try_send(now)?;\n        progress\n",
        "        progress\n",
    ),
    Mistake(
        "what the connection does not take at once is not sent later",
        "redis/drivers/multiplexer/mod.rs",
        "            self.orders.push(Order::Serve(id, Need::Watch));\n",
        "",
    ),
    Mistake(
        "the end of the queue is packed without its beginning",
        "redis/wire/session/mod.rs",
        "self.output.drain(..bytes);",
        "self.output.drain(..bytes.saturating_sub(1));",
    ),
    Mistake(
        "a call whose keys are being moved says that no server answered",
        "redis/topology/router.rs",
        "NextHop::Fail(errors::slot_moving(request.slot(), from.address()))",
        "NextHop::Fail(errors::out_of_time(left))",
    ),
    Mistake(
        "what a server announces is not taken up",
        "redis/wire/session/watching.rs",
        "            tracking.announced(data.first());\n",
        "            let _ = (tracking, data);\n",
    ),
    Mistake(
        "that all keys have changed is taken for nothing",
        "redis/wire/session/tracking.rs",
        "            return std::mem::take(&mut self.registrations).into_values().for_each(changed);\n",
        "            return;\n",
    ),
    Mistake(
        "a connection that is quiet is not asked whether it lasts",
        "redis/wire/session/watching.rs",
        "if self.stage == SessionStage::Ready && self.output.is_empty() {",
        "if false {",
    ),
    Mistake(
        "a server that lacks a script is asked again to carry it out, and not to watch its keys",
        "redis/wire/session/packing.rs",
        "        self.pack_caching(first, now);\n",
        "        if !is_whole {\n            self.pack_caching(first, now);\n        }\n",
    ),
    Mistake(
        "the request to watch keys stands between ASKING and its call",
        "redis/wire/session/watching.rs",
        "        if pending.asking {\n            return;\n        }\n",
        "",
    ),
    among_threads(
        "a thread that leaves although it was woken to read passes that on to nobody",
        "        // It may have been woken to read, and be answered meanwhile.\n        self.readers.pass_on();\n",
        "",
    ),
    among_threads(
        "a thread that has read passes that on to nobody",
        "        self.0.is_read.store(false, Ordering::SeqCst);\n        self.0.pass_on();\n",
        "        self.0.is_read.store(false, Ordering::SeqCst);\n",
    ),
    among_threads(
        "a thread sleeps although nobody reads",
        "        if self.readers.is_read.load(Ordering::SeqCst) {\n            self.follower.sleep();\n        }\n",
        "        self.follower.sleep();\n",
    ),
    among_threads(
        "a thread that does not sleep yet is not woken",
        "if self.state.swap(WOKEN, Ordering::SeqCst) == ASLEEP {",
        "if self.state.compare_exchange(ASLEEP, WOKEN, Ordering::SeqCst, Ordering::SeqCst).is_ok() {",
    ),
    among_threads(
        "a thread that has left is woken to read",
        "if next.is_waiting.load(Ordering::SeqCst) {",
        "if true {",
    ),
    among_threads(
        "a thread that may not read ends the turn of the one that does",
        ".then(|| Reading(self))",
        ".then_some(Reading(self))",
    ),
    in_lending(
        "a loan that comes too late is kept, and counts from then on",
        "regions/allotment.rs",
        "let is_late = granted > 0.0 && valid_until <= now;",
        "let (is_late, valid_until) = (false, now + terms.age);",
    ),
    in_lending(
        "a loan lasts from the time of the region in charge, whose clock is another one",
        "sequence/borrower.rs",
        "let asked_at = asked_at as f64;",
        "let asked_at = (asked_at as f64).max(granted_at as f64);",
    ),
    in_lending(
        "what is lent is not charged",
        "regions/lending.rs",
        "    check(state, lent);\n",
        "",
    ),
    in_lending(
        "what is spent stays in the allotment",
        "regions/allotment.rs",
        "            loan.units -= taken;\n",
        "",
    ),
    in_lending(
        "loans that have ended are spent for a while",
        "regions/allotment.rs",
        "|loan| loan.valid_until <= now);",
        "|loan| loan.valid_until + 4.0 * terms.age <= now);",
    ),
    in_lending(
        "of two loans that become one, the later end counts",
        "regions/allotment.rs",
        "last.valid_until = last.valid_until.min(valid_until);",
        "last.valid_until = last.valid_until.max(now + terms.age);",
    ),
    in_lending(
        "what is counted in a window is lent into the next one",
        "sequence/borrower.rs",
        "Policy::FixedWindow(_) => self.age.min(rest.reset_after as f64),\n            _ => self.age,",
        "_ => self.age,",
    ),
    in_lending(
        "what a region has charged for a call that is admitted is lent as well",
        "regions/deposit.rs",
        "if is_charged && !is_admitted {",
        "if is_charged {",
    ),
    in_lending(
        "a denial holds as long as the region in charge says",
        "sequence/borrower.rs",
        "until(wait.min(self.age))",
        "until(wait)",
    ),
    in_lending(
        "a region that is cut off decides by the whole limit",
        "catalog/rule.rs",
        "map(|amounts| Share::new(part).of_amounts(amounts));",
        "map(|amounts| Share::new(part.max(1.0)).of_amounts(amounts));",
    ),
    in_lending(
        "more is lent than there is",
        "regions/lending.rs",
        "let lent = want.min((room / 2.0).floor().max(1.0));",
        "let lent = want.max(1.0);",
        "::two_maps_at_once_add_one_full_bound",
    ),
    in_lending(
        "a request that nobody answers keeps a region from asking again",
        "regions/allotment.rs",
        "            self.asked_at = now;\n",
        "            self.asked_at = now + 1e9;\n",
        "::a_region_borrows_again_after_its_processes_were_restarted",
    ),
    in_leases(
        "borrowed units are spent after their end",
        "if now < self.valid_until && cost <= self.units {",
        "if cost <= self.units {",
    ),
    in_leases(
        "what is spent stays in the lease",
        "            self.units -= cost;\n",
        "",
    ),
    in_leases(
        "borrowed units last from the reply on, not from the request",
        "(lent.valid_until as Micros).min(sent_at + terms.age());",
        "now + terms.age();",
    ),
    in_leases(
        "others are said to use up the limit although there is as much as was asked for",
        "            self.contended_until = now;\n",
        "",
    ),
    in_leases(
        "what was not spent of a loan says nothing of the next one",
        "least.max(self.enough.min((rate * terms.max_age_us as f64) as u64))",
        "least.max((rate * terms.max_age_us as f64) as u64)",
    ),
    in_leases(
        "what is given back may be spent too",
        "std::mem::take(&mut self.units);",
        "self.units;",
    ),
]
