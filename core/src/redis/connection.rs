//! A blocking connection to one server.

use std::time::{Duration, Instant};

use ::redis::{Cmd, ConnectionLike, RedisResult, Value};

use super::address::Address;
use super::connector::{Connector, Role};
use super::signals::Undisturbed;
#[cfg(unix)]
use super::socket::Socket;
use super::spin::Spin;

/// By a socket of our own, or by the `redis` crate, which has TLS.
pub(super) enum Connection {
    #[cfg(unix)]
    Plain(Socket),
    Foreign(Foreign),
}

impl Connection {
    /// Connects and logs in.
    pub(super) fn open(
        connector: &Connector,
        address: &Address,
        role: Role,
        limit: Duration,
    ) -> RedisResult<Self> {
        #[cfg(unix)]
        if connector.is_plain(address) {
            let by = Instant::now() + limit;
            return Socket::open(address, connector.session(role), by).map(Self::Plain);
        }
        Foreign::open(connector, address, role, limit).map(Self::Foreign)
    }

    /// The answer to a command, an error of the server included.
    pub(super) fn call(&mut self, cmd: &Cmd, spin: &Spin, limit: Duration) -> RedisResult<Value> {
        match self {
            #[cfg(unix)]
            Self::Plain(socket) => {
                let by = Instant::now() + limit;
                socket.send(&cmd.get_packed_command(), by)?;
                socket.answer_soon(spin, by)
            }
            Self::Foreign(foreign) => foreign.call(cmd, limit),
        }
    }

    /// The time that what is sent takes to the server and back, if known.
    pub(super) fn round_trip(&self) -> Option<Duration> {
        match self {
            #[cfg(unix)]
            Self::Plain(socket) => socket.round_trip(),
            Self::Foreign(_) => None,
        }
    }

    /// The answers to commands that are sent in one piece, errors of the server included.
    pub(super) fn call_many(&mut self, cmds: &[Cmd], limit: Duration) -> RedisResult<Vec<Value>> {
        match self {
            #[cfg(unix)]
            Self::Plain(socket) => {
                let by = Instant::now() + limit;
                socket.send(&packed(cmds), by)?;
                socket.answers(cmds.len(), by)
            }
            Self::Foreign(foreign) => foreign.call_many(cmds, limit),
        }
    }
}

/// A connection whose time is limited between the pieces of an answer only.
pub(super) struct Foreign {
    connection: ::redis::Connection,
    /// As it is set.
    limit: Duration,
}

impl Foreign {
    fn open(connector: &Connector, address: &Address, role: Role, limit: Duration) -> RedisResult<Self> {
        let _undisturbed = Undisturbed::begin();
        let connection = connector.client(address, role)?.get_connection_with_timeout(limit)?;
        Ok(Self { connection, limit: Duration::MAX })
    }

    fn call(&mut self, cmd: &Cmd, limit: Duration) -> RedisResult<Value> {
        let _undisturbed = Undisturbed::begin();
        self.limit(limit)?;
        self.connection.req_command(cmd)
    }

    fn limit(&mut self, limit: Duration) -> RedisResult<()> {
        if self.limit != limit {
            self.connection.set_read_timeout(Some(limit))?;
            self.connection.set_write_timeout(Some(limit))?;
            self.limit = limit;
        }
        Ok(())
    }

    fn call_many(&mut self, cmds: &[Cmd], limit: Duration) -> RedisResult<Vec<Value>> {
        let _undisturbed = Undisturbed::begin();
        self.limit(limit)?;
        self.connection.send_packed_command(&packed(cmds))?;
        cmds.iter().map(|_| self.answer()).collect()
    }

    fn answer(&mut self) -> RedisResult<Value> {
        loop {
            match self.connection.recv_response()? {
                // Of no call's making.
                Value::Push { .. } => (),
                value => return Ok(value),
            }
        }
    }
}

fn packed(cmds: &[Cmd]) -> Vec<u8> {
    let mut packed = Vec::new();
    cmds.iter().for_each(|cmd| cmd.write_packed_command(&mut packed));
    packed
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::thread;

    use super::super::Backend;
    use super::super::options::ConnectOptions;
    use super::super::url::Servers;
    use super::*;

    #[test]
    fn what_a_server_says_besides_answers_none_of_many() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("redis://{}?protocol=resp3", listener.local_addr().unwrap());
        let server = thread::spawn(move || {
            let mut stream = listener.accept().unwrap().0;
            for answer in [&b"%1\r\n+proto\r\n:3\r\n"[..], b">2\r\n+message\r\n+hello\r\n:1\r\n:2\r\n"] {
                let _ = stream.read(&mut [0; 1000]).unwrap();
                stream.write_all(answer).unwrap();
            }
        });
        let Backend::Redis(url) = Backend::parse(&url).unwrap() else { panic!("not a server") };
        let connector = Connector::new(&url, &ConnectOptions::default()).unwrap();
        let Servers::One(address) = &connector.servers else { panic!("not one server") };
        let limit = Duration::from_secs(5);
        let mut foreign = Foreign::open(&connector, address, Role::Data, limit).unwrap();
        let pings = [(); 2].map(|()| ::redis::cmd("PING"));
        assert_eq!(foreign.call_many(&pings, limit).unwrap(), [Value::Int(1), Value::Int(2)]);
        server.join().unwrap();
    }
}
