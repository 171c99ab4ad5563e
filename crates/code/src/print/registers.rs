//! Owns the places of values: a linear scan over the registers, which keeps what is read next and leaves in
//! memory what is read last. It does not know instructions beyond their forms, nor how they are written.

use super::order::{Item, Level};
use super::steps::{Accumulators, Act, Form, Id, Make, NONE, OPERANDS, Overwrites, Step};

/// No register.
const NOWHERE: u8 = u8::MAX;

/// Registers of one kind, vectors or masks, are numbered from 0. Only AVX-512 has masks that are no vectors.
const KINDS: usize = 2;

/// Where an operand is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Register(u8),
    /// Where the value stays in memory.
    Memory(Id),
}

/// An instruction whose registers are known.
#[derive(Clone, Copy, Debug)]
pub(super) enum Placed {
    /// A step, where its operands are, and the register of its value, which is also that of the operand that
    /// the instruction overwrites.
    Step {
        step: u32,
        copy: u32,
        args: [Place; OPERANDS],
        to: u8,
    },
    /// A step of an instruction that has three forms, in that which overwrites the operand with this index.
    Overwriting {
        step: u32,
        args: [Place; 3],
        to: u8,
        tied: u8,
    },
    /// One register becomes another.
    Move {
        is_mask: bool,
        from: u8,
        to: u8,
    },
    /// A value that is in memory becomes a register.
    Load {
        id: Id,
        to: u8,
    },
    /// A value is written to where it stays in memory, if it is ever read there.
    Keep {
        id: Id,
        from: u8,
    },
    /// Jumps to the end if no element asks. Where none jumps, values are written to memory.
    Begin {
        masks: u32,
        block: u32,
        is_inverted: bool,
    },
    End,
}

/// A body whose registers are known.
#[derive(Debug, Default)]
pub(super) struct Placement {
    pub placed: Vec<Placed>,
    /// The masks that rare ways are asked by.
    pub masks: Vec<Vec<u8>>,
    /// What rare ways write to memory as they begin.
    pub entries: Vec<Vec<(Id, u8)>>,
    /// Which values are read in memory, by the way that writes them as they are computed.
    pub is_kept: Vec<bool>,
    /// Which values are in memory for some time, and the items between which they are.
    pub spans: Vec<(Id, u32, u32)>,
}

impl Placement {
    /// Where the body's values stay on the stack, from a place on, and the end of that.
    pub(super) fn places(&self, first: u32) -> (Vec<(Id, u32)>, u32) {
        let mut spans = self.spans.clone();
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
}

/// What a body knows about values before it begins.
pub(super) struct Values<'a, M> {
    pub steps: &'a [Step<M>],
    /// Vectors side by side: the value of a step is known by `step · copies + copy`.
    pub copies: u32,
    /// How often each step is done, and those of the body.
    pub levels: &'a [Level],
    pub level: Level,
    /// Which steps have values that are read on the stack by those that are done more often.
    pub slots: &'a [Option<u32>],
    /// Registers of each kind that it may use.
    pub registers: [u8; KINDS],
    /// Values that are in memory from the beginning to the end, and in registers where there is room.
    pub pinned: &'a [(Id, u8)],
    /// What is in registers from the beginning to the end.
    pub accumulators: Option<Accumulators>,
    /// Whether instructions may read elements of inputs themselves.
    pub reads_inputs: bool,
}

impl<M> Values<'_, M> {
    /// The accumulator that a value will be, with its register.
    fn accumulator(&self, id: Id) -> Option<(Id, u8)> {
        let Accumulators { read, made, register } = self.accumulators?;
        let (step, copy) = (id / self.copies, id % self.copies);
        (step == made).then(|| (self.id(read, copy), register + copy as u8))
    }

    pub(super) fn id(&self, step: Id, copy: u32) -> Id {
        step * self.copies + if self.levels[step as usize] == Level::Vector { copy } else { 0 }
    }

    fn step(&self, id: Id) -> &Step<M> {
        &self.steps[(id / self.copies) as usize]
    }

    fn kind(&self, id: Id) -> usize {
        self.step(id).is_mask.into()
    }
}

