//! What a test runner in another language may have done to the servers: a line of JSON each on standard input,
//! answered by a line.

use std::io::{BufRead, stdin};

use serde_json::{Value, json};
use sluicegate_test_servers::{Error, Regions, Result, ZooKeeper};

/// Carries out commands until standard input ends.
pub(crate) fn obey(zookeeper: Option<&ZooKeeper>, regions: Option<&Regions>) -> Result<()> {
    for line in stdin().lock().lines() {
        let answer = match carry_out(&line?, zookeeper, regions) {
            Ok(()) => json!({ "done": true }),
            Err(error) => json!({ "error": error.to_string() }),
        };
        println!("{answer}");
    }
    Ok(())
}

fn carry_out(line: &str, zookeeper: Option<&ZooKeeper>, regions: Option<&Regions>) -> Result<()> {
    let words: Vec<Value> =
        serde_json::from_str(line).map_err(|error| Error::new(format!("not a JSON array: {error}")))?;
    let words: Vec<_> = words.iter().map(|word| word.as_str().unwrap_or_default()).collect();
    if let Some(regions) = regions {
        return of_regions(&words, regions);
    }
    let zookeeper = zookeeper
        .ok_or_else(|| Error::new("commands are for zookeeper and regions, which were not started"))?;
    match words.as_slice() {
        ["create", path, data] => zookeeper.admin().create(path, data),
        ["set", path, data] => zookeeper.admin().set(path, data),
        ["delete", path] => zookeeper.admin().delete(path),
        ["kill", server] => index(server).map(|index| zookeeper.kill(index)),
        ["restart", server] => zookeeper.restart(index(server)?),
        ["expire"] => expire_all(zookeeper),
        _ => Err(Error::new(
            "commands: create PATH DATA, set PATH DATA, delete PATH, kill N, restart N, expire",
        )),
    }
}

fn of_regions(words: &[&str], regions: &Regions) -> Result<()> {
    let [command, place] = words else {
        return Err(Error::new("commands: cut N, heal N, kill N, restart N"));
    };
    let place = index(place)?;
    match *command {
        "cut" => regions.relay(place).cut(),
        "heal" => regions.relay(place).heal(),
        "kill" => regions.server(place).kill(),
        "restart" => regions.server(place).restart()?,
        _ => return Err(Error::new("commands: cut N, heal N, kill N, restart N")),
    }
    Ok(())
}

fn index(server: &str) -> Result<usize> {
    let index = server.parse().ok().filter(|index| *index < 3);
    index.ok_or_else(|| Error::new(format!("there is no server {server}; they are 0, 1 and 2")))
}

/// Ends all sessions that there are.
fn expire_all(zookeeper: &ZooKeeper) -> Result<()> {
    zookeeper.sessions()?.into_iter().try_for_each(|(session, _)| zookeeper.expire(session))
}
