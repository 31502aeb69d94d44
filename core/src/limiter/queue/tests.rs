//! Orders of turns, without time, threads or servers.

use std::collections::BTreeMap;
use std::task::Waker;

use super::*;

/// An answer of a made-up backend.
#[derive(Debug, Clone, Copy, PartialEq)]
enum TestAnswer {
    Admitted,
    Denied(u64),
}

impl Retryable for TestAnswer {
    fn is_admitted(&self) -> bool {
        *self == Self::Admitted
    }

    fn retry_after(&self) -> Duration {
        match *self {
            Self::Admitted => Duration::ZERO,
            Self::Denied(wait) => Duration::from_micros(wait),
        }
    }

    fn refused(self, retry_after: Duration) -> Self {
        Self::Denied(retry_after.as_micros() as u64)
    }
}

fn claims(lanes: &[u64]) -> SmallList<Claim> {
    lanes.iter().map(|&lane| Claim { lane, cost: Some(1.0) }).collect()
}

fn asked(answer: TestAnswer, waits: &[u64]) -> AttemptResult<TestAnswer> {
    AttemptResult { answer, waits: waits.iter().copied().collect(), is_estimate: false, forecast: None }
}

fn enter<'a>(queue: &'a WaitQueue, lanes: &[u64], now: Moment) -> Waiter<'a, TestAnswer> {
    queue.enter(claims(lanes), Duration::MAX, now)
}

fn may_ask(waiter: &mut Waiter<'_, TestAnswer>, now: Moment) -> bool {
    matches!(waiter.next(now), WaitStep::Ask(Op::Check))
}

fn is_called(waiter: &Waiter<'_, TestAnswer>) -> bool {
    waiter.poll_called(&Context::from_waker(Waker::noop())).is_ready()
}

#[test]
fn one_asks_and_the_others_follow_in_order() {
    let queue = WaitQueue::new();
    let mut waiters = [(); 3].map(|()| enter(&queue, &[7], 0));
    assert_eq!(waiters.each_mut().map(|waiter| may_ask(waiter, 0)), [true, false, false]);
    assert_eq!(waiters[0].record(Op::Check, asked(TestAnswer::Denied(10), &[10]), 0), None);
    assert!(waiters.iter_mut().all(|waiter| !may_ask(waiter, 9)));
    assert_eq!(waiters.each_mut().map(|waiter| may_ask(waiter, 10)), [true, false, false]);
    let [first, mut second, mut third] = waiters;
    drop(first);
    assert_eq!((is_called(&second), is_called(&third)), (true, false));
    assert!(may_ask(&mut second, 10) && !may_ask(&mut third, 10));
    drop((second, third));
    assert!(queue.is_idle() && queue.len() == (0, 0));
}

#[test]
fn one_that_gives_up_leaves_at_once() {
    let queue = WaitQueue::new();
    let first = enter(&queue, &[7], 0);
    let second = enter(&queue, &[7], 0);
    let mut third = enter(&queue, &[7], 0);
    drop(second);
    assert!(!may_ask(&mut third, 0) && !is_called(&third));
    drop(first);
    assert!(is_called(&third) && may_ask(&mut third, 0));
}

#[test]
fn a_denial_by_one_state_keeps_nobody_from_another() {
    let queue = WaitQueue::new();
    let (shared, alice, bob) = (1, 2, 3);
    let mut first = enter(&queue, &[shared, alice], 0);
    assert!(may_ask(&mut first, 0));
    let mut second = enter(&queue, &[shared, bob], 0);
    let mut third = enter(&queue, &[shared, alice], 0);
    assert!(!may_ask(&mut second, 0) && !may_ask(&mut third, 0));
    assert_eq!(first.record(Op::Check, asked(TestAnswer::Denied(3600), &[0, 3600]), 0), None);
    assert!(may_ask(&mut second, 1) && !may_ask(&mut third, 1));
    drop(second);
    assert!(!may_ask(&mut third, 2));
}

#[test]
fn one_that_needs_two_states_is_not_starved_by_others_that_need_one() {
    let queue = WaitQueue::new();
    let mut both = enter(&queue, &[1, 2], 0);
    assert!(may_ask(&mut both, 0));
    assert_eq!(both.record(Op::Check, asked(TestAnswer::Denied(5), &[0, 5]), 0), None);
    let mut one = enter(&queue, &[1], 1);
    assert!(may_ask(&mut one, 1));
    assert!(may_ask(&mut both, 5));
    // What `one` took is what is missing now: from here on both states are kept.
    assert_eq!(both.record(Op::Check, asked(TestAnswer::Denied(4), &[4, 0]), 5), None);
    drop(one);
    let mut others = [enter(&queue, &[1], 6), enter(&queue, &[2], 6)];
    assert!(others.iter_mut().all(|other| !may_ask(other, 8)));
    assert!(may_ask(&mut both, 9));
    // A longer wait for the one than it ever had for the other: nobody is kept from that meanwhile.
    assert_eq!(both.record(Op::Check, asked(TestAnswer::Denied(50), &[50, 0]), 9), None);
    assert_eq!(others.each_mut().map(|other| may_ask(other, 10)), [false, true]);
}

