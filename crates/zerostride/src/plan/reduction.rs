//! Owns the smallest loop that computes a reduction: repeated elements are left out, and a reduction of one
//! element each becomes an element-wise operation. It does not know how elements get into a program
//! (`lower.rs`), nor how they are reduced (`exec`).

use std::mem;

use smallvec::SmallVec;
use zerostride_kernels::{Reducer, lanes};
use zerostride_ops::{self as ops, Category, DType, Equal, Op, Reduction, Scalar};
use zerostride_shape::{Layout, Shape, Strides, coalesce, order_dims, turn_dims};

use super::program::{FEW_RESULTS, Instruction, Load, Program, Register, Work, slices};
use crate::expr::{Expr, Kind, View, reduced_shape};

/// Elements of rows of two to four from which on each result is computed by itself, and the most
/// instructions of one of them.
const LEAST_ROW_ELEMENTS: usize = 1 << 15;
const MOST_ROW_INSTRUCTIONS: usize = 12;

/// The furthest neighbours that code reads by whole vectors, and the least bytes of such elements.
const MOST_NEAR: isize = 4;
const LEAST_NEAR_BYTES: usize = 4;

/// A reduction of the table over some dimensions of an operand.
pub(super) struct ReduceNode<'e> {
    pub(super) operand: &'e Expr,
    op: Reduction,
    compute: DType,
    correction: f64,
    /// The dtype of results.
    dtype: DType,
    dims: &'e [usize],
    keepdim: bool,
    /// The sizes of the operand.
    sizes: &'e Shape,
}

