//! Owns `Change`, a change of one operand: its effect, how it is written, its cost. It does not know when a
//! change helps (`mod.rs`).

use zerostride_shape::{Layout, Shape, Size, Stride};

/// One change of one operand.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    /// New dimensions of size 1 at these positions of the result, in ascending order.
    Unsqueeze(Vec<usize>),
    /// These dimensions of size 1 dropped.
    Squeeze(Vec<usize>),
    /// The dimensions in this order.
    Permute(Vec<usize>),
    /// The same elements with these sizes.
    Reshape(Vec<Size>),
    /// A larger target: a copy stretched to this shape.
    Enlarge(Shape),
    /// The operation's name and its further operands: a new tensor instead of the target.
    OutOfPlace(&'static str, String),
    /// The in-place method and the former target: the other operand is written to.
    Swap(&'static str, String),
}

impl Change {
    /// The operand after the change; `None` if there is no such view.
    pub(crate) fn apply(&self, layout: &Layout) -> Option<Layout> {
        let signed = |dims: &[usize]| -> Vec<isize> { dims.iter().map(|&dim| dim as isize).collect() };
        let view = match self {
            Change::Unsqueeze(dims) => {
                dims.iter().try_fold(layout.clone(), |layout, &dim| layout.unsqueeze(dim as isize))
            }
            Change::Squeeze(dims) => layout.squeeze_dims(&signed(dims)),
            Change::Permute(order) => layout.permute(&signed(order)),
            Change::Reshape(sizes) => {
                layout.view(&sizes.iter().map(|&size| size as Stride).collect::<Vec<_>>())
            }
            Change::Enlarge(shape) => layout.broadcast_to(shape),
            Change::OutOfPlace(..) | Change::Swap(..) => Ok(layout.clone()),
        };
        view.ok()
    }

    /// The cost of the change for the reader: the number of single steps, or for a permutation of exchanged
    /// pairs.
    pub(crate) fn cost(&self) -> usize {
        match self {
            Change::Unsqueeze(dims) => dims.len(),
            Change::Squeeze(_) => 1,
            Change::Permute(order) => {
                let after =
                    |(at, dim): (usize, &usize)| order[at..].iter().filter(|later| *later < dim).count();
                order.iter().enumerate().map(after).sum()
            }
            Change::OutOfPlace(..) | Change::Swap(..) => 2,
            Change::Reshape(_) | Change::Enlarge(_) => 3,
        }
    }

    /// The rank of this kind of change among those of the same cost: the one that looks least like a guess
    /// comes first.
    pub(crate) fn kind(&self) -> usize {
        match self {
            Change::Unsqueeze(_) => 0,
            Change::Squeeze(_) => 1,
            Change::Permute(_) => 2,
            Change::OutOfPlace(..) => 3,
            Change::Swap(..) => 4,
            Change::Reshape(_) => 5,
            Change::Enlarge(_) => 6,
        }
    }

    /// The change of an operand of `ndim` dimensions, as a call.
    pub(crate) fn call(&self, name: &str, ndim: usize) -> String {
        let last = |dim: usize, ndim: usize| if dim + 1 == ndim { -1 } else { dim as isize };
        match self {
            Change::Unsqueeze(dims) if dims.len() == 1 => {
                format!("{name}.unsqueeze({})", last(dims[0], ndim + 1))
            }
            Change::Unsqueeze(dims) => {
                let new = |dim| if dims.contains(&dim) { "None" } else { ":" };
                let index: Vec<&str> = (0..ndim + dims.len()).map(new).collect();
                format!("{name}[{}]", index.join(", "))
            }
            Change::Squeeze(dims) if dims.len() == 1 => {
                format!("{name}.squeeze({})", last(dims[0], ndim))
            }
            Change::Squeeze(_) => format!("{name}.squeeze()"),
            Change::Permute(order) => {
                let moved: Vec<usize> = (0..ndim).filter(|&dim| order[dim] != dim).collect();
                match moved[..] {
                    [_, _] if ndim == 2 => format!("{name}.t()"),
                    [_, right] if right + 1 == ndim && moved[0] + 2 == ndim => {
                        format!("{name}.transpose(-2, -1)")
                    }
                    [left, right] => format!("{name}.transpose({left}, {right})"),
                    _ => format!("{name}.permute({})", list(order)),
                }
            }
            Change::Reshape(sizes) => format!("{name}.reshape({})", list(sizes)),
            Change::Enlarge(shape) => format!("{name}.expand({}).clone()", list(shape)),
            Change::OutOfPlace(method, others) | Change::Swap(method, others) => {
                format!("{name}.{method}({others})")
            }
        }
    }
}

/// Sizes or dimensions, as arguments.
fn list(numbers: &[impl ToString]) -> String {
    let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    numbers.join(", ")
}
