//! Owns the liveness of buffers and of their slots: the step that reads each for the last time. It does not
//! know what is done about it (`memory.rs`, `rows.rs`).

use super::program::{Buffer, ElementSource, Step};

/// For each buffer the last step that reads it; results are read after all of them.
pub(crate) fn last_reads(steps: &[Step], buffers: usize, results: &[usize]) -> Vec<Option<usize>> {
    let mut last = vec![None; buffers];
    for (index, step) in steps.iter().enumerate() {
        step.work.sources().filter_map(ElementSource::buffer).for_each(|buffer| last[buffer] = Some(index));
    }
    results.iter().for_each(|&result| last[result] = Some(usize::MAX));
    last
}

/// The slots in use, each with the step after which nothing reads or writes it, but for those of results.
pub(super) fn deaths(steps: &[Step], buffers: &[Buffer], results: &[usize]) -> Vec<(usize, usize)> {
    let mut last = vec![None; buffers.len()];
    for (index, step) in steps.iter().enumerate() {
        let read = step.work.sources().filter_map(ElementSource::buffer);
        read.chain([step.output]).for_each(|buffer| last[buffers[buffer].slot] = Some(index));
    }
    results.iter().for_each(|&result| last[buffers[result].slot] = None);
    last.into_iter().enumerate().filter_map(|(slot, last)| Some((slot, last?))).collect()
}
