//! The model of servers: how they carry out commands.

use super::ledger::Fate;
use super::plan::{CallKind, RefusedScript, Setup};
use super::protocol::{Key, ServerCommand, answer, numbered};
use super::servers::SLOTS;
use super::world::World;

/// A reply, and what it means for the calls that the command carried out.
type Reply = (String, Fate);

fn refused(text: impl Into<String>) -> Reply {
    (text.into() + "\r\n", Fate::Refused)
}

fn moving() -> Reply {
    ("-TRYAGAIN Multiple keys request during rehashing of slot\r\n".to_owned(), Fate::Moving)
}

fn failed(text: impl Into<String>) -> Reply {
    (text.into() + "\r\n", Fate::Ended)
}

/// What a script says, caller by caller: about which key, and of one of a crowd whether it is admitted.
#[derive(Default)]
struct Items(Vec<(Key, String, Option<bool>)>);

impl Items {
    fn add(&mut self, key: Key, text: String, admitted: Option<bool>) {
        self.0.push((key, text, admitted));
    }

    fn in_a_row(&self) -> String {
        let text: String = self.0.iter().map(|(_, text, _)| text.as_str()).collect();
        if self.0.len() > 1 { format!("*{}\r\n{text}", self.0.len()) } else { text }
    }

    /// A list for each key: for how many callers, and what.
    fn by_key(&self) -> String {
        let lists: Vec<String> = self.0.chunk_by(|one, next| one.0 == next.0).map(Self::list).collect();
        format!("*{}\r\n{}", lists.len(), lists.concat())
    }

    fn list(of_key: &[(Key, String, Option<bool>)]) -> String {
        // What is wrong with a key is said once.
        let parts = of_key.chunk_by(|one, next| one.2 == next.2);
        let parts: Vec<String> = parts.map(|part| format!(":{}\r\n{}", part.len(), part[0].1)).collect();
        format!("*{}\r\n{}", 2 * parts.len(), parts.concat())
    }
}

impl World {
    /// The server carries out what has arrived.
    pub(super) fn serve(&mut self, id: usize) {
        let arrived = self.at_server(id);
        let server = self.connections[id].server;
        while !self.connections[id].is_dead && self.deployment.servers[server].hung_until <= self.now {
            let Some(frame) = self.connections[id].frames.pop_front_if(|frame| frame.end <= arrived) else {
                return;
            };
            let (text, fate) = self.carry_out(id, server, &frame.command);
            self.note(|_| format!("{server} on {id}: {:?} -> {:?}", frame.command, text));
            let end = self.respond(id, &text);
            if text.starts_with("-READONLY") || text.starts_with("-MASTERDOWN") {
                self.connections[id].confessed_at.get_or_insert(end);
            }
            self.ledger.replied(id, end, &frame.command, fate);
            self.announce_late();
        }
    }

    /// What the server replies to a command.
    pub(super) fn carry_out(&mut self, id: usize, server: usize, command: &ServerCommand) -> Reply {
        let asking = std::mem::take(&mut self.connections[id].asking);
        let caching = std::mem::take(&mut self.connections[id].caching);
        let refusal = self.refusal(server);
        if refusal == Some(RefusedScript::Loading) {
            return failed("-LOADING Redis is loading the dataset in memory");
        }
        match command {
            ServerCommand::Ping => ("+PONG\r\n".to_owned(), Fate::Ended),
            ServerCommand::Hello => ("%1\r\n+proto\r\n:3\r\n".to_owned(), Fate::Ended),
            ServerCommand::Login => ("+OK\r\n".to_owned(), Fate::Ended),
            ServerCommand::Wait(replicas) => {
                let count = self.random.below(*replicas as u64 + 1) as i64;
                self.ledger.replicated(id, count == *replicas);
                (format!(":{count}\r\n"), Fate::Ended)
            }
            ServerCommand::Asking => {
                self.connections[id].asking = true;
                ("+OK\r\n".to_owned(), Fate::Ended)
            }
            ServerCommand::Tracking => ("+OK\r\n".to_owned(), Fate::Ended),
            ServerCommand::Caching if refusal == Some(RefusedScript::Busy) => {
                failed("-BUSY Redis is busy running a script.")
            }
            ServerCommand::Caching => {
                self.connections[id].caching = true;
                ("+OK\r\n".to_owned(), Fate::Ended)
            }
            ServerCommand::Role | ServerCommand::ClusterSlots | ServerCommand::SentinelMaster => {
                (self.describe(server, command), Fate::Ended)
            }
            ServerCommand::Script { .. } | ServerCommand::Delete(_) => {
                let refused = self.refuse(server, command, refusal, asking);
                refused.unwrap_or_else(|| self.execute((id, server), command, caching))
            }
        }
    }

    /// What a server says about itself and others.
    pub(super) fn describe(&self, server: usize, command: &ServerCommand) -> String {
        match (command, self.refusal(server)) {
            (_, Some(RefusedScript::Loading)) => {
                "-LOADING Redis is loading the dataset in memory\r\n".to_owned()
            }
            (ServerCommand::ClusterSlots, _) => self.deployment.cluster_slots(server),
            _ => self.deployment.role(server),
        }
    }

    fn refusal(&self, server: usize) -> Option<RefusedScript> {
        self.deployment.servers[server]
            .refusal
            .filter(|(_, until)| self.now < *until)
            .map(|(refusal, _)| refusal)
    }

