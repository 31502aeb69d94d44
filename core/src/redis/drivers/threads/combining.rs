//! Threads that share round trips: one carries the calls of many.
//!
//! Where a server is near, what limits many threads is not the time that calls travel but the work for each:
//! both sides make a system call for every call and every answer. So while some calls are under way, those of
//! further threads are published, and the thread that may go next sends all of them in one pipeline. Known
//! as flat combining (Hendler, Incze, Shavit, Tzafrir: "Flat combining and the synchronization-parallelism
//! tradeoff", SPAA 2010), and from databases as group commit.

use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use crate::redis::drivers::connection::batches;
use crate::redis::errors;
use crate::redis::wire::command::CommandOutcome;
use crate::script::ScriptCall;
use crate::sync::lock::Mutex;

/// The most calls of other threads that one thread pipelines: their answers delay its own.
const MOST: usize = 64;

/// How often a thread looks for the outcome of its call, and lets others run, before it sleeps: to be woken takes
/// longer than that, and costs the waking thread as much.
const LOOKS: u32 = 5;

/// How long a published call waits to be pipelined, before its thread makes it itself if there is a connection
/// for it: many times the round trip to a server that is near. So a connection that hangs holds up no calls but
/// those that are on it.
const SOLO_AFTER: Duration = Duration::from_micros(300);

/// The calls to one server that wait to be pipelined.
pub(in crate::redis) struct Combiner {
    state: Mutex<State>,
    solo_after: Duration,
}

struct State {
    under_way: usize,
    /// How many threads may be under way before others publish their calls.
    most_under_way: usize,
    published: VecDeque<Arc<PendingCall>>,
}

/// What a thread does next with its call.
pub(in crate::redis) enum NextStep<'a> {
    /// It makes the call, and pipelines the published calls of other threads.
    Combiner(Permit<'a>, ScriptCall),
    /// Another thread has made the call.
    Served(CommandOutcome),
}

impl Combiner {
    /// Without knowing how near the server is.
    pub(in crate::redis) fn new(connections: usize) -> Self {
        let state = State { under_way: 0, most_under_way: connections, published: VecDeque::new() };
        Self { state: Mutex::new(state), solo_after: SOLO_AFTER }
    }

    /// As many calls as a server can answer within a round trip need not wait for each other.
    pub(in crate::redis) fn learn(&self, round_trip: Option<Duration>, connections: usize) {
        self.state.lock().most_under_way = batches(round_trip, connections);
    }

    /// Waits, if so many are under way already that others go along sooner than alone; but not beyond `by`, the end of
    /// this attempt of a call whose time ends at `end`. `is_free` says whether there is a connection for one more.
    pub(in crate::redis) fn join(
        &self,
        call: ScriptCall,
        end: Instant,
        by: Instant,
        is_free: impl Fn() -> bool,
    ) -> NextStep<'_> {
        let mut state = self.state.lock();
        if state.under_way < state.most_under_way {
            state.under_way += 1;
            return NextStep::Combiner(Permit { combiner: self, counts: true, waited: false }, call);
        }
        let pending = Arc::new(PendingCall::new(call, end));
        state.published.push_back(Arc::clone(&pending));
        drop(state);
        self.wait(&pending, by, is_free)
    }

    fn wait(&self, pending: &Arc<PendingCall>, by: Instant, is_free: impl Fn() -> bool) -> NextStep<'_> {
        let mut pause = self.solo_after;
        let mut end = Instant::now() + pause;
        let mut looks = 0;
        loop {
            let (outcome, is_published) = pending.look();
            if let Some(outcome) = outcome {
                return NextStep::Served(outcome);
            } else if looks < LOOKS {
                looks += 1;
                thread::yield_now();
            } else if is_published {
                let now = Instant::now();
                if now >= end && now < by && !is_free() {
                    pause *= 2;
                    end = by.min(now + pause);
                }
                if let Some((permit, call)) = self.leave(pending, end) {
                    return NextStep::Combiner(permit, call);
                }
                thread::park_timeout(end.saturating_duration_since(now));
            } else {
                // The thread that took it has a deadline.
                thread::park();
            }
        }
    }

    /// The permit of a thread that need not wait for others any longer, or that timed out waiting. In the latter case
    /// it pipelines the other waiting calls: when many threads each looked for the one connection that does not hang,
    /// some never found it free.
    fn leave(&self, pending: &Arc<PendingCall>, end: Instant) -> Option<(Permit<'_>, ScriptCall)> {
        let mut state = self.state.lock();
        let may_go = state.under_way < state.most_under_way;
        if !may_go && Instant::now() < end {
            return None;
        }
        let place = state.published.iter().position(|other| Arc::ptr_eq(other, pending))?;
        state.published.remove(place);
        let call = pending.take()?;
        state.under_way += usize::from(may_go);
        Some((Permit { combiner: self, counts: may_go, waited: true }, call))
    }
}

