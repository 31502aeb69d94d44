//! What a limiter does.

use std::ffi::{c_char, c_void};
use std::ptr::NonNull;
use std::time::Duration;

use sluicegate::bridge::Kind;
use sluicegate::{Check, CheckAllOptions};

use crate::check::{CheckOptions, Item};
use crate::decision::Decision;
use crate::limiter::Limiter;
use crate::request::Request;

export! {
    /// Admits the cost for `key` under `rule`, or denies it. `options` may be NULL, here and below.
    fn sluicegate_check(
        limiter: *const Limiter,
        rule: *const c_char,
        key: *const c_void,
        key_len: usize,
        options: *const CheckOptions,
        decision: *mut Decision,
    ) {
        let check = Check::new(rule, key.text(key_len)?).with(options);
        limiter.0.decide(Kind::Check, &check, |raw| decision.write(Decision::from(raw)))?;
        Ok(())
    }
}

export! {
    /// Decides several checks together: all of them are charged, or none is. `decision` is that of the
    /// deciding check. `parts` has room for `count` decisions, one per item in order; or it is NULL.
    ///
    /// On a Redis Cluster, items in different hash slots are charged slot by slot in order of rule
    /// priority, and a denial refunds those before it: in between a third caller may be denied
    /// needlessly, and never admitted wrongly.
    fn sluicegate_check_all(
        limiter: *const Limiter,
        items: *const Item,
        count: usize,
        decision: *mut Decision,
        parts: Option<NonNull<Decision>>,
    ) {
        let answer = limiter.0.check_all(&items.checks(count)?)?;
        decision.write(Decision::from(&answer));
        parts.write(&answer.parts, count);
        Ok(())
    }
}

export! {
    /// As sluicegate_check_all, with an id that makes the call as a whole safe to repeat, as request_id of
    /// sluicegate_check_options does; it belongs to rule and key of the first item. On a Redis Cluster all items must lie
    /// in one hash slot then.
    fn sluicegate_check_all_with(
        limiter: *const Limiter,
        items: *const Item,
        count: usize,
        request_id: *const c_void,
        request_id_len: usize,
        decision: *mut Decision,
        parts: Option<NonNull<Decision>>,
    ) {
        let options = CheckAllOptions::new().request_id(request_id.text(request_id_len)?);
        let answer = limiter.0.check_all_with(&items.checks(count)?, options)?;
        decision.write(Decision::from(&answer));
        parts.write(&answer.parts, count);
        Ok(())
    }
}

export! {
    /// Decides a request by all the rules that match it, together, as sluicegate_check_all does. A request
    /// that no rule matches is admitted, and `rule_applied` of the decision says so.
    ///
    /// `parts` has room for `parts_room` decisions, one per rule in order of priority, of which `parts_count`
    /// receives how many were written: the first if there are more. Both may be NULL.
    fn sluicegate_check_request(
        limiter: *const Limiter,
        request: *const Request,
        decision: *mut Decision,
        parts: Option<NonNull<Decision>>,
        parts_room: usize,
        parts_count: Option<NonNull<usize>>,
    ) {
        let answer = limiter.0.check_request(&request)?;
        decision.write(Decision::from(&answer));
        parts_count.write(parts.write(&answer.parts, parts_room));
        Ok(())
    }
}

export! {
    /// Returns what sluicegate_check would answer now; changes nothing.
    fn sluicegate_peek(
        limiter: *const Limiter,
        rule: *const c_char,
        key: *const c_void,
        key_len: usize,
        options: *const CheckOptions,
        decision: *mut Decision,
    ) {
        let check = Check::new(rule, key.text(key_len)?).with(options);
        limiter.0.decide(Kind::Peek, &check, |raw| decision.write(Decision::from(raw)))?;
        Ok(())
    }
}

export! {
    /// Gives back a cost that turned out not to be used, the newest first, and answers as
    /// sluicegate_peek would then. What is no longer counted is not given back.
    fn sluicegate_refund(
        limiter: *const Limiter,
        rule: *const c_char,
        key: *const c_void,
        key_len: usize,
        options: *const CheckOptions,
        decision: *mut Decision,
    ) {
        let check = Check::new(rule, key.text(key_len)?).with(options);
        limiter.0.decide(Kind::Refund, &check, |raw| decision.write(Decision::from(raw)))?;
        Ok(())
    }
}