/// The registers of a body.
pub(super) fn place<M: Make>(values: &Values<M>, items: &[Item]) -> Placement {
    let count = values.steps.len() * values.copies as usize;
    let mut scan = Scan {
        values,
        occupants: [[NONE; 32]; KINDS],
        register: vec![NOWHERE; count],
        is_in_memory: vec![false; count],
        defined: vec![NONE; count],
        uses: Uses::of(values, items, count),
        at: 0,
        ways: Vec::new(),
        guarded: Vec::new(),
        result: Placement { is_kept: vec![false; count], ..Placement::default() },
    };
    let stays = |step: usize| values.levels[step] == values.level && values.slots[step].is_some();
    for (step, &level) in values.levels.iter().enumerate() {
        let is_constant = matches!(values.steps[step].act, Act::Constant { .. });
        let id = step * values.copies as usize;
        scan.is_in_memory[id] = is_constant || level < values.level;
        if matches!(values.steps[step].act, Act::Load { .. }) {
            scan.is_in_memory[id..id + values.copies as usize].fill(true);
        }
        scan.result.is_kept[id] = stays(step);
    }
    // What is loaded as a step is not read again where it was: that may be written over.
    for item in items {
        if let Item::Step { step, copy } = *item {
            scan.is_in_memory[values.id(step, copy) as usize] = false;
        }
    }
    for &(id, register) in values.pinned {
        scan.put(id, register);
        scan.uses.forever[id as usize] = true;
    }
    if let Some(Accumulators { read, register, .. }) = values.accumulators {
        for copy in 0..values.copies {
            let id = values.id(read, copy);
            scan.put(id, register + copy as u8);
            (scan.uses.forever[id as usize], scan.is_in_memory[id as usize]) = (true, false);
        }
    }
    for &item in items {
        match item {
            Item::Step { step, copy } => scan.step(step, copy),
            Item::Begin { step } => scan.begin(step),
            Item::End => scan.end(),
        }
        scan.at += 1;
    }
    scan.result.spans = (0..count as Id)
        .filter(|&id| !stays((id / values.copies) as usize))
        .filter(|&id| scan.result.is_kept[id as usize] || scan.uses.is_saved[id as usize])
        .map(|id| match scan.defined[id as usize] {
            // An accumulator, which any rare way may write.
            NONE => (id, 0, NONE),
            defined => (id, defined, scan.uses.last(id)),
        })
        .collect();
    scan.result
}

/// Where values are read.
struct Uses {
    /// The places of all uses, those of one value after the other.
    places: Vec<u32>,
    /// The first use of each value that is not behind, and the end of its uses.
    next: Vec<(u32, u32)>,
    /// Values that are read again in the next round.
    forever: Vec<bool>,
    /// Values that rare ways write to memory.
    is_saved: Vec<bool>,
}

impl Uses {
    fn of<M>(values: &Values<M>, items: &[Item], count: usize) -> Uses {
        let mut next = vec![(0u32, 0u32); count];
        let each = |found: &mut dyn FnMut(Id, u32)| {
            for (place, item) in (0..).zip(items) {
                match *item {
                    Item::Step { step, copy } => {
                        values.steps[step as usize].args().for_each(|arg| found(values.id(arg, copy), place));
                    }
                    Item::Begin { step } => {
                        let mask = values.steps[step as usize].args[0];
                        (0..values.copies).for_each(|copy| found(values.id(mask, copy), place));
                    }
                    Item::End => {}
                }
            }
        };
        each(&mut |id, _| next[id as usize].1 += 1);
        let mut total = 0;
        for (start, end) in &mut next {
            (*start, total) = (total, total + *end);
            *end = *start;
        }
        let mut places = vec![0; total as usize];
        each(&mut |id, place| {
            let end = &mut next[id as usize].1;
            places[*end as usize] = place;
            *end += 1;
        });
        Uses { places, next, forever: vec![false; count], is_saved: vec![false; count] }
    }

    /// The next use at or after a place.
    fn after(&mut self, id: Id, place: u32) -> Option<u32> {
        let (next, end) = &mut self.next[id as usize];
        while next < end && self.places[*next as usize] < place {
            *next += 1;
        }
        if next < end {
            Some(self.places[*next as usize])
        } else {
            self.forever[id as usize].then_some(u32::MAX)
        }
    }

    fn last(&self, id: Id) -> u32 {
        let end = self.next[id as usize].1;
        if end == 0 { 0 } else { self.places[end as usize - 1] }
    }
}

