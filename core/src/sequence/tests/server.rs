//! A server on which transactions are driven by hand, one script at a time.

use redis::{Connection, Value};
use sluicegate_test_servers::Redis;

use super::super::{CallSettings, DecisionSequence, ScriptSequence};
use crate::algorithm::Micros;
use crate::catalog::{Catalog, Share};
use crate::decision::Decision;
use crate::keys::secret::SecretNames;
use crate::plan::{Form, Op, Plan};
use crate::request::{Check, CheckOptions};
use crate::rules::Rules;
use crate::script::ScriptCall;

pub(super) struct Server {
    connection: Connection,
    /// One server minds no slots, so it can stand for all the primaries of a Cluster.
    pub(super) wire: CallSettings,
    _redis: Redis,
}

impl Server {
    pub(super) fn start() -> Self {
        let redis = Redis::start().unwrap();
        let wire = CallSettings {
            prefix: "p".to_owned(),
            cluster: true,
            near_cluster: true,
            default_timeout: 1_500_000,
            request_lifetime: 60_000_000,
            regions: None,
        };
        Self { connection: redis.client().unwrap(), wire, _redis: redis }
    }

    pub(super) fn send(&mut self, call: &ScriptCall) -> Value {
        let [eval, text] = call.script.eval();
        let mut cmd = redis::cmd(eval);
        cmd.arg(text).arg(call.keys.len()).arg(call.keys.as_slice());
        for arg in &call.args {
            cmd.arg(arg.as_slice());
        }
        cmd.query(&mut self.connection).unwrap()
    }

    /// Takes the next step of a sequence at a time of its own.
    pub(super) fn step(&mut self, sequence: &mut DecisionSequence<'_>, now: Micros) {
        sequence.clock = Some(now);
        let request = sequence.next().unwrap();
        let reply = self.send(&request);
        sequence.feed(Ok(reply));
    }

    /// A check of one rule, from beginning to end.
    pub(super) fn check(&mut self, catalog: &Catalog, check: Check<'_>, now: Micros) -> Decision {
        let checks = [check];
        let plan = Plan::new(catalog, &checks, Op::Peek).unwrap();
        let wire = self.wire.clone();
        let mut sequence = DecisionSequence::new(&plan, &wire, Op::Check, None);
        self.step(&mut sequence, now);
        sequence.decision(Form::Single).unwrap()
    }

    /// The names of all keys with their values, as DUMP serializes them.
    pub(super) fn stored(&mut self) -> Vec<(String, Vec<u8>)> {
        let mut names: Vec<String> = redis::cmd("KEYS").arg("*").query(&mut self.connection).unwrap();
        names.sort();
        let mut dump = |name: &String| redis::cmd("DUMP").arg(name).query(&mut self.connection).unwrap();
        names.iter().map(|name| (name.clone(), dump(name))).collect()
    }

    pub(super) fn forget(&mut self, name: &str) {
        let removed: u64 = redis::cmd("DEL").arg(name).query(&mut self.connection).unwrap();
        assert_eq!(removed, 1);
    }

    pub(super) fn clear(&mut self) {
        redis::cmd("FLUSHALL").exec(&mut self.connection).unwrap();
    }
}

pub(super) fn catalog(rules: &str) -> Catalog {
    Catalog::new(Rules::from_json(rules).unwrap(), SecretNames::default(), Share::default())
}

pub(super) fn check<'a>(rule: &'a str, key: &'a str, cost: u64) -> Check<'a> {
    Check::new(rule, key).with(CheckOptions::new().cost(cost))
}
