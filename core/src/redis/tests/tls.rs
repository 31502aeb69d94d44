//! Connections with TLS.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

use ::rustls::pki_types::pem::PemObject;
use ::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use ::rustls::{ServerConfig, ServerConnection, Stream};
use sluicegate_test_servers::{Cluster, Options, Redis, Sentinel, Transport};

use super::fake_server::trickling;
use super::*;
use crate::net::address::Address;
use crate::redis::connecting::connector::Connector;
use crate::redis::connecting::deadline::Deadline;
use crate::redis::connecting::stream::Resend;
use crate::redis::drivers::connection::{Connection, ONLY};
use crate::redis::settings::login::Role;
use crate::redis::wire::command::{CommandOutcome, RedisCommand};
use crate::redis::wire::session::PendingCommand;

fn server(transport: Transport) -> Redis {
    Redis::with(&Options { transport, ..Options::default() }).unwrap()
}

#[test]
fn a_trusted_authority_is_enough() {
    let redis = server(Transport::Tls);
    for driver in both_with(redis.url(), &trusting(redis.certificates())) {
        assert!(driver.increment("key").is_ok());
    }
}

#[test]
fn an_unknown_authority_is_refused() {
    let redis = server(Transport::Tls);
    let other = server(Transport::Tls);
    for options in [trusting(other.certificates()), ConnectOptions::default()] {
        for error in refusals(redis.url(), &options) {
            assert_eq!(error.kind(), ErrorKind::Connection, "{error}");
            assert!(error.message().contains("certificate"), "{error}");
        }
    }
}

#[test]
fn an_open_circuit_breaker_names_the_certificate() {
    let (redis, other) = (server(Transport::Tls), server(Transport::Tls));
    let driver = Driver::blocking(redis.url(), &trusting(other.certificates())).unwrap();
    let end = Instant::now() + Duration::from_secs(10);
    let error = loop {
        let error = driver.increment("key").unwrap_err();
        if error.message().contains("circuit breaker open") {
            break error;
        }
        assert!(Instant::now() < end, "{error}");
    };
    assert!(error.message().starts_with("invalid peer certificate"), "{error}");
}

#[test]
fn the_name_in_the_certificate_counts() {
    let config = vec!["bind 127.0.0.1 127.0.0.2".to_owned()];
    let redis = Redis::with(&Options { transport: Transport::Tls, config, ..Options::default() }).unwrap();
    let url = redis.url().replace("127.0.0.1", "127.0.0.2");
    for error in refusals(&url, &trusting(redis.certificates())) {
        assert_eq!(error.kind(), ErrorKind::Connection, "{error}");
        assert!(error.message().contains("not valid for name"), "{error}");
    }
}

#[test]
fn a_client_certificate_is_shown() {
    let redis = server(Transport::MutualTls);
    for driver in both_with(redis.url(), &identified(redis.certificates())) {
        driver.increment("key").unwrap();
    }
    for error in refusals(redis.url(), &trusting(redis.certificates())) {
        assert_eq!(error.kind(), ErrorKind::Connection, "{error}");
    }
}

#[test]
fn a_cluster_trusts_and_is_trusted_by_certificates() {
    let cluster = Cluster::with(Transport::MutualTls).unwrap();
    certificates_count(&cluster.url(), cluster.certificates());
}

#[test]
fn sentinels_trust_and_are_trusted_by_certificates() {
    let sentinel = Sentinel::with(Transport::MutualTls).unwrap();
    certificates_count(&sentinel.url(), sentinel.certificates());
}

fn certificates_count(url: &str, certificates: Option<&Certificates>) {
    let other = server(Transport::Tls);
    for options in [identified(other.certificates()), ConnectOptions::default()] {
        for error in refusals(url, &options) {
            assert_eq!(error.kind(), ErrorKind::Connection, "{error}");
            assert!(error.message().contains("invalid peer certificate"), "{error}");
        }
    }
    // Whether the server's reason arrives before the connection ends is a matter of luck.
    for error in refusals(url, &trusting(certificates)) {
        assert_eq!(error.kind(), ErrorKind::Connection, "{error}");
    }
}

#[test]
fn a_silent_server_is_a_timeout() {
    let redis = server(Transport::Tls);
    for driver in both_with(redis.url(), &trusting(redis.certificates())) {
        driver.increment("key").unwrap();
        redis.pause().unwrap();
        let (outcome, took) = timed(|| driver.increment("key"));
        redis.resume().unwrap();
        assert_eq!(kind(&outcome), Some(ErrorKind::Timeout));
        assert!(took < PROMPT, "{took:?}");
    }
}

