//! A script with its digest, and one call of it: what the drivers send.

use redis::Cmd;

/// A Lua script and its SHA-1, computed once.
#[derive(Debug)]
pub(crate) struct Script {
    text: String,
    sha: String,
    /// Does for each of several keys what this one does for one, with the same arguments.
    pub(crate) each: Option<Box<Script>>,
}

impl Script {
    pub(crate) fn new(text: String) -> Self {
        let sha = redis::Script::new(&text).get_hash().to_owned();
        Self { text, sha, each: None }
    }

    pub(crate) fn with_each(self, text: String) -> Self {
        Self { each: Some(Box::new(Self::new(text))), ..self }
    }
}

/// One call of a script: all state keys share one hash slot.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    /// For ever, so that whoever makes the call for others can keep it.
    pub(crate) script: &'static Script,
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
