//! Denials that are remembered for long since a server watches their keys: on real servers, what ends them, and that nothing else
//! does.

mod changes;
mod connections;
mod failovers;
mod refusals;
mod world;

use std::time::Duration;

use redis::Connection;
use sluicegate::Source;
use sluicegate_test_servers::Redis;
use world::World;

type Intervention<'a> = Box<dyn FnMut(&str, &str) + 'a>;

const ALL: [&str; 8] = ["bucket", "window", "sliding", "log", "buckets", "decay", "several", "stored"];

fn command(client: &mut Connection, words: &[&str]) -> redis::Value {
    let mut command = redis::cmd(words[0]);
    words[1..].iter().for_each(|word| {
        command.arg(word);
    });
    command.query(client).unwrap()
}

fn delete_all(client: &mut Connection) {
    let keys: Vec<String> = redis::cmd("KEYS").arg("*").query(client).unwrap();
    keys.iter().for_each(|key| drop(command(client, &["DEL", key])));
}

#[test]
fn what_others_give_back_is_seen_although_denials_may_be_old() {
    let server = Redis::start().unwrap();
    let world = World::on(server.url());
    let other = world.other();
    let mut client = server.client().unwrap();
    let mut interventions: Vec<(&str, Intervention<'_>)> = vec![
        ("a refund", Box::new(|rule, key| drop(other.refund(rule, key).unwrap()))),
        ("a reset", Box::new(|rule, key| other.reset(rule, key).unwrap())),
        ("DEL", Box::new(|_, _| delete_all(&mut client))),
    ];
    for (name, intervene) in &mut interventions {
        for rule in ALL {
            world.deny(rule, name);
            intervene(rule, name);
            world.sees(rule, name);
        }
    }
}

#[test]
fn what_ends_all_keys_is_seen() {
    let server = Redis::start().unwrap();
    let world = World::on(server.url());
    for words in [&["FLUSHALL"][..], &["FLUSHDB"], &["FLUSHALL", "ASYNC"]] {
        world.deny("bucket", "one");
        world.deny("window", "two");
        command(&mut server.client().unwrap(), words);
        world.sees("bucket", "one");
        world.sees("window", "two");
        command(&mut server.client().unwrap(), &["FLUSHALL"]);
    }
}

#[test]
fn limits_of_single_keys_are_seen() {
    let server = Redis::start().unwrap();
    let world = World::on(server.url());
    let other = world.other();
    // Nothing was stored: what the server watches is a key that does not exist.
    world.deny("stored", "k");
    other.set_limit("stored", "k", 4, None).unwrap();
    world.sees("stored", "k");
    // One that is raised again, and one that ends, since a smaller one was stored.
    world.deny("stored", "k");
    other.set_limit("stored", "k", 9, None).unwrap();
    world.sees("stored", "k");
    other.set_limit("stored", "other", 1, None).unwrap();
    world.deny("stored", "other");
    other.clear_limit("stored", "other").unwrap();
    world.sees("stored", "other");
}

#[test]
fn nothing_but_an_intervention_ends_a_denial() {
    let server = Redis::start().unwrap();
    let world = World::on(server.url());
    for rule in ALL {
        world.deny(rule, "k");
        let mut from_memory = 0;
        for _ in 0..120 {
            world.clock.advance(Duration::from_secs(17));
            let mine = world.run(world.limiter.check(rule, "k")).unwrap();
            let mut said = world.run(world.limiter.peek(rule, "k")).unwrap();
            from_memory += u32::from(mine.source == Source::Cache);
            if !mine.allowed {
                said.source = mine.source;
                assert_eq!(mine, said, "{rule}");
            }
        }
        assert!(from_memory > 30, "{rule}");
    }
}

/// How many keys the server watches, and how often clients have told it to.
fn watching(client: &mut Connection) -> (u64, Option<String>) {
    let stats: redis::InfoDict = redis::cmd("INFO").arg("stats").query(client).unwrap();
    let commands: redis::InfoDict = redis::cmd("INFO").arg("commandstats").query(client).unwrap();
    (stats.get("tracking_total_keys").unwrap(), commands.get("cmdstat_client|caching"))
}

#[test]
fn keys_that_are_admitted_are_never_watched() {
    let server = Redis::start().unwrap();
    let world = World::on(server.url());
    let mut client = server.client().unwrap();
    for call in 0..200 {
        world.clock.advance(Duration::from_secs(400));
        world.check("bucket", &format!("{}", call % 60)).unwrap();
    }
    assert_eq!(watching(&mut client), (0, None));
    world.deny("bucket", "k");
    assert_eq!(watching(&mut client).0, 1);
    // The denial ends by the passing of time, and the key is admitted as any other.
    world.clock.advance(Duration::from_secs(3600));
    assert!(world.check("bucket", "k").unwrap().0);
    assert_eq!(watching(&mut client).0, 0);
}
