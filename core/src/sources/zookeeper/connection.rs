//! A connection to one of the servers, with a session of its own. Nothing depends on a session beyond its
//! connection, so none is ever taken up again.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout, timeout_at};

use super::tls::{Duplex, Tls};
use super::url::ZooKeeperUrl;
use super::wire::{self, AUTH, EVENT, Operation, PING, Reader, ZooKeeperError};

/// The session timeout: how long the servers wait for a ping.
const SESSION_TIMEOUT: Duration = Duration::from_secs(6);
/// Silence after which the client pings. The session could do with fewer; but a follower of ZooKeeper
/// 3.6.0 to 3.8.0 may keep what it has for us until anybody's next request (ZOOKEEPER-4537), and changes are
/// to be seen within a second.
const PING_INTERVAL: Duration = Duration::from_millis(750);
/// The longest time to open a session with one server.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(1_500);
/// What is larger is not ZooKeeper's: it refuses data of a megabyte, and names make up the rest.
const LONGEST_FRAME: usize = 64 << 20;

pub(super) type ZooKeeperResult<T> = Result<T, ZooKeeperError>;

/// What a reply holds after its header, or the code of a refusal.
pub(super) type Reply = Result<Vec<u8>, i32>;

pub(super) struct Connection {
    /// The place of its host in the URL.
    pub(super) host: usize,
    stream: Box<dyn Duplex>,
    /// What was received and is not yet a whole frame.
    received: Vec<u8>,
    /// The paths of znodes that changed, came or went.
    events: VecDeque<String>,
    last_xid: i32,
    /// What the servers agreed to, if it is less than what was asked for.
    session_timeout: Duration,
    heard: Instant,
}

impl Connection {
    /// Opens a session with the first server that has time, beginning with any but the one that was lost.
    pub(super) async fn open(
        url: &ZooKeeperUrl,
        tls: Option<&Tls>,
        lost: Option<usize>,
    ) -> ZooKeeperResult<Self> {
        let mut last = ZooKeeperError::Lost("there are no servers".to_owned());
        for place in url.order(lost) {
            match timeout(CONNECT_TIMEOUT, Self::open_at(place, url, tls)).await {
                Ok(Ok(connection)) => return Ok(connection),
                Ok(Err(failure)) => last = failure,
                Err(_) => last = ZooKeeperError::Lost(format!("{} did not answer in time", url.hosts[place])),
            }
        }
        Err(last)
    }

    async fn open_at(place: usize, url: &ZooKeeperUrl, tls: Option<&Tls>) -> ZooKeeperResult<Self> {
        let host = &url.hosts[place];
        let stream = TcpStream::connect(host).await;
        let stream =
            stream.map_err(|error| ZooKeeperError::Lost(format!("cannot connect to {host}: {error}")))?;
        stream.set_nodelay(true)?;
        let stream: Box<dyn Duplex> = match tls {
            Some(tls) => Box::new(tls.over(stream, host).await?),
            None => Box::new(stream),
        };
        Self::over(stream, place, url).await
    }

    /// Opens a session on a stream.
    pub(super) async fn over(
        stream: Box<dyn Duplex>,
        place: usize,
        url: &ZooKeeperUrl,
    ) -> ZooKeeperResult<Self> {
        let mut connection = Self {
            host: place,
            stream,
            received: Vec::new(),
            events: VecDeque::new(),
            last_xid: 0,
            session_timeout: SESSION_TIMEOUT,
            heard: Instant::now(),
        };
        connection.begin().await?;
        if let Some(login) = &url.login {
            connection.send(&wire::login(&login.0)).await?;
            connection.reply(AUTH).await?.map_err(ZooKeeperError::Refused)?;
        }
        Ok(connection)
    }

    async fn begin(&mut self) -> ZooKeeperResult<()> {
        self.send(&wire::begin(SESSION_TIMEOUT.as_millis() as i32)).await?;
        let frame = self.frame().await.map_err(|failure| {
            ZooKeeperError::Lost(format!(
                "no session: {failure}; it may allow too few connections (maxClientCnxns)"
            ))
        })?;
        let mut reader = Reader(&frame);
        let (_protocol, timeout_ms) = (reader.int()?, reader.int()?);
        match u64::try_from(timeout_ms) {
            Ok(0) | Err(_) => Err(ZooKeeperError::Lost("the server refused the session".to_owned())),
            Ok(timeout_ms) => {
                self.session_timeout = SESSION_TIMEOUT.min(Duration::from_millis(timeout_ms));
                Ok(())
            }
        }
    }

