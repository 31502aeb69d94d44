//! What was admitted, recorded on a Redis server: as RedisTimeSeries, or in plain structures.

use std::collections::HashSet;
use std::time::Duration;

use redis::{Cmd, Connection, ErrorKind, Pipeline, RedisError, Value, cmd};
use sluicegate::Rules;
use sluicegate::rules::Scope;
use sluicegate_lab::Record;

use super::args::{LabArgs, RecordAs};
use crate::outcome::CommandError;

/// Calls sent in one piece.
const BATCH: usize = 1_000;
/// No server takes longer to answer.
const TIMEOUT: Duration = Duration::from_secs(10);

pub(super) struct Recorder {
    connection: Connection,
    how: RecordAs,
    prefix: String,
    force: bool,
    /// In real time the server's time counts.
    in_real_time: bool,
    names: HashSet<String>,
    waiting: Vec<Sample>,
    /// Makes members of sorted sets unique.
    number: u64,
}

/// An admitted call.
struct Sample {
    name: String,
    at_ms: u64,
    key: String,
    cost: u64,
}

impl Recorder {
    pub(super) fn open(url: &str, args: &LabArgs, rules: &Rules) -> Result<Self, CommandError> {
        let mut recorder = Self {
            connection: connect(url).map_err(|error| cannot("connect to", &error))?,
            how: args.record_as,
            prefix: args.record_prefix.clone(),
            force: args.force,
            in_real_time: args.url.is_some(),
            names: HashSet::new(),
            waiting: Vec::with_capacity(BATCH),
            number: 0,
        };
        // A strategy that admits nothing is to be seen, too. Those of resources follow as they are called.
        for rule in rules.iter().filter(|rule| rule.limits.iter().all(|limit| limit.scope == Scope::Key)) {
            recorder.begin(&rule.id, None)?;
        }
        Ok(recorder)
    }

    pub(super) fn add(&mut self, record: &Record<'_>) -> Result<(), CommandError> {
        let name = self.begin(record.rule, record.resource)?;
        let (key, cost) = (record.key.to_owned(), record.cost);
        self.waiting.push(Sample { name, at_ms: record.at_us / 1_000, key, cost });
        match self.in_real_time || self.waiting.len() == BATCH {
            true => self.send(),
            false => Ok(()),
        }
    }

    pub(super) fn finish(&mut self) -> Result<(), CommandError> {
        self.send()
    }

    /// The name of a record, which is made when it is first needed.
    fn begin(&mut self, rule: &str, resource: Option<&str>) -> Result<String, CommandError> {
        let resource = resource.map(|resource| format!(":{resource}")).unwrap_or_default();
        let name = format!("{}:{rule}{resource}", self.prefix);
        if self.names.insert(name.clone()) {
            self.make(&name, rule)?;
        }
        Ok(name)
    }

    fn make(&mut self, name: &str, rule: &str) -> Result<(), CommandError> {
        let failed = |error: RedisError| cannot("write to", &error);
        if self.force {
            cmd("DEL").arg(name).exec(&mut self.connection).map_err(failed)?;
        } else if cmd("EXISTS").arg(name).query(&mut self.connection).map_err(failed)? {
            let instead = "pass --force to replace it, or another --record-prefix";
            return Err(CommandError::Other(format!("cannot record: {name:?} exists already ({instead})")));
        }
        if self.how == RecordAs::Timeseries {
            let mut create = cmd("TS.CREATE");
            create.arg(name).arg(&["RETENTION", "0", "DUPLICATE_POLICY", "SUM"]);
            create.arg(&["LABELS", "data", "hits", "strategy", rule]);
            create.exec(&mut self.connection).map_err(failed)?;
        }
        Ok(())
    }

    fn send(&mut self) -> Result<(), CommandError> {
        let waiting = std::mem::take(&mut self.waiting);
        if waiting.is_empty() {
            return Ok(());
        }
        let commands = match self.how {
            RecordAs::Timeseries => vec![self.samples(&waiting)],
            RecordAs::Stream => waiting.iter().map(|sample| self.entry(sample)).collect(),
            RecordAs::Zset => waiting.iter().map(|sample| self.member(sample)).collect(),
        };
        let mut pipeline = Pipeline::new();
        for command in commands {
            pipeline.add_command(command);
        }
        let replies: Vec<Value> =
            pipeline.query(&mut self.connection).map_err(|error| cannot("write to", &error))?;
        // Of many samples each has an answer of its own.
        let errors = replies.into_iter().flat_map(|reply| match reply {
            Value::Array(each) => each,
            other => vec![other],
        });
        errors
            .map(Value::extract_error)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| cannot("write to", &error))?;
        Ok(())
    }

    fn samples(&self, waiting: &[Sample]) -> Cmd {
        let mut command = cmd("TS.MADD");
        for sample in waiting {
            command.arg(&sample.name);
            match self.in_real_time {
                true => command.arg("*"),
                false => command.arg(sample.at_ms),
            };
            command.arg(1);
        }
        command
    }

    fn entry(&self, sample: &Sample) -> Cmd {
        let mut command = cmd("XADD");
        let id = if self.in_real_time { "*".to_owned() } else { format!("{}-*", sample.at_ms) };
        command.arg(&sample.name).arg(id).arg("key").arg(&sample.key).arg("cost").arg(sample.cost);
        command
    }

    fn member(&mut self, sample: &Sample) -> Cmd {
        self.number += 1;
        let mut command = cmd("ZADD");
        command.arg(&sample.name).arg(sample.at_ms).arg(format!("{}:{}", self.number, sample.key));
        command
    }
}

fn connect(url: &str) -> Result<Connection, RedisError> {
    let connection = redis::Client::open(url)?.get_connection_with_timeout(TIMEOUT)?;
    connection.set_read_timeout(Some(TIMEOUT))?;
    connection.set_write_timeout(Some(TIMEOUT))?;
    Ok(connection)
}

fn cannot(what: &str, error: &RedisError) -> CommandError {
    let is_unknown = error.kind() != ErrorKind::Io && error.to_string().contains("unknown command");
    let reason = if is_unknown && error.to_string().contains("TS.") {
        "the server has no RedisTimeSeries (use Redis 8 or load the module, or pass --record-as stream or zset)"
            .to_owned()
    } else if error.kind() == ErrorKind::InvalidClientConfig {
        "the URL has to be redis://host:port/db or unix:///path/to/socket (records are written without TLS, and to one \
         server)"
            .to_owned()
    } else {
        error.to_string()
    };
    CommandError::Other(format!("cannot {what} the server of --record: {reason}"))
}
