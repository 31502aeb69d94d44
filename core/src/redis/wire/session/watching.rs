//! Where the server watches keys: what it is asked, and what becomes of its messages.

use std::sync::Arc;
use std::time::Instant;

use ::redis::{Cmd, PushKind, RedisError, Value, cmd};

use super::tracking::BEAT;
use super::{About, PendingCommand, Session, SessionStage, note_sooner};
use crate::redis::wire::command::RedisCommand;
use crate::redis::wire::role::role;
use crate::tracking::Registration;

/// What asks the server to announce changes of the next command's keys.
fn caching() -> Cmd {
    cmd("CLIENT").arg("CACHING").arg("YES").take()
}

impl PendingCommand {
    /// What its keys are to be watched for.
    fn registration(&self) -> Option<&Arc<Registration>> {
        match &self.request {
            RedisCommand::Script(call) => call.registration.as_ref(),
            RedisCommand::Plain(..) => None,
        }
    }
}

impl Session {
    /// Asks the server to watch the keys of the request that is packed next.
    pub(super) fn pack_caching(&mut self, pending: &PendingCommand, now: Instant) {
        let Some(registration) = pending.registration() else { return };
        let Some(tracking) = &mut self.tracking else { return registration.refused() };
        // Between ASKING and the request nothing may stand.
        if pending.asking {
            return;
        }
        tracking.register(pending.keys(), registration, now);
        note_sooner(&mut self.next_deadline, now + BEAT);
        self.pack(&caching(), About::Caching(Arc::clone(registration)), now);
    }

    /// The answer to that.
    pub(super) fn cached(&mut self, registration: &Registration, answer: &Value, now: Instant) {
        match (answer, &self.tracking) {
            (Value::ServerError(reason), _) => {
                let reason = RedisError::from(reason.clone());
                // Others, such as `BUSY`, will pass.
                if matches!(reason.code(), Some("NOPERM" | "ERR")) {
                    registration.refused();
                    self.refuse_tracking(&reason, now);
                }
            }
            (_, Some(tracking)) => registration.watched(tracking.line()),
            (_, None) => registration.refused(),
        }
    }

    /// The server watches no keys.
    pub(super) fn refuse_tracking(&mut self, reason: &RedisError, now: Instant) {
        if let Some(tracking) = self.tracking.take() {
            tracking.refused(&self.address, reason, now);
        }
    }

    /// Takes up a message that answers nothing.
    pub(super) fn announced(&mut self, kind: &PushKind, data: &[Value]) {
        if let (PushKind::Invalidate, Some(tracking)) = (kind, &mut self.tracking) {
            tracking.announced(data.first());
        }
    }

    /// Keys are elsewhere than they were.
    pub(super) fn mistrust(&mut self, now: Instant) {
        if let Some(tracking) = &mut self.tracking {
            tracking.begin_anew(now);
            if self.stage != SessionStage::Ready {
                tracking.end();
            }
        }
    }

    /// Whether a server is to be heard although nobody waits for an answer.
    #[cfg(feature = "bridge")]
    pub(in crate::redis) fn is_relied_on(&self, now: Instant) -> bool {
        self.tracking.as_ref().is_some_and(|tracking| tracking.is_needed(now))
    }

