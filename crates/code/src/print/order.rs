//! Owns the order of steps: how often each is done, what stays in registers through the loop over vectors,
//! how many of these run side by side. It does not know instructions.

use std::ops::Range;

use super::steps::{Act, Id, NONE, Step};
use crate::row::{Read, Row};

/// How often a step is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    /// Once, before all rows.
    Once,
    /// For each row.
    Row,
    /// For each vector.
    Vector,
}

/// A step of a body, in order.
#[derive(Clone, Copy, Debug)]
pub(super) enum Item {
    /// A step for one of the vectors that run side by side.
    Step { step: u32, copy: u32 },
    /// The beginning of a rare way.
    Begin { step: u32 },
    /// The end of the rare way that was begun last.
    End,
}

/// Instructions of a chain, each of which reads the one before, that are more than a processor sees ahead.
const LONG_CHAIN: usize = 64;

/// Vectors of accumulators side by side where elements of all rows enter them.
const VECTORS_ACROSS: u32 = 8;

/// Vectors side by side that may ask for a rare way together with as many accumulators.
const MOST_ASKING: u32 = 4;

/// Vectors whose steps alternate where there are no registers for the values of all that run side by side.
/// Processors find those of the others by themselves.
const ALTERNATING: u32 = 2;

/// What is known of the steps of a row before their values have registers.
#[derive(Debug)]
pub(super) struct Order {
    pub levels: Vec<Level>,
    /// Vectors that run side by side.
    pub copies: u32,
    /// How many of them take turns step by step, before the next ones.
    pub together: u32,
    /// Steps before the loop over vectors whose values stay in registers through it.
    pub pinned: Vec<(Id, u8)>,
    /// Registers of each kind that neither these nor accumulators have.
    pub free: [u8; 2],
    /// The first of the registers of accumulators, one for each vector side by side.
    pub accumulators: Option<u8>,
    /// The place on the stack of what is read by steps that are done more often; constants have none.
    pub slots: Vec<Option<u32>>,
}

impl Order {
    /// For so many registers of each kind and lanes, and at most so many vectors side by side.
    pub(super) fn new<M>(steps: &[Step<M>], row: &Row, registers: [u8; 2], lanes: u32, most: u32) -> Order {
        let levels = levels(steps, row);
        let live = |level| live(steps, &levels, level);
        let of_vector = live(Level::Vector);
        // All accumulators, as far as there are registers, so that memory is read in order.
        let vectors = row.accumulators().map(|read| match read {
            Read::Along(count) => count / lanes,
            _ => VECTORS_ACROSS,
        });
        let (copies, together) = match vectors {
            Some(vectors) => {
                let free = [u32::from(registers[0]) - 2, registers[1].into()];
                // The masks of all that run side by side are in registers where a rare way begins.
                let has_rare = steps.iter().any(|step| matches!(step.act, Act::Rare { .. }));
                let most = most.min(if has_rare { MOST_ASKING } else { u32::MAX });
                let fits = |&(copies, together): &(u32, u32)| {
                    let needs = [copies + of_vector[0] * together, of_vector[1] * together];
                    needs.iter().zip(free).all(|(&own, free)| own <= free) && copies <= most
                };
                let groups = |copies: u32| [copies, if has_rare { copies } else { ALTERNATING.min(copies) }];
                let counts = (0..=vectors.ilog2()).rev().map(|log| 1 << log);
                let mut ways = counts.flat_map(|copies| groups(copies).map(|together| (copies, together)));
                ways.find(fits).unwrap_or((1, 1))
            }
            None => {
                let copies = side_by_side(steps, &levels).min(most);
                (copies, copies)
            }
        };
        let mut left = registers;
        left[0] -= if vectors.is_some() { copies as u8 } else { 0 };
        let of_row = live(Level::Row);
        let needed = std::array::from_fn(|kind| of_row[kind].max(of_vector[kind] * together));
        let pinned = pinned(steps, &levels, needed, left);
        let first = |kind: bool| {
            let own = pinned.iter().filter(|(step, _)| steps[*step as usize].is_mask == kind);
            own.map(|&(_, register)| register).min().unwrap_or(left[usize::from(kind)])
        };
        let free = [first(false), first(true)];
        let slots = slots(steps, &levels);
        Order { levels, copies, together, pinned, free, accumulators: vectors.map(|_| left[0]), slots }
    }
}

