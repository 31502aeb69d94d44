//! The application, started as its users would, does what the page of axum says.

// A test that cannot go on has failed.
#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};

use sluicegate_test_servers::Redis;

struct Site {
    process: Child,
    address: SocketAddr,
}

impl Site {
    fn start(redis: &Redis) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sluicegate-example-axum"));
        command.env("LIMITER_URL", redis.url()).env("PROXIES", "1").env("PORT", "0").stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let mut said = String::new();
        BufReader::new(process.stdout.as_mut().unwrap()).read_line(&mut said).unwrap();
        let address = said.trim().strip_prefix("listening on ").unwrap().parse().unwrap();
        Self { process, address }
    }

    /// Sends a request with these lines, the first of which is its method and target.
    fn ask(&self, lines: &[&str]) -> Answer {
        let (first, headers) = lines.split_first().unwrap();
        let headers: String = headers.iter().map(|line| format!("{line}\r\n")).collect();
        let mut stream = TcpStream::connect(self.address).unwrap();
        let request = format!("{first} HTTP/1.1\r\nhost: here\r\nconnection: close\r\n{headers}\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        Answer(answer)
    }

    fn statuses<const N: usize>(&self, lines: &[&str]) -> [u16; N] {
        [(); N].map(|()| self.ask(lines).status())
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

struct Answer(String);

impl Answer {
    fn status(&self) -> u16 {
        self.0.split(' ').nth(1).unwrap().parse().unwrap()
    }

    fn header(&self, name: &str) -> Option<&str> {
        let head = self.0.split("\r\n\r\n").next().unwrap();
        let mut lines = head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(found, _)| *found == name).map(|(_, value)| value)
    }

    fn body(&self) -> &str {
        self.0.split_once("\r\n\r\n").unwrap().1
    }
}

#[test]
fn the_page_of_axum() {
    let redis = Redis::start().unwrap();
    let site = Site::start(&redis);

    // By the address, which the proxy tells.
    let signup = ["POST /signup", "x-forwarded-for: 192.0.2.1"];
    assert_eq!(site.statuses(&signup), [200, 200, 200, 429]);
    assert_eq!(site.ask(&["POST /signup", "x-forwarded-for: 192.0.2.2"]).status(), 200);

    // An answer of its own, with the headers of a denial at the route.
    let denied = site.ask(&signup);
    assert_eq!(denied.body(), "Too many requests for shop:/signup:3/hour.");
    assert!((1..=1200).contains(&denied.header("retry-after").unwrap().parse::<u32>().unwrap()));
    assert!(denied.header("ratelimit").unwrap().contains("3/hour\";r=0"), "{}", denied.0);

    // By the user, wherever they come from and whatever the path holds.
    let report = |number: u32, user: &str| {
        let (target, user) = (format!("GET /reports/{number}"), format!("authorization: Bearer {user}"));
        site.ask(&[&target, &user, &format!("x-forwarded-for: 198.51.100.{number}")])
    };
    assert_eq!([0, 1, 2, 3, 4].map(|number| report(number, "alice").status()), [200, 200, 200, 200, 429]);
    assert_eq!(report(7, "bob").body(), "report 7, 3 left");
    assert_eq!(site.ask(&["GET /reports/7"]).status(), 401);

    // By the plan.
    assert_eq!(site.statuses(&["GET /exports", "authorization: Bearer bob"]), [200, 200, 429]);
    assert_eq!(site.statuses(&["GET /exports", "authorization: Bearer alice"]), [200, 200, 200, 200, 429]);

    // The health check is not limited, and its answer has no headers of a limit.
    let health = site.ask(&["GET /health", "x-forwarded-for: 192.0.2.1"]);
    assert_eq!((health.status(), health.header("ratelimit")), (200, None));
}
