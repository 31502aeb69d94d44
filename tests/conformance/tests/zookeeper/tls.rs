//! Rules that come from ZooKeeper by TLS, and those that do not come.

use sluicegate::sources::{RuleSource, TlsFiles, ZooKeeperSource};
use sluicegate::{Builder, Error, ErrorKind, RateLimiter};
use sluicegate_test_servers::{Certificates, Transport, ZooKeeper};

use super::{FOLDER, node, rule, until_limit};

fn ensemble(transport: Transport) -> ZooKeeper {
    let zookeeper = ZooKeeper::with(transport).unwrap();
    zookeeper.admin().create(&node("a"), rule("a", 10)).unwrap();
    zookeeper
}

fn source(hosts: &str) -> ZooKeeperSource {
    ZooKeeperSource::new(&format!("zookeepers://{hosts}{FOLDER}")).unwrap()
}

fn builder(zookeeper: &ZooKeeper) -> Builder {
    RateLimiter::builder("memory://").rules(source(&zookeeper.secure_hosts()))
}

#[test]
fn rules_are_followed_by_tls() {
    let zookeeper = ensemble(Transport::Tls);
    let files = zookeeper.certificates().unwrap();
    let limiter = built(|| builder(&zookeeper).tls_ca(files.ca_pem())).unwrap();
    assert_eq!(limiter.check("a", "k").unwrap().limit, 10);
    zookeeper.admin().set(&node("a"), rule("a", 20)).unwrap();
    until_limit(&limiter, "a", 20);
    // More than one record of TLS.
    let described =
        rule("a", 30).replacen('{', &format!("{{ \"description\": \"{}\",", "x".repeat(60_000)), 1);
    zookeeper.admin().set(&node("a"), described).unwrap();
    until_limit(&limiter, "a", 30);
}

/// Whether a limiter starts. On a busy machine the first handshakes of a server may take too long, which says nothing of it.
fn built(builder: impl Fn() -> Builder) -> Result<RateLimiter, Error> {
    let is_late = |error: &Error| error.message().contains("did not answer in time");
    let mut built = (0..20).map(|_| builder().build());
    built.find(|built| !built.as_ref().is_err_and(is_late)).unwrap()
}

#[test]
fn who_is_not_trusted_is_not_listened_to() {
    let zookeeper = ensemble(Transport::Tls);
    let files = zookeeper.certificates().unwrap();
    // Signed by an authority of nobody's, first as the system sees it.
    let folder = files.ca_pem().with_file_name("stranger");
    let stranger = Certificates::generate(folder).unwrap();
    for ca in [None, Some(stranger.ca_pem())] {
        let error = built(|| ca.iter().fold(builder(&zookeeper), Builder::tls_ca)).unwrap_err();
        assert!(
            error.kind() == ErrorKind::Connection && error.message().contains(": no TLS with "),
            "{error}"
        );
    }
    // Of a name that the certificate is not of.
    let other_name = zookeeper.secure_hosts().replace("127.0.0.1", "127.0.0.2");
    let other = RateLimiter::builder("memory://").rules(source(&other_name)).tls_ca(files.ca_pem());
    assert_eq!(other.build().unwrap_err().kind(), ErrorKind::Connection);
    // And who listens has to speak TLS.
    let plain = RateLimiter::builder("memory://").rules(source(&zookeeper.hosts())).tls_ca(files.ca_pem());
    assert_eq!(plain.build().unwrap_err().kind(), ErrorKind::Connection);
}

#[tokio::test]
async fn a_client_shows_its_certificate() {
    let zookeeper = ensemble(Transport::MutualTls);
    let files = zookeeper.certificates().unwrap();
    let mut tls = TlsFiles::default();
    tls.ca = Some(files.ca_pem());
    let without = source(&zookeeper.secure_hosts()).tls_files(&tls).unwrap();
    assert_eq!(without.put("a", &rule("a", 5)).await.unwrap_err().kind(), ErrorKind::Connection);
    (tls.cert, tls.key) = (Some(files.cert_pem()), Some(files.key_pem()));
    let with = source(&zookeeper.secure_hosts()).tls_files(&tls).unwrap();
    with.put("a", &rule("a", 5)).await.unwrap();
    assert_eq!(zookeeper.admin().get(&node("a")).unwrap(), Some(rule("a", 5).into_bytes()));
}

/// A limiter's TLS files are its source's too, and nobody else's: they are refused where they would be ignored.
#[test]
fn files_go_where_tls_is() {
    let zookeeper = ensemble(Transport::Tls);
    let ca = zookeeper.certificates().unwrap().ca_pem();
    let plain = ZooKeeperSource::new(&format!("zookeeper://{}{FOLDER}", zookeeper.hosts())).unwrap();
    let refused = RateLimiter::builder("memory://").rules(plain.clone()).tls_ca(&ca).build().unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
    assert!(plain.with_tls(&TlsFiles::default()).is_none());
    let backend = sluicegate_conformance::Backend::redis();
    let limiter = || RateLimiter::builder(backend.url()).rules(source(&zookeeper.secure_hosts())).tls_ca(&ca);
    assert!(built(limiter).unwrap().check("a", "k").unwrap().allowed);
    for (file, what) in [("/dev/null", "holds no PEM block"), ("/nowhere/ca.pem", "cannot read")] {
        let error = builder(&zookeeper).tls_ca(file).build().unwrap_err();
        assert!(error.kind() == ErrorKind::InvalidArgument && error.message().contains(what), "{error}");
    }
}