    /// Why the server does not execute a command, if so.
    fn refuse(
        &self,
        server: usize,
        command: &ServerCommand,
        refusal: Option<RefusedScript>,
        asking: bool,
    ) -> Option<Reply> {
        let keys: Vec<Key> = command.calls().map(|(key, _)| key).collect();
        match refusal {
            Some(RefusedScript::Busy) => return Some(failed("-BUSY Redis is busy running a script.")),
            Some(RefusedScript::ClusterDown) => return Some(failed("-CLUSTERDOWN The cluster is down")),
            Some(RefusedScript::OutOfMemory) => {
                return Some(failed("-OOM command not allowed when used memory > 'maxmemory'."));
            }
            Some(RefusedScript::Loading) | None => {}
        }
        if self.plan.has_bad_keys && keys.iter().any(|key| key.family % 5 == 4) {
            let words = "-NOPERM No permissions to access a key";
            return Some(if keys.len() > 1 { refused(words) } else { failed(words) });
        }
        let minds_slots = self.plan.setup == Setup::Cluster || self.plan.minds_slots;
        if minds_slots && keys.iter().any(|key| key.tag != keys[0].tag) {
            return Some(refused("-CROSSSLOT Keys in request don't hash to the same slot"));
        }
        if self.plan.setup == Setup::Cluster
            && let Some(elsewhere) = self.redirect(server, command, &keys, asking)
        {
            return Some(elsewhere);
        }
        self.refuse_script(server, command)
    }

    fn refuse_script(&self, server: usize, command: &ServerCommand) -> Option<Reply> {
        let this = &self.deployment.servers[server];
        if let ServerCommand::Script { script, whole: false, .. } = command
            && !this.scripts[*script]
        {
            return Some(refused("-NOSCRIPT No matching script. Please use EVAL."));
        }
        if this.is_primary || self.plan.setup == Setup::Cluster {
            return None;
        }
        let primary = &self.deployment.servers[self.deployment.primary];
        if self.now < primary.down_until {
            return Some(refused("-MASTERDOWN Link with MASTER is down"));
        }
        // A script on a replica fails with its first write.
        let writes = |(key, kind): (Key, CallKind)| {
            kind == CallKind::Delete || kind.charges() && this.counters[key.tag] < self.plan.limit
        };
        command.calls().any(writes).then(|| refused("-READONLY You can't write against a read only replica."))
    }

    /// Where keys are, if not here.
    fn redirect(&self, server: usize, command: &ServerCommand, keys: &[Key], asking: bool) -> Option<Reply> {
        let (tag, deployment) = (keys[0].tag, &self.deployment);
        let slot = SLOTS[tag];
        let owner = deployment.owners[tag];
        let migration = deployment.migrations[tag].filter(|migration| migration.to != owner);
        if server == owner {
            let migration = migration?;
            return match keys.iter().filter(|key| migration.has_moved(**key)).count() {
                0 => None,
                // The other key of it is yet to come.
                _ if command.is_pair() && migration.progress == 1 => Some(moving()),
                all if all == keys.len() => Some(refused(format!("-ASK {slot} h{}:1", migration.to))),
                _ => Some(moving()),
            };
        }
        if asking && migration.is_some_and(|migration| migration.to == server) {
            // A key that is nowhere yet may still be made by the owner.
            let lacks_key = command.is_pair() && keys[0].family.is_multiple_of(2);
            return lacks_key.then(moving);
        }
        let known = deployment.servers[server].owners[tag];
        Some(refused(format!("-MOVED {slot} h{}:1", if known == server { owner } else { known })))
    }

    fn execute(&mut self, (id, server): (usize, usize), command: &ServerCommand, caching: bool) -> Reply {
        if let ServerCommand::Script { script, whole: true, .. } = command {
            self.deployment.servers[server].scripts[*script] = true;
        }
        let is_replica = !self.deployment.servers[server].is_primary;
        let is_stray = self.plan.setup != Setup::Cluster && server != self.deployment.primary;
        let mut items = Items::default();
        for (key, kind) in command.calls() {
            if kind == CallKind::Delete {
                self.ledger.executed(key, kind, false, is_stray);
                return (":1\r\n".to_owned(), Fate::Ended);
            }
            if self.plan.has_bad_keys && key.family % 7 == 3 {
                items.add(key, format!("-ERR damaged state at {};\r\n", key.name()), None);
                continue;
            }
            let counters = match self.plan.setup {
                Setup::Cluster => &mut self.deployment.counters,
                Setup::One | Setup::Sentinel => &mut self.deployment.servers[server].counters,
            };
            let admitted = counters[key.tag] < self.plan.limit;
            let charged = admitted && kind.charges();
            counters[key.tag] += u64::from(charged);
            self.touched(id, (key, kind), caching, charged);
            match self.ledger.executed(key, kind, charged, is_stray) {
                Some(number) => items.add(key, numbered(key, kind, admitted, number), Some(admitted)),
                None => items.add(key, answer(key, kind, admitted), None),
            }
        }
        let text = if command.is_for_callers() { items.by_key() } else { items.in_a_row() };
        // A replica has changed nothing.
        (text, if is_replica { Fate::Refused } else { Fate::Ended })
    }
}
