//! Whichever allocation fails while a file is evaluated in pieces: the result is complete or absent. Where it
//! is one for the elements of an array, that is an error like others. Small ones, such as the standard
//! library's for a list, end the process, as they do in every Rust program; then a temporary file stays,
//! which says by its name what it is.

#![cfg(feature = "io")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};
use std::{env, fs, io};

use zerostride::io::{Sink, Source, load, save};
use zerostride::stream::Options;
use zerostride::{Error, Expr, Result, Tensor, pool};
use zerostride_emulator::again;

/// Lets some allocations fail, counted from 0: those of at least so many bytes.
struct Failing;

static LEAST: AtomicUsize = AtomicUsize::new(usize::MAX);
static COUNT: AtomicUsize = AtomicUsize::new(0);
static FIRST: AtomicUsize = AtomicUsize::new(usize::MAX);
static LAST: AtomicUsize = AtomicUsize::new(0);

impl Failing {
    fn fails(layout: Layout) -> bool {
        layout.size() >= LEAST.load(SeqCst)
            && (FIRST.load(SeqCst)..=LAST.load(SeqCst)).contains(&COUNT.fetch_add(1, SeqCst))
    }
}

// SAFETY: every call is handed to the system's allocator unchanged, or refused as an allocator may.
unsafe impl GlobalAlloc for Failing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is passed on.
        if Failing::fails(layout) { std::ptr::null_mut() } else { unsafe { System.alloc(layout) } }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is passed on.
        if Failing::fails(layout) { std::ptr::null_mut() } else { unsafe { System.alloc_zeroed(layout) } }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Failing = Failing;

/// Allocations are counted for the whole process: one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// Those from `first` to `last` fail, of at least `least` bytes.
fn arm(least: usize, first: usize, last: usize) {
    FIRST.store(first, SeqCst);
    LAST.store(last, SeqCst);
    COUNT.store(0, SeqCst);
    LEAST.store(least, SeqCst);
}

/// Disarms, and tells how many there were.
fn disarm() -> usize {
    LEAST.store(usize::MAX, SeqCst);
    COUNT.load(SeqCst)
}

/// 16 columns, of which 4096 rows are 256 KiB.
const COLUMNS: usize = 16;
const PIECE: usize = 4096;

fn standardise(folder: &Path) -> Result<()> {
    let x = Expr::from(&Source::open(folder.join("x.npy"))?);
    let y = (&x - x.mean(0)) / x.std(0);
    y.eval_to(&mut Sink::create(folder.join("y.npy"))?, Options::new().piece_rows(PIECE))
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    save(folder.path().join("x.npy"), &Tensor::rand(&[3 * PIECE, COLUMNS], 1).unwrap()).unwrap();
    folder
}

fn result(folder: &Path) -> Option<Vec<u8>> {
    fs::read(folder.join("y.npy")).ok()
}

#[test]
fn an_array_without_memory_is_an_error_and_leaves_nothing() {
    let _alone = ALONE.lock();
    let folder = folder();
    let at = folder.path();
    standardise(at).unwrap();
    let complete = result(at);
    let mut refused = 0;
    // Once, which giving back what the pool keeps may mend, and for good.
    for lasting in [0, usize::MAX] {
        for first in 0.. {
            fs::remove_file(at.join("y.npy")).ok();
            pool::trim();
            arm(PIECE * COLUMNS * 4, first, first.saturating_add(lasting));
            let done = standardise(at);
            let count = disarm();
            match done {
                Ok(()) => assert_eq!(result(at), complete, "{first}"),
                Err(Error::OutOfMemory { bytes, .. }) => {
                    assert!(bytes >= PIECE * COLUMNS * 4 && result(at).is_none(), "{first}: {bytes}");
                    refused += 1;
                }
                Err(other) => panic!("{first}: {other}"),
            }
            // Of a folder nothing else is left either.
            assert!(fs::read_dir(at).unwrap().count() <= 2);
            if first >= count {
                break;
            }
        }
    }
    assert!(refused > 3, "{refused}");
    assert_eq!(load(at.join("y.npy")).unwrap().shape(), [3 * PIECE, COLUMNS]);
}