#[test]
fn a_turn_that_cannot_come_in_time_is_a_denial() {
    let queue = WaitQueue::new();
    let mut first = enter(&queue, &[7], 0);
    assert!(may_ask(&mut first, 0));
    let mut hasty: Waiter<'_, TestAnswer> = queue.enter(claims(&[7]), Duration::from_micros(50), 0);
    assert!(matches!(hasty.next(0), WaitStep::Sleep { until: 50, is_held: true }));
    assert_eq!(first.record(Op::Check, asked(TestAnswer::Denied(5000), &[5000]), 0), None);
    assert!(is_called(&hasty));
    assert!(matches!(hasty.next(0), WaitStep::Ask(Op::Peek)));
    assert_eq!(
        hasty.record(Op::Peek, asked(TestAnswer::Denied(20), &[20]), 10),
        Some(TestAnswer::Denied(4990))
    );
}

#[test]
fn one_that_finds_room_makes_those_before_it_ask_again() {
    let queue = WaitQueue::new();
    let mut first = enter(&queue, &[7], 0);
    assert!(may_ask(&mut first, 0));
    assert_eq!(first.record(Op::Check, asked(TestAnswer::Denied(5000), &[5000]), 0), None);
    for (taken, now) in [(true, 100), (false, 200)] {
        let mut hasty: Waiter<'_, TestAnswer> = queue.enter(claims(&[7]), Duration::from_micros(50), now);
        assert!(matches!(hasty.next(now), WaitStep::Ask(Op::Peek)));
        assert_eq!(hasty.record(Op::Peek, asked(TestAnswer::Admitted, &[0]), now + 10), None);
        assert!(is_called(&first) && may_ask(&mut first, now + 10));
        assert!(matches!(hasty.next(now + 10), WaitStep::Sleep { is_held: true, .. }));
        if taken {
            // The first one needs more than there is.
            assert_eq!(first.record(Op::Check, asked(TestAnswer::Denied(6000), &[6000]), now + 20), None);
            assert!(matches!(hasty.next(now + 20), WaitStep::Return(TestAnswer::Denied(6000))));
        } else {
            drop(first);
            return assert!(may_ask(&mut hasty, now + 20));
        }
    }
}

#[test]
fn an_arrival_doubts_an_old_answer() {
    let queue = WaitQueue::new();
    let mut first = enter(&queue, &[7], 0);
    assert!(may_ask(&mut first, 1));
    assert_eq!(first.record(Op::Check, asked(TestAnswer::Denied(60_000_000), &[]), 1), None);
    let _second = enter(&queue, &[7], 900_000);
    assert!(!may_ask(&mut first, 900_000));
    let _third = enter(&queue, &[7], 1_000_001);
    assert!(may_ask(&mut first, 1_000_001));
}

#[test]
fn what_is_given_back_wakes_the_first() {
    let queue = WaitQueue::new();
    let mut first = enter(&queue, &[7], 1);
    assert!(may_ask(&mut first, 1));
    assert_eq!(first.record(Op::Check, asked(TestAnswer::Denied(60), &[]), 1), None);
    let second = enter(&queue, &[7], 1);
    queue.freed([7, 8]);
    assert!(is_called(&first) && may_ask(&mut first, 1) && !is_called(&second));
}

/// States that grow by one unit a microsecond, up to ten.
#[derive(Default)]
struct Stock(BTreeMap<u64, (Moment, u64)>);

impl Stock {
    /// The wait of each lane; takes the cost of all if there is none.
    fn take(&mut self, lanes: &[u64], cost: u64, now: Moment) -> Vec<u64> {
        let waits: Vec<_> = lanes.iter().map(|&lane| cost.saturating_sub(self.units(lane, now))).collect();
        if waits.iter().all(|wait| *wait == 0) {
            for &lane in lanes {
                let left = self.units(lane, now) - cost;
                self.0.insert(lane, (now, left));
            }
        }
        waits
    }

    fn units(&self, lane: u64, now: Moment) -> u64 {
        self.0.get(&lane).map_or(10, |(at, units)| (units + now - at).min(10))
    }
}

