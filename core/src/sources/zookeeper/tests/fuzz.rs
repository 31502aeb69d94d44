//! Frames of any server.

use tokio::io::{AsyncWriteExt, duplex};

use super::super::connection::Connection;
use super::super::session;
use super::super::url::ZooKeeperUrl;
use super::*;
use crate::Rules;
use crate::catalog::{Catalog, Share};
use crate::keys::secret::SecretNames;
use crate::sources::Updates;

/// What a server sends that holds one rule, changes it, and goes away.
fn conversation() -> Vec<u8> {
    let reply = |xid: i32, body: &[u8]| text(&[&xid.to_be_bytes()[..], &[0; 12], body].concat());
    let event = [&EVENT.to_be_bytes()[..], &[0; 12], &[0; 8], &text(b"/rules/a")].concat();
    let session = text(&[&[0; 4], &6_000_i32.to_be_bytes()[..], &[0; 8], &text(&[0; 16])].concat());
    let data = |limit| text(rule("a", limit).as_bytes());
    let frames = [
        session,
        reply(1, &[]),
        reply(2, &names(&["a"])),
        reply(3, &data(1)),
        text(&event),
        reply(4, &data(2)),
    ];
    frames.concat()
}

#[test]
fn fuzz_zookeeper_frames() {
    let url = ZooKeeperUrl::parse("zookeeper://host/rules").unwrap();
    let runtime = runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    sluicegate_fuzz::bytes("zookeeper", vec![conversation()], |input| {
        let nothing = Arc::new(Catalog::new(Rules::default(), SecretNames::default(), Share::default()));
        let updates = Updates::new("fixed", None, nothing, None);
        let failure = runtime.block_on(async {
            let (ours, mut theirs) = duplex(1 << 20);
            theirs.write_all(input).await.unwrap();
            theirs.shutdown().await.unwrap();
            match Connection::over(Box::new(ours), 0, &url).await {
                Ok(connection) => session::follow(connection, &url, &updates).await,
                Err(failure) => failure,
            }
        });
        assert!(failure.to_string().len() < 300, "{failure}");
    });
}
