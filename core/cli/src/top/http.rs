//! One GET over HTTP/1.1 from a server that may be hostile: bounded in time and in size.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::str::FromStr;
use std::time::{Duration, Instant};

/// The most bytes of an answer: some 100,000 series.
const MOST: usize = 16 << 20;
/// The most bytes before the body.
const MOST_HEAD: usize = 64 << 10;
/// The most bytes of the line that begins a chunk.
const MOST_CHUNK_LINE: usize = 1 << 10;
/// What most exporters serve, for URLs without a path.
const PATH: &str = "/metrics";
const PORT: u16 = 80;

/// What to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    /// As the user names it.
    pub(super) url: String,
    authority: String,
    host: String,
    port: u16,
    path: String,
}

impl FromStr for Target {
    type Err = String;

    fn from_str(url: &str) -> Result<Self, String> {
        let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
        if scheme.eq_ignore_ascii_case("https") {
            return Err("https is not supported: name the port of the process that serves plain HTTP, or a \
                        tunnel to it"
                .to_owned());
        }
        if !scheme.eq_ignore_ascii_case("http") {
            return Err("it has to begin with http://, as in http://127.0.0.1:9100/metrics".to_owned());
        }
        if !rest.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err("it has a character that URLs lack: write it as %20 and the like".to_owned());
        }
        let rest = rest.split('#').next().unwrap_or_default();
        let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        if authority.contains('@') {
            return Err("a user and a password are not supported".to_owned());
        }
        let (host, port) =
            host_and_port(authority).ok_or("it has to name a host, and a port if it is not 80")?;
        let path = if path.starts_with('/') { path.to_owned() } else { format!("{PATH}{path}") };
        Ok(Self { url: url.to_owned(), authority: authority.to_owned(), host, port, path })
    }
}

fn host_and_port(authority: &str) -> Option<(String, u16)> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    let port = match port {
        "" => PORT,
        port => port.strip_prefix(':')?.parse().ok().filter(|port| *port > 0)?,
    };
    (!host.is_empty()).then(|| (host.to_owned(), port))
}

/// The body of the answer to a GET, or why there is none. It ends by `end`, but for the resolution of the host's name,
/// which takes as long as the system lets it.
pub(super) fn get(target: &Target, end: Instant) -> Result<String, String> {
    let mut stream = connect(target, end)?;
    let request = format!(
        "GET {} HTTP/1.1\r\nHost: {}\r\nAccept: text/plain;version=0.0.4\r\nUser-Agent: sluicegate/{}\r\n\
         Connection: close\r\n\r\n",
        target.path,
        target.authority,
        env!("CARGO_PKG_VERSION"),
    );
    let cannot = |error| format!("cannot send the request: {error}");
    stream.set_write_timeout(Some(left(end)?)).map_err(cannot)?;
    stream.write_all(request.as_bytes()).map_err(cannot)?;
    let mut answer = Answer::default();
    let mut buffer = [0; 16 << 10];
    loop {
        stream.set_read_timeout(Some(left(end)?)).map_err(|error| error.to_string())?;
        let read = match stream.read(&mut buffer) {
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) if is_timeout(error.kind()) => return Err(late()),
            Err(error) => return Err(format!("cannot read the answer: {error}")),
        };
        if let Some(body) = answer.take(&buffer[..read])? {
            // Bytes that are not text are of lines that are not understood.
            return Ok(String::from_utf8_lossy(&body).into_owned());
        }
    }
}

fn connect(target: &Target, end: Instant) -> Result<TcpStream, String> {
    let cannot = |error| format!("cannot connect: {error}");
    let mut failure = "the host has no address".to_owned();
    for address in (target.host.as_str(), target.port).to_socket_addrs().map_err(cannot)? {
        match TcpStream::connect_timeout(&address, left(end)?) {
            Ok(stream) => return Ok(stream),
            Err(error) => failure = cannot(error),
        }
    }
    Err(failure)
}

fn is_timeout(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

fn left(end: Instant) -> Result<Duration, String> {
    let left = end.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(late()) } else { Ok(left) }
}

fn late() -> String {
    "no complete answer in time".to_owned()
}

