//! Owns reductions as codes for a device: what accumulates, and what has none. It does not know in which
//! order elements come, which is that of the kernels' tree.

use std::sync::Arc;

use zerostride_code::print::ptx::ProductCodes;
use zerostride_code::{Binary, Builder, Code, Compare, Type, Unary, Value};
use zerostride_kernels::{
    LEAF_ELEMENTS, MOMENTS, MOMENTS_PASS, Recorded, record, record_cast, record_merged_moments,
    record_moments, record_scalar, record_step, record_summed, record_variance, record_wide_moments,
    stored_type,
};
use zerostride_ops::{Accumulator, Category, DType, Op, Reduction, Rule, Start};

use super::record::{KeptCode, Missing, copy, element, follow, number_bits, part_count, stored, value};
use crate::plan::{Instruction, Program};

/// The leaves of so many elements; one, of none, if there are none.
pub(super) fn leaves(elements: usize) -> u64 {
    elements.div_ceil(LEAF_ELEMENTS).max(1) as u64
}

/// The codes of a reduction of a program's values to elements of a dtype, with its correction and the
/// program that its results go through, and the numbers of its step: they are kept with the program.
pub(super) fn codes<'p>(
    how: (Reduction, f64),
    program: &'p Program,
    dtype: DType,
    finish: Option<&Program>,
) -> &'p KeptCode<Reduced> {
    program.on_device.get(|| {
        let yields = finish.map_or(dtype, |finish| finish.loads[0].dtype);
        let (codes, numbers) = reduction(how, program, yields, finish)?;
        Ok((Arc::new(codes), numbers))
    })
}

/// The codes that look for a true value of a program.
pub(super) fn search(program: &Program) -> &KeptCode<Reduced> {
    codes((Reduction::Any, 0.0), program, DType::Bool, None)
}

/// A reduction as codes.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Reduced {
    /// From the parts of each load, those of each number, perhaps the number of the element, and the
    /// accumulators.
    pub step: Code,
    /// What goes over so many elements of a lane before the step does.
    pub before: Option<(Code, u32)>,
    pub merge: Code,
    pub ending: Code,
    pub empty: Vec<u64>,
    /// If it is one of pairs of elements: the same of the first load by the second one, and of the second by
    /// the first.
    pub pairs: Option<[Arc<ProductCodes>; 2]>,
}

/// What accumulates of elements of a dtype.
struct Accumulation {
    op: Reduction,
    takes: DType,
    /// The dtype of the elements that are held.
    holds: DType,
    correction: f64,
    /// The accumulators of no elements.
    empty: Vec<(Type, u64)>,
}

impl Accumulation {
    /// `None` if the reduction takes no elements of the dtype.
    fn of(op: Reduction, takes: DType, correction: f64) -> Option<Accumulation> {
        // Only sums are of f16 and bf16 (`Reducer::takes`).
        if takes.is_half() && op != Reduction::Sum {
            return None;
        }
        let holds = match takes {
            DType::F16 | DType::BF16 => DType::F32,
            dtype if dtype.category() < Category::Float && op.info().rule == Rule::sum => DType::I64,
            dtype => dtype,
        };
        let start = |from: Start| {
            number_bits(from.scalar(holds), holds).into_iter().map(move |bits| (stored_type(holds), bits))
        };
        let empty = match op.columns().accumulator {
            Accumulator::Element(_, from) => start(from).collect(),
            // No element has a number as high.
            Accumulator::Place(_, from) => start(from).chain([(Type::W32, i32::MAX as u64)]).collect(),
            Accumulator::Moments => vec![(Type::F64, 0); MOMENTS * part_count(takes)],
        };
        Some(Accumulation { op, takes, holds, correction, empty })
    }

    fn accumulator(&self) -> Accumulator {
        self.op.columns().accumulator
    }

    /// Whether elements of f64 have moments.
    fn is_wide(&self) -> bool {
        matches!(self.takes, DType::F64 | DType::C128)
    }

