//! ZooKeeper's protocol, as far as rules need it: big-endian numbers, and texts and bytes after their length
//! (zookeeper.jute and ZooDefs.java of Apache ZooKeeper).

use std::fmt;

/// Replies without a request.
pub(super) const EVENT: i32 = -1;
pub(super) const PING: i32 = -2;
pub(super) const AUTH: i32 = -4;

/// What a server answers when the znode does not exist, exists already, or is protected.
pub(super) const NO_NODE: i32 = -101;
pub(super) const NO_AUTH: i32 = -102;
pub(super) const NODE_EXISTS: i32 = -110;

/// All that may be done to a znode: besides reading, what changes it, its children or who may do what.
const ALL_PERMISSIONS: i32 = 31;
const READ_PERMISSION: i32 = 1;
/// Who may do what, for everybody.
const WORLD: &str = "world";
/// Whatever the version of the data is.
const ANY_VERSION: i32 = -1;

/// An operation: a request without its header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Operation<'a> {
    /// The children of a znode; sets a watch on them.
    Children(&'a str),
    /// The data of a znode; sets a watch on it.
    Data(&'a str),
    /// Whether a znode exists; sets a watch for when it is created, changed or deleted.
    Exists(&'a str),
    /// Reads after it are as recent as the state of the leader.
    Sync(&'a str),
    /// A znode that stays; `owned` by who created it, or open to everybody.
    Create {
        path: &'a str,
        data: &'a [u8],
        owned: bool,
    },
    Set {
        path: &'a str,
        data: &'a [u8],
    },
    Delete(&'a str),
    /// Who may do what with a znode.
    Acl(&'a str),
    Close,
}

impl Operation<'_> {
    /// The frame with the request, its length included.
    pub(super) fn frame(&self, xid: i32) -> Vec<u8> {
        let mut frame = Writer::new();
        match self {
            Self::Children(path) => frame.int(xid).int(8).text(path).flag(true),
            Self::Data(path) => frame.int(xid).int(4).text(path).flag(true),
            Self::Exists(path) => frame.int(xid).int(3).text(path).flag(true),
            Self::Sync(path) => frame.int(xid).int(9).text(path),
            Self::Create { path, data, owned } => {
                let (scheme, id) = if *owned { ("auth", "") } else { (WORLD, "anyone") };
                let frame = frame.int(xid).int(1).text(path).bytes(data);
                frame.int(1).int(ALL_PERMISSIONS).text(scheme).text(id).int(0)
            }
            Self::Set { path, data } => frame.int(xid).int(5).text(path).bytes(data).int(ANY_VERSION),
            Self::Delete(path) => frame.int(xid).int(2).text(path).int(ANY_VERSION),
            Self::Acl(path) => frame.int(xid).int(6).text(path),
            Self::Close => frame.int(xid).int(-11),
        };
        frame.done()
    }
}

/// The first frame of a connection: begins a session with this timeout.
pub(super) fn begin(timeout_ms: i32) -> Vec<u8> {
    let mut frame = Writer::new();
    // Protocol, last transaction seen, timeout, session and its password, whether reading is enough.
    frame.int(0).long(0).int(timeout_ms).long(0).bytes(&[0; 16]).flag(false);
    frame.done()
}

/// A ping.
pub(super) fn ping() -> Vec<u8> {
    let mut frame = Writer::new();
    frame.int(PING).int(11);
    frame.done()
}

/// `user:password` for the scheme `digest`.
pub(super) fn login(login: &str) -> Vec<u8> {
    let mut frame = Writer::new();
    frame.int(AUTH).int(100).int(0).text("digest").bytes(login.as_bytes());
    frame.done()
}

/// Builds a frame.
struct Writer(Vec<u8>);

impl Writer {
    /// The length comes first, and is known last.
    fn new() -> Self {
        Self(vec![0; 4])
    }

    fn int(&mut self, number: i32) -> &mut Self {
        self.0.extend(number.to_be_bytes());
        self
    }

    fn long(&mut self, number: i64) -> &mut Self {
        self.0.extend(number.to_be_bytes());
        self
    }

    fn flag(&mut self, flag: bool) -> &mut Self {
        self.0.push(u8::from(flag));
        self
    }

    fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.int(bytes.len() as i32).0.extend(bytes);
        self
    }

    fn text(&mut self, text: &str) -> &mut Self {
        self.bytes(text.as_bytes())
    }

    fn done(mut self) -> Vec<u8> {
        let length = (self.0.len() - 4) as i32;
        self.0[..4].copy_from_slice(&length.to_be_bytes());
        self.0
    }
}

/// A frame that is not ZooKeeper's protocol.
pub(super) struct MalformedFrame;

/// Reads a frame, without its length.
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn int(&mut self) -> Result<i32, MalformedFrame> {
        self.take().map(i32::from_be_bytes)
    }

    pub(super) fn long(&mut self) -> Result<i64, MalformedFrame> {
        self.take().map(i64::from_be_bytes)
    }

    /// Nothing at all has a length of -1.
    pub(super) fn bytes(&mut self) -> Result<&'a [u8], MalformedFrame> {
        let length = usize::try_from(self.int()?.max(0)).map_err(|_| MalformedFrame)?;
        let (bytes, rest) = self.0.split_at_checked(length).ok_or(MalformedFrame)?;
        self.0 = rest;
        Ok(bytes)
    }

    pub(super) fn text(&mut self) -> Result<String, MalformedFrame> {
        String::from_utf8(self.bytes()?.to_vec()).map_err(|_| MalformedFrame)
    }

    pub(super) fn texts(&mut self) -> Result<Vec<String>, MalformedFrame> {
        (0..self.int()?.max(0)).map(|_| self.text()).collect()
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], MalformedFrame> {
        let (first, rest) = self.0.split_first_chunk().ok_or(MalformedFrame)?;
        self.0 = rest;
        Ok(*first)
    }
}

/// Whether an answer to [`Operation::Acl`] lets everybody do more than read.
pub(super) fn is_open(acl: &[u8]) -> Result<bool, MalformedFrame> {
    let mut reader = Reader(acl);
    let mut is_open = false;
    for _ in 0..reader.int()?.max(0) {
        let (permissions, scheme, _id) = (reader.int()?, reader.text()?, reader.text()?);
        is_open |= scheme == WORLD && permissions & !READ_PERMISSION != 0;
    }
    Ok(is_open)
}

/// Why an operation failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ZooKeeperError {
    /// There is no connection, or no longer.
    Lost(String),
    /// The server refused, with this code.
    Refused(i32),
}