/// The right to be under way. When it ends, the thread that has waited the longest is woken to go, unless one that
/// runs already comes first and pipelines it.
pub(in crate::redis) struct Permit<'a> {
    combiner: &'a Combiner,
    /// Whether it is one of those that may be under way, not of a thread that timed out waiting for them.
    counts: bool,
    /// Whether the thread has waited for it.
    pub(in crate::redis) waited: bool,
}

impl Permit<'_> {
    /// Takes the published calls whose deadline `may_join` accepts.
    pub(in crate::redis) fn take(&self, may_join: impl Fn(Instant) -> bool) -> Batch {
        let mut state = self.combiner.state.lock();
        let mut taken = Vec::with_capacity(state.published.len().min(MOST));
        state.published.retain(|pending| {
            let joins = taken.len() < MOST && may_join(pending.end);
            if joins {
                taken.push(Some(Arc::clone(pending)));
            }
            !joins
        });
        drop(state);
        Batch { pending: taken }
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        let mut state = self.combiner.state.lock();
        state.under_way -= usize::from(self.counts);
        let next = state.published.front().map(|next| next.thread.clone());
        drop(state);
        if let Some(next) = next {
            next.unpark();
        }
    }
}

/// Calls of other threads in a pipeline. Whatever happens, their threads get an outcome.
pub(in crate::redis) struct Batch {
    pending: Vec<Option<Arc<PendingCall>>>,
}

impl Batch {
    pub(in crate::redis) fn size(&self) -> usize {
        self.pending.len()
    }

    /// Takes the calls, with their places and the ends of their times.
    pub(in crate::redis) fn calls(&self) -> impl Iterator<Item = (usize, ScriptCall, Instant)> {
        let pending = self.pending.iter().enumerate();
        pending.filter_map(|(place, pending)| {
            let pending = pending.as_ref()?;
            Some((place, pending.take()?, pending.end))
        })
    }

    /// Hands all threads the outcomes of their calls, which are given with their places.
    pub(in crate::redis) fn serve(mut self, outcomes: impl IntoIterator<Item = (usize, CommandOutcome)>) {
        for (place, outcome) in outcomes {
            if let Some(pending) = self.pending.get_mut(place).and_then(Option::take) {
                pending.serve(outcome);
            }
        }
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        for pending in self.pending.drain(..).flatten() {
            pending.serve(CommandOutcome::Done(Err(errors::abandoned())));
        }
    }
}

/// A call that waits for a thread to make it.
struct PendingCall {
    state: Mutex<CallState>,
    /// When nobody waits for it any more.
    end: Instant,
    thread: Thread,
}

struct CallState {
    /// Until a thread takes it.
    call: Option<ScriptCall>,
    outcome: Option<CommandOutcome>,
}

impl PendingCall {
    fn new(call: ScriptCall, end: Instant) -> Self {
        let state = CallState { call: Some(call), outcome: None };
        Self { state: Mutex::new(state), end, thread: thread::current() }
    }

    /// The outcome, which can be seen once, and whether the call is yet to be taken.
    fn look(&self) -> (Option<CommandOutcome>, bool) {
        let mut state = self.state.lock();
        (state.outcome.take(), state.call.is_some())
    }

    fn take(&self) -> Option<ScriptCall> {
        self.state.lock().call.take()
    }

    fn serve(&self, outcome: CommandOutcome) {
        self.state.lock().outcome = Some(outcome);
        self.thread.unpark();
    }
}

#[cfg(test)]
mod tests {
    use ::redis::Value;
    use smallvec::SmallVec;

    use super::*;
    use crate::redis::tests::eternal;
    use crate::script::Script;

    const LONG: Duration = Duration::from_secs(20);

    /// Lets one thread go at a time.
    fn combiner(solo_after: Duration) -> (Combiner, ScriptCall) {
        let script = eternal(Script::new(String::new()));
        (
            Combiner { solo_after, ..Combiner::new(1) },
            ScriptCall { script, keys: SmallVec::new(), args: SmallVec::new() },
        )
    }

