//! Owns the peers' processes: starting, asking, giving up. It does not know what is measured.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use rustix::process::{Pid, Signal};
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
    is_minded: bool,
}

/// The program that ends a peer when this one ends: a peer that rests does not notice.
const MINDER: &str = "setpriv";

/// No evaluation takes that long; a compiler may take a while.
const PATIENCE: Duration = Duration::from_secs(600);

impl Process {
    /// Starts a peer with a number of threads.
    ///
    /// Threads are limited twice: by what each library is told, and by the processors that the process may use, so that
    /// no library can have more than the others.
    pub(crate) fn start(launch: &Launch, threads: usize) -> Result<Process, String> {
        let mut command = wrapped(launch, threads);
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
        let mut process =
            Process { name, version, launch, threads, child, requests, replies, is_minded: has(MINDER) };
        match process.ask(&Request::Hello)? {
            Reply::Hello { version, .. } => process.version = version,
            other => return Err(reason(other)),
        }
        Ok(process)
    }

    /// Starts the peer again if it has ended: one workload that it does not survive must not cost it the others.
    ///
    /// # Errors
    /// It cannot be started any more.
    pub(crate) fn revive(&mut self) -> Result<(), String> {
        if self.child.try_wait().is_ok_and(|status| status.is_some()) {
            *self = Process::start(&self.launch, self.threads)?;
        }
        Ok(())
    }

    /// Sends a request and waits for its reply. Meanwhile the peer runs, else it rests: threads of some libraries spin for many
    /// milliseconds after their work, and would take a processor from whoever comes next.
    ///
    /// # Errors
    /// The process has ended, or takes too long, and is ended.
    pub(crate) fn ask(&mut self, request: &Request) -> Result<Reply, String> {
        let line = serde_json::to_string(request).map_err(|error| error.to_string())?;
        self.signal(Signal::CONT);
        let reply = self.answer(&line);
        self.signal(Signal::STOP);
        reply
    }

    /// Sends a line and waits for its reply.
    fn answer(&mut self, line: &str) -> Result<Reply, String> {
        // A peer that ends without having been asked has said why: its line is read below.
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

impl Process {
    /// Lets the peer run or rest, if somebody minds it. One that has ended does neither.
    fn signal(&self, signal: Signal) {
        if !self.is_minded {
            return;
        }
        let _ = rustix::process::kill_process(Pid::from_child(&self.child), signal);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Why a reply is not the one that was wanted.
pub(crate) fn reason(reply: Reply) -> String {
    match reply {
        Reply::Absent(reason) | Reply::Error(reason) => reason,
        other => format!("unexpected reply: {other:?}"),
    }
}

/// The program, on the first `threads` processors where the system can do that, and to end with this one.
fn wrapped(launch: &Launch, threads: usize) -> Command {
    let mut words: Vec<OsString> = Vec::new();
    if has(MINDER) {
        words.extend([MINDER, "--pdeathsig", "KILL", "--"].map(OsString::from));
    }
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    if threads < all && has("taskset") {
        words.extend(["taskset".into(), "--cpu-list".into(), format!("0-{}", threads - 1).into()]);
    }
    words.push(launch.program.clone().into());
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    command
}

/// Whether there is such a program.
fn has(program: &str) -> bool {
    let version = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    version.is_ok_and(|status| status.success())
}
