//! Owns the loop of a peer written in Rust: it reads requests and writes replies. It does not know any
//! library.

use std::fs;
use std::hint::black_box;
use std::io::{BufRead, Write, stdin, stdout};
use std::rc::Rc;
use std::time::Instant;

use crate::{Mode, Reply, Request, Task};

/// A library that can compute workloads.
pub trait Peer {
    /// Its name and version.
    fn hello(&self) -> (String, String);

    /// Makes operands.
    ///
    /// # Errors
    /// Why the library cannot compute the workload.
    fn prepare(&mut self, task: &Task) -> Result<Case, String>;
}

/// Shape and elements of a result, in row-major order.
pub type Values = (Vec<usize>, Vec<f64>);

/// A workload that is ready to run.
pub struct Case {
    modes: Vec<(Mode, Box<dyn FnMut()>)>,
    read: Box<dyn FnMut() -> Values>,
}

impl Case {
    /// A workload that computes a new value, and how to read it.
    pub fn fresh<V>(compute: impl Fn() -> V + 'static, read: impl Fn(&V) -> Values + 'static) -> Case {
        let compute = Rc::new(compute);
        let again = Rc::clone(&compute);
        let evaluate = move || drop(black_box(again()));
        Case { modes: vec![(Mode::Fresh, Box::new(evaluate))], read: Box::new(move || read(&compute())) }
    }

    /// A workload that is computed in place only, and how to read its result.
    pub fn in_place(compute: impl Fn() + 'static, read: impl Fn() -> Values + 'static) -> Case {
        let compute = Rc::new(compute);
        let again = Rc::clone(&compute);
        let read = move || {
            compute();
            read()
        };
        Case { modes: vec![(Mode::Reuse, Box::new(move || again()))], read: Box::new(read) }
    }

    /// Adds a way to compute into existing memory.
    #[must_use]
    pub fn reuse(mut self, compute: impl FnMut() + 'static) -> Case {
        self.modes.push((Mode::Reuse, Box::new(compute)));
        self
    }

    fn get(&mut self, mode: Mode) -> Result<&mut Box<dyn FnMut()>, String> {
        let found = self.modes.iter_mut().find(|(own, _)| *own == mode);
        found.map(|(_, evaluate)| evaluate).ok_or_else(|| format!("no mode {mode:?}"))
    }
}

/// Serves one peer until its standard input ends.
pub fn serve<P: Peer>(mut peer: P) {
    let mut case = None;
    for line in stdin().lock().lines().map_while(Result::ok) {
        let reply = match serde_json::from_str(&line) {
            Ok(request) => answer(&mut peer, &mut case, request).unwrap_or_else(|(absent, message)| {
                if absent { Reply::Absent(message) } else { Reply::Error(message) }
            }),
            Err(error) => Reply::Error(error.to_string()),
        };
        let reply = serde_json::to_string(&reply).expect("replies are plain data");
        let mut out = stdout().lock();
        if writeln!(out, "{reply}").and_then(|()| out.flush()).is_err() {
            return;
        }
    }
}

/// An error is a message, and whether the library merely lacks the operation.
fn answer<P: Peer>(peer: &mut P, case: &mut Option<Case>, request: Request) -> Result<Reply, (bool, String)> {
    let failed = |message: String| (false, message);
    if let Request::Hello = request {
        let (name, version) = peer.hello();
        return Ok(Reply::Hello { name, version });
    }
    if let Request::Prepare { task } = &request {
        *case = None;
        let ready = peer.prepare(task).map_err(|reason| (true, reason))?;
        let modes = ready.modes.iter().map(|(mode, _)| *mode).collect();
        *case = Some(ready);
        return Ok(Reply::Ready(modes));
    }
    if let Request::Drop = request {
        *case = None;
        return Ok(Reply::Done);
    }
    let case = case.as_mut().ok_or_else(|| failed("nothing is prepared".into()))?;
    match request {
        Request::Check { path, stride } => {
            let (shape, elements) = (case.read)();
            let bytes: Vec<u8> = elements.iter().step_by(stride).flat_map(|x| x.to_ne_bytes()).collect();
            fs::write(&path, bytes).map_err(|error| failed(format!("{path}: {error}")))?;
            Ok(Reply::Shape(shape))
        }
        Request::Sample { mode, warm, repeats } => {
            let evaluate = case.get(mode).map_err(failed)?;
            (0..warm).for_each(|_| evaluate());
            let start = Instant::now();
            (0..repeats).for_each(|_| evaluate());
            Ok(Reply::Seconds(start.elapsed().as_secs_f64()))
        }
        Request::Memory => {
            let first = &mut case.modes[0].1;
            // Writing 5 resets the process's peak of resident memory in Linux.
            fs::write("/proc/self/clear_refs", "5").map_err(|error| failed(error.to_string()))?;
            let before = resident("VmRSS").map_err(failed)?;
            first();
            let peak = resident("VmHWM").map_err(failed)?;
            Ok(Reply::Bytes(peak.saturating_sub(before)))
        }
        Request::Hello | Request::Prepare { .. } | Request::Drop => unreachable!("answered above"),
    }
}

/// A line of `/proc/self/status`, in bytes.
fn resident(line: &str) -> Result<u64, String> {
    let status = fs::read_to_string("/proc/self/status").map_err(|error| error.to_string())?;
    let kib = status
        .lines()
        .find_map(|text| text.strip_prefix(line)?.strip_prefix(':')?.split_whitespace().next()?.parse().ok());
    kib.map(|kib: u64| kib * 1024).ok_or_else(|| format!("no {line} in /proc/self/status"))
}
