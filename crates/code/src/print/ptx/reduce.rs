//! Owns the kernels of reductions, which add up in the tree that their caller states: leaves of so many
//! elements, each spread over so many lanes, whose accumulators are halved pairwise into one; leaves are
//! combined pairwise, neighbours first, an odd one going up as it is. It does not know what an accumulator
//! is.
//!
//! [`leaves`] has a group of threads for each leaf of each result, one or a few lanes a thread. [`level`]
//! combines up to [`THREADS`] neighbouring leaves of a result, an aligned subtree, and is launched until each
//! result has one.

use super::body::KernelBody;
use super::operands::{
    Argument, Divisor, RegisterOperand, Sizes, element_at, elements, push_divisor, push_operand, push_sizes,
    store,
};
use super::writer::{KernelWriter, Kind, Register, stored};
use super::{Kernel, MAX_ELEMENTS, THREADS};
use crate::code::{Code, Type};
use crate::print::Unprintable;

/// Threads that share a leaf of more than one lane.
const THREADS_OF_LEAF: u32 = 16;

/// What is accumulated.
#[derive(Clone, Copy, Debug)]
pub struct ReductionCodes<'a> {
    /// From an element of each operand, perhaps its number among those that are reduced, a word of 32 bits,
    /// and then the accumulators, to the accumulators with that element.
    pub step: &'a Code,
    /// The same of a code that goes over so many elements of a lane before the step goes over them.
    pub before: Option<(&'a Code, u32)>,
    /// From accumulators, and then those to the right of them, to the accumulators of both.
    pub merge: &'a Code,
    /// From accumulators to what is stored; without it they are stored themselves, for a level above.
    pub ending: Option<&'a Code>,
    /// The bits of the accumulators of no elements.
    pub empty: &'a [u64],
}

impl ReductionCodes<'_> {
    /// The types of the accumulators, which are the same for all codes.
    fn accumulators(&self) -> Result<Vec<Type>, Unprintable> {
        let count = self.empty.len();
        let results = |code: &Code| code.result_types().collect::<Vec<_>>();
        let types = results(self.step);
        let is_before = |code: &Code| code.inputs() == self.step.inputs() && results(code) == types;
        let is_sound = types.len() == count
            && !types.contains(&Type::Mask)
            && self.step.inputs().ends_with(&types)
            && results(self.merge) == types
            && self.merge.inputs() == types.repeat(2)
            && self.ending.is_none_or(|ending| ending.inputs() == types)
            && self.before.is_none_or(|(code, _)| is_before(code));
        if is_sound { Ok(types) } else { Err(Unprintable::Operands) }
    }

    /// The types of so many operands, and whether the step takes the numbers of elements besides.
    fn inputs(&self, operands: usize) -> Result<(&[Type], bool), Unprintable> {
        let inputs = &self.step.inputs()[..self.step.inputs().len() - self.accumulators()?.len()];
        match inputs.split_at_checked(operands) {
            Some((inputs, [])) => Ok((inputs, false)),
            Some((inputs, [Type::W32])) => Ok((inputs, true)),
            _ => Err(Unprintable::Operands),
        }
    }
}

/// The leaves of a reduction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeavesLoop {
    /// The sizes of the dimensions of the results, the outermost first.
    pub kept: Vec<u32>,
    /// The sizes of the reduced dimensions, along which elements are numbered in row-major order.
    pub reduced: Vec<u32>,
    /// The inputs of the step but the accumulators, with strides along the kept dimensions and then along the
    /// reduced ones.
    pub operands: Vec<Argument>,
    /// The addresses of what is stored, for each result of the ending: contiguous results in row-major order,
    /// of each its leaves.
    pub results: Vec<u64>,
    /// The lanes of a leaf, a power of two: element `i` of a leaf enters accumulator `i % lanes`.
    pub lanes: u32,
    /// The elements of a leaf, a multiple of the lanes.
    pub leaf: u32,
}

