//! Usage that is known late: reserved first, charged when it is known.

use std::ffi::{c_char, c_void};
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::time::Duration;

use sluicegate::bridge::{self, End, Used};

use crate::argument::{Argument, array, optional_text};
use crate::callback::WorkCallback;
use crate::check::{CheckOptions, Item};
use crate::decision::Decision;
use crate::error::Failure;
use crate::key::KeyBuffer;
use crate::limiter::Limiter;
use crate::request::Request;

/// The room for the id of a reservation, its NUL included.
pub const SLUICEGATE_RESERVATION_ID_SIZE: usize = 2049;

/// What was really used of an item of a reservation, or of all of a rule's.
#[repr(C)]
pub struct Usage {
    /// The rule, of whose items each is charged the cost; or NULL, and `item` counts.
    pub rule: *const c_char,
    /// The place of the item in the call that reserved it, counted from 0.
    pub item: usize,
    /// How much was used: 0 or more.
    pub cost: u64,
}

/// What was used, of which the count is the next argument.
pub(crate) struct Usages<'a> {
    start: *const Usage,
    lifetime: PhantomData<&'a Usage>,
}

impl<'a> Argument<'a> for *const Usage {
    type Received = Usages<'a>;

    unsafe fn receive(self, _: &'static str) -> Result<Usages<'a>, Failure> {
        Ok(Usages { start: self, lifetime: PhantomData })
    }
}

impl Usages<'_> {
    /// What was used, given the count that came with it; as much as was reserved if there is none.
    fn used(self, count: usize) -> Result<Used, Failure> {
        // SAFETY: promised when the argument was received.
        let usages = unsafe { array(self.start, count, "usages") }?;
        let (mut rules, mut items) = (Vec::new(), Vec::new());
        for (at, usage) in usages.iter().enumerate() {
            // SAFETY: as above.
            let rule = unsafe { optional_text(usage.rule, "rule") };
            match rule.map_err(|failure| failure.within(&format!("usages[{at}].")))? {
                Some(rule) => rules.push((rule.to_owned(), usage.cost)),
                None => items.push((usage.item, usage.cost)),
            }
        }
        match (rules.is_empty(), items.is_empty()) {
            (true, true) => Ok(Used::AsReserved),
            (false, true) => Ok(Used::Rules(rules)),
            (true, false) => Ok(Used::Items(items)),
            (false, false) => Err(Failure::argument("usages", "name either rules or items, not both")),
        }
    }
}

/// What a reservation is called; nothing for one that was denied.
fn granted(id: &str) -> Option<&str> {
    (!id.is_empty()).then_some(id)
}

/// Refuses room that may be too small before anything is reserved.
fn ensure_room(id_room: usize) -> Result<(), Failure> {
    if id_room < SLUICEGATE_RESERVATION_ID_SIZE {
        let what = format!("has room for {id_room} bytes; an id needs {SLUICEGATE_RESERVATION_ID_SIZE}");
        return Err(Failure::argument("id", &what));
    }
    Ok(())
}

fn write_id(room: KeyBuffer<'_>, id: Option<&str>, id_room: usize) -> Result<(), Failure> {
    room.write(&format!("{}\0", id.unwrap_or_default()), id_room).map(drop)
}

export! {
    /// Reserves the cost for `key` under `rule`, or denies it: room is held, and nothing is charged until it is
    /// committed. What is never ended is charged in full when its lease ends.
    ///
    /// `id` has room for `id_room` bytes, at least SLUICEGATE_RESERVATION_ID_SIZE: the text by which any limiter, in
    /// another process or language too, can end the reservation. It is empty when denied. `token` may be NULL: a number
    /// larger than that of every earlier reservation of the key, for a resource that refuses who comes too late; 0
    /// when denied.
    fn sluicegate_reserve(
        limiter: *const Limiter,
        rule: *const c_char,
        key: *const c_void,
        key_len: usize,
        options: *const CheckOptions,
        decision: *mut Decision,
        id: *mut c_char,
        id_room: usize,
        token: Option<NonNull<u64>>,
    ) {
        ensure_room(id_room)?;
        let reservation = limiter.0.reserve_with(rule, key.text(key_len)?, options)?;
        let reserved = bridge::Reserved::from(reservation);
        write_id(id, reserved.id.as_deref(), id_room)?;
        decision.write(Decision::from(&reserved.decision));
        token.write(reserved.token.unwrap_or_default());
        Ok(())
    }
}

export! {
    /// Reserves several costs together: all of them, or none. Items whose rule has no reservations are charged at
    /// once. `parts` is as in sluicegate_check_all, all else as in sluicegate_reserve.
    fn sluicegate_reserve_all(
        limiter: *const Limiter,
        items: *const Item,
        count: usize,
        decision: *mut Decision,
        parts: Option<NonNull<Decision>>,
        id: *mut c_char,
        id_room: usize,
        token: Option<NonNull<u64>>,
    ) {
        ensure_room(id_room)?;
        let reserved = bridge::Reserved::from(limiter.0.reserve_all(&items.checks(count)?)?);
        write_id(id, reserved.id.as_deref(), id_room)?;
        decision.write(Decision::from(&reserved.decision));
        parts.write(&reserved.decision.parts, count);
        token.write(reserved.token.unwrap_or_default());
        Ok(())
    }
}

