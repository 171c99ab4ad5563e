//! Owns the matrix of operations, dtypes, layouts and lengths: each cell is evaluated from views and into
//! views, against the same elements lying plainly. Short, it takes a sample of the layouts;
//! `ZEROSTRIDE_LONG=1` takes every layout of both first operands at every length up to a few registers and at
//! one of several tiles, and every pair of layouts at one length.

use zerostride::{Argument, Arguments, DType, Expr, Op, Result, Tensor, call};
use zerostride_ops::{Class, Default, Kind};

use crate::instruction_sets::{Digest, is_long};
use crate::placed::{Place, Placed, Values, bytes, one_nan};
use crate::tree::Random;

/// Pairs of layouts that a short run takes of each operation, dtype and length.
const SAMPLE: usize = 3;

/// A row length that is large.
const LARGE: usize = 2000;

/// Row lengths about every border that a loop may have: a register, several of them, a tile.
fn lengths(dtype: DType) -> Vec<usize> {
    let vector = 64 / dtype.item_size();
    let mut all = vec![0, 1, vector - 1, vector, vector + 1, 8 * vector - 1, 8 * vector + 1];
    if is_long() {
        all.extend([2, 3, vector / 2, 2 * vector, 8 * vector, 100, 2047, 2048, 2049, 5000]);
    }
    all
}

/// An operation with whatever else a call of it needs.
#[derive(Clone, Copy)]
struct Case {
    op: Op,
    /// How many operands it takes.
    operands: usize,
    dim: Option<isize>,
}

impl Case {
    fn all() -> Vec<Case> {
        let mut cases = Vec::new();
        for &op in Op::ALL {
            let required = |argument: &&zerostride_ops::Argument| {
                argument.kind == Kind::Operand && argument.default == Default::Required
            };
            let operands = op.signature().arguments.iter().filter(required).count();
            let takes_dim = op.signature().position("dim").is_some();
            if takes_dim {
                cases.extend([0, 1, 2].map(|dim| Case { op, operands, dim: Some(dim) }));
            }
            if op.info().class == Class::Reduce || !takes_dim {
                cases.push(Case { op, operands, dim: None });
            }
        }
        cases
    }

    /// The dtype of an operand: some operations take a bool first.
    fn dtype(self, operand: usize, dtype: DType) -> DType {
        let takes_bool = matches!((self.op, operand), (Op::Where, 0) | (Op::MaskedFill, 1));
        if takes_bool { DType::Bool } else { dtype }
    }

    fn expr(self, operands: impl IntoIterator<Item = Expr>) -> Result<Expr> {
        let named = self.dim.map(|dim| ("dim".to_owned(), Argument::Expr((dim as i64).into())));
        let positional = operands.into_iter().map(Argument::Expr).collect();
        call(self.op, Arguments { positional, named: named.into_iter().collect() })
    }
}

/// Integers are not divided by zero: the error would be all there is to compare.
fn values(op: Op, operand: usize) -> Values {
    let divides = matches!(op, Op::FloorDivide | Op::DivTrunc | Op::Remainder | Op::Fmod);
    if divides && operand == 1 { Values::NoIntegerZero } else { Values::Any }
}

/// What came out, or why nothing did.
fn outcome(expr: Result<Expr>) -> std::result::Result<Tensor, String> {
    expr.and_then(|expr| expr.eval()).map_err(|error| error.root().to_string())
}

/// An evaluated case: dtype, shape and elements.
fn facts(
    outcome: &std::result::Result<Tensor, String>,
) -> std::result::Result<(DType, &[usize], Vec<u8>), &str> {
    match outcome {
        Ok(tensor) => Ok((tensor.dtype(), tensor.shape(), one_nan(bytes(tensor), tensor.dtype()))),
        Err(error) => Err(error),
    }
}