/// What is printed of leaves besides the codes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LeavesForm {
    /// How many dimensions the results have.
    pub kept: usize,
    /// How many dimensions are reduced.
    pub reduced: usize,
    /// Which operands are numbers.
    pub are_numbers: Vec<bool>,
    /// The lanes of a leaf.
    pub lanes: u32,
    /// Whether neighbouring threads have neighbouring results; otherwise they have neighbouring elements.
    pub is_across: bool,
}

impl LeavesForm {
    /// Threads that share a leaf.
    fn threads(&self) -> u32 {
        self.lanes.min(THREADS_OF_LEAF)
    }

    /// Leaves of a block.
    fn groups(&self) -> u32 {
        THREADS / self.threads()
    }
}

impl LeavesLoop {
    fn count(&self) -> u64 {
        elements(&self.kept)
    }

    fn reduced_elements(&self) -> u64 {
        elements(&self.reduced)
    }

    /// The leaves of each result; one, of no elements, if nothing is reduced.
    pub fn leaves(&self) -> u32 {
        (self.reduced_elements() as u32).div_ceil(self.leaf).max(1)
    }

    /// What is to be printed for it.
    ///
    /// # Errors
    /// If its lanes are no power of two up to the threads of a block, it has not the operands of the step, or
    /// too many elements.
    pub fn form(&self, reduction: &ReductionCodes<'_>) -> Result<LeavesForm, Unprintable> {
        let (kept, reduced) = (self.kept.len(), self.reduced.len());
        let has_strides = |operand: &Argument| match operand {
            Argument::Number(_) => true,
            Argument::Elements { strides, .. } => strides.len() == kept + reduced,
        };
        reduction.inputs(self.operands.len())?;
        let is_tree = self.lanes.is_power_of_two()
            && self.lanes <= THREADS
            && self.leaf > 0
            && self.leaf.is_multiple_of(self.lanes);
        if !self.operands.iter().all(has_strides) || !is_tree {
            return Err(Unprintable::Operands);
        }
        let leaves = self.reduced_elements().div_ceil(self.leaf.into()).max(1);
        if self.reduced_elements() > MAX_ELEMENTS
            || self.count().checked_mul(leaves).is_none_or(|items| items > MAX_ELEMENTS)
        {
            return Err(Unprintable::Elements);
        }
        // Bytes from an element to the next one along the innermost dimension of the ones and of the others.
        let strides = |operand: &Argument| match operand {
            Argument::Number(_) => None,
            Argument::Elements { strides, .. } => {
                let of =
                    |end: usize, count: usize| if count == 0 { 0 } else { strides[end - 1].unsigned_abs() };
                Some((of(kept, kept), of(kept + reduced, reduced)))
            }
        };
        let is_nearer = |(across, along): (u64, u64)| across != 0 && (along == 0 || across < along);
        let strides: Vec<(u64, u64)> = self.operands.iter().filter_map(strides).collect();
        let across = strides.iter().filter(|&&(across, along)| is_nearer((across, along))).count();
        let along = strides.iter().filter(|&&(across, along)| is_nearer((along, across))).count();
        Ok(LeavesForm {
            kept,
            reduced,
            are_numbers: self.operands.iter().map(|operand| matches!(operand, Argument::Number(_))).collect(),
            lanes: self.lanes,
            is_across: across > along,
        })
    }

    /// The arguments of its kernel.
    pub fn arguments(&self, form: &LeavesForm) -> Vec<u64> {
        let (results, leaves) = (self.count() as u32, self.leaves());
        let mut arguments = vec![u64::from(results) * u64::from(leaves)];
        push_divisor(&mut arguments, if form.is_across { results } else { leaves });
        arguments.extend([self.leaf.into(), self.reduced_elements(), leaves.into()]);
        push_sizes(&mut arguments, self.kept.iter().copied());
        push_sizes(&mut arguments, self.reduced.iter().copied());
        self.operands.iter().for_each(|operand| push_operand(&mut arguments, operand));
        arguments.extend(&self.results);
        arguments
    }

    /// How many blocks are launched; none if there are no results.
    pub fn blocks(&self, form: &LeavesForm) -> u32 {
        (self.count() as u32 * self.leaves()).div_ceil(form.groups())
    }
}