/// How often each step is done: what no elements of a vector decide is computed before these, rare ways as a
/// whole.
fn levels<M>(steps: &[Step<M>], row: &Row) -> Vec<Level> {
    let mut levels = vec![Level::Once; steps.len()];
    let mut at = 0;
    while at < steps.len() {
        let of = |levels: &[Level], step: &Step<M>| match step.act {
            Act::Load { .. } | Act::Store { .. } => Level::Vector,
            Act::Splat { input, .. } if row.reads[input as usize] == Read::Splat => Level::Row,
            _ => step.args().map(|arg| levels[arg as usize]).max().unwrap_or(Level::Once),
        };
        levels[at] = of(&levels, &steps[at]);
        let Act::Rare { count, .. } = steps[at].act else {
            at += 1;
            continue;
        };
        let own = at + 1..at + 1 + count as usize;
        for inner in own.clone() {
            levels[inner] = of(&levels, &steps[inner]);
        }
        let most = levels[at..own.end].iter().copied().max().unwrap_or(Level::Once);
        for of_way in at..own.end {
            if !matches!(steps[of_way].act, Act::Constant { .. }) {
                levels[of_way] = most;
            }
        }
        at = own.end;
    }
    levels
}

/// The steps of a level in order, for so many vectors side by side: some of these take turns, step by step,
/// before the next ones do, or all where there are rare ways. Vectors of inputs are read where they are
/// wanted, but for those that are results: a result may be written over an input, and all is read before.
pub(super) fn items<M>(
    steps: &[Step<M>],
    levels: &[Level],
    level: Level,
    (copies, together): (u32, u32),
) -> Vec<Item> {
    let mut items = Vec::with_capacity(steps.len() * copies as usize);
    let is_inside = level == Level::Vector;
    let copies = if is_inside { copies } else { 1 };
    let of = |step: u32, copies: Range<u32>| copies.map(move |copy| Item::Step { step, copy });
    for step in steps.iter().filter(|step| is_inside && matches!(step.act, Act::Store { .. })) {
        let is_read = |item: &Item| matches!(*item, Item::Step { step: other, .. } if other == step.args[0]);
        if matches!(steps[step.args[0] as usize].act, Act::Load { .. }) && !items.iter().any(is_read) {
            items.extend(of(step.args[0], 0..copies));
        }
    }
    for first in (0..copies).step_by(together as usize) {
        let group = first..copies.min(first + together);
        let mut ends: Vec<usize> = Vec::new();
        for (place, step) in steps.iter().enumerate() {
            while ends.last() == Some(&place) {
                ends.pop();
                items.push(Item::End);
            }
            if levels[place] != level || matches!(step.act, Act::Constant { .. } | Act::Load { .. }) {
                continue;
            }
            if let Act::Rare { count, .. } = step.act {
                debug_assert_eq!(group, 0..copies, "all ask together");
                items.push(Item::Begin { step: place as u32 });
                ends.push(place + 1 + count as usize);
            } else {
                items.extend(of(place as u32, group.clone()));
            }
        }
        items.extend(ends.iter().map(|_| Item::End));
    }
    items
}

