//! Requests over HTTP/1.1 to a server of the tests.

use std::net::SocketAddr;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// What a server answered.
pub(crate) struct HttpResponse {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl HttpResponse {
    /// A header by its name.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.filter(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value).next()
    }

    /// The problem details.
    pub(crate) fn problem(&self) -> Value {
        assert_eq!(self.header("content-type"), Some("application/problem+json"));
        serde_json::from_str(&self.body).unwrap()
    }
}

/// Sends a request with these lines, the first of which is its method and target.
pub(crate) async fn ask(server: SocketAddr, lines: &[&str]) -> HttpResponse {
    let (first, headers) = lines.split_first().unwrap();
    let headers: String = headers.iter().map(|line| format!("{line}\r\n")).collect();
    let body = "here";
    let length = body.len();
    let request = format!(
        "{first} HTTP/1.1\r\nhost: here\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
    );
    let mut stream = TcpStream::connect(server).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    HttpResponse { status, head: head.to_owned(), body: body.to_owned() }
}
