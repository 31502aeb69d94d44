//! Every kind of server starts, answers, and can be steered.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use redis::Connection;
use sluicegate_test_servers::{
    Certificates, Cluster, Error, Node, Options, Redis, Result, Sentinel, Transport, keys_without_ttl,
};

fn set(connection: &mut Connection, key: &str, value: &str) -> Result<()> {
    Ok(redis::cmd("SET").arg(key).arg(value).exec(connection)?)
}

fn get(connection: &mut Connection, key: &str) -> Result<Option<String>> {
    Ok(redis::cmd("GET").arg(key).query(connection)?)
}

fn ping(url: &str) -> redis::RedisResult<String> {
    redis::cmd("PING").query(&mut redis::Client::open(url)?.get_connection()?)
}

/// What redis-cli answers to PING at a URL with TLS.
fn ping_with_tls(url: &str, ca: &Path, client: Option<&Certificates>) -> Result<String> {
    let mut command = Command::new("redis-cli");
    command.args(["-u", url, "--cacert"]).arg(ca);
    if let Some(client) = client {
        command.arg("--cert").arg(client.cert_pem()).arg("--key").arg(client.key_pem());
    }
    let output = command.arg("PING").output()?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[test]
fn a_single_server_answers() -> Result<()> {
    let redis = Redis::start()?;
    let mut client = redis.client()?;
    set(&mut client, "color", "green")?;
    assert_eq!(get(&mut client, "color")?.as_deref(), Some("green"));
    assert_eq!(redis.url(), format!("redis://127.0.0.1:{}", redis.port()));
    Ok(())
}

#[test]
fn debug_commands_are_allowed() -> Result<()> {
    redis::cmd("DEBUG").arg("SLEEP").arg(0).exec(&mut Redis::start()?.client()?)?;
    Ok(())
}

#[test]
fn servers_started_at_once_are_different_ones() -> Result<()> {
    let servers = std::thread::scope(|scope| {
        let starts: Vec<_> = (0..12).map(|_| scope.spawn(Redis::start)).collect();
        starts.into_iter().filter_map(|start| start.join().ok()).collect::<Result<Vec<_>>>()
    })?;
    for (number, server) in servers.iter().enumerate() {
        set(&mut server.client()?, "number", &number.to_string())?;
    }
    for (number, server) in servers.iter().enumerate() {
        assert_eq!(get(&mut server.client()?, "number")?, Some(number.to_string()));
    }
    Ok(())
}

#[test]
fn a_password_of_any_characters_is_asked_for() -> Result<()> {
    let password = Some("p@ss \"w\\o:r/d? #%".to_owned());
    let redis = Redis::with(&Options { password, ..Options::default() })?;
    assert!(ping(redis.url()).is_ok());
    assert!(ping(&format!("redis://{}", redis.address())).is_err());
    Ok(())
}

#[test]
fn an_acl_user_is_asked_for() -> Result<()> {
    let (user, password) = (Some("alice".to_owned()), Some("se/cret".to_owned()));
    let redis = Redis::with(&Options { user, password, ..Options::default() })?;
    let who: String = redis::cmd("ACL").arg("WHOAMI").query(&mut redis.client()?)?;
    assert_eq!(who, "alice");
    assert!(ping(&format!("redis://{}", redis.address())).is_err());
    Ok(())
}

#[test]
fn a_unix_socket_takes_the_login_from_its_url() -> Result<()> {
    let (user, password) = (Some("alice".to_owned()), Some("a&b=c".to_owned()));
    let options = Options { transport: Transport::Unix, user, password, ..Options::default() };
    let redis = Redis::with(&options)?;
    assert!(redis.url().starts_with("unix:///"), "{}", redis.url());
    assert!(ping(redis.url()).is_ok());
    Ok(())
}

#[test]
fn tls_needs_the_right_authority() -> Result<()> {
    let redis = Redis::with(&Options { transport: Transport::Tls, ..Options::default() })?;
    let stranger = Certificates::generate(redis.folder().join("stranger"))?;
    let ours = redis.certificates().map(Certificates::ca_pem).unwrap_or_default();
    assert_eq!(ping_with_tls(redis.url(), &ours, None)?, "PONG");
    assert_eq!(ping_with_tls(redis.url(), &stranger.ca_pem(), None)?, "");
    Ok(())
}

#[test]
fn mutual_tls_needs_a_client_certificate() -> Result<()> {
    let redis = Redis::with(&Options { transport: Transport::MutualTls, ..Options::default() })?;
    let ours = redis.certificates();
    let ca = ours.map(Certificates::ca_pem).unwrap_or_default();
    assert_eq!(ping_with_tls(redis.url(), &ca, ours)?, "PONG");
    assert_eq!(ping_with_tls(redis.url(), &ca, None)?, "");
    Ok(())
}

#[test]
fn further_configuration_is_used() -> Result<()> {
    let config = vec!["maxmemory 12345678".to_owned()];
    let redis = Redis::with(&Options { config, ..Options::default() })?;
    let (_, limit): (String, u64) =
        redis::cmd("CONFIG").arg("GET").arg("maxmemory").query(&mut redis.client()?)?;
    assert_eq!(limit, 12_345_678);
    Ok(())
}

#[test]
fn a_bad_configuration_is_reported_in_the_servers_words() {
    let config = vec!["no-such-setting 1".to_owned()];
    let error = Redis::with(&Options { config, ..Options::default() }).err().map(|error| error.to_string());
    assert!(error.as_ref().is_some_and(|text| text.contains("no-such-setting")), "{error:?}");
}

#[test]
fn a_paused_server_is_silent_until_it_is_resumed() -> Result<()> {
    let redis = Redis::start()?;
    let mut client = redis.client()?;
    client.set_read_timeout(Some(Duration::from_millis(100)))?;
    redis.pause()?;
    let silence = redis::cmd("PING").query::<String>(&mut client);
    assert!(silence.is_err_and(|error| error.is_timeout()));
    redis.resume()?;
    set(&mut redis.client()?, "color", "green")
}

#[test]
fn a_restarted_server_is_empty_and_has_its_old_port() -> Result<()> {
    let redis = Redis::start()?;
    let pid = redis.pid();
    set(&mut redis.client()?, "color", "green")?;
    redis.kill();
    assert!(redis.client().is_err() && redis.pause().is_err() && !redis.is_running());
    redis.restart()?;
    assert_ne!(redis.pid(), pid);
    assert_eq!(get(&mut redis.client()?, "color")?, None);
    Ok(())
}

#[test]
fn keys_that_would_stay_for_ever_are_found() -> Result<()> {
    let redis = Redis::start()?;
    let mut client = redis.client()?;
    set(&mut client, "stays", "1")?;
    redis::cmd("SET").arg("goes").arg(1).arg("EX").arg(100).exec(&mut client)?;
    assert_eq!(keys_without_ttl(&mut client)?, ["stays"]);
    Ok(())
}

#[test]
fn a_cluster_survives_its_primary() -> Result<()> {
    let start = Instant::now();
    let cluster = Cluster::start()?;
    println!("cluster started in {:?}", start.elapsed());
    set(&mut cluster.primary_of("color")?.client()?, "color", "green")?;
    assert_eq!(cluster.keys_without_ttl()?, ["color"]);

    let start = Instant::now();
    let old = cluster.kill_primary_of("color")?;
    let new = cluster.wait_for_failover("color", old)?;
    println!("failover took {:?}", start.elapsed());
    assert_ne!(new.port(), old.port());
    set(&mut new.client()?, "color", "blue")?;

    old.restart()?;
    assert_eq!(cluster.primary_of("color")?.port(), new.port());
    Ok(())
}

#[test]
fn the_nodes_of_a_cluster_with_tls_use_it_among_themselves() -> Result<()> {
    let cluster = Cluster::with(Transport::MutualTls)?;
    let certificates = cluster.certificates();
    let ca = certificates.map(Certificates::ca_pem).unwrap_or_default();
    let mut primaries = Vec::new();
    for node in cluster.nodes() {
        let url = format!("rediss://127.0.0.1:{}", node.public_port());
        assert_eq!(ping_with_tls(&url, &ca, certificates)?, "PONG");
        assert_eq!(ping_with_tls(&url, &ca, None)?, "");
        primaries.extend(followed_port(node)?);
    }
    primaries.sort_unstable();
    let mut expected: Vec<u16> = cluster.nodes()[..3].iter().map(Node::public_port).collect();
    expected.sort_unstable();
    assert_eq!(primaries, expected);
    Ok(())
}

#[test]
fn sentinels_and_their_servers_with_tls_use_it_among_themselves() -> Result<()> {
    let sentinel = Sentinel::with(Transport::Tls)?;
    let ca = sentinel.certificates().map(Certificates::ca_pem).unwrap_or_default();
    for node in sentinel.servers().iter().chain(sentinel.sentinels()) {
        let url = format!("rediss://127.0.0.1:{}", node.public_port());
        assert_eq!(ping_with_tls(&url, &ca, None)?, "PONG");
    }
    let [primary, replica] = sentinel.servers() else { return Err(Error::new("two servers")) };
    assert_eq!(followed_port(replica)?, Some(primary.public_port()));
    let new = sentinel.wait_for_failover(sentinel.kill_primary()?)?;
    assert_eq!(new.public_port(), replica.public_port());
    Ok(())
}

#[test]
fn servers_that_belong_together_have_no_unix_sockets() {
    assert!(Cluster::with(Transport::Unix).is_err() && Sentinel::with(Transport::Unix).is_err());
}

/// The port at which a replica reaches its primary.
fn followed_port(node: &Node) -> Result<Option<u16>> {
    let replication: String = redis::cmd("INFO").arg("replication").query(&mut node.client()?)?;
    let port = replication.lines().find_map(|line| line.strip_prefix("master_port:"));
    Ok(port.and_then(|port| port.trim().parse().ok()))
}

#[test]
fn sentinels_replace_a_primary_that_hangs() -> Result<()> {
    let start = Instant::now();
    let sentinel = Sentinel::start()?;
    println!("sentinels started in {:?}", start.elapsed());
    let old = sentinel.primary()?;
    set(&mut old.client()?, "color", "green")?;

    let start = Instant::now();
    old.pause()?;
    let new = sentinel.wait_for_failover(old)?;
    println!("failover took {:?}", start.elapsed());
    assert_ne!(new.port(), old.port());
    set(&mut new.client()?, "color", "blue")
}

#[test]
fn sentinels_replace_a_primary_that_was_killed() -> Result<()> {
    let sentinel = Sentinel::start()?;
    let old = sentinel.kill_primary()?;
    let new = sentinel.wait_for_failover(old)?;
    assert_eq!(sentinel.primary()?.port(), new.port());
    set(&mut new.client()?, "color", "green")
}