impl<'e> ReduceNode<'e> {
    /// The reduction that a node without an error is, if it is one.
    pub(super) fn of(expr: &'e Expr) -> Option<ReduceNode<'e>> {
        let node = expr.node();
        let Kind::Reduce { op, operand, dims, keepdim, compute, correction } = &node.kind else {
            return None;
        };
        let (own, below) = (node.meta.as_ref().ok()?, operand.node().meta.as_ref().ok()?);
        Some(ReduceNode {
            operand,
            op: *op,
            compute: *compute,
            correction: *correction,
            dtype: own.dtype(),
            dims,
            keepdim: *keepdim,
            sizes: &below.shape,
        })
    }

    /// The sizes of the operand, and which of its dimensions are reduced.
    pub(super) fn dims(&self) -> (&'e Shape, &'e [usize]) {
        (self.sizes, self.dims)
    }

    /// Whether each result is an operation on one element.
    pub(super) fn is_of_one(&self) -> bool {
        One::of(self.op, self.compute).is_some() && self.dims.iter().all(|&dim| self.sizes[dim] == 1)
    }

    /// Whether each result has the elements of rows, and vectors of them.
    pub(super) fn is_along_rows(&self) -> bool {
        let innermost = (0..self.sizes.ndim()).rfind(|&dim| self.sizes[dim] > 1);
        innermost.is_some_and(|dim| self.dims.contains(&dim)) && lanes(self.elements()) > 1
    }

    /// Elements of each result.
    pub(super) fn elements(&self) -> usize {
        self.dims.iter().map(|&dim| self.sizes[dim]).product()
    }

    /// The order in which the dimensions of a value, seen through views, had best lie for this reduction to
    /// read it row by row: those that are reduced innermost. `None` for row-major order.
    pub(super) fn order(&self, value: &Shape, chain: &[View]) -> Option<DimOrder> {
        let seen = |layout: &Layout| {
            let first = layout.clone();
            chain.iter().try_fold(first, |layout, view| view.apply(&layout).ok())
        };
        let natural = Layout::contiguous(value.clone());
        let loops = seen(&natural)?;
        let (mut order, mut inner) = (DimOrder::new(), DimOrder::new());
        for (dim, (&size, &stride)) in value.iter().zip(natural.strides()).enumerate() {
            let is_same = |own: &usize| (loops.shape()[*own], loops.strides()[*own]) == (size, stride);
            let is_reduced = size > 1 && self.dims.contains(&(0..loops.ndim()).find(is_same)?);
            if is_reduced { &mut inner } else { &mut order }.push(dim);
        }
        order.extend(inner);
        (!order.is_sorted() && seen(&lying(value, &order)).is_some()).then_some(order)
    }

    /// The number of elements of each result, if they are floats and so few that a step which reads the
    /// results may compute them itself, from one register for each element.
    pub(super) fn few(&self) -> Option<usize> {
        let (count, dtype) = (self.elements(), self.operand.meta().ok()?.dtype());
        let is_few = matches!(self.dims, [_]) && (2..=FEW_RESULTS).contains(&count);
        // Halves are summed in f32.
        let are_floats = matches!(self.compute, DType::F32 | DType::F64)
            && Reducer::takes(self.op, self.compute, dtype, count) == self.compute;
        (is_few && are_floats && self.op.step().is_some()).then_some(count)
    }

    /// The register of results of a few elements each, in the order of the kernels' tree.
    pub(super) fn of_registers(&self, elements: &[Register], program: &mut Program) -> Option<Register> {
        let op = self.op.step()?;
        let result = self.combined(elements, (op, self.compute), program);
        Some(program.converted(result, self.dtype))
    }

    /// An operation on the first two elements, then with the next, in the order of the kernels' tree.
    fn combined(&self, elements: &[Register], (op, compute): (Op, DType), program: &mut Program) -> Register {
        let next = |program: &mut Program, element: Register| program.converted(element, compute);
        let mut result = next(program, elements[0]);
        for &element in &elements[1..] {
            let element = next(program, element);
            result = program.map(op, compute, SmallVec::from_slice(&[element, result]), compute);
        }
        if One::of(self.op, compute) == Some(One::AfterZero) {
            // A negative zero adds nothing to the zero that sums begin with.
            let zero = program.splat(Scalar::Int(0), compute);
            result = program.map(op, compute, SmallVec::from_slice(&[result, zero]), compute);
        }
        result
    }

    /// The register of results that are an operation on one element each.
    pub(super) fn of_one(&self, element: Register, program: &mut Program) -> Option<Register> {
        let found = match One::of(self.op, self.compute)? {
            One::Element => element,
            One::AfterZero => {
                let zero = program.splat(Scalar::Int(0), self.compute);
                let operands = SmallVec::from_slice(&[program.converted(element, self.compute), zero]);
                program.map(Op::Add, self.compute, operands, self.compute)
            }
            One::Truth => program.converted(element, DType::Bool),
        };
        Some(program.converted(found, self.dtype))
    }

    /// The step that reduces the values of a register, and the shape of its results, which is 1 along
    /// dimensions where they repeat. The strides of the program's loads are along the dimensions of the
    /// operand. Results lie in an order of their dimensions. Unless the step `is_last` or reduces short rows,
    /// it stays a reduction, since only reductions begin a group of steps that run together.
    pub(super) fn plan(
        &self,
        mut element: Register,
        mut program: Program,
        (is_last, order): (bool, &DimOrder),
    ) -> (Work, Layout) {
        let repeats = |dim: usize| program.loads.iter().all(|load| load.strides[dim] == 0);
        let (mut sizes, mut times): (SmallVec<[usize; 8]>, i64) = (self.sizes.as_ref().into(), 1);
        for dim in (0..sizes.len()).filter(|&dim| self.sizes[dim] > 1 && repeats(dim)) {
            match self.op.columns().equal {
                Equal::same => sizes[dim] = 1,
                _ if !self.dims.contains(&dim) => sizes[dim] = 1,
                // A sum of equal integers is a product, modulo 2^64 too.
                Equal::multiple if self.is_whole() => {
                    times = times.wrapping_mul(mem::replace(&mut sizes[dim], 1) as i64);
                }
                Equal::multiple | Equal::other => {}
            }
        }
        if times != 1 {
            let number = program.splat(Scalar::Int(times), DType::I64);
            let operands = SmallVec::from_slice(&[program.converted(element, DType::I64), number]);
            element = program.map(Op::Mul, DType::I64, operands, DType::I64);
        }
        // Kernels of sums widen f16 and bf16 themselves.
        if let Some(&Instruction::Cast(half)) = program.instructions.last()
            && self.compute == DType::F32
            && element + 1 == program.instructions.len()
            && program.dtypes[half].is_half()
            && Reducer::takes(self.op, self.compute, program.dtypes[half], 1).is_half()
        {
            program.pop();
            element = half;
        }
        let shape =
            reduced_shape(&sizes, self.dims, self.keepdim).expect("there are no more results than elements");
        let shape = lying(&shape, order);
        let (reduced, mut kept): (Vec<usize>, Vec<usize>) =
            (0..sizes.len()).partition(|dim| self.dims.contains(dim));
        let left_out =
            |dim: usize| self.dims.iter().filter(|&&reduced| reduced < dim && !self.keepdim).count();
        kept.sort_by_key(|&dim| order.iter().position(|&own| own == dim - left_out(dim)));
        let (kept, outer) = part(&program, &sizes, &kept);
        let (mut reduced, mut inner) = part(&program, &sizes, &reduced);
        if self.op.is_in_any_order(self.compute) {
            let firsts;
            (inner, firsts) = turn_dims(&reduced, &slices(&inner));
            program.loads.iter_mut().zip(firsts).for_each(|(load, first)| load.offset += first);
            (reduced, inner) = order_dims(&reduced, &slices(&inner));
            (reduced, inner) = coalesce(&reduced, &slices(&inner));
        }
        let read = (element, &program);
        if let Some(program) = self.of_few(read, (&kept, &outer), (&reduced, &inner), is_last) {
            let out = Layout::contiguous(kept.clone());
            return (Work::map(kept, program, &out), shape);
        }
        for ((load, outer), inner) in program.loads.iter_mut().zip(outer).zip(inner) {
            let joined: SmallVec<[isize; 8]> = outer.iter().chain(&*inner).copied().collect();
            load.strides = strides(&joined);
        }
        let count = reduced.numel();
        if count == 1
            && let Some(result) = self.of_one(element, &mut program)
        {
            program.result = result;
            let out = Layout::contiguous(kept.clone());
            return (Work::map(kept, program, &out), shape);
        }
        let takes = Reducer::takes(self.op, self.compute, program.dtypes[element], count);
        program.result = program.converted(element, takes);
        let ReduceNode { op, compute, correction, .. } = *self;
        (Work::Reduce { op, compute, correction, kept, reduced, program, finish: None }, shape)
    }

    /// The element-wise program for results of a few elements each, the strides of whose loads are along kept
    /// dimensions and the reduced one: an operation on the first two, then with the next, in the order of the
    /// kernels' tree. Its vectors are of neighbouring results. `None` where a reduction is faster.
    fn of_few(
        &self,
        (element, program): (Register, &Program),
        (kept, outer): (&Shape, &[Strides]),
        (reduced, inner): (&[usize], &[Strides]),
        is_last: bool,
    ) -> Option<Program> {
        let &[count @ 2..=FEW_RESULTS] = reduced else { return None };
        let takes = Reducer::takes(self.op, self.compute, program.dtypes[element], count);
        let compute = match takes {
            _ if self.is_whole() => self.compute,
            // Sums of f16 and bf16 are computed in f32.
            DType::F16 | DType::BF16 => DType::F32,
            _ => takes,
        };
        let op = self.op.step()?;
        let are_numbers = matches!(compute.category(), Category::Int | Category::Float)
            && One::of(self.op, compute) != Some(One::Truth);
        let lie_apart = || {
            let (strides, step) = (outer.first()?, inner.first()?[0]);
            Some(strides.iter().any(|near| (1..step.unsigned_abs()).contains(&near.unsigned_abs())))
        };
        let is_apart = is_last && program.is_copy() && lie_apart() == Some(true);
        if !are_numbers || !is_apart && !are_short_rows(program, (kept, outer), (count, inner)) {
            return None;
        }
        let mut few = Program::default();
        let elements: Vec<Register> = (0..count as isize)
            .map(|index| {
                few.append(program, element, |load| {
                    let Load { source, dtype, offset, .. } = program.loads[load];
                    let offset = offset + index * inner[load][0];
                    Load { source, dtype, strides: outer[load].clone(), offset }
                })
            })
            .collect();
        let result = self.combined(&elements, (op, compute), &mut few);
        few.result = few.converted(result, self.dtype);
        Some(few)
    }

    /// Whether integers or bools are reduced.
    fn is_whole(&self) -> bool {
        self.compute.category() < Category::Float
    }
}

/// The dimensions of a value as they lie, outermost first; empty for row-major order.
pub(super) type DimOrder = SmallVec<[usize; 4]>;

/// A layout without gaps whose dimensions lie in an order.
pub(super) fn lying(shape: &Shape, order: &DimOrder) -> Layout {
    let place = |dim: usize| order.iter().position(|&own| own == dim).map(|place| place as isize);
    let sizes: SmallVec<[usize; 8]> = order.iter().map(|&dim| shape[dim]).collect();
    match (Shape::new(&sizes), (0..shape.ndim()).map(place).collect::<Option<SmallVec<[isize; 8]>>>()) {
        (Ok(ordered), Some(places)) => {
            Layout::contiguous(ordered).permute(&places).expect("an order has every dimension once")
        }
        _ => Layout::contiguous(shape.clone()),
    }
}

/// The operation that a reduction of one element is, apart from the dtype.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum One {
    /// The element.
    Element,
    /// The element plus zero, which turns a negative zero into zero.
    AfterZero,
    /// Whether it is not zero.
    Truth,
}

