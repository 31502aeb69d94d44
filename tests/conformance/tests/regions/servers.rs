//! One limit over regions whose servers are of every kind.

use sluicegate::{Check, RateLimiter, Rules};
use sluicegate_test_servers::{Cluster, Options, Redis, Sentinel, Transport};

const RULES: &str = r#"[
    {"rule_id": "all", "algorithm": "fixed_window", "limit": 10, "window_size_seconds": 86400, "global": {}}
]"#;

fn server(password: &str, user: Option<&str>, transport: Transport) -> Redis {
    let (password, user) = (Some(password.to_owned()), user.map(str::to_owned));
    Redis::with(&Options { password, user, transport, ..Options::default() }).unwrap()
}

#[test]
fn one_server_sentinels_a_cluster_and_tls_each_with_its_own_password_share_a_limit() {
    let (cluster, sentinel) = (Cluster::start().unwrap(), Sentinel::start().unwrap());
    let secret = server("one password", None, Transport::Tcp);
    let encrypted = server("another: password", Some("limiter"), Transport::Tls);
    let urls = [
        ("cluster", cluster.url()),
        ("password", secret.url().to_owned()),
        ("sentinel", sentinel.url()),
        ("tls", encrypted.url().to_owned()),
    ];
    let limiters = urls.each_ref().map(|(region, _)| {
        RateLimiter::builder("")
            .rules(Rules::from_json(RULES).unwrap())
            .regions(urls.clone())
            .region(*region)
            .tls_ca(encrypted.certificates().unwrap().ca_pem())
            .build()
            .unwrap()
    });
    let keys: Vec<_> = (0..12).map(|number| format!("user-{number}")).collect();
    for key in &keys {
        let admitted = (0..16).filter(|call| limiters[call % 4].check("all", key).unwrap().allowed).count();
        assert_eq!(admitted, 10, "{key}");
        for limiter in &limiters {
            assert_eq!(limiter.peek("all", key).unwrap().remaining, 0, "{key}");
        }
        // Each forgets what it was told near.
        limiters.iter().for_each(|limiter| limiter.reset("all", key).unwrap());
    }
    // Several at once, from each kind.
    let items: Vec<_> = keys.iter().map(|key| Check::new("all", key)).collect();
    for (called, limiter) in limiters.iter().enumerate() {
        let decision = limiter.check_all(&items).unwrap();
        let left: Vec<_> = decision.parts.iter().map(|part| part.remaining).collect();
        assert_eq!((decision.allowed, left), (true, vec![9 - called as u64; keys.len()]));
    }
}