#[test]
fn whatever_sets_overlap_all_are_admitted_and_equal_ones_in_order() {
    for seed in 1..60_u64 {
        let queue = WaitQueue::new();
        let mut random = seed;
        let mut next = |below: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % below
        };
        let mut stock = Stock::default();
        let mut waiting = Vec::new();
        let mut admitted: BTreeMap<Vec<u64>, Vec<usize>> = BTreeMap::new();
        let (mut arrivals, mut longest) = (0, 0);
        for now in 0..4000 {
            if now < 3500 && next(3) == 0 {
                let lanes: Vec<_> = (0..3).filter(|_| next(2) == 0).collect();
                let cost = if next(10) == 0 { 10 } else { 1 + next(3) };
                waiting.push((arrivals, lanes.clone(), cost, enter(&queue, &lanes, now), now));
                arrivals += 1;
            }
            if next(50) == 0 && !waiting.is_empty() {
                let gone = next(waiting.len() as u64) as usize;
                waiting.remove(gone);
            }
            let mut at = 0;
            while at < waiting.len() {
                let (number, lanes, cost, waiter, since) = &mut waiting[at];
                if !may_ask(waiter, now) {
                    at += 1;
                    continue;
                }
                let waits = stock.take(lanes, *cost, now);
                let wait = waits.iter().copied().max().unwrap_or(0);
                let answer = if wait == 0 { TestAnswer::Admitted } else { TestAnswer::Denied(wait) };
                if waiter.record(Op::Check, asked(answer, &waits), now).is_some() {
                    admitted.entry(lanes.clone()).or_default().push(*number);
                    longest = longest.max(now - *since);
                    waiting.remove(at);
                    at = 0;
                }
            }
        }
        assert!(waiting.is_empty(), "seed {seed}: {} still wait", waiting.len());
        // Half of what there is is asked for, so nobody has to wait for long, whatever comes after.
        assert!(longest < 300, "seed {seed}: one waited for {longest}");
        assert!(admitted.values().all(|numbers| numbers.is_sorted()), "seed {seed}: {admitted:?}");
        assert_eq!(queue.len(), (0, 0));
    }
}

#[test]
fn what_is_given_back_while_one_asks_makes_it_ask_again() {
    let queue = WaitQueue::new();
    let mut first = enter(&queue, &[7], 1);
    assert!(may_ask(&mut first, 1));
    queue.freed([7]);
    assert_eq!(first.record(Op::Check, asked(TestAnswer::Denied(60), &[]), 2), None);
    assert!(may_ask(&mut first, 2));
    assert_eq!(first.record(Op::Check, asked(TestAnswer::Denied(60), &[]), 3), None);
    assert!(!may_ask(&mut first, 3));
}

fn estimated(answer: TestAnswer, left: &[u64]) -> AttemptResult<TestAnswer> {
    let forecast = Some(Forecast::Room { left: left.iter().copied().collect(), for_us: POLL });
    AttemptResult { is_estimate: true, forecast, ..asked(answer, &[]) }
}

#[test]
fn an_estimate_is_doubted_soon_and_tells_those_behind_nothing() {
    let queue = WaitQueue::new();
    let mut first: Waiter<'_, TestAnswer> = queue.enter(claims(&[7]), Duration::from_secs(1), 0);
    let mut hasty: Waiter<'_, TestAnswer> = queue.enter(claims(&[7]), Duration::from_micros(50), 0);
    assert!(may_ask(&mut first, 0));
    assert_eq!(first.record(Op::Check, estimated(TestAnswer::Denied(60_000_000), &[]), 0), None);
    assert!(matches!(hasty.next(1), WaitStep::Sleep { until: 50, is_held: true }));
    assert!(matches!(hasty.next(50), WaitStep::Ask(Op::Peek)));
    let WaitStep::Sleep { until, is_held: false } = first.next(1) else { panic!("it does not sleep") };
    assert!((80_000..120_000).contains(&until), "{until}");
    assert!(may_ask(&mut first, until));
    // At the end of its time it asks once more, and no more.
    assert_eq!(first.record(Op::Check, estimated(TestAnswer::Denied(60_000_000), &[]), 999_990), None);
    assert!(!may_ask(&mut first, 999_999) && may_ask(&mut first, 1_000_000));
    let last = first.record(Op::Check, estimated(TestAnswer::Denied(59_000_000), &[]), 1_000_000);
    assert_eq!(last, Some(TestAnswer::Denied(59_000_000)));
}

#[test]
fn the_last_place_taken_is_known_to_the_next_until_one_is_given_back() {
    for given_back in [true, false] {
        let queue = WaitQueue::new();
        let mut first = enter(&queue, &[7], 0);
        let mut second = enter(&queue, &[7], 0);
        assert!(may_ask(&mut first, 0));
        if given_back {
            queue.freed([7]);
        }
        assert_eq!(
            first.record(Op::Check, estimated(TestAnswer::Admitted, &[0]), 0),
            Some(TestAnswer::Admitted)
        );
        drop(first);
        assert_eq!(may_ask(&mut second, 10), given_back);
        if !given_back {
            assert!(!may_ask(&mut second, POLL - 1));
            queue.freed([7]);
            assert!(is_called(&second) && may_ask(&mut second, POLL - 1));
        }
    }
}
