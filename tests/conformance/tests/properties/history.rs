//! Random histories: what callers do, and how time passes in between.

use proptest::prelude::*;

/// What one caller does.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) jump: Jump,
    pub(crate) act: Act,
    pub(crate) cost: Cost,
    pub(crate) key: usize,
    pub(crate) resource: usize,
    /// Another limit for this call, where the rule allows it.
    pub(crate) limit: Option<u64>,
}

/// How the clock moves before a step.
#[derive(Debug, Clone)]
pub(crate) enum Jump {
    None,
    Micros(u64),
    /// Parts of the rule's window.
    Windows(f64),
    /// The clock steps back.
    Back(f64),
    /// By the last `retry_after`, perhaps a microsecond less.
    ToRetry {
        early: bool,
    },
    /// By the last `reset_after`, perhaps a microsecond less.
    ToReset {
        early: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Act {
    Check,
    Peek,
    Refund,
    Reset,
}

#[derive(Debug, Clone)]
pub(crate) enum Cost {
    Units(u64),
    /// Part of what a key never seen admits.
    Share(f64),
    /// That much more than was said to remain.
    BeyondRemaining(u64),
}

/// Histories of callers who do anything.
pub(crate) fn any_steps() -> impl Strategy<Value = Vec<Step>> {
    let acts = prop_oneof![
        8 => Just(Act::Check),
        2 => Just(Act::Peek),
        2 => Just(Act::Refund),
        1 => Just(Act::Reset),
    ];
    prop::collection::vec(step(acts), 1..25)
}

/// Histories of one key in constant use, in steps much shorter than the window.
pub(crate) fn busy_steps() -> impl Strategy<Value = Vec<Step>> {
    let acts = prop_oneof![16 => Just(Act::Check), 4 => Just(Act::Peek), 1 => Just(Act::Refund)];
    let jumps = prop_oneof![
        30 => (0.0..0.04).prop_map(Jump::Windows),
        3 => any::<bool>().prop_map(|early| Jump::ToRetry { early }),
        1 => (0.0..0.5).prop_map(Jump::Windows),
        1 => (0.0..0.1).prop_map(Jump::Back),
    ];
    let costs = prop_oneof![9 => (1..=3_u64).prop_map(Cost::Units), 2 => any_cost()];
    let steps = (step(acts), jumps, costs).prop_map(|(step, jump, cost)| Step { jump, cost, key: 0, ..step });
    prop::collection::vec(steps, 50..150)
}

/// Histories of checks alone, in which time never steps back.
pub(crate) fn checks() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(step(Just(Act::Check)), 1..40).prop_map(|mut steps| {
        for step in &mut steps {
            step.limit = None;
            if let Jump::Back(windows) = step.jump {
                step.jump = Jump::Windows(windows);
            }
        }
        steps
    })
}

fn step(acts: impl Strategy<Value = Act>) -> impl Strategy<Value = Step> {
    let limit = prop_oneof![9 => Just(None), 1 => (1..=20_u64).prop_map(Some)];
    let keys = prop_oneof![4 => Just(0), 1 => 1..3_usize];
    (any_jump(), acts, any_cost(), keys, 0..2_usize, limit)
        .prop_map(|(jump, act, cost, key, resource, limit)| Step { jump, act, cost, key, resource, limit })
}

pub(crate) fn any_jump() -> impl Strategy<Value = Jump> {
    prop_oneof![
        3 => Just(Jump::None),
        2 => (0..2_000_u64).prop_map(Jump::Micros),
        5 => (0.0..0.3).prop_map(Jump::Windows),
        2 => (0.3..3.0).prop_map(Jump::Windows),
        1 => (0.0..2.0).prop_map(Jump::Back),
        2 => any::<bool>().prop_map(|early| Jump::ToRetry { early }),
        1 => any::<bool>().prop_map(|early| Jump::ToReset { early }),
    ]
}

pub(crate) fn any_cost() -> impl Strategy<Value = Cost> {
    prop_oneof![
        4 => (1..=3_u64).prop_map(Cost::Units),
        4 => (0.0..1.2).prop_map(Cost::Share),
        3 => (0..=2_u64).prop_map(Cost::BeyondRemaining),
    ]
}

/// When a history begins: at the clock's origin, or at some later time.
pub(crate) fn any_start() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(1_700_000_000_123_456), 0..3_000_000_000_000_000_u64]
}
