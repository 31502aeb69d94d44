//! A connection with a session, and what can be asked for in it.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use super::wire::{Reader, Writer};
use crate::{Error, Result};

/// A paused server accepts connections and says nothing: then another server is soon tried.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_millis(500);
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// A follower of ZooKeeper 3.6.0 to 3.8.0 may put its processor of commits to sleep with a commit at hand
/// (ZOOKEEPER-4537): then who wrote hears nothing until any other request wakes it. All clients send pings
/// while they hear nothing; nobody else may do so here, so ours must not be late.
const PING_INTERVAL: Duration = Duration::from_millis(100);
/// How long a session outlives a connection that broke.
const SESSION_TIMEOUT_MS: i32 = 10_000;

const CREATE: i32 = 1;
const DELETE: i32 = 2;
const GET: i32 = 4;
const SET: i32 = 5;
const CHILDREN: i32 = 8;
const SYNC: i32 = 9;
const PING: i32 = 11;
const AUTHENTICATE: i32 = 100;
const CLOSE: i32 = -11;

const ANY_VERSION: i32 = -1;
const ALL_PERMISSIONS: i32 = 31;
// Pings and authentication are distinguished from other requests by their number.
const PINGED: i32 = -2;
const AUTHENTICATION: i32 = -4;
const REQUEST: i32 = 1;

// Why a server refuses.
pub(super) const BAD_ARGUMENTS: i32 = -8;
pub(super) const NO_NODE: i32 = -101;
pub(super) const NO_AUTH: i32 = -102;
pub(super) const NODE_EXISTS: i32 = -110;
pub(super) const NOT_EMPTY: i32 = -111;

/// What a server answers to a request: its data or its error code.
pub(super) type Reply<T> = std::result::Result<T, i32>;

/// A session and its connection. Requests follow one another.
#[derive(Debug)]
pub(super) struct Session {
    stream: TcpStream,
}

impl Session {
    /// Opens a new session.
    pub(super) fn open(address: SocketAddr) -> Result<Self> {
        let session = Self::connect(address, 0, &[0; 16])?;
        session.ok_or_else(|| Error::new("zookeeper: no session"))
    }

    /// Takes over the session of another client, unless it is over.
    pub(super) fn take_over(address: SocketAddr, id: i64) -> Result<Option<Self>> {
        Self::connect(address, id, &password(id))
    }

    fn connect(address: SocketAddr, id: i64, password: &[u8; 16]) -> Result<Option<Self>> {
        let stream = TcpStream::connect_timeout(&address, HANDSHAKE_TIMEOUT)?;
        stream.set_read_timeout(Some(HANDSHAKE_TIMEOUT))?;
        stream.set_write_timeout(Some(ANSWER_TIMEOUT))?;
        stream.set_nodelay(true)?;
        let mut session = Self { stream };
        let (version, last_seen, read_only) = (0, 0, false);
        let request = Writer::default().int(version).long(last_seen).int(SESSION_TIMEOUT_MS);
        session.send(request.long(id).bytes(password).bool(read_only))?;
        let answer = session.receive()?;
        session.stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
        let mut answer = Reader(&answer);
        let (_version, timeout) = (answer.int()?, answer.int()?);
        // A server grants no time to a session it does not know.
        Ok((timeout > 0).then_some(session))
    }

    /// Proves an identity for the scheme `digest`: `user:password`.
    pub(super) fn authenticate(&mut self, identity: &str) -> Result<Reply<()>> {
        let request = header(AUTHENTICATION, AUTHENTICATE).int(0).text("digest").text(identity);
        Ok(self.ask(request)?.map(drop))
    }

    /// Makes a znode that everybody may do everything with, or, if `owned`, only who has authenticated as
    /// this session has.
    pub(super) fn create(&mut self, path: &str, data: &[u8], owned: bool) -> Result<Reply<()>> {
        let (scheme, id) = if owned { ("auth", "") } else { ("world", "anyone") };
        let (entries, persistent) = (1, 0);
        let request = header(REQUEST, CREATE).text(path).bytes(data).int(entries);
        let request = request.int(ALL_PERMISSIONS).text(scheme).text(id).int(persistent);
        Ok(self.ask(request)?.map(drop))
    }

    pub(super) fn set(&mut self, path: &str, data: &[u8]) -> Result<Reply<()>> {
        Ok(self.ask(header(REQUEST, SET).text(path).bytes(data).int(ANY_VERSION))?.map(drop))
    }

    pub(super) fn delete(&mut self, path: &str) -> Result<Reply<()>> {
        Ok(self.ask(header(REQUEST, DELETE).text(path).int(ANY_VERSION))?.map(drop))
    }