    async fn send(&mut self, frames: &[u8]) -> ZooKeeperResult<()> {
        self.stream.write_all(frames).await?;
        // TLS keeps what is not a whole record yet.
        Ok(self.stream.flush().await?)
    }

    /// Sends requests together and returns their replies, in order.
    pub(super) async fn call(&mut self, requests: &[Operation<'_>]) -> ZooKeeperResult<Vec<Reply>> {
        let first = self.last_xid + 1;
        let mut frames = Vec::new();
        for request in requests {
            self.last_xid += 1;
            frames.extend(request.frame(self.last_xid));
        }
        let silence = self.silence();
        let calling = async {
            self.send(&frames).await?;
            let mut replies = Vec::with_capacity(requests.len());
            for xid in first..first + requests.len() as i32 {
                replies.push(self.reply(xid).await?);
            }
            Ok(replies)
        };
        timeout(silence, calling).await.unwrap_or_else(|_| Err(silent()))
    }

    /// [`call`](Self::call) with one request.
    pub(super) async fn call_one(&mut self, request: Operation<'_>) -> ZooKeeperResult<Reply> {
        let mut replies = self.call(&[request]).await?;
        Ok(replies.remove(0))
    }

    /// Waits for a watch event, and returns the paths of the znodes with one.
    pub(super) async fn changes(&mut self) -> ZooKeeperResult<Vec<String>> {
        while self.events.is_empty() {
            let lost_at = self.heard + self.silence();
            let frame = timeout_at(lost_at, self.frame_or_ping()).await.map_err(|_| silent())??;
            self.unasked(&frame)?;
        }
        Ok(self.events.drain(..).collect())
    }

    /// The longest time without a byte from the server.
    fn silence(&self) -> Duration {
        self.session_timeout * 2 / 3
    }

    /// The reply to a request; what comes before it are events.
    async fn reply(&mut self, expected: i32) -> ZooKeeperResult<Reply> {
        loop {
            let frame = self.frame_or_ping().await?;
            let mut reader = Reader(&frame);
            let (xid, _transaction, code) = (reader.int()?, reader.long()?, reader.int()?);
            if xid == expected {
                return Ok(if code == 0 { Ok(reader.0.to_vec()) } else { Err(code) });
            }
            self.unasked(&frame)?;
        }
    }

    /// Takes a frame that answers nothing.
    fn unasked(&mut self, frame: &[u8]) -> ZooKeeperResult<()> {
        let mut reader = Reader(frame);
        let (xid, _transaction, _code) = (reader.int()?, reader.long()?, reader.int()?);
        match xid {
            PING => Ok(()),
            EVENT => {
                let (_kind, _state) = (reader.int()?, reader.int()?);
                self.events.push_back(reader.text()?);
                Ok(())
            }
            _ => Err(wire::MalformedFrame.into()),
        }
    }

    /// The next frame, before which we give signs of life.
    async fn frame_or_ping(&mut self) -> ZooKeeperResult<Vec<u8>> {
        let interval = PING_INTERVAL.min(self.session_timeout / 3);
        loop {
            if let Ok(frame) = timeout(interval, self.frame()).await {
                return frame;
            }
            self.send(&wire::ping()).await?;
        }
    }

    /// The next frame, without its length. May be dropped and called again.
    async fn frame(&mut self) -> ZooKeeperResult<Vec<u8>> {
        loop {
            if let Some((length, rest)) = self.received.split_first_chunk() {
                let length =
                    usize::try_from(i32::from_be_bytes(*length)).map_err(|_| wire::MalformedFrame)?;
                if length > LONGEST_FRAME {
                    return Err(wire::MalformedFrame.into());
                }
                if rest.len() >= length {
                    let frame = rest[..length].to_vec();
                    self.received.drain(..4 + length);
                    return Ok(frame);
                }
            }
            if self.stream.read_buf(&mut self.received).await? == 0 {
                return Err(ZooKeeperError::Lost("the server closed the connection".to_owned()));
            }
            self.heard = Instant::now();
        }
    }
}

fn silent() -> ZooKeeperError {
    ZooKeeperError::Lost("the server fell silent".to_owned())
}