export! {
    /// Counts a cost that was used already, also beyond the limit, and answers as sluicegate_peek of 1 would
    /// then: a key that is overdrawn is denied until that has passed.
    fn sluicegate_charge(
        limiter: *const Limiter,
        rule: *const c_char,
        key: *const c_void,
        key_len: usize,
        options: *const CheckOptions,
        decision: *mut Decision,
    ) {
        let check = Check::new(rule, key.text(key_len)?).with(options);
        limiter.0.decide(Kind::Charge, &check, |raw| decision.write(Decision::from(raw)))?;
        Ok(())
    }
}

export! {
    /// Forgets what was counted for `key` under `rule`, and nothing else. What a resource was used in
    /// all is kept, since other keys have a part in it; a rule that counts nothing else forgets that.
    fn sluicegate_reset(
        limiter: *const Limiter,
        rule: *const c_char,
        key: *const c_void,
        key_len: usize,
        options: *const CheckOptions,
    ) {
        Ok(limiter.0.reset_with(rule, key.text(key_len)?, options)?)
    }
}

export! {
    /// Looks at `key` under every rule; changes nothing. Each of the `parts` is what a rule would answer to a check of cost
    /// 1 now, in the order of the rules; `parts`, `parts_room` and `parts_count` are as for sluicegate_check_request. Rules
    /// that limit a resource are left out unless `options` name one; its cost and limit say nothing.
    fn sluicegate_inspect(
        limiter: *const Limiter,
        key: *const c_void,
        key_len: usize,
        options: *const CheckOptions,
        decision: *mut Decision,
        parts: Option<NonNull<Decision>>,
        parts_room: usize,
        parts_count: Option<NonNull<usize>>,
    ) {
        let answer = limiter.0.inspect_with(key.text(key_len)?, options)?;
        decision.write(Decision::from(&answer));
        parts_count.write(parts.write(&answer.parts, parts_room));
        Ok(())
    }
}

export! {
    /// Forgets what was counted for `key` under every rule, one after the other. Rules that limit a resource are left out
    /// unless `options` name one.
    fn sluicegate_reset_all(
        limiter: *const Limiter,
        key: *const c_void,
        key_len: usize,
        options: *const CheckOptions,
    ) {
        Ok(limiter.0.reset_all_with(key.text(key_len)?, options)?)
    }
}

export! {
    /// Waits until the cost is admitted, for `timeout_us` at most. Waits of one limiter for the same key take
    /// turns, in the order of their arrival. The last decision is answered: a denial as soon as it is known
    /// that the wait would go beyond the timeout, or that the cost never fits. With a clock of its own a
    /// limiter does not sleep; the clock is moved on instead.
    fn sluicegate_wait(
        limiter: *const Limiter,
        rule: *const c_char,
        key: *const c_void,
        key_len: usize,
        options: *const CheckOptions,
        timeout_us: u64,
        decision: *mut Decision,
    ) {
        let timeout = Duration::from_micros(timeout_us);
        let answer = limiter.0.wait_with(rule, key.text(key_len)?, options, timeout)?;
        decision.write(Decision::from(&answer));
        Ok(())
    }
}

export! {
    /// Waits until several checks are admitted together, as sluicegate_check_all decides them, for `timeout_us`
    /// at most: all of them are charged, or none is. It takes its turn among all waits for any of the keys.
    /// `parts` is as for sluicegate_check_all.
    fn sluicegate_wait_all(
        limiter: *const Limiter,
        items: *const Item,
        count: usize,
        timeout_us: u64,
        decision: *mut Decision,
        parts: Option<NonNull<Decision>>,
    ) {
        let answer = limiter.0.wait_all(&items.checks(count)?, Duration::from_micros(timeout_us))?;
        decision.write(Decision::from(&answer));
        parts.write(&answer.parts, count);
        Ok(())
    }
}
