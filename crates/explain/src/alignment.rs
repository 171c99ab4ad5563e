//! Owns `Column`: the shapes aligned at the right, one column for each dimension of the result. It does not
//! know how a column is drawn nor the rule for sizes, which is that of `zerostride-shape`.

use zerostride_shape::{Broadcast, Role, ShapeError, Size, broadcast_size};

use crate::explanation::Explanation;

/// One dimension of all operands.
pub(crate) struct Column {
    /// The dimension of the result, from the left.
    pub(crate) dim: usize,
    /// The size of each operand; `None` where it does not have the dimension.
    pub(crate) sizes: Vec<Option<Size>>,
    /// What happens to each operand; meaningless if there is no result.
    pub(crate) roles: Vec<Role>,
    /// The size of the broadcast; `None` if the sizes do not broadcast.
    pub(crate) result: Option<Size>,
    /// What a reduction makes of it: `1`, or `·` if it is gone.
    pub(crate) reduced: Option<&'static str>,
}

impl Column {
    /// The size of the result, or what becomes of it; `None` if the sizes do not broadcast.
    pub(crate) fn result_text(&self) -> Option<String> {
        let size = self.result?;
        Some(self.reduced.map_or_else(|| size.to_string(), |left| format!("{size}→{left}")))
    }

    /// The dimension of a result that has it: with size 1 if a reduction has combined it.
    pub(crate) fn left(&self) -> Column {
        let result = if self.reduced.is_some() { Some(1) } else { self.result };
        Column { dim: self.dim, sizes: self.sizes.clone(), roles: self.roles.clone(), result, reduced: None }
    }

    /// Whether operand `i` is to blame for a column that does not fit: its size differs, or it is a target
    /// that would have to grow.
    pub(crate) fn is_wrong(&self, i: usize) -> bool {
        match self.result {
            None => self.sizes[i].is_some_and(|size| size != 1),
            Some(_) => i == 0 && self.roles[i] != Role::Kept,
        }
    }
}

/// The columns from left to right.
///
/// The roles are those of the broadcast itself, so the picture cannot differ from what runs. If the shapes do
/// not broadcast, each dimension is decided on its own.
pub(crate) fn columns(shapes: &[&[Size]], broadcast: Option<&Broadcast>) -> Vec<Column> {
    let ndim = shapes.iter().map(|shape| shape.len()).max().unwrap_or(0);
    let column = |dim: usize| {
        let size = |shape: &&[Size]| dim.checked_sub(ndim - shape.len()).map(|own| shape[own]);
        let sizes: Vec<Option<Size>> = shapes.iter().map(size).collect();
        match broadcast {
            Some(broadcast) => Column {
                dim,
                sizes,
                roles: broadcast.operands().iter().map(|roles| roles[dim]).collect(),
                result: Some(broadcast.shape()[dim]),
                reduced: None,
            },
            None => {
                let result = sizes.iter().flatten().try_fold(1, |size, &own| broadcast_size(size, own));
                let role = |size: &Option<Size>| match size {
                    None => Role::Added,
                    size if *size == result => Role::Kept,
                    Some(_) => Role::Stretched,
                };
                Column { dim, roles: sizes.iter().map(role).collect(), sizes, result, reduced: None }
            }
        }
    };
    (0..ndim).map(column).collect()
}

/// Whether a column is the reason why there is no broadcast: its sizes differ, or the in-place target would
/// have to grow.
pub(crate) fn is_misfit(explanation: &Explanation, columns: &[Column], column: &Column) -> bool {
    match explanation.error() {
        Some(ShapeError::InPlace { output, .. }) => {
            let own = (column.dim + output.len()).checked_sub(columns.len()).map(|own| output[own]);
            own != column.result
        }
        _ => column.result.is_none(),
    }
}