    /// Asks the server something where nothing else was asked for a while, and what is remembered relies on it.
    pub(super) fn beat(&mut self, now: Instant) {
        let Some(tracking) = self.tracking.as_ref().filter(|tracking| tracking.is_needed(now)) else {
            return;
        };
        let due = tracking.last_asked() + BEAT;
        if due > now {
            return note_sooner(&mut self.next_deadline, due);
        }
        if self.stage == SessionStage::Ready && self.output.is_empty() {
            self.role_asked = now;
            self.pack(&role(), About::Role, now);
        }
        note_sooner(&mut self.next_deadline, now + BEAT);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use smallvec::smallvec;

    use super::*;
    use crate::net::address::Address;
    use crate::options::ConnectOptions;
    use crate::redis::Backend;
    use crate::redis::connecting::connector::Connector;
    use crate::redis::settings::login::Role;
    use crate::redis::tests::eternal;
    use crate::redis::wire::session::Id;
    use crate::script::{Script, ScriptCall};
    use crate::tracking::{Agreement, TRUST};

    const GREETING: &str = "%1\r\n+proto\r\n:3\r\n+OK\r\n+PONG\r\n";

    /// A conversation, the script of all its calls, and the time.
    struct Talk {
        session: Session,
        script: &'static Script,
        now: Instant,
    }

    impl Talk {
        /// That the server begins in this way.
        fn begun(greeting: &str) -> Self {
            let Ok(Backend::Redis(url)) = Backend::parse("redis://server?protocol=resp3") else {
                unreachable!()
            };
            let connector = Connector::new(&url, &ConnectOptions::default()).unwrap().tracking_keys();
            let (now, address) = (Instant::now(), Address::Tcp("server".to_owned(), 1));
            let session = Session::open(&connector, &address, Role::Data, now);
            let script = eternal(Script::new("one".to_owned()).with_each("each".to_owned()));
            let mut talk = Self { session, script, now };
            assert!(talk.said().contains("TRACKING ON OPTIN"));
            talk.hears(greeting);
            assert!(talk.session.is_ready());
            talk
        }

        /// What was sent since, in words.
        fn said(&mut self) -> String {
            let text = String::from_utf8(self.session.output().to_vec()).unwrap();
            self.session.sent(text.len());
            let words = text.split("\r\n").filter(|word| !word.starts_with(['*', '$']));
            words.collect::<Vec<_>>().join(" ")
        }

        fn hears(&mut self, answers: &str) {
            self.session.receive(answers.as_bytes(), self.now);
        }

        fn passes(&mut self, millis: u64) {
            self.now += Duration::from_millis(millis);
            self.session.expire(self.now);
        }

        fn asks(&mut self, id: Id, key: &str, registration: Option<&Arc<Registration>>) {
            let call = ScriptCall::new(self.script, smallvec![key.to_owned()], smallvec![smallvec![1]]);
            let call = ScriptCall { registration: registration.cloned(), ..call };
            let by = self.now + TRUST * 60;
            let pending = PendingCommand::new(id, RedisCommand::Script(call), false, by);
            self.session.submit(pending, self.now);
            self.session.flush(self.now);
        }

        /// A key that the server watches, as it answers.
        fn watches(&mut self, key: &str) -> Arc<Registration> {
            let registration = Registration::new(TRUST * 60);
            self.asks(1, key, Some(&registration));
            assert!(self.said().contains("CLIENT CACHING YES EVAL"));
            self.hears("+OK\r\n:1\r\n");
            assert!(registration.holds(true, self.now));
            registration
        }
    }

    #[test]
    fn a_key_is_to_be_watched_again_with_the_text_of_a_script() {
        let mut talk = Talk::begun(GREETING);
        talk.asks(0, "a", None);
        assert!(!talk.said().contains("CACHING"));
        talk.hears(":1\r\n");
        let registration = Registration::new(TRUST * 60);
        talk.asks(1, "b", Some(&registration));
        assert!(talk.said().contains("CLIENT CACHING YES EVALSHA"));
        talk.hears("+OK\r\n-NOSCRIPT x\r\n");
        assert!(talk.said().contains("CLIENT CACHING YES EVAL one"));
        talk.hears("+OK\r\n:1\r\n");
        assert_eq!(registration.agreement(), Agreement::Watched);
    }

    #[test]
    fn it_shares_no_script_with_keys_that_are_not_to_be_watched() {
        let mut talk = Talk::begun(GREETING);
        talk.watches("a");
        // These wait, and go together.
        talk.asks(2, "b", None);
        let registration = Registration::new(TRUST * 60);
        talk.asks(3, "c", None);
        talk.asks(4, "d", Some(&registration));
        talk.asks(5, "e", None);
        assert!(talk.said().ends_with("b \u{1} "));
        talk.session.flush(talk.now);
        let said = talk.said();
        assert!(said.contains("CACHING YES EVALSHA") && said.contains(" 1 d "), "{said}");
    }

    #[test]
    fn a_change_ends_what_is_known_of_its_key_and_no_other() {
        let mut talk = Talk::begun(GREETING);
        let [one, two] = ["one", "two"].map(|key| talk.watches(key));
        let hold = |now| [&one, &two].map(|registration| registration.holds(false, now));
        talk.hears(">2\r\n$10\r\ninvalidate\r\n*2\r\n$5\r\nother\r\n$2\r\n\u{e4}\r\n");
        assert_eq!(hold(talk.now), [true, true]);
        talk.hears(">2\r\n$10\r\ninvalidate\r\n*1\r\n$3\r\none\r\n");
        assert_eq!(hold(talk.now), [false, true]);
        talk.hears(">2\r\n$10\r\ninvalidate\r\n_\r\n");
        assert_eq!(hold(talk.now), [false, false]);
    }

    #[test]
    fn a_quiet_server_is_asked_as_long_as_somebody_relies_on_it() {
        let mut talk = Talk::begun(GREETING);
        let registration = talk.watches("k");
        for _ in 0..20 {
            talk.passes(250);
            assert_eq!(talk.said().trim(), "ROLE");
            assert!(registration.holds(true, talk.now));
            talk.hears("*1\r\n$6\r\nmaster\r\n");
        }
        drop(registration);
        talk.passes(250);
        assert_eq!(talk.said(), "");
    }

    #[test]
    fn a_server_that_says_nothing_is_not_trusted() {
        let mut talk = Talk::begun(GREETING);
        let registration = talk.watches("k");
        talk.passes(250);
        talk.passes(499);
        assert!(registration.holds(true, talk.now));
        talk.passes(251);
        assert!(!registration.holds(true, talk.now), "a second has passed");
        assert!(!talk.session.is_ready(), "the question was left unanswered");
    }

    #[test]
    fn keys_that_are_elsewhere_and_replicas_end_what_is_known() {
        for answer in ["-MOVED 1 other:1\r\n", "-ASK 1 other:1\r\n", "-READONLY x\r\n"] {
            let mut talk = Talk::begun(GREETING);
            let registration = talk.watches("k");
            talk.asks(2, "moved", None);
            talk.hears(answer);
            assert!(!registration.holds(true, talk.now), "{answer}");
        }
        let mut talk = Talk::begun(GREETING);
        let registration = talk.watches("k");
        talk.passes(250);
        talk.hears("*1\r\n$5\r\nslave\r\n");
        assert!(!registration.holds(true, talk.now));
    }

    #[test]
    fn what_is_asked_while_keys_move_is_watched_from_then_on() {
        let mut talk = Talk::begun(GREETING);
        let registration = Registration::new(TRUST * 60);
        for (id, key, kept) in [(1, "moved", None), (2, "k", Some(&registration))] {
            talk.asks(id, key, kept);
            talk.said();
        }
        talk.hears("-MOVED 1 other:1\r\n+OK\r\n:1\r\n");
        assert!(registration.holds(true, talk.now));
        talk.hears(">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nk\r\n");
        assert!(!registration.holds(false, talk.now));
    }

    #[test]
    fn a_call_that_nobody_wants_stays_behind_the_request_to_watch_its_keys() {
        let mut talk = Talk::begun(GREETING);
        let registration = Registration::new(TRUST * 60);
        talk.asks(1, "k", Some(&registration));
        talk.session.sent(caching().get_packed_command().len());
        assert!(!talk.session.withdraw(1), "the server would watch the keys of another call");
        assert!(talk.said().contains("EVAL one 1 k"));
    }

    #[test]
    fn a_server_that_is_busy_is_asked_again() {
        let mut talk = Talk::begun(GREETING);
        let registration = Registration::new(TRUST * 60);
        talk.asks(1, "k", Some(&registration));
        talk.said();
        talk.hears("-BUSY x\r\n-BUSY x\r\n");
        assert_eq!(registration.agreement(), Agreement::None);
        talk.watches("k");
    }

    #[test]
    fn a_server_that_forbids_it_later_is_not_asked_again() {
        let mut talk = Talk::begun(GREETING);
        let registration = Registration::new(TRUST * 60);
        talk.asks(1, "k", Some(&registration));
        talk.said();
        talk.hears("-NOPERM x\r\n:1\r\n");
        assert_eq!(registration.agreement(), Agreement::Refused);
        talk.asks(2, "k", Some(&registration));
        assert!(!talk.said().contains("CACHING"));
    }

    #[test]
    fn a_server_that_refuses_is_not_asked_again() {
        let mut talk = Talk::begun("%1\r\n+proto\r\n:3\r\n-NOPERM x\r\n+PONG\r\n");
        let registration = Registration::new(TRUST * 60);
        talk.asks(1, "k", Some(&registration));
        assert!(!talk.said().contains("CACHING"));
        assert_eq!(registration.agreement(), Agreement::Refused);
    }
}