    /// The accumulators with an element, which has a number if its place is asked for; or what a code makes
    /// of them that comes `before` the step.
    fn next(
        &self,
        code: &mut Builder,
        taken: Recorded,
        number: Option<Value>,
        held: &[Value],
        before: bool,
    ) -> Option<Vec<Value>> {
        let taken = record_cast(code, self.takes, self.holds, taken);
        let mut taken = stored(code, self.holds, taken);
        if self.accumulator() == Accumulator::Moments {
            let record = match (self.is_wide(), before) {
                (true, true) => record_summed,
                (true, false) => record_wide_moments,
                (false, _) => record_moments,
            };
            let parts = taken.into_iter().zip(moments(held));
            return Some(parts.flat_map(|(part, held)| record(code, held, part)).collect());
        }
        taken.extend(number);
        self.merge(code, held, &taken)
    }

    /// The accumulators of elements and of those to the right of them.
    fn merge(&self, code: &mut Builder, left: &[Value], right: &[Value]) -> Option<Vec<Value>> {
        match self.accumulator() {
            Accumulator::Element(..) => {
                let [left, right] = [left, right].map(|held| element(code, self.holds, held));
                let both = record_step(code, self.op, self.holds, left, right)?;
                Some(stored(code, self.holds, both).to_vec())
            }
            Accumulator::Place(stays, _) => {
                self.nearer(code, stays, [left[0], left[1]], [right[0], right[1]])
            }
            Accumulator::Moments => {
                let each = moments(left).zip(moments(right));
                let merged = each.flat_map(|(a, b)| record_merged_moments(code, [a, b], self.is_wide()));
                Some(merged.collect())
            }
        }
    }

    /// Of two elements with their numbers the one that the other does not replace: the first of the most
    /// extreme ones.
    fn nearer(
        &self,
        code: &mut Builder,
        stays: Op,
        one: [Value; 2],
        other: [Value; 2],
    ) -> Option<Vec<Value>> {
        let swaps = code.compare(Compare::Lt, other[1], one[1]);
        let mut of =
            |mask, yes: [Value; 2], no: [Value; 2]| [0, 1].map(|at| code.select(mask, yes[at], no[at]));
        let (first, second) = (of(swaps, other, one), of(swaps, one, other));
        let [held, next] = [first[0], second[0]].map(Recorded::Real);
        let mut test = |op, by: &[Recorded]| match record(code, op, self.takes, by)? {
            Recorded::Real(mask) => Some(mask),
            Recorded::Complex(..) => None,
        };
        let (stays, is_number) = (test(stays, &[held, next])?, test(Op::Eq, &[held, held])?);
        let leaves = code.unary(Unary::Not, stays);
        let leaves = code.binary(Binary::And, leaves, is_number);
        Some([0, 1].map(|at| code.select(leaves, second[at], first[at])).to_vec())
    }

    /// What accumulators are at the end, with its dtype.
    fn last(&self, code: &mut Builder, held: &[Value]) -> (Recorded, DType) {
        match self.accumulator() {
            Accumulator::Element(..) => (element(code, self.holds, held), self.holds),
            Accumulator::Place(..) => (Recorded::Real(held[1]), DType::I32),
            Accumulator::Moments => {
                let parts: Vec<_> = moments(held).collect();
                let variance = record_variance(code, &parts, self.correction, self.is_wide());
                (Recorded::Real(variance), DType::F64)
            }
        }
    }
}

/// The moments of each part.
fn moments(held: &[Value]) -> impl Iterator<Item = [Value; MOMENTS]> + '_ {
    held.chunks_exact(MOMENTS).map(|part| std::array::from_fn(|at| part[at]))
}

