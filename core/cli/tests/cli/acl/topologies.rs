//! What a Cluster's servers, Sentinels and what they watch have to allow.

use sluicegate_test_servers::{Cluster, Sentinel};

use super::*;

/// Keys of two primaries, so that what the first was charged can be given back when the second refuses.
struct Apart<'a> {
    cluster: &'a Cluster,
    rules: String,
    keys: [String; 2],
}

impl<'a> Apart<'a> {
    fn new(cluster: &'a Cluster) -> Self {
        let rules = rules(&[KINDS[3]]);
        let name = |key: &str| format!("sluicegate:list:{{{key}}}:l1m");
        let port = |key: &str| cluster.primary_of(&name(key)).unwrap().port();
        let second = (0..100).map(|number| number.to_string()).find(|key| port(key) != port("k")).unwrap();
        Self { cluster, rules, keys: ["k".to_owned(), second] }
    }

    fn primary(&self, key: &str) -> &Node {
        self.cluster.primary_of(&format!("{{{key}}}")).unwrap()
    }

    /// A call that takes every way that a Cluster has: the errors that are not meant.
    fn errors(&self) -> Vec<String> {
        let url = self.cluster.url().replace("redis-cluster://", "redis-cluster://limiter:secret@");
        let limiter = limiter(&url, &self.rules, None);
        let mut errors: Vec<String> = Vec::new();
        let mut note = |result: Result<_, Error>| errors.extend(result.err().map(|error| error.to_string()));
        note(limiter.check("list", &self.keys[1]).map(drop));
        // The second server is full: the first gives back what it was charged, as nobody else would.
        note(limiter.charge_with("list", "k", CheckOptions::new().cost(5)).map(drop));
        let full = |bytes: &str| {
            let mut config = cmd("CONFIG");
            config.arg("SET").arg("maxmemory").arg(bytes);
            config.exec(&mut self.primary(&self.keys[1]).client().unwrap()).unwrap();
        };
        full("1");
        let both = [Check::new("list", "k"), Check::new("list", &self.keys[1])];
        let refusal = limiter.check_all(&both).unwrap_err();
        full("0");
        if !refusal.message().contains("OOM") {
            note(Err(refusal));
        }
        match limiter.peek("list", "k") {
            Ok(decision) if decision.remaining == 95 => {}
            other => errors.push(format!("not given back: {other:?}")),
        }
        errors.extend(self.asking(&limiter));
        errors
    }

    /// A key that is not there is asked for at the server that its slot is being moved to.
    fn asking(&self, limiter: &RateLimiter) -> Option<String> {
        let [source, target] = [self.primary("moving"), self.target()];
        let slot: u16 =
            cmd("CLUSTER").arg("KEYSLOT").arg("{moving}").query(&mut source.client().unwrap()).unwrap();
        let id = |node: &Node| -> String {
            cmd("CLUSTER").arg("MYID").query(&mut node.client().unwrap()).unwrap()
        };
        let set = |node: &Node, words: &[&str]| {
            let mut command = cmd("CLUSTER");
            command.arg("SETSLOT").arg(slot).arg(words).exec(&mut node.client().unwrap()).unwrap();
        };
        set(target, &["IMPORTING", &id(source)]);
        set(source, &["MIGRATING", &id(target)]);
        let error = limiter.check("list", "moving").err();
        // What was charged at the target is not to be in the way of the next time.
        let mut client = target.client().unwrap();
        redis::pipe()
            .cmd("ASKING")
            .cmd("UNLINK")
            .arg("sluicegate:list:{moving}:l1m")
            .exec(&mut client)
            .unwrap();
        [source, target].into_iter().for_each(|node| set(node, &["STABLE"]));
        error.map(|error| error.to_string())
    }

    fn target(&self) -> &Node {
        let source = self.primary("moving").port();
        self.keys.iter().map(|key| self.primary(key)).find(|node| node.port() != source).unwrap()
    }

    fn set_user(&self, words: &[String], but: Option<&String>) {
        for node in self.cluster.nodes() {
            set_user(node, words, but);
            cmd("SCRIPT").arg("FLUSH").exec(&mut node.client().unwrap()).unwrap();
        }
        for key in &self.keys {
            cmd("FLUSHALL").exec(&mut self.primary(key).client().unwrap()).unwrap();
        }
    }
}

#[test]
fn a_cluster_needs_each_of_its_commands() {
    let cluster = Cluster::start().unwrap();
    let apart = Apart::new(&cluster);
    let words = printed(&apart.rules, &["--cluster"]);
    apart.set_user(&words, None);
    assert_eq!(apart.errors(), Vec::<String>::new());
    for command in ["+asking", "+cluster|slots", "+lrem"].map(str::to_owned) {
        assert!(words.contains(&command), "{command}");
        apart.set_user(&words, Some(&command));
        assert_ne!(apart.errors(), Vec::<String>::new(), "works without {command}");
    }
}

/// The Sentinels are asked two commands, and the server that they name whether it is a primary.
#[test]
fn sentinels_and_what_they_watch_need_each_of_their_commands() {
    let sentinel = Sentinel::start().unwrap();
    let rules = rules(&KINDS[..1]);
    let of_servers = printed(&rules, &[]);
    let of_sentinels = ["resetchannels", "-@all", "+sentinel|master", "+ping"].map(str::to_owned);
    let url = sentinel.url().replace("redis-sentinel://", "redis-sentinel://limiter:secret@");
    let url = format!("{url}?sentinel_user=limiter&sentinel_password=secret");
    let role = ROLE.to_owned();
    for but in [None, Some(&role), Some(&of_sentinels[2]), Some(&of_sentinels[3])] {
        sentinel.servers().iter().for_each(|node| set_user(node, &of_servers, but.filter(|it| *it == &role)));
        sentinel.sentinels().iter().for_each(|node| set_user(node, &of_sentinels, but));
        let result = limiter(&url, &rules, None).check("aligned", "k");
        assert_eq!(result.is_ok(), but.is_none(), "without {but:?}: {result:?}");
    }
}
