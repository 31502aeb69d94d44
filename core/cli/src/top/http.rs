//! One GET over plain HTTP from a server that may be hostile: bounded in time and in size.

use std::io::{self, ErrorKind};
use std::str::FromStr;
use std::time::Duration;

use ureq::http::{StatusCode, Uri, uri};
use ureq::{Agent, Error};

/// The most bytes of a body: some 100,000 series.
const MOST: u64 = 16 << 20;
/// The most bytes before the body.
const MOST_HEAD: usize = 64 << 10;
/// What most exporters serve, for URLs without a path.
const PATH: &str = "/metrics";

/// What to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    /// As the user names it.
    pub(super) url: String,
    uri: Uri,
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
        let authority =
            host_and_port(authority).ok_or("it has to name a host, and a port if it is not 80")?;
        let path = if path.starts_with('/') { path.to_owned() } else { format!("{PATH}{path}") };
        let uri = Uri::builder().scheme(uri::Scheme::HTTP).authority(authority).path_and_query(path).build();
        Ok(Self { url: url.to_owned(), uri: uri.map_err(|error| error.to_string())? })
    }
}

fn host_and_port(text: &str) -> Option<uri::Authority> {
    let authority: uri::Authority = text.parse().ok()?;
    let host = authority.host();
    let is_port_right = text == host || authority.port_u16()? > 0;
    (!host.is_empty() && is_port_right).then_some(authority)
}

/// The body of the answer to a GET, or why there is none.
pub(super) fn get(target: &Target, timeout: Duration) -> Result<String, String> {
    let config = Agent::config_builder()
        .timeout_global(Some(timeout))
        .max_response_header_size(MOST_HEAD)
        .max_idle_connections(0)
        // What the user names is read, and nothing else: not by way of what the environment or a server names.
        .proxy(None)
        .max_redirects(0)
        .http_status_as_error(false)
        .user_agent(concat!("sluicegate/", env!("CARGO_PKG_VERSION")))
        .accept("text/plain;version=0.0.4");
    let request = Agent::new_with_config(config.build()).get(&target.uri).header("Connection", "close");
    let mut response = request.call().map_err(reason)?;
    if response.status() != StatusCode::OK {
        return Err(format!("the answer has status {} instead of 200", response.status().as_u16()));
    }
    let body = response.body_mut().with_config().limit(MOST).read_to_vec().map_err(reason)?;
    // Bytes that are not text are of lines that are not understood.
    Ok(String::from_utf8_lossy(&body).into_owned())
}

fn reason(error: Error) -> String {
    match error {
        Error::Timeout(_) => "no complete answer in time".to_owned(),
        Error::BodyExceedsLimit(_) => format!("the answer is larger than {} MiB", MOST >> 20),
        Error::Protocol(_) | Error::Http(_) | Error::LargeResponseHeader(..) => {
            "the answer is not HTTP/1.1".to_owned()
        }
        Error::Io(error) => broken(&error),
        error => format!("cannot connect: {error}"),
    }
}

fn broken(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::UnexpectedEof => "the answer ends in the middle".to_owned(),
        ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted | ErrorKind::BrokenPipe => {
            format!("cannot read the answer: {error}")
        }
        _ => format!("cannot connect: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::net::{TcpListener, TcpStream};
    use std::thread;

    use super::*;

    fn target(url: &str) -> Target {
        url.parse().unwrap()
    }

    #[test]
    fn a_url_names_host_port_and_path() {
        for (url, uri) in [
            ("http://h:9100/m?a=b#c", "http://h:9100/m?a=b"),
            ("HTTP://h", "http://h/metrics"),
            ("http://h/", "http://h/"),
            ("http://h?a", "http://h/metrics?a"),
            ("http://[::1]:1/", "http://[::1]:1/"),
        ] {
            assert_eq!(target(url).uri.to_string(), uri);
        }
        for (url, why) in [
            ("https://h/metrics", "https is not supported"),
            ("h:9100", "begin with http://"),
            ("ftp://h", "begin with http://"),
            ("http://u:p@h/", "not supported"),
            ("http://h/\r\nX: y", "character"),
            ("http://", "host"),
            ("http://:1/", "host"),
            ("http://h:0/", "port"),
            ("http://h:/", "port"),
            ("http://h:65536/", "port"),
            ("http://h:http/", "port"),
            ("http://[::1/", "host"),
        ] {
            let refused = url.parse::<Target>().unwrap_err();
            assert!(refused.contains(why), "{url}: {refused}");
        }
    }

    /// Reads what a server answers to the first request, which is given so long.
    fn answered(timeout: Duration, answer: impl FnOnce(TcpStream) + Send) -> Result<String, String> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let target = target(&format!("http://{}", listener.local_addr().unwrap()));
        thread::scope(|scope| {
            scope.spawn(move || {
                let stream = listener.accept().unwrap().0;
                let mut lines = BufReader::new(&stream).lines().map_while(Result::ok);
                assert_eq!(lines.next().unwrap(), "GET /metrics HTTP/1.1");
                assert!(lines.any(|line| line.is_empty()));
                answer(stream);
            });
            get(&target, timeout)
        })
    }

    const LONG: Duration = Duration::from_secs(20);

    fn sent(answer: &[u8]) -> Result<String, String> {
        answered(LONG, |mut stream| drop(stream.write_all(answer)))
    }

    #[test]
    fn every_framing_is_understood() {
        for answer in [
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc",
            "HTTP/1.0 200 OK\r\n\r\nabc",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n2;x=y\r\nab\r\n1\r\nc\r\n0\r\n\r\n",
        ] {
            assert_eq!(sent(answer.as_bytes()), Ok("abc".to_owned()), "{answer}");
        }
        assert_eq!(sent(b"HTTP/1.0 200 OK\r\n\r\na\xfc"), Ok("a\u{fffd}".to_owned()));
    }

    #[test]
    fn what_is_no_answer_is_an_error() {
        for (answer, why) in [
            ("", "in the middle"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabc", "in the middle"),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nabc", "in the middle"),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", "not HTTP"),
            ("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "not HTTP"),
            ("HTTP/1.1 404 Not Found\r\n\r\n", "status 404"),
            ("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n\r\n", "status 302"),
            ("+PONG\r\n\r\n", "not HTTP"),
            ("HTTP/1.\u{fc}\r\n\r\n", "not HTTP"),
        ] {
            let refused = sent(answer.as_bytes()).unwrap_err();
            assert!(refused.contains(why), "{answer}: {refused}");
        }
        let head = [b"HTTP/1.1 200 OK\r\nX: ", &vec![b'a'; 2 * MOST_HEAD][..]].concat();
        assert!(sent(&head).unwrap_err().contains("not HTTP"));
        let endless =
            [b"HTTP/1.1 200 OK\r\n\r\n", &vec![b'a'; 1 + usize::try_from(MOST).unwrap()][..]].concat();
        assert!(sent(&endless).unwrap_err().contains("larger than 16 MiB"));
    }

    const SHORT: Duration = Duration::from_millis(500);

    #[test]
    fn a_server_that_trickles_is_given_up() {
        let trickled = answered(SHORT, |mut stream| {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
            while stream.write_all(b"a").is_ok() {
                thread::sleep(Duration::from_millis(5));
            }
        });
        assert!(trickled.unwrap_err().contains("in time"));
    }

    #[test]
    fn a_server_that_is_silent_is_given_up() {
        // The system accepts the connection, and nobody answers.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let target = target(&format!("http://{}", listener.local_addr().unwrap()));
        assert!(get(&target, SHORT).unwrap_err().contains("in time"));
    }
}