    fn permit<'a>(combiner: &'a Combiner, call: &ScriptCall) -> Permit<'a> {
        match combiner.join(call.clone(), Instant::now(), Instant::now(), || true) {
            NextStep::Combiner(permit, _) => permit,
            NextStep::Served(_) => unreachable!("nobody is under way"),
        }
    }

    /// Publishes a call while `permit` is had, and waits until it is seen there.
    fn published<'scope>(
        scope: &'scope thread::Scope<'scope, '_>,
        combiner: &'scope Combiner,
        call: &'scope ScriptCall,
    ) -> thread::ScopedJoinHandle<'scope, NextStep<'scope>> {
        let thread = scope
            .spawn(|| combiner.join(call.clone(), Instant::now() + LONG, Instant::now() + LONG, || true));
        while combiner.state.lock().published.is_empty() {
            thread::yield_now();
        }
        thread
    }

    #[test]
    fn as_many_go_as_a_server_answers_in_a_round_trip() {
        let combiner = Combiner::new(16);
        for (round_trip, most) in [(None, 16), (Some(0), 2), (Some(60), 5), (Some(100_000), 16)] {
            combiner.learn(round_trip.map(Duration::from_micros), 16);
            assert_eq!(combiner.state.lock().most_under_way, most, "{round_trip:?}");
        }
        combiner.learn(Some(Duration::ZERO), 1);
        assert_eq!(combiner.state.lock().most_under_way, 1);
    }

    #[test]
    fn a_thread_that_timed_out_makes_its_own_call() {
        let (combiner, call) = combiner(SOLO_AFTER);
        let permit = permit(&combiner, &call);
        let start = Instant::now();
        let NextStep::Combiner(another, _) = combiner.join(call.clone(), start + LONG, start + LONG, || true)
        else {
            unreachable!()
        };
        assert!((SOLO_AFTER..LONG).contains(&start.elapsed()));
        assert!(combiner.state.lock().published.is_empty());
        drop(another);
        assert_eq!(combiner.state.lock().under_way, 1, "the permit of the other");
        drop(permit);
        assert_eq!(combiner.state.lock().under_way, 0);
    }

    #[test]
    fn a_thread_that_timed_out_pipelines_waiting_calls() {
        let (combiner, call) = combiner(SOLO_AFTER);
        let _permit = permit(&combiner, &call);
        thread::scope(|scope| {
            // Never sees a connection that is free.
            let other = scope.spawn(|| {
                combiner.join(call.clone(), Instant::now() + LONG, Instant::now() + LONG, || false)
            });
            while combiner.state.lock().published.is_empty() {
                thread::yield_now();
            }
            let part = combiner.join(call.clone(), Instant::now() + LONG, Instant::now() + LONG, || true);
            let NextStep::Combiner(another, _) = part else { unreachable!("nobody else goes") };
            another.take(|_| true).serve([(0, CommandOutcome::Done(Ok(Value::Int(7))))]);
            assert!(matches!(
                other.join().unwrap(),
                NextStep::Served(CommandOutcome::Done(Ok(Value::Int(7))))
            ));
        });
    }

    #[test]
    fn a_thread_without_a_connection_waits_to_be_pipelined() {
        let (combiner, call) = combiner(SOLO_AFTER);
        let _permit = permit(&combiner, &call);
        let by = Instant::now() + SOLO_AFTER * 20;
        assert!(matches!(combiner.join(call.clone(), by, by, || false), NextStep::Combiner(..)));
        assert!(Instant::now() >= by);
    }

    #[test]
    fn a_pipelined_call_always_gets_an_outcome() {
        let (combiner, call) = combiner(LONG);
        let permit = permit(&combiner, &call);
        thread::scope(|scope| {
            let thread = published(scope, &combiner, &call);
            permit.take(|_| true).serve([(0, CommandOutcome::Done(Ok(Value::Int(7))))]);
            let part = thread.join().unwrap();
            assert!(matches!(part, NextStep::Served(CommandOutcome::Done(Ok(Value::Int(7))))));

            let thread = published(scope, &combiner, &call);
            drop(permit.take(|_| true));
            let NextStep::Served(CommandOutcome::Done(Err(failure))) = thread.join().unwrap() else {
                unreachable!()
            };
            assert!(failure.error.message().contains("whether the call was carried out is not known"));
        });
    }

    #[test]
    fn the_permit_goes_to_one_who_waits() {
        let (combiner, call) = combiner(LONG);
        let permit = permit(&combiner, &call);
        thread::scope(|scope| {
            let thread = published(scope, &combiner, &call);
            // Asleep by now, most likely.
            thread::sleep(Duration::from_millis(20));
            let start = Instant::now();
            drop(permit);
            assert!(matches!(thread.join().unwrap(), NextStep::Combiner(..)));
            assert!(start.elapsed() < LONG / 2);
        });
        assert_eq!(combiner.state.lock().under_way, 0);
    }
}
