//! What packages install beside the program: completions for shells, and man pages.

use std::io::Write;
use std::path::Path;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Args;
use crate::outcome::{CommandError, ExitStatus};

pub(crate) fn completions(shell: Shell, out: &mut impl Write) -> Result<ExitStatus, CommandError> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "sluicegate", &mut script);
    out.write_all(&script)?;
    Ok(ExitStatus::Yes)
}

pub(crate) fn man(folder: Option<&Path>, out: &mut impl Write) -> Result<ExitStatus, CommandError> {
    let Some(folder) = folder else {
        let mut page = Vec::new();
        clap_mangen::Man::new(Args::command()).render(&mut page)?;
        out.write_all(&page)?;
        return Ok(ExitStatus::Yes);
    };
    let cannot =
        |error| CommandError::Other(format!("{}: cannot write man pages: {error}", folder.display()));
    clap_mangen::generate_to(Args::command(), folder).map_err(cannot)?;
    Ok(ExitStatus::Yes)
}