/// A level of the tree above leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LevelLoop {
    /// How many results there are.
    pub results: u32,
    /// The accumulators that are left of each.
    pub left: u32,
    /// The addresses of the accumulators: all of the first result, then of the next.
    pub from: Vec<u64>,
    /// The addresses of what is stored.
    pub to: Vec<u64>,
}

impl LevelLoop {
    /// The accumulators that a group of threads combines, as a power of two.
    fn span(&self) -> u32 {
        self.left.next_power_of_two().min(THREADS).ilog2()
    }

    /// The accumulators that are left of each result after it; 1 at the end.
    pub fn left_after(&self) -> u32 {
        self.left.div_ceil(1 << self.span())
    }

    /// The arguments of its kernel.
    pub fn arguments(&self) -> Vec<u64> {
        let after = self.left_after();
        let mut arguments = vec![u64::from(self.results) * u64::from(after)];
        push_divisor(&mut arguments, after);
        arguments.extend([self.left, self.span()].map(u64::from));
        arguments.extend(self.from.iter().chain(&self.to));
        arguments
    }

    /// How many blocks are launched.
    pub fn blocks(&self) -> u32 {
        (self.results * self.left_after()).div_ceil(THREADS >> self.span())
    }
}

/// The kernel of the leaves of a reduction.
///
/// # Errors
/// If the codes of the reduction do not belong together, the form has not its operands, or the kernel needs
/// more arguments or shared memory than a GPU has for it.
pub fn leaves(reduction: &ReductionCodes<'_>, form: &LeavesForm) -> Result<Kernel, Unprintable> {
    let types = reduction.accumulators()?;
    let (inputs, takes_numbers) = reduction.inputs(form.are_numbers.len())?;
    let mut kernel = KernelWriter::default();
    let writer = &mut kernel;
    let (threads, groups) = (form.threads(), form.groups());
    let block = writer.make(Kind::Word, "mov.u32", format_args!("%ctaid.x"));
    let thread = writer.make(Kind::Word, "mov.u32", format_args!("%tid.x"));
    let (inner, outer) = if form.is_across { (groups, threads) } else { (threads, groups) };
    debug_assert_eq!(inner * outer, THREADS);
    let low = writer.make(Kind::Word, "and.b32", format_args!("{thread}, {}", inner - 1));
    let high = writer.make(Kind::Word, "shr.u32", format_args!("{thread}, {}", inner.ilog2()));
    let (group, lane) = if form.is_across { (low, high) } else { (high, low) };

    let item = writer.make(Kind::Word, "mad.lo.u32", format_args!("{block}, {groups}, {group}"));
    let items = writer.argument(Type::W32);
    let is_there = writer.make(Kind::Predicate, "setp.lt.u32", format_args!("{item}, {items}"));
    let (quotient, rest) = Divisor::read(writer).divide(writer, item);
    let (result, leaf) = if form.is_across { (rest, quotient) } else { (quotient, rest) };
    let leaf_elements = writer.argument(Type::W32);
    let reduced = writer.argument(Type::W32);
    let leaves = writer.argument(Type::W32);
    let first = writer.make(Kind::Word, "mul.lo.u32", format_args!("{leaf}, {leaf_elements}"));
    let end = writer.make(Kind::Word, "add.u32", format_args!("{first}, {leaf_elements}"));
    let end = writer.make(Kind::Word, "min.u32", format_args!("{end}, {reduced}"));
    // Threads without a leaf wait at barriers for the others.
    let end = writer.make(Kind::Word, "selp.b32", format_args!("{end}, 0, {is_there}"));
    let last = writer.make(Kind::Word, "sub.u32", format_args!("{end}, 1"));

    let kept_sizes = Sizes::read(writer, form.kept);
    let reduced_sizes = Sizes::read(writer, form.reduced);
    let all: Vec<RegisterOperand> = inputs
        .iter()
        .zip(&form.are_numbers)
        .map(|(&ty, &is_number)| RegisterOperand::read(writer, ty, is_number, form.kept + form.reduced))
        .collect();
    let kept = if form.kept == 0 { Vec::new() } else { kept_sizes.indices(writer, result) };
    let operands: Vec<RegisterOperand> = all.iter().map(|operand| operand.at(writer, &kept)).collect();
    let own = form.lanes / threads;
    let empty: Vec<Register> =
        types.iter().zip(reduction.empty).map(|(&ty, &bits)| writer.constant(ty, bits)).collect();
    let held: Vec<Vec<Register>> =
        (0..own).map(|_| empty.iter().map(|&empty| writer.copy(empty)).collect()).collect();

    let number = writer.make(Kind::Word, "add.u32", format_args!("{first}, {lane}"));
    // Has a code go over the elements of the thread's lanes from a number on, which is moved, up to another.
    let go_over = |writer: &mut KernelWriter, code: &Code, number: Register, stop: Register| {
        let (again, done) = (writer.label(), writer.label());
        writer.place(again);
        let is_done = writer.make(Kind::Predicate, "setp.ge.u32", format_args!("{number}, {stop}"));
        writer.jump_if(is_done, done);
        // All elements are read at once. A lane that has none left reads the last one, which it does not
        // take.
        let mut elements = Vec::new();
        for nth in 0..own {
            let place = writer.make(Kind::Word, "add.u32", format_args!("{number}, {}", nth * threads));
            let takes = writer.make(Kind::Predicate, "setp.lt.u32", format_args!("{place}, {end}"));
            let place = writer.make(Kind::Word, "min.u32", format_args!("{place}, {last}"));
            let indices = if form.reduced == 0 { Vec::new() } else { reduced_sizes.indices(writer, place) };
            let mut own: Vec<Register> = operands
                .iter()
                .zip(inputs)
                .map(|(operand, &ty)| operand.at(writer, &indices).load(writer, ty))
                .collect();
            own.extend(takes_numbers.then_some(place));
            elements.push((takes, own));
        }
        let code = KernelBody::new(code);
        for ((takes, mut element), held) in elements.into_iter().zip(&held) {
            element.extend(held);
            let next = code.write(writer, &element);
            for (&held, next) in held.iter().zip(apart(writer, next, held)) {
                let name = held.kind.moved();
                writer.line(format_args!("selp.{name} {held}, {next}, {held}, {takes}"));
            }
        }
        writer.line(format_args!("add.u32 {number}, {number}, {}", form.lanes));
        writer.line(format_args!("bra {again}"));
        writer.place(done);
    };
    match reduction.before {
        None => go_over(writer, reduction.step, number, end),
        Some((before, count)) => {
            let (again, done) = (writer.label(), writer.label());
            writer.place(again);
            let is_done = writer.make(Kind::Predicate, "setp.ge.u32", format_args!("{number}, {end}"));
            writer.jump_if(is_done, done);
            let stop = writer.make(Kind::Word, "add.u32", format_args!("{number}, {}", count * form.lanes));
            let stop = writer.make(Kind::Word, "min.u32", format_args!("{stop}, {end}"));
            let ahead = writer.copy(number);
            go_over(writer, before, ahead, stop);
            go_over(writer, reduction.step, number, stop);
            writer.line(format_args!("bra {again}"));
            writer.place(done);
        }
    }

    // The lanes of a thread, and then those of a leaf.
    let merge = KernelBody::new(reduction.merge);
    let mut left = own as usize;
    while left > 1 {
        left /= 2;
        for low in 0..left {
            merge_into(writer, &merge, &held[low], &held[low + left]);
        }
    }
    let held = &held[0];
    if threads > 1 {
        let shared = Shared::new(writer, thread, types.clone());
        let half = writer.make(Kind::Word, "mov.b32", format_args!("{}", threads / 2));
        let again = writer.label();
        writer.place(again);
        let is_low = writer.make(Kind::Predicate, "setp.lt.u32", format_args!("{lane}, {half}"));
        let step = if form.is_across { groups.ilog2() } else { 0 };
        let distance = writer.make(Kind::Word, "shl.b32", format_args!("{half}, {step}"));
        shared.merge(writer, &merge, held, distance, is_low);
        writer.line(format_args!("shr.u32 {half}, {half}, 1"));
        let is_more = writer.make(Kind::Predicate, "setp.ne.u32", format_args!("{half}, 0"));
        writer.jump_if(is_more, again);
    }
    let is_first = writer.make(Kind::Predicate, "setp.eq.u32", format_args!("{lane}, 0"));
    let stores = writer.make(Kind::Predicate, "and.pred", format_args!("{is_first}, {is_there}"));
    let place = writer.make(Kind::Word, "mad.lo.u32", format_args!("{result}, {leaves}, {leaf}"));
    end_with(writer, reduction, &types, held, place, stores);
    kernel.finish("leaves")
}