/// How the end of a body is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framing {
    Length(usize),
    Chunked,
    UntilClose,
}

/// An answer as far as it has arrived.
#[derive(Debug, Default)]
struct Answer {
    bytes: Vec<u8>,
    /// From where on bytes are not looked at yet.
    at: usize,
    framing: Option<Framing>,
    /// The content of the chunks that are complete.
    body: Vec<u8>,
}

impl Answer {
    /// Takes what was read, nothing where the connection has ended, and returns the body once it is complete.
    fn take(&mut self, read: &[u8]) -> Result<Option<Vec<u8>>, String> {
        let has_ended = read.is_empty();
        self.bytes.extend_from_slice(read);
        if self.bytes.len() > MOST {
            return Err(format!("the answer is larger than {} MiB", MOST >> 20));
        }
        let is_complete = match self.framing()? {
            None => false,
            Some(Framing::UntilClose) => has_ended,
            Some(Framing::Length(length)) => self.bytes.len() - self.at >= length,
            Some(Framing::Chunked) => self.chunks()?,
        };
        match (is_complete, has_ended) {
            (true, _) => Ok(Some(self.content())),
            (false, true) => Err("the answer ends in the middle".to_owned()),
            (false, false) => Ok(None),
        }
    }

    fn content(&mut self) -> Vec<u8> {
        match self.framing {
            Some(Framing::Chunked) => std::mem::take(&mut self.body),
            Some(Framing::Length(length)) => self.bytes[self.at..self.at + length].to_vec(),
            _ => self.bytes.split_off(self.at),
        }
    }

    /// That of the body, once the head is complete.
    fn framing(&mut self) -> Result<Option<Framing>, String> {
        if self.framing.is_none() {
            match position(&self.bytes[..self.bytes.len().min(MOST_HEAD)], b"\r\n\r\n") {
                Some(end) => {
                    self.framing = Some(framing(&String::from_utf8_lossy(&self.bytes[..end]))?);
                    self.at = end + 4;
                }
                None if self.bytes.len() >= MOST_HEAD => return Err(not_http()),
                None => {}
            }
        }
        Ok(self.framing)
    }

    /// Takes the chunks that are complete, and returns whether the last one is among them.
    fn chunks(&mut self) -> Result<bool, String> {
        loop {
            let rest = &self.bytes[self.at..];
            let Some(end) = position(&rest[..rest.len().min(MOST_CHUNK_LINE)], b"\r\n") else {
                return if rest.len() < MOST_CHUNK_LINE { Ok(false) } else { Err(not_http()) };
            };
            let line = String::from_utf8_lossy(&rest[..end]);
            let digits = line.split(';').next().unwrap_or_default().trim();
            let size = usize::from_str_radix(digits, 16).map_err(|_| not_http())?;
            if size == 0 {
                return Ok(true);
            }
            let begin = end + 2;
            // One that is larger is refused as its bytes come.
            let Some(content) = rest.get(begin..begin.saturating_add(size)) else { return Ok(false) };
            if rest.len() < begin + size + 2 {
                return Ok(false);
            }
            self.body.extend_from_slice(content);
            self.at += begin + size + 2;
        }
    }
}

fn framing(head: &str) -> Result<Framing, String> {
    let mut lines = head.split("\r\n");
    let status = lines.next().and_then(|line| line.strip_prefix("HTTP/1.")).and_then(|rest| rest.get(2..5));
    match status.and_then(|status| status.parse::<u16>().ok()) {
        None => return Err(not_http()),
        Some(200) => {}
        Some(status) => return Err(format!("the answer has status {status} instead of 200")),
    }
    let mut framing = Framing::UntilClose;
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        let value = value.trim();
        if name.eq_ignore_ascii_case("transfer-encoding") && value.eq_ignore_ascii_case("chunked") {
            return Ok(Framing::Chunked);
        }
        if name.eq_ignore_ascii_case("content-length") {
            framing = Framing::Length(value.parse().map_err(|_| not_http())?);
        }
    }
    Ok(framing)
}

fn not_http() -> String {
    "the answer is not HTTP/1.1".to_owned()
}