impl From<MalformedFrame> for ZooKeeperError {
    fn from(_: MalformedFrame) -> Self {
        Self::Lost("the server does not speak the protocol of ZooKeeper".to_owned())
    }
}

impl From<std::io::Error> for ZooKeeperError {
    fn from(error: std::io::Error) -> Self {
        Self::Lost(format!("the connection broke: {error}"))
    }
}

impl fmt::Display for ZooKeeperError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lost(why) => f.write_str(why),
            Self::Refused(NO_NODE) => f.write_str("the znode does not exist"),
            Self::Refused(NO_AUTH) => f.write_str("not authorized"),
            Self::Refused(NODE_EXISTS) => f.write_str("the znode exists already"),
            Self::Refused(-111) => f.write_str("the znode has children"),
            Self::Refused(-115) => f.write_str("user or password was refused"),
            Self::Refused(code) => write!(f, "the server refused with code {code}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn garbage_is_an_error() {
        for bytes in [&[][..], &[0, 0, 0], &[0, 0, 0, 9, 1], &[0xff; 3]] {
            assert!(Reader(bytes).bytes().is_err());
        }
        assert!(Reader(&[0, 0, 0, 1, 0xff]).text().is_err());
        assert!(Reader(&[0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0]).texts().is_err());
        assert_eq!(Reader(&[0xff; 4]).bytes().ok(), Some(&[][..]));
    }

    #[test]
    fn what_everybody_may_do_is_found() {
        let acl = |entries: &[(i32, &str)]| {
            let mut frame = Writer::new();
            frame.int(entries.len() as i32);
            for (permissions, scheme) in entries {
                frame.int(*permissions).text(scheme).text("id");
            }
            frame.0.split_off(4)
        };
        for (entries, expected) in [
            (&[][..], false),
            (&[(31, "digest"), (1, WORLD)], false),
            (&[(31, "digest"), (2, WORLD)], true),
            (&[(31, WORLD)], true),
        ] {
            assert_eq!(is_open(&acl(entries)).ok(), Some(expected), "{entries:?}");
        }
        assert!(is_open(&acl(&[(31, WORLD)])[..9]).is_err());
    }

    #[test]
    fn frames_begin_with_their_length() {
        let frame = Operation::Delete("/a").frame(7);
        assert_eq!(
            frame,
            [0, 0, 0, 18, 0, 0, 0, 7, 0, 0, 0, 2, 0, 0, 0, 2, b'/', b'a', 0xff, 0xff, 0xff, 0xff]
        );
    }
}