/// The kernel of a level of the tree above leaves.
///
/// # Errors
/// As for [`leaves`].
pub fn level(reduction: &ReductionCodes<'_>) -> Result<Kernel, Unprintable> {
    let types = reduction.accumulators()?;
    let mut kernel = KernelWriter::default();
    let writer = &mut kernel;
    let block = writer.make(Kind::Word, "mov.u32", format_args!("%ctaid.x"));
    let thread = writer.make(Kind::Word, "mov.u32", format_args!("%tid.x"));
    let items = writer.argument(Type::W32);
    let after = Divisor::read(writer);
    let left = writer.argument(Type::W32);
    let span = writer.argument(Type::W32);
    let one = writer.make(Kind::Word, "mov.b32", format_args!("1"));
    let length = writer.make(Kind::Word, "shl.b32", format_args!("{one}, {span}"));
    let group = writer.make(Kind::Word, "shr.u32", format_args!("{thread}, {span}"));
    let low = writer.make(Kind::Word, "sub.u32", format_args!("{length}, 1"));
    let place = writer.make(Kind::Word, "and.b32", format_args!("{thread}, {low}"));
    let threads = writer.make(Kind::Word, "mov.b32", format_args!("{THREADS}"));
    let groups = writer.make(Kind::Word, "shr.u32", format_args!("{threads}, {span}"));
    let item = writer.make(Kind::Word, "mad.lo.u32", format_args!("{block}, {groups}, {group}"));
    let is_there = writer.make(Kind::Predicate, "setp.lt.u32", format_args!("{item}, {items}"));
    let (result, part) = after.divide(writer, item);
    let at = writer.make(Kind::Word, "mad.lo.u32", format_args!("{part}, {length}, {place}"));
    let is_own = writer.make(Kind::Predicate, "setp.lt.u32", format_args!("{at}, {left}"));
    let is_own = writer.make(Kind::Predicate, "and.pred", format_args!("{is_own}, {is_there}"));

    let index = writer.make(Kind::Word, "mad.lo.u32", format_args!("{result}, {left}, {at}"));
    let addresses: Vec<Register> = types.iter().map(|_| writer.argument(Type::W64)).collect();
    let held: Vec<Register> =
        types.iter().zip(reduction.empty).map(|(&ty, &bits)| writer.constant(ty, bits)).collect();
    let none = writer.label();
    writer.jump_unless(is_own, none);
    for ((&ty, &address), held) in types.iter().zip(&addresses).zip(&held) {
        let from = element_at(writer, index, ty.bytes(), address);
        writer.line(format_args!("ld.global.{} {held}, [{from}]", stored(ty)));
    }
    writer.place(none);

    let merge = KernelBody::new(reduction.merge);
    let shared = Shared::new(writer, thread, types.clone());
    let distance = writer.make(Kind::Word, "mov.b32", format_args!("1"));
    let (again, done) = (writer.label(), writer.label());
    writer.place(again);
    let is_done = writer.make(Kind::Predicate, "setp.ge.u32", format_args!("{distance}, {length}"));
    writer.jump_if(is_done, done);
    let double = writer.make(Kind::Word, "shl.b32", format_args!("{distance}, 1"));
    let below = writer.make(Kind::Word, "sub.u32", format_args!("{double}, 1"));
    let below = writer.make(Kind::Word, "and.b32", format_args!("{place}, {below}"));
    let is_even = writer.make(Kind::Predicate, "setp.eq.u32", format_args!("{below}, 0"));
    let right = writer.make(Kind::Word, "add.u32", format_args!("{at}, {distance}"));
    let is_right = writer.make(Kind::Predicate, "setp.lt.u32", format_args!("{right}, {left}"));
    let merges = writer.make(Kind::Predicate, "and.pred", format_args!("{is_even}, {is_right}"));
    let merges = writer.make(Kind::Predicate, "and.pred", format_args!("{merges}, {is_own}"));
    shared.merge(writer, &merge, &held, distance, merges);
    writer.assign(distance, double);
    writer.line(format_args!("bra {again}"));
    writer.place(done);

    let is_first = writer.make(Kind::Predicate, "setp.eq.u32", format_args!("{place}, 0"));
    let stores = writer.make(Kind::Predicate, "and.pred", format_args!("{is_first}, {is_there}"));
    end_with(writer, reduction, &types, &held, item, stores);
    kernel.finish("level")
}

