//! Users and passwords that a function gives for each new connection.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use sluicegate::{AsyncRateLimiter, Builder, Credentials, ErrorKind, RateLimiter, Rules, Source};
use sluicegate_test_servers::{Cluster, Options, Redis};
use tokio::runtime::Runtime;

const RULES: &str = r#"[{"rule_id": "a", "rate": "100/d"}]"#;

/// A server with a user `limiter` whose password changes, and what the function gives.
struct Rotating {
    redis: Redis,
    password: Arc<Mutex<String>>,
    asked: Arc<AtomicUsize>,
}

impl Rotating {
    fn start() -> Self {
        let redis =
            Redis::with(&Options { password: Some("secret".to_owned()), ..Options::default() }).unwrap();
        let this = Self { redis, password: Arc::default(), asked: Arc::default() };
        this.rotate("first");
        this
    }

    /// From now on this is the password, on connections that are yet to be made.
    fn rotate(&self, password: &str) {
        let mut client = self.redis.client().unwrap();
        let new = format!(">{password}");
        let user = ["SETUSER", "limiter", "on", "resetpass", &new, "~*", "+@all"];
        redis::cmd("ACL").arg(&user).exec(&mut client).unwrap();
        redis::cmd("CLIENT").arg(&["KILL", "USER", "limiter"]).exec(&mut client).unwrap();
        *self.password.lock().unwrap() = password.to_owned();
    }

    fn url(&self) -> String {
        self.redis.url().replace(":secret@", "")
    }

    fn builder(&self) -> Builder {
        let (password, asked) = (Arc::clone(&self.password), Arc::clone(&self.asked));
        let give = move || {
            asked.fetch_add(1, Ordering::SeqCst);
            Ok::<_, io::Error>(Credentials::new("limiter", password.lock().unwrap().clone()))
        };
        builder(&self.url()).credentials(give)
    }
}

fn builder(url: &str) -> Builder {
    RateLimiter::builder(url).rules(Rules::from_json(RULES).unwrap())
}

#[test]
fn each_new_connection_has_its_own() {
    let server = Rotating::start();
    let limiter = server.builder().build().unwrap();
    assert!(limiter.check("a", "k").unwrap().allowed);
    assert!(limiter.check("a", "k").unwrap().allowed);
    assert_eq!(server.asked.load(Ordering::SeqCst), 1);
    server.rotate("second");
    // The broken connection may be found only by a call.
    assert!((0..3).any(|_| limiter.check("a", "k").is_ok()));
    assert!(server.asked.load(Ordering::SeqCst) >= 2);
}

#[test]
fn tasks_and_every_node_of_a_cluster_have_them() {
    let server = Rotating::start();
    let cluster = Cluster::start().unwrap();
    for node in cluster.nodes() {
        let user = ["SETUSER", "limiter", "on", ">word", "~*", "+@all"];
        redis::cmd("ACL").arg(&user).exec(&mut node.client().unwrap()).unwrap();
    }
    Runtime::new().unwrap().block_on(async {
        let limiter: AsyncRateLimiter = server.builder().connect().await.unwrap();
        assert!(limiter.check("a", "k").await.unwrap().allowed);
        let give = || Ok::<_, io::Error>(Credentials::new("limiter", "word"));
        let limiter = builder(&cluster.url()).credentials(give).connect().await.unwrap();
        for key in 0..20 {
            assert!(limiter.check("a", &key.to_string()).await.unwrap().allowed);
        }
    });
}

#[test]
fn a_wrong_password_is_the_servers_error() {
    let server = Rotating::start();
    let limiter = builder(&server.url()).credentials(|| Ok::<_, io::Error>(Credentials::password("wrong")));
    let error = limiter.build().unwrap().check("a", "k").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Server);
    assert!(error.to_string().contains("refused the login: the user or the password is wrong"), "{error}");
}

#[test]
fn without_credentials_no_server_can_decide() {
    let server = Rotating::start();
    let fail = || Err::<Credentials, _>(io::Error::other("token-of-somebody"));
    let limiter = builder(&server.url()).credentials(fail).build().unwrap();
    let error = limiter.check("a", "k").unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Connection, true));
    let text = format!("{error} {error:?}");
    assert!(error.to_string().ends_with("`credentials` returned an error"), "{error}");
    assert!(!error.to_string().contains("token-of-somebody"), "{text}");
    let local = builder(&server.url()).credentials(fail).fallback("local").build().unwrap();
    assert_eq!(local.check("a", "k").unwrap().source, Source::Fallback);
}

#[test]
fn a_function_that_hangs_takes_no_longer_than_a_connection() {
    let server = Rotating::start();
    let hang = || -> io::Result<Credentials> {
        thread::sleep(Duration::from_secs(20));
        Err(io::Error::other("too late"))
    };
    let limiter = builder(&server.url()).credentials(hang).connect_timeout(Duration::from_millis(100));
    let (limiter, begun) = (limiter.build().unwrap(), Instant::now());
    let error = limiter.check("a", "k").unwrap_err();
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert!(error.to_string().ends_with("`credentials` took too long"), "{error}");
}

#[test]
fn one_login_is_enough() {
    let server = Rotating::start();
    let give = || Ok::<_, io::Error>(Credentials::password("secret"));
    let twice = builder(server.redis.url()).credentials(give).build().unwrap_err();
    assert_eq!(twice.kind(), ErrorKind::InvalidArgument);
    assert_eq!(twice.message(), "credentials: the URL has a login as well (leave one of them out)");
    let memory = builder("memory://").credentials(give).build().unwrap_err();
    assert_eq!(memory.message(), "credentials is for servers; memory:// asks for none (leave it out)");
}
