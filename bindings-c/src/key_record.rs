//! Blocks and limits of single keys.

use std::ffi::{c_char, c_void};
use std::ptr::NonNull;

use sluicegate::Check;
use sluicegate::bridge::{self, KeyRecordChange, Span};

use crate::check::CheckOptions;
use crate::decision::SLUICEGATE_NEVER;
use crate::limiter::Limiter;

export! {
    /// Blocks `key` under `rule` for `duration_us` from now: every check of it is denied and counts nothing. Takes the
    /// place of a block that it has already. `options` may be NULL; their timeout alone counts.
    fn sluicegate_block(
        limiter: *const Limiter,
        rule: *const c_char,
        key: *const c_void,
        key_len: usize,
        duration_us: u64,
        options: *const CheckOptions,
    ) {
        let check = Check::new(rule, key.text(key_len)?).with(options);
        bridge::change_key_record(&limiter.0, &check, KeyRecordChange::Block(Span::from_micros(duration_us)))?;
        Ok(())
    }
}

export! {
    /// Ends the block of `key` under `rule`. `unblocked`, unless it is NULL, says whether there was one. `options` are as
    /// for sluicegate_block.
    fn sluicegate_unblock(
        limiter: *const Limiter,
        rule: *const c_char,
        key: *const c_void,
        key_len: usize,
        options: *const CheckOptions,
        unblocked: Option<NonNull<bool>>,
    ) {
        let check = Check::new(rule, key.text(key_len)?).with(options);
        unblocked.write(bridge::change_key_record(&limiter.0, &check, KeyRecordChange::Unblock)?);
        Ok(())
    }
}

export! {
    /// Stores a limit for `key` under `rule`, which every process uses from its next check on: for `expires_in_us` or, if
    /// that is SLUICEGATE_NEVER, until it is cleared. The limit of a call still comes first. `options` are as for
    /// sluicegate_block.
    fn sluicegate_set_limit(
        limiter: *const Limiter,
        rule: *const c_char,
        key: *const c_void,
        key_len: usize,
        limit: u64,
        expires_in_us: u64,
        options: *const CheckOptions,
    ) {
        let check = Check::new(rule, key.text(key_len)?).with(options);
        let expires_in = (expires_in_us != SLUICEGATE_NEVER).then(|| Span::from_micros(expires_in_us));
        bridge::change_key_record(&limiter.0, &check, KeyRecordChange::SetLimit(limit, expires_in))?;
        Ok(())
    }
}

export! {
    /// Forgets the limit that is stored for `key` under `rule`. `cleared`, unless it is NULL, says whether there was one.
    /// `options` are as for sluicegate_block.
    fn sluicegate_clear_limit(
        limiter: *const Limiter,
        rule: *const c_char,
        key: *const c_void,
        key_len: usize,
        options: *const CheckOptions,
        cleared: Option<NonNull<bool>>,
    ) {
        let check = Check::new(rule, key.text(key_len)?).with(options);
        cleared.write(bridge::change_key_record(&limiter.0, &check, KeyRecordChange::ClearLimit)?);
        Ok(())
    }
}