/// The codes of a reduction of a program's values, which yields elements of a dtype and lets them go through
/// another program, if there is one; and the numbers of the step.
fn reduction(
    (op, correction): (Reduction, f64),
    program: &Program,
    yields: DType,
    finish: Option<&Program>,
) -> Result<(Reduced, Vec<u64>), Missing> {
    let missing = || op.name().to_owned();
    let takes = program.dtypes[program.result];
    let accumulation = Accumulation::of(op, takes, correction).ok_or_else(missing)?;
    let (types, empty): (Vec<Type>, Vec<u64>) = accumulation.empty.iter().copied().unzip();
    let inputs = |code: &mut Builder| types.iter().map(|&ty| code.input(ty)).collect::<Vec<Value>>();

    let step = |before: bool| {
        let mut code = Builder::new();
        let (taken, numbers) = value(&mut code, program)?;
        let number =
            matches!(accumulation.accumulator(), Accumulator::Place(..)).then(|| code.input(Type::W32));
        let held = inputs(&mut code);
        let next = accumulation.next(&mut code, taken, number, &held, before).ok_or_else(missing)?;
        Ok::<_, Missing>((code.finish(&next), numbers))
    };
    let (own, numbers) = step(false)?;
    let is_twice = accumulation.accumulator() == Accumulator::Moments && accumulation.is_wide();
    let before = is_twice.then(|| step(true)).transpose()?.map(|(code, _)| (code, MOMENTS_PASS));

    let mut merge = Builder::new();
    let (left, right) = (inputs(&mut merge), inputs(&mut merge));
    let both = accumulation.merge(&mut merge, &left, &right).ok_or_else(missing)?;

    let mut ending = Builder::new();
    let held = inputs(&mut ending);
    let (last, dtype) = accumulation.last(&mut ending, &held);
    let result = record_cast(&mut ending, dtype, yields, last);
    let (result, dtype) = match finish {
        Some(finish) => {
            let mut number = |code: &mut Builder, line: usize| match finish.instructions[line] {
                Instruction::Splat(number) => record_scalar(code, number, finish.dtypes[line]),
                _ => unreachable!("only numbers are made"),
            };
            (follow(&mut ending, finish, &[result], &mut number)?, finish.dtypes[finish.result])
        }
        None => (result, yields),
    };
    let result = stored(&mut ending, dtype, result);
    let (merge, ending) = (merge.finish(&both), ending.finish(&result));
    let mut reduced = Reduced { step: own, before, merge, ending, empty, pairs: None };
    reduced.pairs = pairs(&accumulation, program, &reduced, &types);
    Ok((reduced, numbers))
}

/// A reduction as one of pairs: where a program has two loads of one type and no numbers, and accumulators
/// take elements one by one, in order.
fn pairs(
    accumulation: &Accumulation,
    program: &Program,
    reduced: &Reduced,
    types: &[Type],
) -> Option<[Arc<ProductCodes>; 2]> {
    let [first, second] = &program.loads[..] else { return None };
    let is_plain = matches!(first.dtype, DType::F32 | DType::F64) && first.dtype == second.dtype;
    let has_numbers = program.instructions.iter().any(|own| matches!(own, Instruction::Splat(_)));
    let has_place = matches!(accumulation.accumulator(), Accumulator::Place(..));
    if !is_plain || has_numbers || has_place || reduced.before.is_some() {
        return None;
    }
    let own = stored_type(first.dtype);
    let held = |code: &mut Builder| types.iter().map(|&ty| code.input(ty)).collect::<Vec<Value>>();
    let mut add = Builder::new();
    held(&mut add);
    // There is one chain, which the totals become.
    let sums = held(&mut add);
    let add = add.finish(&sums);
    let of = |is_swapped: bool| {
        let mut extend = Builder::new();
        let mut loads = [Recorded::Real(extend.input(own)), Recorded::Real(extend.input(own))];
        if is_swapped {
            loads.swap(0, 1);
        }
        let held = held(&mut extend);
        let taken =
            follow(&mut extend, program, &loads, &mut |_, _| unreachable!("there are no numbers")).ok()?;
        let next = accumulation.next(&mut extend, taken, None, &held, false)?;
        let (start, empty) = (reduced.empty.clone(), reduced.empty.clone());
        let (widen, extend, ending) = (copy(own), extend.finish(&next), reduced.ending.clone());
        Some(Arc::new(ProductCodes { widen, extend, start, add: add.clone(), ending, empty }))
    };
    Some([of(false)?, of(true)?])
}
