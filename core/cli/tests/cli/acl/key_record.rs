//! The same under rules with `block` and `overrides`.

use std::time::Duration;

use sluicegate::{Check, CheckOptions};
use sluicegate_test_servers::Redis;

use super::{HELD_KINDS, KINDS, SECOND_US, World, each_is_needed};

const KEY_RECORD: &str = r#", "block": {"seconds": 5, "factor": 2}, "overrides": true"#;

impl World {
    /// A key is blocked by hand and by denials, and has a limit of its own, for a while and for ever.
    fn key_record(&mut self, rule: &str) {
        let all = CheckOptions::new().cost(100);
        for second in [0, 3, 10, 20, 200] {
            self.at((2000 + second) * SECOND_US);
            let limiter = &self.limiter;
            let done = [
                limiter.set_limit(rule, "k", 50, Some(Duration::from_secs(15))),
                limiter.check_with(rule, "k", all).map(drop),
                limiter.check_all(&[Check::new(rule, "k"), Check::new(rule, "other")]).map(drop),
                limiter.inspect("k").map(drop),
                limiter.unblock(rule, "k").map(drop),
                limiter.clear_limit(rule, "k").map(drop),
                limiter.set_limit(rule, "k", 60, None),
                limiter.block(rule, "k", Duration::from_secs(2)),
                limiter.check(rule, "k").map(drop),
                limiter.charge_with(rule, "k", CheckOptions::new().cost(7)).map(drop),
                limiter.refund_with(rule, "k", CheckOptions::new().cost(2)).map(drop),
                limiter.clear_limit(rule, "k").map(drop),
                self.on_server_time.block(rule, "j", Duration::from_millis(2)),
            ];
            done.into_iter().for_each(|result| _ = self.note(result));
            // What was stored for ever is not to be in the way where it could not be cleared.
            self.witness.clear_limit(rule, "k").unwrap();
        }
        let result = self.limiter.reset_all("k");
        self.note(result);
    }
}

#[test]
fn blocks_and_stored_limits_need_each_of_their_commands() {
    let redis = Redis::start().unwrap();
    for (kind, fields) in KINDS {
        each_is_needed(&redis, (kind, &format!("{fields}{KEY_RECORD}")), |world, rule| {
            world.everything(rule);
            world.key_record(rule);
        });
    }
}

#[test]
fn reservations_beside_blocks_and_stored_limits_need_each_of_their_commands() {
    let redis = Redis::start().unwrap();
    for (kind, fields) in HELD_KINDS.into_iter().filter(|(kind, _)| *kind != "concurrency") {
        each_is_needed(&redis, (kind, &format!("{fields}{KEY_RECORD}")), |world, rule| {
            world.everything(rule);
            world.reserving(rule);
            world.key_record(rule);
        });
    }
}