impl One {
    /// `None` where more is computed.
    pub(crate) fn of(op: Reduction, compute: DType) -> Option<One> {
        match op.columns().one {
            ops::One::from_zero if compute.category() >= Category::Float => Some(One::AfterZero),
            ops::One::from_zero | ops::One::element => Some(One::Element),
            // A product of complex numbers with 1 may be NaN.
            ops::One::real => (compute.category() < Category::Complex).then_some(One::Element),
            ops::One::truth => Some(One::Truth),
            ops::One::other => None,
        }
    }
}

/// Whether loads are rows of so many elements, neighbours in memory with no more than a few between rows, or
/// broadcast: code reads an element of each of them by whole vectors.
fn are_short_rows(
    program: &Program,
    (kept, outer): (&Shape, &[Strides]),
    (count, inner): (usize, &[Strides]),
) -> bool {
    let near = count as isize..=MOST_NEAR;
    let mut loads = program.loads.iter().zip(outer).zip(inner);
    let is_row = |((load, own), along): ((&Load, &Strides), &Strides)| {
        let is_read = load.dtype.item_size() >= LEAST_NEAR_BYTES && along[0] == 1;
        is_read && own.last().is_some_and(|step| near.contains(step))
    };
    let is_same = |((_, own), along): ((&Load, &Strides), &Strides)| {
        along[0] == 0 || own.iter().all(|&stride| stride == 0)
    };
    kept.numel() >= LEAST_ROW_ELEMENTS / count
        && program.instructions.len() <= MOST_ROW_INSTRUCTIONS
        && loads.clone().any(is_row)
        && loads.all(|load| is_row(load) || is_same(load))
}

/// Some dimensions of a program's loop, coalesced, and the strides of its loads along them.
fn part(program: &Program, sizes: &[usize], dims: &[usize]) -> (Shape, Vec<Strides>) {
    let part: Vec<usize> = dims.iter().map(|&dim| sizes[dim]).collect();
    let strides: Vec<SmallVec<[isize; 8]>> =
        program.loads.iter().map(|load| dims.iter().map(|&dim| load.strides[dim]).collect()).collect();
    coalesce(&part, &strides.iter().map(|strides| &strides[..]).collect::<Vec<_>>())
}

/// Strides of a shape, which are never more than the limit on dimensions.
fn strides(strides: &[isize]) -> Strides {
    Strides::new(strides).unwrap_or_default()
}
