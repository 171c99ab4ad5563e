//! Owns the measurement of peak memory. Each workload and peer has a process of its own, so that a pool that
//! an earlier workload has filled does not hide what an evaluation takes. It does not know time.

use std::collections::BTreeMap;

use zerostride_bench::{Mode, Operand, Reply, Request, Task};

use crate::measure::prepare;
use crate::process::{Launch, Process, reason};
use crate::record::{Memory, STREAM};
use crate::workload::{Cell, Group};

/// Workloads whose memory differs between libraries: results of one pass, of several, and of stretched arrays
/// that need not exist.
const WORKLOADS: [&str; 9] =
    ["add", "normalise", "gelu", "image", "pairs_16", "pairs_3", "outer_exp", "softmax", "layer_norm"];

/// The largest size of a dimension in the warm-up.
const SMALL: usize = 16;

/// Measures some workloads at their largest size.
pub(crate) fn measure(cells: &[Cell], launches: &[Launch], threads: usize) -> Vec<Memory> {
    let wanted =
        |cell: &&Cell| cell.group == Group::Main && cell.size == "RAM" && WORKLOADS.contains(&cell.workload);
    let measured = |cell: &Cell| {
        // Memory does not depend on other processes, so two peers run at a time.
        let peers: Vec<&Launch> = launches.iter().filter(|launch| launch.name != STREAM).collect();
        let mut peaks = BTreeMap::new();
        for pair in peers.chunks(2) {
            std::thread::scope(|scope| {
                let running: Vec<_> = pair
                    .iter()
                    .map(|launch| (&launch.name, scope.spawn(|| peak(cell, launch, threads))))
                    .collect();
                for (name, thread) in running {
                    let outcome = thread.join().unwrap_or_else(|_| Err("the driver failed".into()));
                    peaks.insert(name.clone(), outcome);
                }
            });
        }
        println!("peak memory of {}", cell.title);
        Memory {
            workload: cell.workload.into(),
            title: cell.title.into(),
            size: cell.size.clone(),
            result: cell.task.result_bytes(),
            peaks,
        }
    };
    cells.iter().filter(wanted).map(measured).collect()
}

fn peak(cell: &Cell, launch: &Launch, threads: usize) -> Result<u64, String> {
    let mut process = Process::start(launch, threads)?;
    // Code is loaded into memory when it first runs, so it runs on small operands first.
    prepare(&mut process, &small(&cell.task))?;
    process.ask(&Request::Sample { mode: Mode::Fresh, warm: 0, repeats: 1 })?;
    prepare(&mut process, &cell.task)?;
    match process.ask(&Request::Memory)? {
        Reply::Bytes(bytes) => Ok(bytes),
        other => Err(reason(other)),
    }
}

/// The same workload on a few elements.
fn small(task: &Task) -> Task {
    let cut = |shape: &[usize]| shape.iter().map(|&size| size.min(SMALL)).collect();
    let operands =
        task.operands.iter().map(|operand| Operand { shape: cut(&operand.shape), ..operand.clone() });
    Task { operands: operands.collect(), shape: cut(&task.shape), ..task.clone() }
}