    /// Deletes a znode with these children and makes it anew with the same, in two bursts.
    pub(super) fn remake(&mut self, path: &str, children: &[(String, String)]) -> Result<Reply<()>> {
        let delete = |path: &str| header(REQUEST, DELETE).text(path).int(ANY_VERSION).frame();
        let create = |path: &str, data: &str| {
            let request = header(REQUEST, CREATE).text(path).bytes(data.as_bytes()).int(1);
            request.int(ALL_PERMISSIONS).text("world").text("anyone").int(0).frame()
        };
        let below = |name: &str| format!("{path}/{name}");
        let gone = children.iter().map(|(name, _)| delete(&below(name))).chain([delete(path)]);
        let made = children.iter().map(|(name, data)| create(&below(name), data));
        if let Err(code) = self.burst(&gone.collect::<Vec<_>>())? {
            return Ok(Err(code));
        }
        self.burst(&[create(path, "")].into_iter().chain(made).collect::<Vec<_>>())
    }

    /// Sends all requests at once; the first refusal, if there is one.
    fn burst(&mut self, requests: &[Vec<u8>]) -> Result<Reply<()>> {
        self.stream.write_all(&requests.concat())?;
        let mut outcome = Ok(());
        for _ in requests {
            outcome = outcome.and(self.answer()?.map(drop));
        }
        Ok(outcome)
    }

    /// Makes reads see what any client had written before.
    pub(super) fn sync(&mut self) -> Result<Reply<()>> {
        Ok(self.ask(header(REQUEST, SYNC).text("/"))?.map(drop))
    }

    pub(super) fn get(&mut self, path: &str) -> Result<Reply<Vec<u8>>> {
        match self.ask(header(REQUEST, GET).text(path).bool(false))? {
            Ok(answer) => Ok(Ok(Reader(&answer).bytes()?.to_vec())),
            Err(code) => Ok(Err(code)),
        }
    }

    pub(super) fn children(&mut self, path: &str) -> Result<Reply<Vec<String>>> {
        match self.ask(header(REQUEST, CHILDREN).text(path).bool(false))? {
            Ok(answer) => {
                let mut answer = Reader(&answer);
                Ok(Ok((0..answer.int()?).map(|_| answer.text()).collect::<Result<_>>()?))
            }
            Err(code) => Ok(Err(code)),
        }
    }

    /// Ends the session, for whoever else has it too.
    pub(super) fn close(mut self) -> Result<()> {
        self.ask(header(REQUEST, CLOSE)).map(drop)
    }

    fn ask(&mut self, request: Writer) -> Result<Reply<Vec<u8>>> {
        self.send(request)?;
        self.answer()
    }

    /// The answer to the oldest request that has none yet.
    fn answer(&mut self) -> Result<Reply<Vec<u8>>> {
        let mut number = PINGED;
        let mut answer = Vec::new();
        while number == PINGED {
            self.wait_pinging()?;
            answer = self.receive()?;
            number = Reader(&answer).int()?;
        }
        let mut reader = Reader(&answer);
        let (_number, _transaction, code) = (reader.int()?, reader.long()?, reader.int()?);
        Ok(if code == 0 { Ok(reader.0.to_vec()) } else { Err(code) })
    }

    /// Waits until something has arrived, and pings meanwhile.
    fn wait_pinging(&mut self) -> Result<()> {
        let deadline = Instant::now() + ANSWER_TIMEOUT;
        self.stream.set_read_timeout(Some(PING_INTERVAL))?;
        while let Err(error) = self.stream.peek(&mut [0]) {
            let silent = matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut);
            if !silent || Instant::now() > deadline {
                return Err(error.into());
            }
            self.send(header(PINGED, PING))?;
        }
        Ok(self.stream.set_read_timeout(Some(ANSWER_TIMEOUT))?)
    }

    fn send(&mut self, request: Writer) -> Result<()> {
        Ok(self.stream.write_all(&request.frame())?)
    }

    fn receive(&mut self) -> Result<Vec<u8>> {
        let mut length = [0; 4];
        self.stream.read_exact(&mut length)?;
        let mut answer = vec![0; u32::from_be_bytes(length) as usize];
        self.stream.read_exact(&mut answer)?;
        Ok(answer)
    }
}

fn header(number: i32, kind: i32) -> Writer {
    Writer::default().int(number).int(kind)
}

/// The password that every ZooKeeper server gives to a session: the first bytes of Java's random generator,
/// with the session's number and a constant of ZooKeeper as its seed.
fn password(session: i64) -> [u8; 16] {
    const CONSTANT: u64 = 0xB341_5C00;
    const MULTIPLIER: u64 = 0x5_DEEC_E66D;
    const MASK: u64 = (1 << 48) - 1;
    let mut state = (session as u64 ^ CONSTANT ^ MULTIPLIER) & MASK;
    let mut password = [0; 16];
    for chunk in password.chunks_exact_mut(4) {
        state = state.wrapping_mul(MULTIPLIER).wrapping_add(0xB) & MASK;
        chunk.copy_from_slice(&((state >> 16) as u32).to_le_bytes());
    }
    password
}
