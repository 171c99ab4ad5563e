//! Owns the transformation of an expression into its gradients: from the result down, each node's cotangent,
//! by the rules of rows (`rules.rs`) and views (`views.rs`), is summed where paths meet. It does not know
//! what a variable stands for (`mod.rs`).
//!
//! Nothing is run and nothing is saved: the gradients refer to nodes of the expression, and the plan decides
//! what is computed again.

use std::collections::HashMap;

use zerostride_ops::{Category, DType, Op, Scalar};

use super::rules::{self, Cotangents, ReducedDims};
use super::views;
use crate::expr::node::Slope;
use crate::expr::{Dims, Expr, Kind, Meta, Operands, keepdim};
use crate::{Error, Result};

/// The cotangents that reach variables, which are told by the identities of nodes; those that none reaches
/// are not among them. `order` has the nodes of all results, each behind its operands; each result comes with
/// its own cotangent.
///
/// # Errors
/// A derivative is wanted of an operation that has none.
pub(super) fn pull<'e>(
    order: &[&'e Expr],
    results: impl Iterator<Item = (&'e Expr, Expr)>,
    is_variable: &dyn Fn(&Expr) -> bool,
) -> Result<HashMap<usize, Expr>> {
    // Nodes through which a variable is reached.
    let mut leads: HashMap<usize, bool> = HashMap::new();
    for node in order {
        let below = node.operands().iter().any(|operand| leads[&operand.id()]);
        let passes = is_variable(node) || (below && node.node().slope != Slope::Flat);
        leads.insert(node.id(), is_continuous(node) && passes);
    }
    let mut cotangents = HashMap::new();
    results.for_each(|(result, cotangent)| add(&mut cotangents, result, cotangent));
    let mut found = HashMap::new();
    for node in order.iter().rev().filter(|node| leads[&node.id()]) {
        let Some(cotangent) = cotangents.remove(&node.id()) else { continue };
        let of_operands = step(node, &cotangent)?;
        if is_variable(node) {
            found.insert(node.id(), cotangent.clone());
        }
        for (operand, new) in reached(node).iter().zip(of_operands) {
            if !leads[&operand.id()] || new.is_number() {
                continue;
            }
            let new = without_one(new, &cotangent)?;
            add(&mut cotangents, operand, fitted(new, operand.meta()?)?);
        }
    }
    Ok(found)
}

/// What a node's cotangent is divided among: its operands.
fn reached(node: &Expr) -> Operands {
    clamped(node).map_or_else(|| node.operands().into(), Operands::from)
}

/// The input and both bounds of a clamped value, whose derivatives depend on all three.
fn clamped(node: &Expr) -> Option<[Expr; 3]> {
    let Kind::Map { op: Op::Minimum, operands, .. } = &node.node().kind else { return None };
    let [max, held] = &operands[..] else { return None };
    match &held.node().kind {
        Kind::Map { op: Op::Maximum, operands, .. } if node.node().slope == Slope::Clamped => {
            Some([operands[1].clone(), operands[0].clone(), max.clone()])
        }
        _ => None,
    }
}

/// Where paths meet, cotangents are summed.
fn add(cotangents: &mut HashMap<usize, Expr>, node: &Expr, new: Expr) {
    let sum = match cotangents.remove(&node.id()) {
        Some(other) => other + new,
        None => new,
    };
    cotangents.insert(node.id(), sum);
}

/// Whether the node's value may change by a little: those of integers and bools jump.
pub(super) fn is_continuous(expr: &Expr) -> bool {
    expr.dtype().is_ok_and(|dtype| dtype.category() >= Category::Float)
}

/// A rule's product with a cotangent of ones is its other factor.
fn without_one(new: Expr, cotangent: &Expr) -> Result<Expr> {
    let Kind::Map { op: Op::Mul, operands, .. } = &new.node().kind else { return Ok(new) };
    let [one, other] = &operands[..] else { return Ok(new) };
    if one.id() != cotangent.id() || !is_one(one) || other.dtype()? != new.dtype()? {
        return Ok(new);
    }
    let shape = new.shape()?;
    Ok(if other.shape()? == shape { other.clone() } else { other.broadcast_to(shape) })
}

fn is_one(mut expr: &Expr) -> bool {
    while let Kind::View { operand, .. } | Kind::Cast { operand, .. } = &expr.node().kind {
        expr = operand;
    }
    expr.number().is_some_and(|number| matches!(number, Scalar::Float(one) if one == 1.0))
}

/// A cotangent as that of an operand: what had been stretched is summed, what had been reduced is stretched;
/// then the operand's dtype.
fn fitted(cotangent: Expr, operand: &Meta) -> Result<Expr> {
    let (shape, dtype) = (&operand.shape, operand.dtype());
    let own = cotangent.shape()?;
    let cotangent = if own == &shape[..] {
        cotangent
    } else if own.len() > shape.ndim()
        || own.iter().rev().zip(shape.iter().rev()).any(|(&own, &size)| own != 1 && size == 1)
    {
        cotangent.sum_to_size(shape)
    } else {
        cotangent.broadcast_to(shape)
    };
    let is_complex = cotangent.dtype()?.category() == Category::Complex;
    let cotangent =
        if is_complex && dtype.category() < Category::Complex { cotangent.real() } else { cotangent };
    Ok(cotangent.to_dtype(dtype))
}

/// The cotangents of what a node's is divided among; those of half precision are in f32.
fn step(node: &Expr, cotangent: &Expr) -> Result<Cotangents> {
    let wide = |expr: &Expr| -> Result<Expr> { Ok(expr.to_dtype(expr.dtype()?.opmath())) };
    let (result, cotangent) = (wide(node)?, wide(cotangent)?);
    Ok(match &node.node().kind {
        Kind::Leaf { .. } | Kind::Input(_) | Kind::Number(_) | Kind::Failed { .. } => Cotangents::new(),
        Kind::Map { op, operands, compute } => {
            // The condition of `where` stays a bool.
            let met = |(place, operand): (usize, &Expr)| match (*op, place) {
                (Op::Where, 0) => operand.clone(),
                _ => operand.to_dtype(compute.opmath()),
            };
            if let Some(clamped) = clamped(node) {
                return Ok(rules::clamp(clamped.map(|operand| met((0, &operand))), &cotangent));
            }
            let mut operands: Cotangents = operands.iter().enumerate().map(met).collect();
            let is_zero = (node.node().slope == Slope::FlatAtZero).then(|| operands[0].eq(0.0));
            let mut result = result;
            if let Some(is_zero) = &is_zero {
                // An infinite factor would make NaN of the zero, where the pullback itself is pulled back.
                let finite = |expr: &Expr| Expr::from(1.0).where_(is_zero, expr);
                (operands[0], result) = (finite(&operands[0]), finite(&result));
            }
            let mut pulled = rules::of_map(*op, &operands, &result, &cotangent)
                .ok_or_else(|| without_derivative(*op, node))?;
            if let Some(is_zero) = &is_zero {
                pulled.iter_mut().for_each(|new| *new = Expr::from(0.0).where_(is_zero, &*new));
            }
            pulled
        }
        Kind::Cast { .. } => Cotangents::from_iter([cotangent]),
        Kind::Reduce { op, operand, dims, keepdim: kept, compute, correction } => {
            let operand = operand.to_dtype(compute.opmath());
            let shape = operand.shape()?;
            let count = dims.iter().map(|&dim| shape[dim]).product();
            let dims: Vec<isize> = dims.iter().map(|&dim| dim as isize).collect();
            // One number broadcasts as it is.
            let whole = |expr: Expr| match *kept || expr.meta().is_ok_and(|meta| meta.shape.ndim() == 0) {
                true => expr,
                false => dims.iter().fold(expr, |expr, &dim| expr.unsqueeze(dim)),
            };
            let (result, cotangent) = (whole(result), whole(cotangent));
            let first = dims.first().filter(|_| node.node().slope == Slope::First).copied();
            // A tensor without dimensions has none that stay; for `Dims` an empty list is all.
            let dims: Dims = keepdim(&dims[..]);
            if let Some(dim) = first {
                return Ok(Cotangents::from_iter([rules::first(*op, &operand, &cotangent, (dim, dims))?]));
            }
            let reduced = ReducedDims { dims, count, correction: *correction };
            let pulled = rules::of_reduction(*op, &operand, &result, &cotangent, &reduced);
            Cotangents::from_iter([pulled.ok_or_else(|| without_derivative(op.op(), node))?])
        }
        Kind::View { operand, view } => {
            Cotangents::from_iter([views::transpose(view, &operand.meta()?.shape, &cotangent)?])
        }
        Kind::Matmul { factors: [a, b] } => {
            let [a, b] = [a, b].map(|factor| factor.to_dtype(node.dtype().map_or(DType::F32, DType::opmath)));
            Cotangents::from_iter(of_product(&a, &b, &cotangent)?)
        }
    })
}

/// The cotangents of the factors of a matrix product.
fn of_product(a: &Expr, b: &Expr, cotangent: &Expr) -> Result<[Expr; 2]> {
    let [is_row, is_column] = [a.shape()?.len() == 1, b.shape()?.len() == 1];
    // Vectors as the matrices that they stand for.
    let matrix = |factor: &Expr, is_vector: bool, dim: isize| match is_vector {
        true => factor.unsqueeze(dim),
        false => factor.clone(),
    };
    let (left, right) = (matrix(a, is_row, 0), matrix(b, is_column, -1));
    let cotangent = matrix(&matrix(cotangent, is_column, -1), is_row, -2);
    let transposed = |factor: &Expr| rules::conj(&factor.matrix_transpose());
    let mut first = cotangent.matmul(transposed(&right));
    let mut second = if right.shape()?.len() == 2 && left.shape()?.len() > 2 {
        // One matrix for all batches: their rows are rows of one product, and no batch of products is held.
        let rows = |expr: &Expr| expr.flatten(0, -2);
        transposed(&rows(&left)).matmul(rows(&cotangent))
    } else {
        transposed(&left).matmul(&cotangent)
    };
    if is_row {
        first = first.squeeze_dims(&[-2]);
    }
    if is_column {
        second = second.squeeze_dims(&[-1]);
    }
    Ok([first, second])
}

fn without_derivative(op: Op, node: &Expr) -> Error {
    let message = format!("{}() has no derivative; detach() takes its result as a constant", op.name());
    Error::runtime(message).within(|| node.formula())
}

/// Looks why no cotangent reaches a variable.
///
/// # Errors
/// The expression reads it, and on the way is an operation whose result is no floating-point number.
pub(super) fn check_way(order: &[&Expr], is_variable: &dyn Fn(&Expr) -> bool) -> Result<()> {
    let mut depends: HashMap<usize, bool> = HashMap::new();
    for node in order {
        // What a rule compares decides which of two derivatives there is; its own derivative is zero.
        let is_constant = node.node().slope == Slope::Flat
            || node
                .node()
                .caller
                .as_ref()
                .is_some_and(|caller| caller.is_derivative() && !is_continuous(node));
        let below = !is_constant && node.operands().iter().any(|operand| depends[&operand.id()]);
        if below && !is_continuous(node) {
            let message = "there is no gradient: the operand is read only by way of this, which is no floating-point number and jumps";
            return Err(Error::runtime(message).within(|| node.formula()));
        }
        depends.insert(node.id(), is_variable(node) || below);
    }
    Ok(())
}
