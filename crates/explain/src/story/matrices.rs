//! Owns the matrices: each stretched operand before and after, and all of them with the result, in nested
//! brackets. It does not compute: elements are given as text, or their indices are shown instead.

use zerostride_ops::Class as OpClass;
use zerostride_shape::{Shape, Size, Stride};

use super::block::{Block, Equation, Matrix, Stretch};
use super::headline::expression;
use crate::explanation::Explanation;
use crate::lang::{Lang, say};
use crate::operand::Operand;

/// Results of more elements are not drawn, so values of larger operands need not be collected.
pub const DRAWN_ELEMENTS: usize = 64;
/// The most dimensions of a result that is drawn: with known elements, and without.
const MAX_NDIM: [usize; 2] = [3, 2];

pub(super) fn tell(explanation: &Explanation, shape: &Shape, lang: Lang, blocks: &mut Vec<Block>) {
    let numel = shape.numel();
    let all_known = explanation.operands().iter().all(|operand| operand.known_values().is_some());
    let limit = MAX_NDIM[usize::from(!all_known)];
    if !(1..=DRAWN_ELEMENTS as Size).contains(&numel) || shape.ndim() > limit {
        return;
    }
    let mut afters = Vec::new();
    for (i, operand) in explanation.operands().iter().enumerate() {
        let (name, reading) = (&explanation.names()[i], &explanation.readings()[i]);
        let values = values_or_places(operand, name);
        let after = Matrix::new(&expand(&values, shape, &reading.strides), shape);
        if reading.is_repeated() {
            blocks.push(Block::Stretch(Stretch {
                title: say!(lang, "before-and-after", name = &**name),
                before: Matrix::new(&values, &operand.shape),
                after: after.clone(),
            }));
        }
        afters.push(after);
    }
    let sizes = explanation.result_sizes().unwrap_or_default();
    if let (true, Some(result)) = (all_known, &explanation.options().result)
        && result.len() as Size == sizes.iter().product::<Size>()
    {
        let op = explanation.options().op.filter(|_| explanation.options().reduction.is_none());
        let info = op.map(|op| op.info());
        blocks.push(Block::Equation(Equation {
            title: expression(explanation, lang),
            symbol: info.filter(|info| info.class == OpClass::Binary).and_then(|info| info.symbol),
            result: Matrix::new(result, &sizes),
            operands: afters,
        }));
    }
}

/// The elements, or a label for the index of each: `a0`, `a1`, ...
fn values_or_places(operand: &Operand, name: &str) -> Vec<String> {
    match operand.known_values() {
        Some(values) => values.to_vec(),
        None => (0..operand.shape.iter().product()).map(|at: Size| format!("{name}{at}")).collect(),
    }
}

/// The elements of an operand over the whole result, in row-major order, read through its strides.
fn expand(values: &[String], shape: &[Size], strides: &[Stride]) -> Vec<String> {
    let mut offsets = vec![0];
    for (&size, stride) in shape.iter().zip(strides) {
        let steps: Vec<Size> = (0..size).map(|step| step * stride.unsigned_abs()).collect();
        offsets = offsets.iter().flat_map(|offset| steps.iter().map(move |step| offset + step)).collect();
    }
    offsets.into_iter().filter_map(|offset| values.get(offset as usize).cloned()).collect()
}

impl Matrix {
    /// Elements in row-major order, aligned in columns.
    fn new(values: &[String], shape: &[Size]) -> Matrix {
        let width = |text: &str| text.chars().count();
        let cell = values.iter().map(|value| width(value)).max().unwrap_or(0);
        let [.., columns] = *shape else { return Matrix(values.to_vec()) };
        let columns = columns as usize;
        let rows = values.len() / columns.max(1);
        let line = |row: usize| {
            let cells = values[row * columns..(row + 1) * columns].iter();
            let cells: Vec<String> =
                cells.map(|value| format!("{}{value}", " ".repeat(cell - width(value)))).collect();
            // A bracket opens for each dimension that begins in this row, and closes for each that ends.
            let edge = |at: usize| {
                let mut block = 1;
                1 + shape[..shape.len() - 1]
                    .iter()
                    .rev()
                    .take_while(|&&size| {
                        block *= size as usize;
                        at.is_multiple_of(block)
                    })
                    .count()
            };
            let (open, close) = (edge(row), edge(row + 1));
            format!(
                "{}{}{}{}{}",
                " ".repeat(shape.len() - open),
                "[".repeat(open),
                cells.join(", "),
                "]".repeat(close),
                if row + 1 == rows { "" } else { "," }
            )
        };
        Matrix((0..rows).map(line).collect())
    }
}
