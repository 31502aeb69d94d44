//! A rule that is deleted where it is kept.

use std::ffi::OsStr;
use std::io::{self, IsTerminal, Write};

use tokio::runtime;

use super::put::edit;
use crate::outcome::{CommandError, ExitStatus};
use crate::source::{Contents, Store, source};

pub(super) fn delete(
    argument: &OsStr,
    id: &str,
    yes: bool,
    out: &mut impl Write,
) -> Result<ExitStatus, CommandError> {
    let store = Store::new(argument)?;
    let contents = Contents::load(source(argument)?)?;
    // One that is refused may be deleted too.
    if !contents.status.refused.iter().any(|refusal| refusal.unit == id) {
        contents.rules.find(id)?;
    }
    let shown = format!("{} from {}", id.escape_debug(), contents.status.source);
    if !(yes || is_wanted(&shown)?) {
        writeln!(out, "nothing was deleted")?;
        return Ok(ExitStatus::No);
    }
    match store {
        Store::File(path) => edit(&path, |document| document.delete(id)).map(drop)?,
        Store::ZooKeeper(source) => {
            let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
            if !runtime.block_on(source.delete(id))? {
                return Err(CommandError::Other(format!(
                    "{}: another process deleted {id}",
                    contents.status.source
                )));
            }
        }
    }
    writeln!(out, "deleted  {shown}")?;
    Ok(ExitStatus::Yes)
}

/// Asks for confirmation on the terminal.
fn is_wanted(what: &str) -> Result<bool, CommandError> {
    if !io::stdin().is_terminal() {
        return Err(CommandError::Other(format!("stdin is not a terminal; pass --yes to delete {what}")));
    }
    let mut stderr = io::stderr();
    write!(stderr, "Delete {what}? [y/N] ")?;
    stderr.flush()?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}
