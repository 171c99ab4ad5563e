//! Owns the writing of expressions as formulas, for plans and errors. Operands have no names here: they are called
//! a, b, c, ... in the order in which they appear.

use std::fmt;
use std::sync::Arc;

use zerostride_ops::{Class, Op};
use zerostride_shape::{Layout, Shape};

use super::{Expr, Kind, View};

/// Characters after which a formula is cut: a shared sub-expression is written out wherever it occurs.
const LONGEST: usize = 200;

pub(super) fn render(kind: &Kind) -> String {
    let mut writer = Writer { text: String::new(), leaves: Vec::new() };
    writer.kind(kind);
    if writer.text.len() > LONGEST {
        writer.text = writer.text.chars().take(LONGEST).chain("...".chars()).collect();
    }
    writer.text
}

impl fmt::Display for Expr {
    /// The formula, such as `exp((a - b) * 0.5)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&render(&self.node().kind))
    }
}

impl fmt::Debug for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Expr({self})")
    }
}

struct Writer {
    text: String,
    /// Identities of the tensors seen, in order: storage and layout decide.
    leaves: Vec<(usize, Layout)>,
}

impl Writer {
    fn expr(&mut self, expr: &Expr) {
        // Past the cut nothing more is shown, and a graph may be exponentially larger than its nodes.
        if self.text.len() <= LONGEST {
            self.kind(&expr.node().kind);
        }
    }

    /// As an operand of a symbol: formulas of symbols take parentheses.
    fn operand(&mut self, expr: &Expr) {
        match &expr.node().kind {
            Kind::Map { op, .. } if op.info().symbol.is_some() => {
                self.text.push('(');
                self.expr(expr);
                self.text.push(')');
            }
            _ => self.expr(expr),
        }
    }

    fn kind(&mut self, kind: &Kind) {
        match kind {
            Kind::Leaf { tensor, .. } => {
                self.leaf((tensor.storage().address(), tensor.layout().clone()));
            }
            Kind::Input(input) => {
                let shape = Shape::new(input.shape()).unwrap_or_default();
                self.leaf((Arc::as_ptr(input).addr(), Layout::contiguous(shape)));
            }
            Kind::Number(number) => self.text.push_str(&number.to_string()),
            Kind::Map { op, operands, .. } => self.map(*op, operands),
            Kind::Cast { operand, dtype } => {
                self.operand(operand);
                self.text.push_str(&format!(".to('{dtype}')"));
            }
            Kind::Reduce { op, operand, dims, keepdim, .. } => {
                let dims: Vec<String> = dims.iter().map(usize::to_string).collect();
                let keepdim = if *keepdim { ", keepdim=True" } else { "" };
                self.text.push_str(op.name());
                self.text.push('(');
                self.expr(operand);
                self.text.push_str(&format!(", ({}){keepdim})", dims.join(", ")));
            }
            Kind::View { operand, view } => {
                self.operand(operand);
                self.view(view);
            }
            Kind::Matmul { factors: [a, b] } => {
                self.operand(a);
                self.text.push_str(" @ ");
                self.operand(b);
            }
            Kind::Failed { text } => self.text.push_str(text),
        }
    }

    fn leaf(&mut self, identity: (usize, Layout)) {
        let index = self.leaves.iter().position(|leaf| *leaf == identity).unwrap_or_else(|| {
            self.leaves.push(identity);
            self.leaves.len() - 1
        });
        self.text.push_str(&operand_name(index));
    }

    fn map(&mut self, op: Op, operands: &[Expr]) {
        match (op.info().symbol, operands) {
            (Some(symbol), [operand]) => {
                self.text.push_str(symbol);
                self.operand(operand);
            }
            (Some(symbol), [a, b]) => {
                self.operand(a);
                self.text.push_str(&format!(" {symbol} "));
                self.operand(b);
            }
            _ => {
                debug_assert!(op.info().class != Class::Reduce);
                self.text.push_str(op.name());
                self.text.push('(');
                for (index, operand) in operands.iter().enumerate() {
                    if index > 0 {
                        self.text.push_str(", ");
                    }
                    self.expr(operand);
                }
                self.text.push(')');
            }
        }
    }

    fn view(&mut self, view: &View) {
        let text = match view {
            View::Expand(sizes) => format!(".expand{}", list(sizes)),
            View::BroadcastTo(shape) => format!(".broadcast_to{}", list(shape)),
            View::Unsqueeze(dim) => format!(".unsqueeze({dim})"),
            View::Squeeze => ".squeeze()".to_owned(),
            View::SqueezeDims(dims) => format!(".squeeze{}", list(dims)),
            View::Permute(dims) => format!(".permute{}", list(dims)),
            View::Transpose(dim0, dim1) => format!(".transpose({dim0}, {dim1})"),
            View::T => ".t()".to_owned(),
            View::MatrixTranspose => ".mT".to_owned(),
            View::Movedim(source, destination) => {
                format!(".movedim({}, {})", list(source), list(destination))
            }
            View::Reshape(sizes) => format!(".reshape{}", list(sizes)),
            View::Flatten(start, end) => format!(".flatten({start}, {end})"),
            View::Narrow { dim, start, length } => format!(".narrow({dim}, {start}, {length})"),
            View::Select { dim, index } => format!(".select({dim}, {index})"),
            View::Slice { dim, start, stop, step } => {
                let bound = |bound: &Option<isize>| bound.map_or(String::new(), |bound| bound.to_string());
                format!(".slice({dim}, {}:{}:{step})", bound(start), bound(stop))
            }
            View::Flip(dims) => format!(".flip{}", list(dims)),
            View::Diagonal { offset, dim1, dim2 } => format!(".diagonal({offset}, {dim1}, {dim2})"),
            View::Unfold { dim, size, step } => format!(".unfold({dim}, {size}, {step})"),
        };
        self.text.push_str(&text);
    }
}

fn list<T: fmt::Display>(numbers: &[T]) -> String {
    let numbers: Vec<String> = numbers.iter().map(T::to_string).collect();
    format!("({})", numbers.join(", "))
}

/// a, b, ..., z, then a1, b1, ...
fn operand_name(index: usize) -> String {
    let letter = char::from(b'a' + (index % 26) as u8);
    match index / 26 {
        0 => letter.to_string(),
        round => format!("{letter}{round}"),
    }
}