/// The places of a cell's operands, each combination that is to be tried. In each turn the second operand is
/// one layout further on from the first, so that there has been every pair after as many turns as there are
/// layouts.
fn combinations(operands: usize, (turn, n): (usize, usize), random: &mut Random) -> Vec<Vec<Place>> {
    let any = |random: &mut Random| (0..operands).map(|_| random.of(&Place::ALL)).collect::<Vec<_>>();
    if !is_long() {
        return (0..SAMPLE).map(|_| any(random)).collect();
    }
    let of_first = |first: usize| {
        let mut places = any(random);
        places[0] = Place::ALL[first];
        places
            .iter_mut()
            .skip(1)
            .take(1)
            .for_each(|second| *second = Place::ALL[(first + turn) % Place::ALL.len()]);
        places
    };
    // Rows about the borders of tiles, which take long to make and to check, share the layouts among them.
    (0..Place::ALL.len()).filter(|first| n < LARGE || first % 4 == turn % 4).map(of_first).collect()
}

/// Evaluates one combination in every way; returns the facts, for other instruction sets to be held to.
fn cell(case: Case, dtypes: &[DType], places: &[Place], n: usize, random: &mut Random) -> Vec<u8> {
    let shape = [2, 3, n];
    let name = format!("{}(dim {:?}) of {dtypes:?} as {places:?}, rows of {n}", case.op.name(), case.dim);
    let placed: Vec<Placed> = (0..case.operands)
        .map(|at| Placed::new(places[at], shape, dtypes[at], values(case.op, at), random))
        .collect();
    let plain: Vec<Tensor> = placed.iter().map(Placed::plain).collect();
    let expr = || case.expr(placed.iter().map(|placed| Expr::from(&placed.view)));
    let wanted = outcome(case.expr(plain.iter().map(Expr::from)));
    assert_eq!(facts(&outcome(expr())), facts(&wanted), "{name}");
    if let Ok(wanted) = &wanted
        && wanted.shape() == shape
    {
        let elements = bytes(wanted);
        let place = random.of(&Place::WRITABLE);
        let target = Placed::new(place, shape, wanted.dtype(), Values::Any, random);
        let memory = one_nan(target.memory_with(&elements), wanted.dtype());
        expr().and_then(|expr| expr.eval_into(&target.view)).unwrap();
        assert_eq!(one_nan(target.memory(), wanted.dtype()), memory, "{name}, into {place:?}");
        if dtypes[0] == wanted.dtype() && Place::WRITABLE.contains(&places[0]) {
            let memory = one_nan(placed[0].memory_with(&elements), wanted.dtype());
            expr().and_then(|expr| expr.eval_into(&placed[0].view)).unwrap();
            assert_eq!(one_nan(placed[0].memory(), wanted.dtype()), memory, "{name}, in place");
        }
    }
    match facts(&wanted) {
        Ok((dtype, shape, elements)) => [format!("{dtype} {shape:?}").as_bytes(), &elements].concat(),
        Err(error) => error.into(),
    }
}

#[test]
#[ignore = "run for each instruction set by `instruction_sets`"]
fn every_operation_of_every_dtype_in_every_layout() {
    let mut digest = Digest::default();
    for (number, case) in Case::all().into_iter().enumerate() {
        for (index, dtype) in DType::ALL.into_iter().enumerate() {
            for (turn, n) in lengths(dtype).into_iter().enumerate() {
                let mut random = Random((number * 100 + index * 10_000 + n) as u64);
                for (at, places) in
                    combinations(case.operands, (turn, n), &mut random).into_iter().enumerate()
                {
                    let mut dtypes: Vec<DType> = (0..case.operands).map(|at| case.dtype(at, dtype)).collect();
                    // One combination is of mixed dtypes.
                    if let Some(last) = dtypes.last_mut().filter(|_| at == 1 && case.operands > 1) {
                        *last = random.of(&DType::ALL);
                    }
                    let facts = cell(case, &dtypes, &places, n, &mut random);
                    digest.add(format_args!("{}, {dtype}, {n}", case.op.name()), &facts);
                }
            }
        }
    }
    digest.print();
}
