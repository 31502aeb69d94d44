//! The texts of scripts, which a server needs once.

use sluicegate_test_servers::Redis;

use super::*;

/// The first use of a script takes its turn like any other call, although the server does not know it yet.
#[test]
fn nothing_overtakes_the_first_use_of_a_script() {
    let server = Redis::start().unwrap();
    let driver = Driver::asynchronous(server.url(), &ConnectOptions::default()).unwrap();
    let reader = eternal(Script::new("return redis.call('GET', KEYS[1])".to_owned()));
    driver.run_script(reader, &["k"], &[]).unwrap();
    let Driver::Async(runtime, redis) = driver else { unreachable!() };
    let writer = eternal(Script::new("return redis.call('SET', KEYS[1], 'written')".to_owned()));
    let [write, read] = [writer, reader].map(|script| call(script, &["k"], &[]));
    let deadline = redis.deadline(None);
    let (_, found) =
        runtime.block_on(async { tokio::join!(redis.call(write, deadline), redis.call(read, deadline)) });
    assert_eq!(found.unwrap(), Value::BulkString(b"written".to_vec()));
}

/// Each text is sent once on a connection, and again to a server that has lost it.
#[test]
fn a_text_is_sent_once() {
    let server = Redis::start().unwrap();
    let mut client = server.client().unwrap();
    let script = eternal(Script::new(INCREMENT.to_owned()));
    let texts = |client: &mut ::redis::Connection| -> usize {
        let stats: String = ::redis::cmd("INFO").arg("commandstats").query(client).unwrap();
        let line = stats.lines().find_map(|line| line.strip_prefix("cmdstat_eval:calls="));
        line.map_or(0, |line| line.split(',').next().unwrap().parse().unwrap())
    };
    for (number, driver) in both(server.url()).iter().enumerate() {
        for _ in 0..5 {
            driver.run_script(script, &["k"], &[]).unwrap();
        }
        assert_eq!(texts(&mut client), 2 * number + 1);
        ::redis::cmd("SCRIPT").arg("FLUSH").exec(&mut client).unwrap();
        for _ in 0..5 {
            driver.run_script(script, &["k"], &[]).unwrap();
        }
        assert_eq!(texts(&mut client), 2 * number + 2);
    }
}
