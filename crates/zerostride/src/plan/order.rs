//! Owns the order of a plan's steps: only neighbours run together. It does not choose which do (`rows.rs`,
//! `folded.rs`).

use std::collections::{HashMap, HashSet};

use zerostride_shape::Strides;

use super::program::{Buffer, ElementSource, Step, Work};

/// A step of so much fewer elements than the largest one is small beside it.
const SMALL_STEPS: usize = 8;

/// Steps in an order in which those over the same rows follow each other as far as they can, for only
/// neighbours run together. The steps are placed from the last one on, each before those that read it.
pub(super) fn by_rows<R: PartialEq>(steps: Vec<Step>, rows: impl Fn(&Step) -> Option<R>) -> Vec<Step> {
    let makers_of = makers(&steps);
    let mut readers = vec![0; steps.len()];
    steps.iter().flat_map(&makers_of).for_each(|maker| readers[maker] += 1);
    let mut ready: Vec<usize> = (0..steps.len()).filter(|&index| readers[index] == 0).collect();
    let mut steps: Vec<Option<Step>> = steps.into_iter().map(Some).collect();
    let (mut placed, mut last): (Vec<Step>, _) = (Vec::new(), None);
    while !ready.is_empty() {
        let is_near = |&index: &usize| (steps[index].as_ref().and_then(&rows) == last, index);
        let next = (0..ready.len()).max_by_key(|&at| is_near(&ready[at])).unwrap_or(0);
        let Some(step) = steps[ready.swap_remove(next)].take() else { continue };
        for maker in makers_of(&step) {
            readers[maker] -= 1;
            if readers[maker] == 0 {
                ready.push(maker);
            }
        }
        last = rows(&step);
        placed.push(step);
    }
    placed.reverse();
    placed
}

/// Steps in an order in which reductions over rows may run together with the steps that compute these: what
/// needs the results of a reduction over rows, or over everything, comes behind all that does not, and what
/// is not over the rows of the largest step comes before or behind the steps that are. What is computed for
/// reductions over everything alone comes with these, behind the others.
pub(super) fn by_phase(steps: Vec<Step>, buffers: &[Buffer], is_apart: impl Fn(&Step) -> bool) -> Vec<Step> {
    let makers_of = makers(&steps);
    let rows: Vec<(usize, bool)> = steps.iter().map(|step| rows_of(step, buffers)).collect();
    let reduces_all =
        |step: &Step| matches!(step.work, Work::Reduce { .. }) && buffers[step.output].shape.numel() == 1;
    let apart: Vec<bool> = steps.iter().map(|step| is_apart(step) || reduces_all(step)).collect();
    let most = steps.iter().map(Step::visits).max().unwrap_or(0);
    // What does not depend on large steps can come before all of them.
    let (mut phases, mut is_main): (Vec<usize>, Vec<bool>) = (Vec::new(), Vec::new());
    for step in &steps {
        let makers = makers_of(step);
        let behind = |&maker: &usize| phases[maker] + usize::from(rows[maker].1 && is_main[maker]);
        let phase = makers.iter().map(behind).max().unwrap_or(0);
        is_main.push(step.visits() >= most / SMALL_STEPS || makers.iter().any(|&maker| is_main[maker]));
        phases.push(phase);
    }
    let (mut readers, mut missing) = (vec![Vec::new(); steps.len()], vec![0; steps.len()]);
    for (index, step) in steps.iter().enumerate() {
        makers_of(step).into_iter().for_each(|maker| {
            readers[maker].push(index);
            missing[index] += 1;
        });
    }
    // The rows of the largest step of each phase, with the elements that it visits, and whether a step over
    // these rows has been placed.
    let mut main = vec![(0, None); 1 + phases.iter().copied().max().unwrap_or(0)];
    for (index, step) in steps.iter().enumerate().filter(|&(index, _)| is_main[index] && !apart[index]) {
        let largest = &mut main[phases[index]];
        if step.visits() > largest.0 {
            *largest = (step.visits(), Some(rows[index].0));
        }
    }
    let mut started = vec![false; main.len()];
    let mut ready: Vec<usize> = (0..steps.len()).filter(|&index| missing[index] == 0).collect();
    let mut steps: Vec<Option<Step>> = steps.into_iter().map(Some).collect();
    let mut placed = Vec::with_capacity(steps.len());
    while !ready.is_empty() {
        let is_of_main = |index: usize| is_main[index] && main[phases[index]].1 == Some(rows[index].0);
        let key = |&at: &usize| {
            let (index, phase) = (ready[at], phases[ready[at]]);
            (phase, apart[index], is_of_main(index) != started[phase], index)
        };
        let next = (0..ready.len()).min_by_key(key).unwrap_or(0);
        let index = ready.swap_remove(next);
        started[phases[index]] |= is_of_main(index);
        placed.extend(steps[index].take());
        for &reader in &readers[index] {
            missing[reader] -= 1;
            if missing[reader] == 0 {
                ready.push(reader);
            }
        }
    }
    placed
}

/// A function that says whose results a step reads.
fn makers(steps: &[Step]) -> impl Fn(&Step) -> HashSet<usize> + use<> {
    let makers: HashMap<usize, usize> =
        steps.iter().enumerate().map(|(index, step)| (step.output, index)).collect();
    move |step| step.work.sources().filter_map(ElementSource::buffer).map(|buffer| makers[&buffer]).collect()
}

/// The rows that a step is over, and whether it needs all of them for each result.
fn rows_of(step: &Step, buffers: &[Buffer]) -> (usize, bool) {
    let own = buffers[step.output].shape.iter().copied().find(|&size| size > 1);
    let Work::Reduce { kept, reduced, program, .. } = &step.work else { return (own.unwrap_or(0), false) };
    // Whether the reduced dimension is outside the others.
    let is_outside = |strides: &Strides| {
        let (kept, reduced) = strides.split_at(kept.ndim());
        kept.iter().all(|stride| stride.unsigned_abs() < reduced[0].unsigned_abs())
    };
    let mut reduces = program
        .loads
        .iter()
        .map(|load| &load.strides)
        .filter(|strides| strides[kept.ndim()..] != [0])
        .peekable();
    let is_over_rows = reduced.ndim() == 1 && reduces.peek().is_some() && reduces.all(is_outside);
    match own {
        Some(_) if is_over_rows => (reduced[0], true),
        own => (own.unwrap_or(0), own.is_none()),
    }
}