export! {
    /// sluicegate_reserve that waits for room, for `wait_us` at most. Waits of one limiter for the same key take turns, in
    /// the order of their arrival; what is committed or released through this limiter lets the first of them try again at
    /// once. When the time passes without room the denial is answered. With a clock of its own a limiter does not sleep; the
    /// clock is moved on instead.
    fn sluicegate_reserve_within(
        limiter: *const Limiter,
        rule: *const c_char,
        key: *const c_void,
        key_len: usize,
        options: *const CheckOptions,
        wait_us: u64,
        decision: *mut Decision,
        id: *mut c_char,
        id_room: usize,
        token: Option<NonNull<u64>>,
    ) {
        ensure_room(id_room)?;
        let wait = Duration::from_micros(wait_us);
        let reservation = limiter.0.reserve_within(rule, key.text(key_len)?, options, wait)?;
        let reserved = bridge::Reserved::from(reservation);
        write_id(id, reserved.id.as_deref(), id_room)?;
        decision.write(Decision::from(&reserved.decision));
        token.write(reserved.token.unwrap_or_default());
        Ok(())
    }
}

export! {
    /// sluicegate_reserve_all that waits for room, as sluicegate_reserve_within does.
    fn sluicegate_reserve_all_within(
        limiter: *const Limiter,
        items: *const Item,
        count: usize,
        wait_us: u64,
        decision: *mut Decision,
        parts: Option<NonNull<Decision>>,
        id: *mut c_char,
        id_room: usize,
        token: Option<NonNull<u64>>,
    ) {
        ensure_room(id_room)?;
        let wait = Duration::from_micros(wait_us);
        let reserved = bridge::Reserved::from(limiter.0.reserve_all_within(&items.checks(count)?, wait)?);
        write_id(id, reserved.id.as_deref(), id_room)?;
        decision.write(Decision::from(&reserved.decision));
        parts.write(&reserved.decision.parts, count);
        token.write(reserved.token.unwrap_or_default());
        Ok(())
    }
}

export! {
    /// Decides a request as sluicegate_check_request does, but reserves under the rules that have reservations; the others
    /// are charged at once. Where there are none, nothing is held, and the id is empty. `parts`, `parts_room` and
    /// `parts_count` are as for sluicegate_check_request, all else as in sluicegate_reserve.
    fn sluicegate_reserve_request(
        limiter: *const Limiter,
        request: *const Request,
        decision: *mut Decision,
        parts: Option<NonNull<Decision>>,
        parts_room: usize,
        parts_count: Option<NonNull<usize>>,
        id: *mut c_char,
        id_room: usize,
        token: Option<NonNull<u64>>,
    ) {
        ensure_room(id_room)?;
        let reserved = bridge::Reserved::from(limiter.0.reserve_request(&request)?);
        write_id(id, reserved.id.as_deref(), id_room)?;
        decision.write(Decision::from(&reserved.decision));
        parts_count.write(parts.write(&reserved.decision.parts, parts_room));
        token.write(reserved.token.unwrap_or_default());
        Ok(())
    }
}

export! {
    /// Ends a reservation and charges what was really used, also beyond the limit: `cost`, or as much as was reserved
    /// for NULL. 0 is allowed. A reservation of several items is ended by sluicegate_commit_usage.
    ///
    /// `took_effect`, which may be NULL, is false where the reservation had ended or expired, and for the empty id of one
    /// that was denied: nothing is charged then. Here and below.
    fn sluicegate_commit(
        limiter: *const Limiter,
        id: *const c_char,
        cost: Option<&u64>,
        took_effect: Option<NonNull<bool>>,
    ) {
        let used = cost.map_or(Used::AsReserved, |cost| Used::Cost(*cost));
        took_effect.write(bridge::end(&limiter.0, End::Commit, granted(id), &used)?);
        Ok(())
    }
}

export! {
    /// sluicegate_commit of several items: each rule, or each item, that `usages` leaves out is charged as much as
    /// was reserved.
    fn sluicegate_commit_usage(
        limiter: *const Limiter,
        id: *const c_char,
        usages: *const Usage,
        count: usize,
        took_effect: Option<NonNull<bool>>,
    ) {
        took_effect.write(bridge::end(&limiter.0, End::Commit, granted(id), &usages.used(count)?)?);
        Ok(())
    }
}

export! {
    /// Ends a reservation of which nothing was used.
    fn sluicegate_release(
        limiter: *const Limiter,
        id: *const c_char,
        took_effect: Option<NonNull<bool>>,
    ) {
        took_effect.write(bridge::end(&limiter.0, End::Release, granted(id), &Used::AsReserved)?);
        Ok(())
    }
}

export! {
    /// Renews the lease of a reservation.
    fn sluicegate_renew(
        limiter: *const Limiter,
        id: *const c_char,
        took_effect: Option<NonNull<bool>>,
    ) {
        took_effect.write(bridge::end(&limiter.0, End::Renew, granted(id), &Used::AsReserved)?);
        Ok(())
    }
}

export! {
    /// Calls `work` once, on this thread, and renews a reservation in the background meanwhile, at half its lease: work
    /// that takes longer than the lease keeps its place. The reservation is still to be committed or released; `took_effect`
    /// of that is false if the lease was lost all the same, as when the server was away for too long, which is logged as a
    /// warning too. For the empty id of one that was denied nothing is renewed.
    fn sluicegate_while_renewed(
        limiter: *const Limiter,
        id: *const c_char,
        work: WorkCallback,
        context: *mut c_void,
    ) {
        match granted(id) {
            Some(id) => limiter.0.while_renewed(id, || work.run(context))?,
            None => work.run(context),
        }
        Ok(())
    }
}
