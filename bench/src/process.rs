//! Owns the peers' processes: starting, sending requests, ending those that take too long. It does not know
//! what is measured.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use zerostride_bench::{Reply, Request};

/// How a peer is started.
#[derive(Debug, Clone)]
pub(crate) struct Launch {
    /// Its name, as its users write it.
    pub(crate) name: String,
    program: PathBuf,
    arguments: Vec<String>,
}

impl Launch {
    /// A program that is a peer.
    pub(crate) fn program(name: &str, program: PathBuf) -> Launch {
        Launch { name: name.into(), program, arguments: Vec::new() }
    }

    /// A peer of the Python script.
    pub(crate) fn python(name: &str, python: &Path, script: &Path) -> Launch {
        let arguments = vec![script.display().to_string(), name.into()];
        Launch { name: name.into(), program: python.into(), arguments }
    }
}

/// A running peer.
pub(crate) struct Process {
    pub(crate) name: String,
    pub(crate) version: String,
    launch: Launch,
    threads: usize,
    child: Child,
    requests: ChildStdin,
    replies: Receiver<String>,
}

/// The longest time that a peer may take; compilers take a while.
const PATIENCE: Duration = Duration::from_secs(600);

impl Process {
    /// Starts a peer with a number of threads.
    ///
    /// Threads are limited twice, by each library's setting and by the processors that the process may use,
    /// so that no library can use more than the others.
    pub(crate) fn start(launch: &Launch, threads: usize) -> Result<Process, String> {
        let mut command = pinned(launch, threads);
        command.args(&launch.arguments);
        if !launch.arguments.is_empty() {
            command.arg(threads.to_string());
        }
        let limits = ["RAYON", "OMP", "MKL", "OPENBLAS", "NUMEXPR", "NUMEXPR_MAX"];
        for limit in limits {
            let name = if limit == "NUMEXPR_MAX" {
                "NUMEXPR_MAX_THREADS".into()
            } else {
                format!("{limit}_NUM_THREADS")
            };
            command.env(name, threads.to_string());
        }
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("{}: {error}", launch.program.display()))?;
        let (Some(requests), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("no pipes".into());
        };
        let (sender, replies) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let (name, version, launch) = (launch.name.clone(), String::new(), launch.clone());
        let mut process = Process { name, version, launch, threads, child, requests, replies };
        match process.ask(&Request::Hello)? {
            Reply::Hello { version, .. } => process.version = version,
            other => return Err(reason(other)),
        }
        Ok(process)
    }

    /// Starts the peer again if it has ended, so that a workload that makes it crash does not cost it the
    /// others.
    ///
    /// # Errors
    /// It cannot be started.
    pub(crate) fn revive(&mut self) -> Result<(), String> {
        if self.child.try_wait().is_ok_and(|status| status.is_some()) {
            *self = Process::start(&self.launch, self.threads)?;
        }
        Ok(())
    }

    /// Sends a request and waits for its reply.
    ///
    /// # Errors
    /// The process has ended, or takes too long and is ended.
    pub(crate) fn ask(&mut self, request: &Request) -> Result<Reply, String> {
        let line = serde_json::to_string(request).map_err(|error| error.to_string())?;
        // A peer that ended by itself has written the reason: its line is read below.
        let _ = writeln!(self.requests, "{line}").and_then(|()| self.requests.flush());
        match self.replies.recv_timeout(PATIENCE) {
            Ok(line) => serde_json::from_str(&line).map_err(|error| format!("{error}: {line}")),
            Err(RecvTimeoutError::Timeout) => {
                let _ = self.child.kill();
                Err(format!("no reply within {} s", PATIENCE.as_secs()))
            }
            Err(RecvTimeoutError::Disconnected) => {
                let status =
                    self.child.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
                Err(format!("the process ended: {status}"))
            }
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The reason why a reply is not the expected one.
pub(crate) fn reason(reply: Reply) -> String {
    match reply {
        Reply::Absent(reason) | Reply::Error(reason) => reason,
        other => format!("unexpected reply: {other:?}"),
    }
}

/// The program, limited to the first `threads` processors if the system can do that.
fn pinned(launch: &Launch, threads: usize) -> Command {
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    let can = Command::new("taskset").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if threads < all && can.is_ok_and(|status| status.success()) {
        let mut command = Command::new("taskset");
        command.args(["--cpu-list", &format!("0-{}", threads - 1)]).arg(&launch.program);
        return command;
    }
    Command::new(&launch.program)
}