#[test]
fn a_handshake_that_comes_byte_by_byte_is_a_timeout_in_time() {
    // The head of a record of 16,383 bytes.
    let url = format!("rediss://{}", trickling(&[22, 3, 3, 0x3F, 0xFF]));
    let options = ConnectOptions { connect_timeout: Duration::from_millis(300), ..ConnectOptions::default() };
    let (errors, took) = timed(|| refusals(&url, &options));
    for error in errors {
        assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    }
    assert!(took < 2 * PROMPT, "{took:?}");
}

#[test]
fn files_are_checked_when_the_limiter_is_made() {
    let missing = ConnectOptions { tls_ca: Some("/nowhere/ca.pem".into()), ..ConnectOptions::default() };
    let error = Driver::blocking("rediss://localhost", &missing).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.message().contains("tls_ca") && error.message().contains("/nowhere/ca.pem"), "{error}");
    let error = Driver::blocking("redis://localhost", &missing).err().unwrap();
    assert!(error.message().contains("rediss://"), "{error}");
    let redis = server(Transport::Tls);
    let swapped =
        ConnectOptions { tls_ca: Some(redis.certificates().unwrap().key_pem()), ..ConnectOptions::default() };
    let error = Driver::blocking("rediss://localhost", &swapped).err().unwrap();
    assert!(error.message().contains("tls_ca"), "{error}");
}

/// A server with TLS that answers a PING, and all else with texts of these sizes, each in one go. Tells its port and, once an
/// answer is sent, how many bytes that took.
fn with_answers_of(sizes: &'static [usize], certificates: &Certificates) -> (u16, Receiver<usize>) {
    let provider = Arc::new(::rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let certificate = CertificateDer::from_pem_file(certificates.server_cert_pem()).unwrap();
    let key = PrivateKeyDer::from_pem_file(certificates.server_key_pem()).unwrap();
    let config = config.with_no_client_auth().with_single_cert(vec![certificate], key).unwrap();
    let mut tls = ServerConnection::new(Arc::new(config)).unwrap();
    tls.set_buffer_limit(None);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (tell, sent) = channel();
    thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let texts = sizes.iter().map(|size| format!("${size}\r\n{}\r\n", "x".repeat(*size)));
        for answer in std::iter::once("+PONG\r\n".to_owned()).chain(texts) {
            let (mut command, mut bytes) = ([0; 1024], Vec::new());
            assert_ne!(Stream::new(&mut tls, &mut socket).read(&mut command).unwrap(), 0);
            tls.writer().write_all(answer.as_bytes()).unwrap();
            while tls.wants_write() {
                tls.write_tls(&mut bytes).unwrap();
            }
            socket.write_all(&bytes).unwrap();
            tell.send(bytes.len()).unwrap();
        }
    });
    (port, sent)
}

/// Nothing is in the socket any more when as much was read as is read at once, and the last record is decrypted with the one
/// before.
#[test]
fn what_has_been_decrypted_is_taken_up_at_once() {
    const RESPONSE_TIMEOUT: Duration = Duration::from_secs(4);
    // The sizes by which some reply ends there, wherever records end.
    const SIZES: [usize; 4] = [65_600, 66_500, 67_500, 68_500];
    in_time(|| {
        let folder = std::env::temp_dir().join(format!("sluicegate-tls-{}", std::process::id()));
        let certificates = Certificates::generate(&folder).unwrap();
        let (port, sent) = with_answers_of(&SIZES, &certificates);
        let options = ConnectOptions { response_timeout: RESPONSE_TIMEOUT, ..trusting(Some(&certificates)) };
        let connector =
            Connector::new(&parse(&format!("rediss://127.0.0.1:{port}")).unwrap(), &options).unwrap();
        std::fs::remove_dir_all(folder).unwrap();
        let by = Instant::now() + 10 * RESPONSE_TIMEOUT;
        let address = Address::Tcp("127.0.0.1".to_owned(), port);
        let opened = Connection::open(&connector, &address, Role::Data, Deadline::until(by), Resend::Never);
        let mut connection = opened.unwrap();
        sent.recv().unwrap();
        // Else the system may take no more than a part before any of it is read.
        socket2::SockRef::from(&connection.stream().socket).set_recv_buffer_size(1 << 20).unwrap();
        for size in SIZES {
            let start = Instant::now();
            let get = RedisCommand::Plain(::redis::cmd("GET"), 0);
            connection.session.submit(PendingCommand::new(ONLY, get, false, by), start);
            connection.send(start);
            let mut bytes = vec![0; sent.recv().unwrap()];
            while connection.stream().socket.peek(&mut bytes).ok() != Some(bytes.len()) {
                thread::yield_now();
            }
            connection.complete(None);
            let Some((_, CommandOutcome::Done(Ok(Value::BulkString(text))))) =
                connection.session.next_outcome()
            else {
                panic!("no answer");
            };
            assert_eq!(text.len(), size);
            assert!(start.elapsed() < RESPONSE_TIMEOUT / 2, "{:?}", start.elapsed());
        }
    });
}
