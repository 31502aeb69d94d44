//! A script with its digest, and one call of it: what the drivers send.

use redis::Cmd;

/// A Lua script and its SHA-1, computed once.
#[derive(Debug)]
pub(crate) struct Script {
    text: String,
    sha: String,
}

impl Script {
    pub(crate) fn new(text: String) -> Self {
        let sha = redis::Script::new(&text).get_hash().to_owned();
        Self { text, sha }
    }
}

/// One call of a script: all state keys share one hash slot.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    pub(crate) script: &'a Script,
    pub(crate) keys: &'a [String],
    pub(crate) args: &'a [Vec<u8>],
}

impl Call<'_> {
    /// The command that is sent first: the server knows the script after its first use.
    pub(crate) fn evalsha(&self) -> Cmd {
        self.command("EVALSHA", &self.script.sha)
    }

    /// The command for a server that answered NOSCRIPT: the whole text, which it keeps.
    pub(crate) fn eval(&self) -> Cmd {
        self.command("EVAL", &self.script.text)
    }

    fn command(&self, name: &str, script: &str) -> Cmd {
        let mut cmd = Cmd::with_capacity(3 + self.keys.len() + self.args.len(), 256);
        cmd.arg(name).arg(script).arg(self.keys.len()).arg(self.keys).arg(self.args);
        cmd
    }
}
