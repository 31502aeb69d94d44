//! A script with its digest, and one call of it: what the drivers send.

use std::sync::Arc;

use once_cell::race::OnceBox;
use smallvec::SmallVec;

use crate::tracking::Registration;

/// An argument of a script. That of a call about one limit needs no memory of its own.
pub(crate) type Argument = SmallVec<[u8; 64]>;

/// A Lua script and its SHA-1, computed once.
#[derive(Debug)]
pub(crate) struct Script {
    text: String,
    sha: String,
    /// Does for each of several keys what this one does for one, with the same arguments.
    pub(crate) each: Option<Box<Script>>,
    /// Does for several callers of each of several keys what this one does for one caller of one.
    pub(crate) up_to: Option<Box<Script>>,
    /// The same for calls with a request id, made when it is first needed.
    repeatable: OnceBox<Script>,
}

impl Script {
    pub(crate) fn new(text: String) -> Self {
        let sha = redis::Script::new(&text).get_hash().to_owned();
        Self { text, sha, each: None, up_to: None, repeatable: OnceBox::new() }
    }

    pub(crate) fn with_each(self, text: String) -> Self {
        Self { each: Some(Box::new(Self::new(text))), ..self }
    }

    pub(crate) fn with_up_to(self, text: String) -> Self {
        Self { up_to: Some(Box::new(Self::new(text))), ..self }
    }

    /// The same for calls with a request id: what such a call has beside, it has as last key and arguments.
    fn repeatable(&self) -> &Self {
        self.repeatable.get_or_init(|| Box::new(Self::new(sluicegate_lua::repeatable(&self.text))))
    }

    /// Command and first argument for a server that knows the script from its first use.
    pub(crate) fn evalsha(&self) -> [&str; 2] {
        ["EVALSHA", &self.sha]
    }

    /// Command and first argument for the first use on a connection, and for a server that answered NOSCRIPT: the whole
    /// text, which the server keeps.
    pub(crate) fn eval(&self) -> [&str; 2] {
        ["EVAL", &self.text]
    }
}

/// One call of a script: all its keys share one hash slot.
#[derive(Debug, Clone)]
pub(crate) struct ScriptCall {
    pub(crate) script: &'static Script,
    pub(crate) keys: SmallVec<[String; 1]>,
    pub(crate) args: SmallVec<[Argument; 1]>,
    /// Where the server is to watch the keys from now on.
    pub(crate) registration: Option<Arc<Registration>>,
}

impl ScriptCall {
    pub(crate) fn new(
        script: &'static Script,
        keys: SmallVec<[String; 1]>,
        args: SmallVec<[Argument; 1]>,
    ) -> Self {
        Self { script, keys, args, registration: None }
    }

    /// The same call, whose answer is stored in a record of this name, after this head, for so many milliseconds.
    pub(crate) fn recorded(mut self, name: String, head: Argument, keep: u64) -> Self {
        self.keys.push(name);
        self.args.extend([keep.to_string().into_bytes().into(), head]);
        Self { script: self.script.repeatable(), ..self }
    }
}
