//! Servers that announce nothing: denials hold for their age alone, as with blocking limiters.

use std::time::Duration;

use sluicegate_test_servers::Redis;

use super::command;
use super::world::World;

/// Without a word of the server, a denial holds until it is as old as was stated.
fn hold_for_their_age(world: &World) {
    world.deny("bucket", "k");
    world.other().refund("bucket", "k").unwrap();
    world.clock.advance(Duration::from_secs(50));
    assert!(world.is_remembered("bucket", "k"));
    world.clock.advance(Duration::from_secs(15));
    world.sees("bucket", "k");
}

#[test]
fn without_the_permission_denials_hold_for_their_age() {
    for refused in ["-client|tracking", "-client|caching", "-client"] {
        let server = Redis::start().unwrap();
        let user = ["ACL", "SETUSER", "limiter", "on", ">secret", "~*", "+@all", refused];
        command(&mut server.client().unwrap(), &user);
        let url = server.url().replace("redis://", "redis://limiter:secret@");
        hold_for_their_age(&World::on(&url));
    }
}

#[test]
fn with_the_permissions_alone_keys_are_watched() {
    let server = Redis::start().unwrap();
    let user = [
        "ACL",
        "SETUSER",
        "limiter",
        "on",
        ">secret",
        "~*",
        "+@all",
        "-client",
        "+client|tracking",
        "+client|caching",
    ];
    command(&mut server.client().unwrap(), &user);
    let world = World::through(
        &server.url().replace("redis://", "redis://limiter:secret@"),
        server.url(),
        |builder| builder,
    );
    world.deny("bucket", "k");
    world.other().refund("bucket", "k").unwrap();
    world.sees("bucket", "k");
}

#[test]
fn by_resp2_denials_hold_for_their_age() {
    let server = Redis::start().unwrap();
    hold_for_their_age(&World::on(&format!("{}?protocol=resp2", server.url())));
}