fn position(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    fn target(url: &str) -> Target {
        url.parse().unwrap()
    }

    #[test]
    fn a_url_names_host_port_and_path() {
        let of = |url: &str| {
            let target = target(url);
            (target.host, target.port, target.path)
        };
        assert_eq!(of("http://h:9100/m?a=b#c"), ("h".to_owned(), 9100, "/m?a=b".to_owned()));
        assert_eq!(of("HTTP://h"), ("h".to_owned(), 80, "/metrics".to_owned()));
        assert_eq!(of("http://h?a"), ("h".to_owned(), 80, "/metrics?a".to_owned()));
        assert_eq!(of("http://[::1]:1/"), ("::1".to_owned(), 1, "/".to_owned()));
        for (url, why) in [
            ("https://h/metrics", "https is not supported"),
            ("h:9100", "begin with http://"),
            ("ftp://h", "begin with http://"),
            ("http://u:p@h/", "not supported"),
            ("http://h/\r\nX: y", "character"),
            ("http://", "host"),
            ("http://h:0/", "port"),
            ("http://h:http/", "port"),
            ("http://[::1/", "host"),
        ] {
            let refused = url.parse::<Target>().unwrap_err();
            assert!(refused.contains(why), "{url}: {refused}");
        }
    }

    /// What is answered, fed a few bytes at a time.
    fn taken(answer: &[u8], step: usize) -> Result<String, String> {
        let mut taken = Answer::default();
        for part in answer.chunks(step).chain([&[][..]]) {
            if let Some(body) = taken.take(part)? {
                return Ok(String::from_utf8(body).unwrap());
            }
        }
        unreachable!("the end of the connection ends it")
    }

    #[test]
    fn every_framing_is_understood_however_it_is_cut() {
        for step in [1, 2, 3, 7, 1000] {
            let ok = |answer: &str| taken(answer.as_bytes(), step);
            assert_eq!(ok("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcdef"), Ok("abc".to_owned()));
            assert_eq!(ok("HTTP/1.0 200 OK\r\n\r\nabc"), Ok("abc".to_owned()));
            let chunked =
                "HTTP/1.1 200\r\ntransfer-encoding: Chunked\r\n\r\n2;x=y\r\nab\r\n1\r\nc\r\n0\r\n\r\n";
            assert_eq!(ok(chunked), Ok("abc".to_owned()));
        }
    }

    #[test]
    fn what_is_no_answer_is_an_error() {
        for (answer, why) in [
            ("", "in the middle"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabc", "in the middle"),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nabc", "in the middle"),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n", "in the middle"),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", "not HTTP"),
            ("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "not HTTP"),
            ("HTTP/1.1 404 Not Found\r\n\r\n", "status 404"),
            ("+PONG\r\n\r\n", "not HTTP"),
            ("HTTP/1.\u{fc}\r\n\r\n", "not HTTP"),
        ] {
            let refused = taken(answer.as_bytes(), 5).unwrap_err();
            assert!(refused.contains(why), "{answer}: {refused}");
        }
        assert!(taken(&vec![b'a'; MOST_HEAD + 1], 1 << 12).unwrap_err().contains("not HTTP"));
        let endless = [b"HTTP/1.1 200 OK\r\n\r\n", &vec![b'a'; MOST][..]].concat();
        assert!(taken(&endless, 1 << 16).unwrap_err().contains("larger than 16 MiB"));
    }

    #[test]
    fn a_server_that_trickles_is_given_up() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let target = target(&format!("http://{}", listener.local_addr().unwrap()));
        thread::scope(|scope| {
            scope.spawn(|| {
                let (mut stream, _) = listener.accept().unwrap();
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
                while stream.write_all(b"a").is_ok() {
                    thread::sleep(Duration::from_millis(5));
                }
            });
            let end = Instant::now() + Duration::from_millis(500);
            assert_eq!(get(&target, end).unwrap_err(), late());
        });
    }

    #[test]
    fn a_server_that_is_silent_is_given_up() {
        // The system accepts the connection, and nobody answers.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let target = target(&format!("http://{}", listener.local_addr().unwrap()));
        let end = Instant::now() + Duration::from_millis(500);
        assert_eq!(get(&target, end).unwrap_err(), late());
    }
}
