//! A child process that cannot outlive this one.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::program::not_started;
use crate::{Error, Result};

/// The file in a program's folder that takes its output.
const LOG: &str = "output.log";

/// A running program; dropping it ends the program.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    watchdog: Child,
    paused: bool,
}

impl Process {
    /// Runs `command`, which `packages` of Debian bring, in `folder`.
    pub(crate) fn spawn(mut command: Command, folder: &Path, packages: &str) -> Result<Self> {
        let output = File::options().create(true).append(true).open(folder.join(LOG))?;
        // Before the child, so that the watchdog only has to learn of it.
        let mut watchdog = spawn_watchdog(folder)?;
        let started = command
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .process_group(0)
            .spawn();
        let child = match started {
            Ok(child) => child,
            Err(error) => {
                end(&mut watchdog);
                return Err(not_started(&command, &error, packages));
            }
        };
        let mut process = Self { child, watchdog, paused: false };
        process.tell_watchdog()?;
        Ok(process)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn has_exited(&mut self) -> Result<bool> {
        Ok(self.child.try_wait()?.is_some())
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.paused
    }

    /// Stops the program as if its machine had frozen, or lets it go on.
    pub(crate) fn set_paused(&mut self, paused: bool) -> Result<()> {
        self.signal(if paused { Signal::STOP } else { Signal::CONT })?;
        self.paused = paused;
        Ok(())
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        kill_process(Pid::from_child(&self.child), signal)
            .map_err(|error| Error::new(format!("signal to process {}: {error}", self.pid())))
    }

    fn tell_watchdog(&mut self) -> Result<()> {
        let pid = self.pid();
        match &mut self.watchdog.stdin {
            Some(pipe) => Ok(writeln!(pipe, "{pid}")?),
            None => Ok(()),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        end(&mut self.child);
        end(&mut self.watchdog);
    }
}

/// A shell that waits for its input to end and then kills the program whose id it read and removes the folder.
///
/// The input is a pipe that only this process holds; the system closes it however this process ends. (The
/// parent death signal of Linux would come too early: it is sent when the *thread* that started the child
/// ends, and every test is a thread of its own.) A process group of its own keeps Ctrl-C away from it.
fn spawn_watchdog(folder: &Path) -> Result<Child> {
    const SCRIPT: &str = r#"
        read -r pid || exit
        read -r end
        kill -KILL "$pid"
        rm -rf "$1"
    "#;
    let child = Command::new("sh")
        .args(["-c", SCRIPT, "watchdog"])
        .arg(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()?;
    Ok(child)
}

/// The last lines that a program in `folder` wrote, without those that only say where in Java it was.
pub(crate) fn last_output(folder: &Path) -> String {
    let output = fs::read_to_string(folder.join(LOG)).unwrap_or_default();
    let lines: Vec<&str> = output.lines().filter(|line| !line.starts_with("\tat ")).collect();
    lines[lines.len().saturating_sub(10)..].join("\n")
}

/// Kills a child and waits for it; a child that has already ended is fine.
fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}
