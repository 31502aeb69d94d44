"""Mistakes in the Redis driver, and in how threads take turns to read."""

from mistake import Mistake


def in_driver(name: str, file: str, right: str, wrong: str) -> Mistake:
    return Mistake(name, file, right, wrong, "redis::simulation")


def among_threads(name: str, right: str, wrong: str) -> Mistake:
    """A mistake in how threads take turns to read, found by the player of interleavings."""
    return Mistake(name, "redis/drivers/threads/readers.rs", right, wrong, "redis::drivers::threads::interleavings")


DRIVER = [
    in_driver(
        "a call is sent again after a timeout",
        "redis/wire/session/ending.rs",
        "self.outcomes.push_back((pending.id, CommandOutcome::Done(Err(failure))));\n            }\n        }\n        is_silent",
        "let redirect = crate::redis::wire::command::Redirect::Unsent(failure, pending.by);\n"
        "                let unexecuted = crate::redis::wire::command::Unexecuted { request: pending.request.clone(), asking: pending.asking, redirect };\n"
        "                self.outcomes.push_back((pending.id, CommandOutcome::NotExecuted(Box::new(unexecuted))));\n"
        "            }\n        }\n        is_silent",
    ),
    in_driver(
        "a call is sent again after a broken connection",
        "redis/wire/session/ending.rs",
        "            if let About::Requests(bundle, _) = awaited.about {\n                self.fail(&bundle, &failure);",
        "            if let About::Requests(bundle, _) = awaited.about {\n"
        "                self.give_back(bundle, &failure);",
    ),
    in_driver(
        "a call is sent again although a replica answered it, which may have been promoted",
        "redis/wire/session/replies.rs",
        "                self.fail(&bundle, &failure);\n                return self.retire(&failure);",
        "                self.again(bundle, |_| Redirect::NotOwner(failure.clone()));\n                return self.retire(&failure);",
    ),
    in_driver(
        "the answers of two calls of a bundle are swapped",
        "redis/wire/session/replies.rs",
        ".zip(values) {",
        ".zip(values.into_iter().rev()) {",
    ),
    in_driver(
        "callers who are decided together all get the first one's decision",
        "callers.rs",
        "(0..count).map(|place| behind(place, reply))",
        "(0..count).map(|_| behind(0, reply))",
    ),
    in_driver(
        "a key is charged for one caller more than there are",
        "redis/wire/session/packing.rs",
        "callers.iter().flatten().map(usize::to_string)",
        "callers.iter().flatten().map(|callers| (callers + 1).to_string())",
    ),
    in_driver(
        "an answer is replicated as soon as a replica has it",
        "redis/wire/session/replication.rs",
        "*count >= self.replicas",
        "*count >= 1",
    ),
    in_driver(
        "the place of a call that has ended is given to the next one",
        "redis/wire/session/ending.rs",
        "        self.is_silent |= is_silent;",
        "        self.is_silent |= is_silent;\n"
        "        self.awaited.retain(|awaited| !matches!(&awaited.about, About::Requests(bundle, _)"
        " if bundle.iter().all(|pending| pending.ended)));",
    ),
    in_driver(
        "the late answer to a call that has ended is delivered",
        "redis/wire/session/replies.rs",
        "        if !pending.ended {\n            self.hand_on",
        "        if true {\n            self.hand_on",
    ),
    in_driver(
        "the name of an abandoned call is given to another one",
        "redis/drivers/multiplexer/calls.rs",
        "        if withdrawn {\n            self.calls.remove(call);",
        "        if withdrawn || true {\n            self.calls.remove(call);",
    ),
    in_driver(
        "an abandoned call is not taken back from the queue",
        "redis/wire/session/mod.rs",
        "self.queue.extract_if(.., |pending| pending.id == id)",
        "self.queue.extract_if(.., |_| false)",
    ),
    in_driver(
        "what was packed is sent although its time is up",
        "redis/wire/session/ending.rs",
        "if self.has_unsent(|pending| pending.by <= now) {",
        "if false {",
    ),
    in_driver(
        "the deadline of a call in the queue is ignored",
        "redis/wire/session/ending.rs",
        "if pending.by.min(attempt) <= now {",
        "if false {",
    ),
    in_driver(
        "the deadline of a call that waits for a connection is ignored",
        "redis/drivers/multiplexer/waiting.rs",
        "        let until = until.min(pending.by);\n",
        "        let until = if let Reason::Connection(_) = reason { until + std::time::Duration::from_secs(3600) } else { until.min(pending.by) };\n",
    ),
    in_driver(
        "calls given back by a connection are queued on it again",
        "redis/drivers/multiplexer/mod.rs",
        "        self.detach(id);\n        while",
        "        while",
    ),
    in_driver(
        "ASKING is not sent",
        "redis/wire/session/packing.rs",
        "if first.asking {",
        "if false {",
    ),
    in_driver(
        "CROSSSLOT to a bundle is not divided",
        "redis/wire/session/replies.rs",
        '("CROSSSLOT", _) if is_batch',
        '("CROSSSLOT", _) if is_batch && self.minds_slots',
    ),
    in_driver(
        "NOSCRIPT is delivered as an error",
        "redis/wire/session/replies.rs",
        '("NOSCRIPT", _) if !whole => {',
        '("NOSCRIPT", _) if false => {',
    ),
    in_driver(
        "a replica is used on",
        "redis/wire/session/replies.rs",
        '("READONLY" | "MASTERDOWN", _) => {',
        '("READONLY" | "MASTERDOWN", _) if false => {',
    ),
    in_driver(
        "the old primary is used until it fails",
        "redis/drivers/multiplexer/waiting.rs",
        "        self.retire_gone(now);\n",
        "",
    ),
    in_driver(
        "a server that a Sentinel names is not asked whether it is a primary",
        "redis/topology/search.rs",
        "Some(server) if matches!(discovery, Discovery::Sentinel(_)) && !self.learned.knows(&topology) => {",
        "Some(server) if false => {",
    ),
    in_driver(
        "a replica confirms that it is a primary",
        "redis/topology/search.rs",
        "if is_primary(&role?) {",
        "if role.is_ok() {",
    ),
    in_driver(
        "bundles overtake calls of the same key",
        "redis/wire/session/packing.rs",
        "open.filter(|&open| Some(open) >= earliest && ",
        "open.filter(|&open| ",
    ),
    in_driver(
        "the circuit breaker opens one failure too late",
        "redis/connecting/breaker.rs",
        "fetch_add(1, Ordering::Relaxed) + 1 < self.threshold",
        "fetch_add(1, Ordering::Relaxed) < self.threshold",
    ),
    in_driver(
        "every call that a broken connection takes along is a failure for the circuit breaker",
        "redis/connecting/breaker.rs",
        "if self.threshold == 0 || !self.counts(unanswered, now) {",
        "let _ = self.counts(unanswered, now);\n        if self.threshold == 0 {",
    ),
    in_driver(
        "answers do not reset the count of the circuit breaker",
        "redis/connecting/breaker.rs",
        "            self.failures.store(0, Ordering::Relaxed);\n        }\n    }\n\n    /// The server did not",
        "        }\n    }\n\n    /// The server did not",
    ),
    in_driver(
        "calls pass an open circuit breaker",
        "redis/connecting/breaker.rs",
        "        if !self.is_open() {\n            return Ok(());",
        "        if !self.is_open() || self.failures.load(Ordering::Relaxed) % 2 == 0 {\n            return Ok(());",
    ),
    in_driver(
        "an open circuit breaker probes with every call",
        "redis/connecting/breaker.rs",
        "let probe = !outage.probing && now >= outage.next_probe;",
        "let probe = !outage.probing;",
    ),
    in_driver(
        "the connection is kept when the circuit breaker opens",
        "redis/drivers/multiplexer/calls.rs",
        "            self.connections[connection].channel.session.retire(&errors::unsent(&peer.address));\n            self.detach(connection);",
        "",
    ),
    in_driver(
        "a connection is closed twice",
        "redis/drivers/multiplexer/mod.rs",
        " && !std::mem::replace(&mut connection.is_closing, true)",
        "",
    ),
    in_driver(
        "requests that waited for room are not sent when there is some",
        "redis/wire/channel.rs",
        "        self.try_send(now)?;\n        progress\n",
        "        progress\n",
    ),
    in_driver(
        "what the connection does not take at once is not sent later",
        "redis/drivers/multiplexer/mod.rs",
        "            self.orders.push(Order::Serve(id, Need::Watch));\n",
        "",
    ),
    in_driver(
        "the end of the queue is packed without its beginning",
        "redis/wire/session/mod.rs",
        "self.output.drain(..bytes);",
        "self.output.drain(..bytes.saturating_sub(1));",
    ),
    in_driver(
        "a call whose keys are being moved says that no server answered",
        "redis/topology/router.rs",
        "NextHop::Fail(errors::slot_moving(request.slot(), from.address()))",
        "NextHop::Fail(errors::out_of_time(left))",
    ),
    in_driver(
        "what a server announces is not taken up",
        "redis/wire/session/watching.rs",
        "            tracking.announced(data.first());\n",
        "            let _ = (tracking, data);\n",
    ),
    in_driver(
        "that all keys have changed is taken for nothing",
        "redis/wire/session/tracking.rs",
        "            return std::mem::take(&mut self.registrations).into_values().for_each(changed);\n",
        "            return;\n",
    ),
    in_driver(
        "a connection that is quiet is not asked whether it lasts",
        "redis/wire/session/watching.rs",
        "if self.stage == SessionStage::Ready && self.output.is_empty() {",
        "if false {",
    ),
    in_driver(
        "a server that lacks a script is asked again to carry it out, and not to watch its keys",
        "redis/wire/session/packing.rs",
        "        self.pack_caching(first, now);\n",
        "        if !is_whole {\n            self.pack_caching(first, now);\n        }\n",
    ),
    in_driver(
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
]