/// Rows that threads hold may be large: without memory for them there is an error, and then a result.
#[test]
fn rows_without_memory_are_an_error() {
    let _alone = ALONE.lock();
    let x = Expr::from(&Tensor::rand(&[100, 50_000], 1).unwrap());
    let sums = x.softmax(1).amax(1);
    let complete = sums.eval().unwrap().to_vec::<f32>().unwrap();
    pool::trim();
    arm(50_000 * 4, 0, usize::MAX);
    let refused = sums.eval();
    assert!(disarm() > 0);
    let refused = refused.unwrap_err();
    assert!(matches!(refused.root(), Error::OutOfScratch { bytes, .. } if *bytes >= 50_000 * 4), "{refused}");
    assert_eq!(sums.eval().unwrap().to_vec::<f32>().unwrap(), complete);
}

/// Not a test by itself: what runs in the processes of the next one.
#[test]
fn standardise_with_failing_allocations() {
    let Ok(folder) = env::var("ZEROSTRIDE_FAIL_IN") else { return };
    let first = env::var("ZEROSTRIDE_FAIL_AT").unwrap().parse().unwrap();
    arm(0, first, first);
    let done = standardise(Path::new(&folder));
    println!("allocations: {}", disarm());
    done.unwrap_or_else(|error| panic!("refused: {error}"));
}

fn start(folder: &Path, first: usize) -> Child {
    let mut command = again();
    command.args(["--exact", "standardise_with_failing_allocations", "--nocapture", "--test-threads=1"]);
    command.env("ZEROSTRIDE_FAIL_IN", folder).env("ZEROSTRIDE_FAIL_AT", first.to_string());
    // A backtrace reads all of the program's debug information, for every process.
    command.env("RUST_BACKTRACE", "0");
    command.env("RAYON_NUM_THREADS", "2").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits for its end, which must come.
fn end(child: &mut Child) -> ExitStatus {
    let started = Instant::now();
    loop {
        match child.try_wait().unwrap() {
            Some(status) => return status,
            None if started.elapsed() > Duration::from_secs(120) => panic!("it does not end"),
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    }
}

#[test]
fn whichever_allocation_fails_the_result_is_complete_or_absent() {
    let _alone = ALONE.lock();
    let folder = folder();
    let at = folder.path();
    let mut child = start(at, usize::MAX);
    assert!(end(&mut child).success());
    let said = io::read_to_string(child.stdout.unwrap()).unwrap();
    let count =
        said.lines().find_map(|line| line.split_once("allocations: ")?.1.parse::<usize>().ok()).unwrap();
    let complete = result(at).unwrap();
    let step = if env::var_os("ZEROSTRIDE_LONG").is_some() { 1 } else { count.div_ceil(60) };
    let (mut refused, mut aborted) = (0, 0);
    for first in (0..count).step_by(step) {
        fs::remove_file(at.join("y.npy")).ok();
        let mut child = start(at, first);
        let status = end(&mut child);
        let said = io::read_to_string(child.stderr.take().unwrap()).unwrap();
        if status.success() {
            assert!(result(at).unwrap() == complete, "{first}");
        } else {
            assert!(result(at).is_none_or(|found| found == complete), "{first}");
            if said.contains("refused: ") {
                refused += 1;
            } else {
                assert!(said.contains("memory allocation of "), "{first}: {said}");
                aborted += 1;
            }
        }
        for entry in fs::read_dir(at).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let temporary = name.starts_with(".zerostride-") && name.ends_with(".tmp");
            assert!(temporary || ["x.npy", "y.npy"].contains(&&*name), "{name}");
            if temporary {
                fs::remove_file(at.join(name)).unwrap();
            }
        }
    }
    eprintln!(
        "of {count} allocations, every {step}. failed: {refused} were errors, {aborted} ended the process"
    );
}
