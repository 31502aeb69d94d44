//! Real Sentinels: the primary is found, and found again.

use sluicegate_test_servers::Sentinel;

use super::*;

#[test]
fn calls_recover_from_a_killed_primary() {
    let sentinel = Sentinel::start().unwrap();
    let drivers = both(&sentinel.url());
    for driver in &drivers {
        driver.increment("key").unwrap();
    }
    let killed = sentinel.kill_primary().unwrap();
    for driver in &drivers {
        assert_eq!(kind(&driver.increment("key")), Some(ErrorKind::Connection));
    }
    sentinel.wait_for_failover(killed).unwrap();
    for driver in &drivers {
        let took = recovery(driver, "key");
        assert!(took < Duration::from_secs(1), "{took:?}");
    }
}

#[test]
fn calls_follow_a_planned_failover() {
    let sentinel = Sentinel::start().unwrap();
    let drivers = both(&sentinel.url());
    for driver in &drivers {
        driver.increment("key").unwrap();
    }
    let old = sentinel.primary().unwrap();
    let mut failover = ::redis::cmd("SENTINEL");
    failover.arg("FAILOVER").arg("mymaster").exec(&mut sentinel.sentinels()[0].client().unwrap()).unwrap();
    sentinel.wait_for_failover(old).unwrap();
    for driver in &drivers {
        let took = recovery(driver, "key");
        assert!(took < Duration::from_secs(2), "{took:?}");
    }
}

#[test]
fn one_sentinel_is_enough_and_the_database_counts() {
    let sentinel = Sentinel::start().unwrap();
    sentinel.sentinels()[0].kill();
    sentinel.sentinels()[1].pause().unwrap();
    let options = ConnectOptions { connect_timeout: Duration::from_secs(3), ..ConnectOptions::default() };
    let url = format!("{}/2", sentinel.url());
    let drivers = [Driver::blocking(&url, &options).unwrap(), Driver::asynchronous(&url, &options).unwrap()];
    for driver in &drivers {
        driver.increment("key").unwrap();
    }
    let mut client = sentinel.primary().map(|node| node.client().unwrap());
    if let Ok(client) = &mut client {
        ::redis::cmd("SELECT").arg(2).exec(client).unwrap();
        assert_eq!(::redis::cmd("GET").arg("key").query::<i64>(client).unwrap(), 2);
    }
}

#[test]
fn an_unknown_service_is_named() {
    let sentinel = Sentinel::start().unwrap();
    let url = sentinel.url().replace("mymaster", "nobody");
    for error in refusals(&url, &ConnectOptions::default()) {
        assert!(error.message().contains("\"nobody\""), "{error}");
    }
}