/// The most values of each kind that live at once outside of rare ways, without what is computed before.
fn live<M>(steps: &[Step<M>], levels: &[Level], level: Level) -> [u32; 2] {
    let items = items(steps, levels, level, (1, 1));
    let mut last = vec![0; steps.len()];
    for (place, item) in items.iter().enumerate() {
        if let Item::Step { step, .. } | Item::Begin { step } = *item {
            steps[step as usize].args().for_each(|arg| last[arg as usize] = place);
        }
    }
    let (mut now, mut most, mut depth) = ([0u32; 2], [0u32; 2], 0);
    let mut is_known = vec![false; steps.len()];
    for (place, item) in items.iter().enumerate() {
        match *item {
            Item::End => depth -= 1,
            Item::Begin { step } | Item::Step { step, .. } => {
                let step_args = steps[step as usize].args;
                for (nth, &arg) in step_args.iter().enumerate() {
                    if arg == NONE || levels[arg as usize] != level || step_args[..nth].contains(&arg) {
                        continue;
                    }
                    let kind = usize::from(steps[arg as usize].is_mask);
                    // An input is known once it has been read.
                    now[kind] += u32::from(!std::mem::replace(&mut is_known[arg as usize], true));
                    now[kind] -= u32::from(last[arg as usize] == place);
                }
                if matches!(item, Item::Begin { .. }) {
                    depth += 1;
                } else if steps[step as usize].has_value() && last[step as usize] > place {
                    is_known[step as usize] = true;
                    now[usize::from(steps[step as usize].is_mask)] += 1;
                }
            }
        }
        if depth == 0 {
            most = [most[0].max(now[0]), most[1].max(now[1])];
        }
    }
    most
}

/// How many vectors run side by side. A chain of dependent instructions leaves most of the processor idle,
/// the more so the larger its share in all of them is, and most of all where the next round is out of sight.
/// Values that find no register then are the smaller evil.
fn side_by_side<M>(steps: &[Step<M>], levels: &[Level]) -> u32 {
    let (mut chain, mut longest, mut all) = (vec![0; steps.len()], 0, 0);
    for step in outside(steps).filter(|&step| levels[step] == Level::Vector) {
        chain[step] = 1 + steps[step].args().map(|arg| chain[arg as usize]).max().unwrap_or(0);
        (longest, all) = (longest.max(chain[step]), all + 1);
    }
    if longest > LONG_CHAIN { 5 } else { ((16 * longest / all.max(1)).div_ceil(2) as u32).clamp(2, 4) }
}

/// The steps in no rare way.
fn outside<M>(steps: &[Step<M>]) -> impl Iterator<Item = usize> {
    let mut end = 0;
    (0..steps.len()).filter(move |&place| {
        if place < end {
            return false;
        }
        if let Act::Rare { count, .. } = steps[place].act {
            end = place + 1 + count as usize;
        }
        true
    })
}

/// How often the loop over vectors reads, outside of rare ways, what is computed before it.
fn wanted<M>(steps: &[Step<M>], levels: &[Level]) -> Vec<u32> {
    let mut wanted = vec![0; steps.len()];
    for step in outside(steps).filter(|&step| levels[step] == Level::Vector) {
        for arg in steps[step].args().filter(|&arg| levels[arg as usize] < Level::Vector) {
            wanted[arg as usize] += 1;
        }
    }
    wanted
}

/// Places on the stack for the steps whose values are read by steps that are done more often.
fn slots<M>(steps: &[Step<M>], levels: &[Level]) -> Vec<Option<u32>> {
    let mut slots = vec![None; steps.len()];
    let mut count = 0;
    for (step, level) in steps.iter().zip(levels) {
        for arg in step.args().map(|arg| arg as usize).filter(|&arg| levels[arg] < *level) {
            if slots[arg].is_none() && !matches!(steps[arg].act, Act::Constant { .. }) {
                slots[arg] = Some(count);
                count += 1;
            }
        }
    }
    slots
}

/// What the loop over vectors reads most often of what is computed before it stays in the last registers, as
/// far as the most values that live at once leave some.
fn pinned<M>(steps: &[Step<M>], levels: &[Level], live: [u32; 2], registers: [u8; 2]) -> Vec<(Id, u8)> {
    let wanted = wanted(steps, levels);
    // Two operands may have to be brought into registers besides.
    let mut free: [u32; 2] =
        std::array::from_fn(|kind| u32::from(registers[kind]).saturating_sub(live[kind] + 2));
    let mut order: Vec<usize> = (0..steps.len()).filter(|&step| wanted[step] > 0).collect();
    order.sort_by_key(|&step| std::cmp::Reverse(wanted[step]));
    let mut taken = registers;
    let mut pinned = Vec::new();
    for step in order {
        let kind = usize::from(steps[step].is_mask);
        if free[kind] > 0 {
            free[kind] -= 1;
            taken[kind] -= 1;
            pinned.push((step as Id, taken[kind]));
        }
    }
    pinned
}
