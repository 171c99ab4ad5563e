//! Owns the text of expressions as formulas, for plans and errors. Operands have no names: they are a, b, c,
//! ... in the order in which they appear. It does not know what the text is for.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use zerostride_ops::{Class, Op};
use zerostride_shape::{Layout, Shape};

use super::{Expr, Kind, View};
use crate::Tensor;

/// Characters after which a formula is cut. A shared sub-expression is written out wherever it occurs, so
/// that the text can be exponentially longer than the graph is large.
const LONGEST: usize = 200;

/// When more pieces than this wait to be written, an operand is written as `...`: the pieces that wait exceed
/// the limit already.
const MOST_WAITING: usize = LONGEST;

pub(super) fn render(kind: &Kind) -> String {
    render_with(kind, &[])
}

/// The formula, in which some tensors have names.
fn render_with(kind: &Kind, named: &[(&Tensor, String)]) -> String {
    let identities = named.iter().map(|(tensor, _)| identity(tensor)).collect();
    let names = named.iter().map(|(_, name)| name.clone()).collect();
    let mut writer = FormulaWriter { text: String::new(), leaves: identities, names, waiting: Vec::new() };
    writer.kind(kind);
    while let Some(piece) = writer.waiting.pop() {
        match piece {
            FormulaPart::Text(text) => writer.text.push_str(&text),
            // Nothing beyond the cut is shown.
            FormulaPart::Expr(_) if writer.text.len() > LONGEST => break,
            FormulaPart::Expr(_) if writer.waiting.len() > MOST_WAITING => writer.text.push_str(CUT),
            FormulaPart::Expr(expr) => writer.kind(&expr.node().kind),
        }
    }
    if writer.text.len() > LONGEST {
        writer.text = writer.text.chars().take(LONGEST).chain(CUT.chars()).collect();
    }
    writer.text
}

fn identity(tensor: &Tensor) -> (usize, Layout) {
    (tensor.storage().address(), tensor.layout().clone())
}

/// Written in place of the rest of a formula.
const CUT: &str = "...";

impl Expr {
    /// The formula as a text, with the operands as a, b, c, ... in the order in which they appear. A long one
    /// is cut.
    ///
    /// ```
    /// use zerostride::tensor;
    /// let (x, mean) = (tensor![1.0, 3.0], tensor![2.0]);
    /// let scaled = ((&x - &mean) * 0.5).exp();
    /// assert_eq!(scaled.formula(), "exp((a - b) * 0.5)");
    /// assert_eq!(scaled.to_string(), "expression of shape [2], f32:\ntensor([0.6065, 1.6487])");
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn formula(&self) -> String {
        render(&self.node().kind)
    }

    /// The formula with names for some of its operands; others are a, b, c, ... in the order in which they
    /// appear.
    ///
    /// ```
    /// use zerostride::tensor;
    /// let (x, mean) = (tensor![1.0, 3.0], tensor![2.0]);
    /// assert_eq!((&x - &mean).formula_with(&[(&mean, "mean".to_owned())]), "a - mean");
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn formula_with(&self, named: &[(&Tensor, String)]) -> String {
        render_with(&self.node().kind, named)
    }
}

impl fmt::Debug for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Expr({})", self.formula())
    }
}

struct FormulaWriter<'e> {
    text: String,
    /// The tensors that have names and those seen, in order, each identified by storage and layout.
    leaves: Vec<(usize, Layout)>,
    /// The names of the first of them.
    names: Vec<String>,
    /// A stack of what is still to be written, the next piece last.
    waiting: Vec<FormulaPart<'e>>,
}

enum FormulaPart<'e> {
    Text(Cow<'static, str>),
    Expr(&'e Expr),
}

impl<'e> FormulaWriter<'e> {
    fn say(&mut self, text: impl Into<Cow<'static, str>>) {
        self.waiting.push(FormulaPart::Text(text.into()));
    }

    /// Pushes an operand of a symbol, in parentheses if it has a symbol of its own.
    fn operand(&mut self, expr: &'e Expr) {
        match &expr.node().kind {
            Kind::Map { op, .. } if op.info().symbol.is_some() => {
                self.say("(");
                self.waiting.push(FormulaPart::Expr(expr));
                self.say(")");
            }
            _ => self.waiting.push(FormulaPart::Expr(expr)),
        }
    }

    /// Pushes the pieces of a node.
    fn kind(&mut self, kind: &'e Kind) {
        let behind = self.waiting.len();
        match kind {
            Kind::Leaf { tensor, .. } => {
                self.leaf(identity(tensor));
            }
            Kind::Input(input) => {
                let shape = Shape::new(input.shape()).unwrap_or_default();
                self.leaf((Arc::as_ptr(input).addr(), Layout::contiguous(shape)));
            }
            Kind::Number(number) => self.say(number.to_string()),
            Kind::Map { op, operands, .. } => self.map(*op, operands),
            Kind::Cast { operand, dtype } => {
                self.operand(operand);
                // A copy has the same values.
                if operand.dtype().is_ok_and(|own| own != *dtype) || operand.is_number() {
                    self.say(format!(".to('{dtype}')"));
                }
            }
            Kind::Reduce { op, operand, dims, keepdim, .. } => {
                let dims: Vec<String> = dims.iter().map(usize::to_string).collect();
                let keepdim = if *keepdim { ", keepdim=True" } else { "" };
                self.say(op.name());
                self.say("(");
                self.waiting.push(FormulaPart::Expr(operand));
                self.say(format!(", ({}){keepdim})", dims.join(", ")));
            }
            Kind::View { operand, view } => {
                self.operand(operand);
                self.view(view);
            }
            Kind::Matmul { factors: [a, b] } => {
                self.operand(a);
                self.say(" @ ");
                self.operand(b);
            }
            Kind::Failed { text } => self.say(text.clone()),
        }
        self.waiting[behind..].reverse();
    }

    fn leaf(&mut self, identity: (usize, Layout)) {
        let index = self.leaves.iter().position(|leaf| *leaf == identity).unwrap_or_else(|| {
            self.leaves.push(identity);
            self.leaves.len() - 1
        });
        match self.names.get(index) {
            Some(name) => self.say(name.clone()),
            None => self.say(operand_name(index - self.names.len())),
        }
    }

    fn map(&mut self, op: Op, operands: &'e [Expr]) {
        match (op.info().symbol, operands) {
            (Some(symbol), [operand]) => {
                self.say(symbol);
                self.operand(operand);
            }
            (Some(symbol), [a, b]) => {
                self.operand(a);
                self.say(format!(" {symbol} "));
                self.operand(b);
            }
            _ => {
                debug_assert!(op.info().class != Class::Reduce);
                self.say(op.name());
                self.say("(");
                for (index, operand) in operands.iter().enumerate() {
                    if index > 0 {
                        self.say(", ");
                    }
                    self.waiting.push(FormulaPart::Expr(operand));
                }
                self.say(")");
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
        self.say(text);
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