/// Shared memory with the accumulators of each thread.
struct Shared {
    /// Where those of this thread are.
    own: Register,
    types: Vec<Type>,
}

impl Shared {
    fn new(writer: &mut KernelWriter, thread: Register, types: Vec<Type>) -> Shared {
        writer.share(8 * THREADS * types.len() as u32);
        let first = writer.make(Kind::Word, "mov.u32", format_args!("held"));
        Shared { own: writer.make(Kind::Word, "mad.lo.u32", format_args!("{thread}, 8, {first}")), types }
    }

    /// Merges the accumulators of the thread that is so many further into this one's, where a predicate
    /// holds. All threads come here.
    fn merge(
        &self,
        writer: &mut KernelWriter,
        merge: &KernelBody,
        held: &[Register],
        distance: Register,
        merges: Register,
    ) {
        let after = writer.label();
        let places = || self.types.iter().zip((0..).step_by(8 * THREADS as usize));
        for ((&ty, offset), held) in places().zip(held) {
            writer.line(format_args!("st.shared.{} [{}+{offset}], {held}", stored(ty), self.own));
        }
        writer.line(format_args!("bar.sync 0"));
        writer.jump_unless(merges, after);
        let from = writer.make(Kind::Word, "mad.lo.u32", format_args!("{distance}, 8, {}", self.own));
        let others: Vec<Register> = places()
            .map(|(&ty, offset)| {
                let name = format!("ld.shared.{}", stored(ty));
                writer.make(Kind::of(ty), &name, format_args!("[{from}+{offset}]"))
            })
            .collect();
        merge_into(writer, merge, held, &others);
        writer.place(after);
        writer.line(format_args!("bar.sync 0"));
    }
}