/// A rare way that has begun.
struct Way {
    block: u32,
    /// The place of its beginning.
    start: u32,
    occupants: [[Id; 32]; KINDS],
}

struct Scan<'a, M> {
    values: &'a Values<'a, M>,
    occupants: [[Id; 32]; KINDS],
    register: Vec<u8>,
    /// Whether a value can be read in memory now.
    is_in_memory: Vec<bool>,
    /// The place where a value is computed; [`NONE`] if before the body.
    defined: Vec<u32>,
    uses: Uses,
    at: u32,
    ways: Vec<Way>,
    /// Values whose registers the step in hand needs.
    guarded: Vec<Id>,
    result: Placement,
}

impl<M: Make> Scan<'_, M> {
    fn put(&mut self, id: Id, register: u8) {
        self.occupants[self.values.kind(id)][register as usize] = id;
        self.register[id as usize] = register;
    }

    fn remove(&mut self, id: Id) {
        let register = self.register[id as usize];
        if register != NOWHERE {
            self.occupants[self.values.kind(id)][register as usize] = NONE;
            self.register[id as usize] = NOWHERE;
        }
    }

    /// Whether a value was computed before the innermost rare way began.
    fn is_outer(&self, id: Id) -> bool {
        let defined = self.defined[id as usize];
        self.ways.last().is_some_and(|way| defined == NONE || defined < way.start)
    }

    fn free(&self, kind: usize) -> Option<u8> {
        let own = &self.occupants[kind][..self.values.registers[kind] as usize];
        own.iter().position(|&id| id == NONE).map(|register| register as u8)
    }

    /// A free register, made free if there is none by the value that is read last.
    fn allocate(&mut self, kind: usize) -> u8 {
        if let Some(register) = self.free(kind) {
            return register;
        }
        let mut best: Option<(u32, Id)> = None;
        for register in 0..self.values.registers[kind] as usize {
            let id = self.occupants[kind][register];
            let is_fixed = self.ways.is_empty() && self.uses.forever[id as usize];
            if self.guarded.contains(&id) || is_fixed {
                continue;
            }
            // What is in memory costs nothing to leave there.
            let next = self.uses.after(id, self.at + 1).unwrap_or(u32::MAX);
            if best.is_none_or(|(other, _)| next > other) {
                best = Some((next, id));
            }
        }
        let (_, id) = best.expect("more registers than operands");
        let register = self.register[id as usize];
        if !self.is_in_memory[id as usize] {
            if self.is_outer(id) {
                // It is written as the rare way begins, where it is in this register, and restored at the
                // end.
                let block = self.ways.last().map_or(0, |way| way.block);
                self.result.entries[block as usize].push((id, register));
                self.uses.is_saved[id as usize] = true;
            } else {
                self.result.is_kept[id as usize] = true;
            }
            self.is_in_memory[id as usize] = true;
        }
        self.remove(id);
        register
    }

    /// Brings a value into a register.
    fn load(&mut self, id: Id) -> u8 {
        let register = self.register[id as usize];
        if register != NOWHERE {
            return register;
        }
        let register = self.allocate(self.values.kind(id));
        self.result.placed.push(Placed::Load { id, to: register });
        self.put(id, register);
        self.guarded.push(id);
        register
    }

    /// Whether a value is read no more after this step.
    fn dies(&mut self, id: Id) -> bool {
        self.uses.after(id, self.at + 1).is_none()
    }

    fn is_in_register(&self, id: Id) -> bool {
        self.register[id as usize] != NOWHERE
    }

    /// Whether an instruction can read a value in memory: a whole vector, or an element that it repeats.
    fn is_operand(&mut self, id: Id, repeats: bool) -> bool {
        match self.values.step(id).act {
            Act::Constant { element_bytes, .. } => repeats || element_bytes == 0,
            // It is read in memory once, and from a register if it is read again.
            Act::Load { bytes, .. } => bytes >= 4 && self.values.reads_inputs && self.dies(id),
            _ => true,
        }
    }

    fn step(&mut self, number: u32, copy: u32) {
        let step = &self.values.steps[number as usize];
        let ids: [Id; OPERANDS] =
            step.args.map(|arg| if arg == NONE { NONE } else { self.values.id(arg, copy) });
        let own = self.values.id(number, copy);
        self.guarded.clear();
        self.guarded.extend(ids.iter().filter(|&&id| id != NONE && self.register[id as usize] != NOWHERE));
        let form = match &step.act {
            Act::Make(make) => make.form(),
            Act::Constant { .. } => return,
            _ => Form::PLAIN,
        };
        if let (Act::Store { .. }, Some((_, to))) = (step.act, self.values.accumulator(ids[0])) {
            let from = self.load(ids[0]);
            if from != to {
                self.result.placed.push(Placed::Move { is_mask: false, from, to });
            }
            return;
        }
        let tied = match form.overwrites {
            Overwrites::Nothing => None,
            Overwrites::One(operand) => Some(operand),
            Overwrites::Any => return self.overwriting(number, own, [ids[0], ids[1], ids[2]], form),
        };
        // Which operand may stay in memory.
        let is_turned = form.commutes && !self.is_in_register(ids[0]) && self.is_in_register(ids[1]);
        let memory = if is_turned { form.memory.map(|_| 0) } else { form.memory };
        let mut args = [Place::Register(0); OPERANDS];
        for (nth, &id) in ids.iter().enumerate().filter(|&(_, &id)| id != NONE) {
            let may_stay = memory == Some(nth)
                && !self.is_in_register(id)
                && self.is_operand(id, form.repeats)
                && ids.iter().filter(|&&other| other == id).count() == 1;
            let is_tied = tied == Some(nth);
            args[nth] = if may_stay {
                Place::Memory(id)
            } else if is_tied && !self.is_in_register(id) {
                // It is loaded to where the result will be.
                Place::Memory(id)
            } else {
                Place::Register(self.load(id))
            };
        }
        if is_turned {
            args.swap(0, 1);
        }
        let to = if let Some(tied) = tied {
            self.tied(ids[tied], &[], own)
        } else {
            self.release(&ids);
            self.target(number, own)
        };
        self.result.placed.push(Placed::Step { step: number, copy, args, to });
        self.define(number, own, to);
        if tied.is_some() {
            self.release(&ids);
        }
    }

    /// Frees the registers of values that are read no more.
    fn release(&mut self, ids: &[Id]) {
        for &id in ids.iter().filter(|&&id| id != NONE) {
            if self.dies(id) {
                self.remove(id);
            }
        }
    }

    fn target(&mut self, number: u32, own: Id) -> u8 {
        if !self.values.steps[number as usize].has_value() {
            return NOWHERE;
        }
        // An accumulator that is read no more makes room for the next.
        if let Some((old, register)) = self.values.accumulator(own)
            && self.ways.is_empty()
            && self.register[old as usize] == register
            && self.uses.last(old) <= self.at
        {
            self.remove(old);
            self.uses.forever[own as usize] = true;
            return register;
        }
        self.allocate(self.values.kind(own))
    }

    fn define(&mut self, number: u32, own: Id, to: u8) {
        if to == NOWHERE || !self.values.steps[number as usize].has_value() {
            return;
        }
        self.put(own, to);
        self.defined[own as usize] = self.at;
        self.is_in_memory[own as usize] = self.result.is_kept[own as usize];
        self.result.placed.push(Placed::Keep { id: own, from: to });
        // A value that only memory is to have is not read here.
        if self.dies(own) {
            self.remove(own);
        }
    }

    /// The register in which an operand is overwritten, with that operand in it.
    fn tied(&mut self, id: Id, others: &[Id], own: Id) -> u8 {
        let register = self.register[id as usize];
        if register != NOWHERE && self.dies(id) && !others.contains(&id) {
            self.remove(id);
            return register;
        }
        let to = self.allocate(self.values.kind(own));
        self.result.placed.push(if register == NOWHERE {
            Placed::Load { id, to }
        } else {
            Placed::Move { is_mask: false, from: register, to }
        });
        to
    }

    /// An instruction that overwrites one of its operands, and has a form for each.
    fn overwriting(&mut self, number: u32, own: Id, ids: [Id; 3], form: Form) {
        // One operand may stay in memory, the last rather than another.
        let is_once = |id: Id| ids.iter().filter(|&&other| other == id).count() == 1;
        let mut memory = None;
        for nth in [2, 1, 0].into_iter().filter(|_| form.memory.is_some()) {
            let id = ids[nth];
            if memory.is_none()
                && !self.is_in_register(id)
                && is_once(id)
                && self.is_operand(id, form.repeats)
            {
                memory = Some(nth);
            }
        }
        for (nth, &id) in ids.iter().enumerate() {
            if memory != Some(nth) {
                self.load(id);
            }
        }
        // It overwrites an operand that is read no more, or a copy of one.
        let mut dying = None;
        for nth in [0, 1, 2] {
            if memory != Some(nth) && is_once(ids[nth]) && self.dies(ids[nth]) {
                dying = dying.or(Some(nth));
            }
        }
        let tied = dying.or(memory).unwrap_or(2);
        let others = [ids[(tied + 1) % 3], ids[(tied + 2) % 3]];
        let to = self.tied(ids[tied], &others, own);
        let args = std::array::from_fn(|nth| match memory {
            _ if nth == tied => Place::Register(to),
            Some(other) if other == nth => Place::Memory(ids[nth]),
            _ => Place::Register(self.register[ids[nth] as usize]),
        });
        self.result.placed.push(Placed::Overwriting { step: number, args, to, tied: tied as u8 });
        self.release(&ids);
        self.define(number, own, to);
    }

    fn begin(&mut self, number: u32) {
        let Step { act: Act::Rare { is_inverted, .. }, args: [mask, ..], .. } =
            self.values.steps[number as usize]
        else {
            unreachable!("it begins a rare way")
        };
        let mut ids: Vec<Id> = (0..self.values.copies).map(|copy| self.values.id(mask, copy)).collect();
        ids.dedup();
        self.guarded.clear();
        self.guarded.extend(ids.iter().filter(|&&id| self.register[id as usize] != NOWHERE));
        let registers: Vec<u8> = ids.iter().map(|&id| self.load(id)).collect();
        self.release(&ids);
        let (masks, block) = (self.result.masks.len() as u32, self.result.entries.len() as u32);
        self.result.masks.push(registers);
        self.result.entries.push(Vec::new());
        self.result.placed.push(Placed::Begin { masks, block, is_inverted });
        self.ways.push(Way { block, start: self.at, occupants: self.occupants });
    }

    /// Both ways must agree about the registers: those of values from before are as at the beginning, and
    /// what was computed in between is where nothing of that is.
    fn end(&mut self) {
        let Some(way) = self.ways.pop() else { return };
        let at = self.at;
        let before = way
            .occupants
            .map(|own| own.map(|id| if id != NONE && self.uses.after(id, at).is_some() { id } else { NONE }));
        for (kind, before) in before.iter().enumerate() {
            self.forget_outer(kind, before, way.start);
            self.make_way(kind, before);
            for (register, &old) in (0..).zip(before) {
                if old != NONE && self.occupants[kind][usize::from(register)] != old {
                    self.result.placed.push(Placed::Load { id: old, to: register });
                    self.put(old, register);
                }
            }
        }
        for &(id, _) in &self.result.entries[way.block as usize] {
            self.is_in_memory[id as usize] = self.result.is_kept[id as usize];
        }
        self.result.placed.push(Placed::End);
    }

    /// What was loaded in a rare way, or has moved, is elsewhere where that was jumped over.
    fn forget_outer(&mut self, kind: usize, before: &[Id; 32], start: u32) {
        for (register, &old) in before.iter().enumerate() {
            let id = self.occupants[kind][register];
            if id != NONE
                && id != old
                && (self.defined[id as usize] == NONE || self.defined[id as usize] < start)
            {
                self.remove(id);
            }
        }
    }

    /// Moves what a rare way computed out of the registers that something from before has.
    fn make_way(&mut self, kind: usize, before: &[Id; 32]) {
        for (register, &old) in before.iter().enumerate() {
            let id = self.occupants[kind][register];
            if id == NONE || old == NONE || id == old {
                continue;
            }
            let own = usize::from(self.values.registers[kind]);
            let other = (0..own).find(|&at| self.occupants[kind][at] == NONE && before[at] == NONE);
            self.remove(id);
            if let Some(other) = other {
                let (from, to) = (register as u8, other as u8);
                self.result.placed.push(Placed::Move { is_mask: kind == 1, from, to });
                self.put(id, to);
            } else {
                self.result.is_kept[id as usize] = true;
                self.is_in_memory[id as usize] = true;
            }
        }
    }
}
