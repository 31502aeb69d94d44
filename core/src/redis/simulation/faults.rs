//! What goes wrong in the simulated world.

use super::plan::{Fault, MS, Setup, Time};
use super::protocol::SCRIPT_COUNT;
use super::servers::Migration;
use super::world::{Event, World};

impl World {
    pub(super) fn strike(&mut self, fault: Fault) {
        self.note_event(fault);
        let now = self.now;
        match fault {
            Fault::Cut => {
                if let Some(connection) = self.any_connection() {
                    self.cut(connection);
                }
            }
            Fault::Hang(server, length) => {
                let server = self.target(server);
                self.deployment.servers[server].hung_until = now + length;
                self.after(length, Event::Wake(server));
            }
            Fault::Down(server, length) => {
                let server = self.target(server);
                self.deployment.servers[server].down_until = now + length;
                self.deployment.servers[server].scripts = [false; SCRIPT_COUNT];
                for connection in self.live(Some(server)) {
                    self.cut(connection);
                    self.connections[connection].is_dead = true;
                }
            }
            Fault::Unreachable(server, length) => {
                let server = self.target(server);
                self.deployment.servers[server].unreachable_until = now + length;
            }
            Fault::Refuse(server, refusal, length) => {
                let server = self.target(server);
                self.deployment.servers[server].refusal = Some((refusal, now + length));
            }
            Fault::ForgetScripts(server) => {
                let server = self.target(server);
                self.deployment.servers[server].scripts = [false; SCRIPT_COUNT];
            }
            Fault::Garbage => self.say(&["HTTP/1.1 400 Bad Request\r\n\r\n", "$x\r\n", "\0\0\0\0"], 1),
            Fault::Pushes if self.plan.resp3 => {
                let count = self.random.one_of(&[1, 3, 300]);
                self.say(&[">2\r\n+invalidate\r\n*1\r\n$3\r\nkey\r\n", ">1\r\n$4\r\npush\r\n"], count);
            }
            Fault::Stall(length) => self.stalled_until = now + length,
            Fault::Migrate(tag, to) => self.migrate(tag, to),
            Fault::Moved(tag) => {
                self.deployment.migrations[tag].iter_mut().for_each(|migration| migration.progress = 2);
                self.moved(tag, false);
            }
            Fault::Migrated(tag) => {
                if let Some(migration) = self.deployment.migrations[tag] {
                    self.moved(tag, true);
                    self.deployment.migrations[tag] = None;
                    self.deployment.owners[tag] = migration.to;
                    self.tell(50 * MS);
                }
            }
            Fault::Failover { server, demoted_after, heard_after } => {
                self.fail_over(server, demoted_after, heard_after);
            }
            Fault::FailBack => self.fail_over(0, 0, 0),
            Fault::Change(call) => self.intervene(call),
            Fault::Flush(server) => self.flush_all(server),
            Fault::Overflow => self.overflow(),
            Fault::Silence => {
                if let Some(connection) = self.any_connection() {
                    self.connections[connection].is_silent = true;
                }
            }
            Fault::Pushes | Fault::Close => {}
        }
    }

    fn any_connection(&mut self) -> Option<usize> {
        let live = self.live(None);
        (!live.is_empty()).then(|| live[self.random.index(live.len())])
    }

    fn say(&mut self, words: &[&str], times: usize) {
        if let Some(connection) = self.any_connection() {
            let words = self.random.one_of(words).repeat(times);
            self.respond(connection, &words);
        }
    }

    /// Servers that are in charge are struck more often.
    fn target(&self, server: usize) -> usize {
        match self.plan.setup {
            Setup::One | Setup::Sentinel if server == 0 => self.deployment.primary,
            Setup::One | Setup::Sentinel => 1 - self.deployment.primary,
            Setup::Cluster => self.master(server % 3),
        }
    }

    /// The master of a shard of the Cluster.
    fn master(&self, shard: usize) -> usize {
        if self.deployment.servers[shard].is_primary { shard } else { shard + 3 }
    }

    fn migrate(&mut self, tag: usize, to: usize) {
        let to = self.master(to);
        if self.deployment.owners[tag] != to {
            self.deployment.migrations[tag] = Some(Migration { to, progress: 1 });
            self.moved(tag, false);
        }
    }

    fn fail_over(&mut self, server: usize, demoted_after: Time, heard_after: Time) {
        let (old, new) = match self.plan.setup {
            Setup::One | Setup::Sentinel => (self.deployment.primary, 1 - self.deployment.primary),
            Setup::Cluster => {
                (self.master(server), if self.master(server) < 3 { server + 3 } else { server })
            }
        };
        if self.now < self.deployment.servers[new].down_until {
            return;
        }
        if self.deployment.servers[new].is_primary {
            // Its state is replaced.
            self.announce(new, None);
        }
        let deployment = &mut self.deployment;
        deployment.servers[new].is_primary = true;
        deployment.servers[new].counters = deployment.servers[old].counters;
        if self.plan.setup == Setup::Cluster {
            deployment.servers[old].is_primary = false;
            deployment.owners.iter_mut().filter(|owner| **owner == old).for_each(|owner| *owner = new);
            deployment.migrations.iter_mut().flatten().filter(|it| it.to == old).for_each(|it| it.to = new);
            // What it lacks is all, or what others change from now on.
            if self.random.percent(50) {
                self.announce(old, None);
            }
        } else {
            deployment.primary = new;
            deployment.epoch += 1;
            self.after(demoted_after, Event::Demote(old));
        }
        self.tell(heard_after);
    }

    /// Nodes and Sentinels learn of a change, one of them at once.
    fn tell(&mut self, within: Time) {
        let count = self.listeners();
        let first = self.random.index(count);
        for who in 0..count {
            let delay = if who == first || self.plan.is_calm { 0 } else { self.random.below(within + 1) };
            self.after(delay, Event::Hear(who));
        }
    }

    /// How many nodes or Sentinels know something.
    fn listeners(&self) -> usize {
        if self.plan.setup == Setup::Sentinel { 3 } else { self.deployment.servers.len() }
    }

    pub(super) fn hear(&mut self, who: usize) {
        let deployment = &mut self.deployment;
        if self.plan.setup == Setup::Sentinel {
            deployment.sentinels[who] = (deployment.primary, deployment.epoch);
        } else {
            deployment.servers[who].owners = deployment.owners;
        }
    }

    pub(super) fn demote(&mut self, server: usize) {
        if server != self.deployment.primary && self.deployment.servers[server].is_primary {
            self.deployment.servers[server].is_primary = false;
            // It takes over what the other has.
            self.announce(server, None);
        }
    }

    pub(super) fn wake(&mut self, server: usize) {
        for connection in 0..self.connections.len() {
            if self.connections[connection].server == server {
                self.serve(connection);
            }
        }
    }

    /// Makes every server well again.
    pub(super) fn heal(&mut self) {
        self.note_event("all is well");
        for server in &mut self.deployment.servers {
            server.hung_until = 0;
            server.down_until = 0;
            server.unreachable_until = 0;
            server.refusal = None;
        }
        self.stalled_until = 0;
        for server in 0..self.deployment.servers.len() {
            if self.plan.setup != Setup::Cluster {
                self.demote(server);
            }
            self.wake(server);
        }
        for who in 0..self.listeners() {
            self.hear(who);
        }
    }
}