/// Accumulators with those to the right of them.
fn merge_into(writer: &mut KernelWriter, merge: &KernelBody, held: &[Register], others: &[Register]) {
    let merged = merge.write(writer, &[held, others].concat());
    replace(writer, held, merged);
}

/// Writes results that were made of registers to these.
pub(super) fn replace(writer: &mut KernelWriter, held: &[Register], results: Vec<Register>) {
    let results = apart(writer, results, held);
    held.iter().zip(results).for_each(|(&held, result)| writer.assign(held, result));
}

/// Results that stay as they are while accumulators are written.
fn apart(writer: &mut KernelWriter, results: Vec<Register>, held: &[Register]) -> Vec<Register> {
    let apart = |result| if held.contains(&result) { writer.copy(result) } else { result };
    results.into_iter().map(apart).collect()
}

/// Stores accumulators, or what the reduction makes of them, where a predicate holds.
fn end_with(
    writer: &mut KernelWriter,
    reduction: &ReductionCodes<'_>,
    types: &[Type],
    held: &[Register],
    place: Register,
    stores: Register,
) {
    let ending = reduction.ending.map(KernelBody::new);
    let types = ending.as_ref().map_or(types.to_vec(), KernelBody::result_types);
    let addresses: Vec<Register> = types.iter().map(|_| writer.argument(Type::W64)).collect();
    let end = writer.label();
    writer.jump_unless(stores, end);
    let results = ending.map_or(held.to_vec(), |ending| ending.write(writer, held));
    for ((&ty, &address), &result) in types.iter().zip(&addresses).zip(&results) {
        let to = element_at(writer, place, ty.bytes(), address);
        store(writer, ty, to, result);
    }
    writer.place(end);
}
