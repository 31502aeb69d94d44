//! The one asynchronous connection to a server, shared by all calls.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use ::redis::aio::MultiplexedConnection;
use ::redis::{AsyncConnectionConfig, Cmd, ErrorKind as Cause, RedisError, RedisResult, Value};
use tokio::runtime::Handle;
use tokio::sync::watch;

use super::address::Address;
use super::connector::{Connector, Role};
use super::errors::{self, Failure};
use super::reply::{self, Reply, Request};
use super::router::Node;
use crate::error::Error;

/// A connection that is opened when it is needed, once for all that wait for it.
///
/// No call waits in a queue for the server to come back: while a connection is being opened, nothing is
/// sent, and a connection is not used before its server has answered on it. So an outage leaves no backlog
/// of calls that are charged when it ends.
pub(super) struct Link {
    connector: Arc<Connector>,
    address: Address,
    role: Role,
    state: Arc<Mutex<State>>,
}

/// The outcome of opening, for all that wait for it; none while it lasts.
type Opened = Option<Result<Shared, Failure>>;

#[derive(Default)]
enum State {
    #[default]
    Absent,
    Opening(watch::Receiver<Opened>),
    Ready(Shared),
}

/// A connection, with a token that tells it from its successor.
#[derive(Clone)]
struct Shared {
    connection: MultiplexedConnection,
    token: Arc<()>,
}

impl Node for Link {
    fn new(connector: &Arc<Connector>, address: Address, role: Role) -> Self {
        Self { connector: Arc::clone(connector), address, role, state: Arc::default() }
    }

    fn address(&self) -> &Address {
        &self.address
    }

    fn close(&self) {
        *lock(&self.state) = State::Absent;
    }
}

impl Link {
    /// For a connection of another kind to the same server.
    #[cfg(all(unix, feature = "bridge"))]
    pub(super) fn connector(&self) -> &Arc<Connector> {
        &self.connector
    }

    /// Carries out the request at most once; `asking` announces a key that is being moved here.
    pub(super) async fn request(&self, request: &Request<'_>, asking: bool) -> Result<Reply, Failure> {
        let mut shared = self.shared().await?;
        let result = exchange(&mut shared.connection, request, asking).await;
        reply::sort(result, &self.address).map_err(|err| {
            self.judge(&err, &shared);
            self.explain(&err)
        })
    }

    /// Sends requests in one piece, each at most once, and returns what the server said to each.
    #[cfg(feature = "bridge")]
    pub(super) async fn pipeline(&self, requests: &[Request<'_>]) -> Result<Vec<Value>, Failure> {
        let mut shared = self.shared().await?;
        let mut pipeline = ::redis::Pipeline::with_capacity(requests.len());
        for request in requests {
            pipeline.add_command(request.first());
        }
        let answers = shared.connection.send_packed_commands(&pipeline, 0, requests.len()).await;
        answers.map_err(|err| {
            self.judge(&err, &shared);
            self.explain(&err)
        })
    }

    /// What a request of a pipeline was answered.
    #[cfg(feature = "bridge")]
    pub(super) fn read(&self, answer: RedisResult<Value>) -> Result<Reply, Failure> {
        reply::sort(answer, &self.address).map_err(|err| self.explain(&err))
    }

    /// What an error of a call means.
    pub(super) fn explain(&self, err: &RedisError) -> Failure {
        errors::calling(err, &self.address, self.connector.response_timeout)
    }

    /// Waits until there is an open connection.
    pub(super) async fn ready(&self) -> Result<(), Error> {
        self.shared().await.map(drop).map_err(|failure| failure.error)
    }

    /// The open connection, or the one being opened, or a new one.
    async fn shared(&self) -> Result<Shared, Failure> {
        let mut opening = match &mut *lock(&self.state) {
            State::Ready(shared) => return Ok(shared.clone()),
            State::Opening(opening) if opening.has_changed().is_ok() => opening.clone(),
            state => {
                let opening = self.open()?;
                *state = State::Opening(opening.clone());
                opening
            }
        };
        match opening.wait_for(Opened::is_some).await.as_deref() {
            Ok(Some(outcome)) => outcome.clone(),
            _ => Err(errors::no_runtime().into()),
        }
    }

    /// Opens a connection in a task of its own: a caller that gives up does not take the others along.
    fn open(&self) -> Result<watch::Receiver<Opened>, Failure> {
        let runtime = Handle::try_current().map_err(|_| errors::no_runtime())?;
        let (outcome, opening) = watch::channel(None);
        let (connector, address, role) = (Arc::clone(&self.connector), self.address.clone(), self.role);
        let state = Arc::clone(&self.state);
        runtime.spawn(async move {
            let start = Instant::now();
            let opened = connect(&connector, &address, role).await;
            let opened = opened.map_err(|err| errors::opening(&err, &address, role, start.elapsed()));
            let mut state = lock(&state);
            // Anything else in the state means that the link was closed meanwhile.
            if let State::Opening(_) = &*state {
                *state = opened.clone().map_or(State::Absent, State::Ready);
            }
            drop(state);
            outcome.send_replace(Some(opened));
        });
        Ok(opening)
    }

    /// After an error: an answer leaves the connection usable. After silence or a break the next call
    /// opens a new one; calls that are still under way on the old one end as they would have.
    fn judge(&self, err: &RedisError, used: &Shared) {
        if matches!(err.kind(), Cause::Server(_) | Cause::Extension) {
            return;
        }
        let mut state = lock(&self.state);
        if let State::Ready(current) = &*state
            && Arc::ptr_eq(&current.token, &used.token)
        {
            *state = State::Absent;
        }
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A connection whose server answers.
async fn connect(connector: &Connector, address: &Address, role: Role) -> RedisResult<Shared> {
    let start = Instant::now();
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(connector.connect_timeout))
        .set_response_timeout(Some(connector.response_timeout));
    let client = connector.client(address, role)?;
    let mut connection = client.get_multiplexed_async_connection_with_config(&config).await?;
    let left = connector.connect_timeout.saturating_sub(start.elapsed());
    connection.set_response_timeout(left.min(connector.response_timeout));
    connection.send_packed_command(&::redis::cmd("PING")).await?.extract_error()?;
    connection.set_response_timeout(connector.response_timeout);
    Ok(Shared { connection, token: Arc::new(()) })
}

async fn exchange(
    connection: &mut MultiplexedConnection,
    request: &Request<'_>,
    asking: bool,
) -> RedisResult<Value> {
    let result = send(connection, request.first(), asking).await;
    if reply::is_unknown_script(&result)
        && let Some(whole) = request.whole()
    {
        return send(connection, whole, asking).await;
    }
    result
}

async fn send(connection: &mut MultiplexedConnection, cmd: Cmd, asking: bool) -> RedisResult<Value> {
    if !asking {
        return connection.send_packed_command(&cmd).await;
    }
    // In one piece, so that no other call comes between.
    let mut both = ::redis::pipe();
    both.cmd("ASKING").add_command(cmd);
    let mut answers = connection.send_packed_commands(&both, 0, 2).await?;
    Ok(answers.pop().unwrap_or(Value::Nil))
}
