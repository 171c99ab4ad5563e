//! Owns the order of steps: what is computed before the loop, what stays in registers through it, how many
//! vectors run side by side. It does not know instructions.

use super::registers::{Item, Placement};
use super::steps::{Act, Id, NONE, Step};

/// Instructions of a chain, each of which reads the one before, that are more than a processor sees ahead.
const LONG_CHAIN: usize = 64;

/// Vectors side by side that may ask for a rare way together with as many accumulators.
const MOST_ASKING: u32 = 4;

/// What is known of the steps of a row before their values have registers.
#[derive(Debug)]
pub(super) struct Order {
    /// Whether a step is in the loop.
    pub varies: Vec<bool>,
    /// Vectors that run side by side.
    pub copies: u32,
    /// Steps before the loop whose values stay in registers through it.
    pub pinned: Vec<(Id, u8)>,
    /// The first of the registers of accumulators, one for each vector side by side.
    pub accumulators: Option<u8>,
    /// The place on the stack of what the loop reads of the steps before it, of which constants have none.
    pub slots: Vec<Option<u32>>,
}

impl Order {
    /// For so many registers of each kind, and at most so many vectors side by side; `turns` are the vectors
    /// of accumulators, if there are some.
    pub(super) fn new<M>(steps: &[Step<M>], registers: [u8; 2], most: u32, turns: Option<u32>) -> Order {
        let varies = varying(steps);
        let live = live(steps, &varies, &items(steps, &varies, true, 1));
        let copies = match turns {
            // All accumulators, as far as there are registers, so that memory is read in order.
            Some(vectors) => {
                let free = [u32::from(registers[0]) - 2, registers[1].into()];
                let needs = |copies| [(live[0] + 1) * copies, live[1] * copies];
                // The masks of all that run side by side are in registers where a rare way begins.
                let has_rare = steps.iter().any(|step| matches!(step.act, Act::Rare { .. }));
                let most = most.min(if has_rare { MOST_ASKING } else { u32::MAX });
                let fits = |copies: &u32| {
                    needs(*copies).iter().zip(free).all(|(&own, free)| own <= free) && *copies <= most
                };
                (0..=vectors.ilog2()).rev().map(|log| 1 << log).find(fits).unwrap_or(1)
            }
            None => side_by_side(steps, &varies).min(most),
        };
        let mut left = registers;
        left[0] -= if turns.is_some() { copies as u8 } else { 0 };
        let pinned = pinned(steps, &varies, live.map(|live| live * copies), left);
        let slots = slots(steps, &varies);
        Order { varies, copies, pinned, accumulators: turns.map(|_| left[0]), slots }
    }
}

/// Whether a step is in the loop: what no input's elements decide is computed before it, rare ways as a
/// whole.
fn varying<M>(steps: &[Step<M>]) -> Vec<bool> {
    let mut varies = vec![false; steps.len()];
    let mut at = 0;
    while at < steps.len() {
        let of = |varies: &[bool], step: &Step<M>| {
            matches!(step.act, Act::Load { .. } | Act::Store { .. })
                || step.args().any(|arg| varies[arg as usize])
        };
        varies[at] = of(&varies, &steps[at]);
        let Act::Rare { count, .. } = steps[at].act else {
            at += 1;
            continue;
        };
        let own = at + 1..at + 1 + count as usize;
        for inner in own.clone() {
            varies[inner] = of(&varies, &steps[inner]);
        }
        if varies[at] || own.clone().any(|inner| varies[inner]) {
            varies[at] = true;
            for inner in own.clone() {
                varies[inner] = !matches!(steps[inner].act, Act::Constant { .. });
            }
        }
        at = own.end;
    }
    varies
}

