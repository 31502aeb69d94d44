//! What was borrowed goes back while no call is under way.

use super::*;
use crate::Source;

/// Calls until units were borrowed of which more than one is left. Answers how many calls were admitted.
fn borrow(own: &mut Loop, call: &OwnedCall) -> u64 {
    for calls in 1..20_000 {
        own.submit(vec![(1, call.clone())]);
        let answers = own.take(1);
        let Ok(Answer::Decision(decision)) = &answers[0].result else { panic!("{answers:?}") };
        assert!(decision.allowed);
        if decision.source == Source::Lease && decision.remaining > 1 {
            return calls;
        }
        sleep(Duration::from_millis(1));
    }
    panic!("nothing is borrowed");
}

/// How much of a key is used, as the server counts.
fn used(watching: &RateLimiter, rule: &str) -> u64 {
    100_000 - watching.peek(rule, "k").unwrap().remaining
}

#[test]
fn an_idle_loop_gives_back_what_was_borrowed_for_one_item_and_for_several() {
    let redis = Redis::start().unwrap();
    let rules = Rules::from_json(RULES).unwrap();
    let watching = RateLimiter::builder(redis.url()).rules(rules).build().unwrap();
    let mut own = Loop::patient(redis.url(), Duration::from_secs(10));
    let lent = |rule: &str| Item { rule: rule.into(), ..item("k") };
    let alone = borrow(&mut own, &OwnedCall::Single(Kind::Check, lent("lent")));
    own.run_until(|_| used(&watching, "lent") == alone);
    // Nothing is to be done any more.
    own.run_until(|this| this.timer.is_none());

    let both = OwnedCall::All(vec![lent("both"), lent("lent")], None);
    let together = borrow(&mut own, &both);
    own.run_until(|_| used(&watching, "both") == together && used(&watching, "lent") == alone + together);
    own.run_until(|this| this.timer.is_none());
}