/// The steps inside or before the loop in order. Vectors of inputs are read where they are wanted, but for
/// those that are results: a result may be written over an input, and all is read before.
pub(super) fn items<M>(steps: &[Step<M>], varies: &[bool], is_inside: bool, copies: u32) -> Vec<Item> {
    let mut items = Vec::with_capacity(steps.len() * copies as usize);
    let copies = if is_inside { copies } else { 1 };
    let all = |step: u32| (0..copies).map(move |copy| Item::Step { step, copy });
    for step in steps.iter().filter(|step| is_inside && matches!(step.act, Act::Store { .. })) {
        let is_read = |item: &Item| matches!(*item, Item::Step { step: other, .. } if other == step.args[0]);
        if matches!(steps[step.args[0] as usize].act, Act::Load { .. }) && !items.iter().any(is_read) {
            items.extend(all(step.args[0]));
        }
    }
    let mut ends: Vec<usize> = Vec::new();
    for (place, step) in steps.iter().enumerate() {
        while ends.last() == Some(&place) {
            ends.pop();
            items.push(Item::End);
        }
        if varies[place] != is_inside || matches!(step.act, Act::Constant { .. } | Act::Load { .. }) {
            continue;
        }
        if let Act::Rare { count, .. } = step.act {
            items.push(Item::Begin { step: place as u32 });
            ends.push(place + 1 + count as usize);
        } else {
            items.extend(all(place as u32));
        }
    }
    items.extend(ends.iter().map(|_| Item::End));
    items
}

/// The most values of each kind that live at once outside of rare ways, without what is computed before.
fn live<M>(steps: &[Step<M>], varies: &[bool], items: &[Item]) -> [u32; 2] {
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
                    if arg == NONE || !varies[arg as usize] || step_args[..nth].contains(&arg) {
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
fn side_by_side<M>(steps: &[Step<M>], varies: &[bool]) -> u32 {
    let (mut chain, mut longest, mut all) = (vec![0; steps.len()], 0, 0);
    for step in outside(steps).filter(|&step| varies[step]) {
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

/// How often the loop reads, outside of rare ways, what is computed before it.
fn wanted<M>(steps: &[Step<M>], varies: &[bool]) -> Vec<u32> {
    let mut wanted = vec![0; steps.len()];
    for step in outside(steps).filter(|&step| varies[step]) {
        for arg in steps[step].args().filter(|&arg| !varies[arg as usize]) {
            wanted[arg as usize] += 1;
        }
    }
    wanted
}

/// Places on the stack for the steps before the loop whose values the loop reads.
fn slots<M>(steps: &[Step<M>], varies: &[bool]) -> Vec<Option<u32>> {
    let mut slots = vec![None; steps.len()];
    let mut count = 0;
    for (step, _) in steps.iter().zip(varies).filter(|&(_, &varies)| varies) {
        for arg in step.args().map(|arg| arg as usize).filter(|&arg| !varies[arg]) {
            if slots[arg].is_none() && !matches!(steps[arg].act, Act::Constant { .. }) {
                slots[arg] = Some(count);
                count += 1;
            }
        }
    }
    slots
}

/// What the loop reads most often of what is computed before it stays in the last registers, as far as the
/// most values of the loop leave some.
fn pinned<M>(steps: &[Step<M>], varies: &[bool], live: [u32; 2], registers: [u8; 2]) -> Vec<(Id, u8)> {
    let wanted = wanted(steps, varies);
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

/// Where a body's values stay on the stack, from a place on, and the end of that.
pub(super) fn places(placement: &Placement, first: u32) -> (Vec<(Id, u32)>, u32) {
    let mut spans = placement.spans.clone();
    spans.sort_by_key(|&(_, start, _)| start);
    // For each place the end of what is there.
    let mut ends: Vec<u32> = Vec::new();
    let mut slots = Vec::new();
    for (id, start, end) in spans {
        let free = ends.iter().position(|&end| end < start).unwrap_or(ends.len());
        if free == ends.len() {
            ends.push(end);
        } else {
            ends[free] = end;
        }
        slots.push((id, first + free as u32));
    }
    (slots, first + ends.len() as u32)
}
