//! Owns the broadcasting rule, and `Broadcast`, which records what the rule does to every operand. It does
//! not know where elements are stored, except that it turns the strides of a [`Layout`] into stretched ones.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::dims::{Dims, reads_like_a_slice};
use crate::error::ShapeError;
use crate::layout::Layout;
use crate::shape::{Shape, Size, Strides, check_rank};

/// The rule for one dimension: equal sizes stay, a size of 1 is stretched to the other one, all else is an
/// error.
///
/// ```
/// use zerostride_shape::broadcast_size;
///
/// assert_eq!(broadcast_size(4, 1), Some(4));
/// assert_eq!(broadcast_size(1, 0), Some(0)); // the OTHER size, not the larger one
/// assert_eq!(broadcast_size(2, 3), None);
/// ```
#[inline]
pub const fn broadcast_size(a: Size, b: Size) -> Option<Size> {
    if a == b || b == 1 {
        Some(a)
    } else if a == 1 {
        Some(b)
    } else {
        None
    }
}

/// The first mismatch from the right; "tensor a" is the shape accumulated so far.
pub(crate) struct Mismatch {
    pub(crate) a: Size,
    pub(crate) b: Size,
    pub(crate) from_right: usize,
}

/// Broadcasts `operand` into the right end of `common`, which holds 1 where no operand has had a dimension
/// yet.
///
/// `common` is at least as long as `operand`. This is the only implementation of the rule, at run time and at
/// compile time.
#[inline]
pub(crate) const fn fold(common: &mut [Size], operand: &[Size]) -> Result<(), Mismatch> {
    let mut from_right = 0;
    while from_right < operand.len() {
        let b = operand[operand.len() - 1 - from_right];
        let slot = common.len() - 1 - from_right;
        let a = common[slot];
        match broadcast_size(a, b) {
            Some(size) => common[slot] = size,
            None => return Err(Mismatch { a, b, from_right }),
        }
        from_right += 1;
    }
    Ok(())
}

/// The shape that operands of these shapes broadcast to.
///
/// Shapes: any number of them, folded from the left; without any, `[]`.
///
/// # Errors
/// The shapes do not broadcast, in the text of PyTorch's operations, where "tensor a" is the shape
/// accumulated so far and the dimension is an index into the result of a and b; the result has too many
/// elements; or its rank is above [`MAX_RANK`](crate::MAX_RANK).
///
/// Source: PyTorch `aten/src/ATen/ExpandUtils.cpp`, `infer_size`.
///
/// ```
/// use zerostride_shape::broadcast_shape;
///
/// assert_eq!(broadcast_shape(&[&[4, 3], &[1, 3]])?, [4, 3]);
/// assert_eq!(broadcast_shape(&[&[], &[0], &[1]])?, [0]);
/// assert_eq!(broadcast_shape(&[&[1, 3], &[2, 1]])?, [2, 3]);
/// # Ok::<(), zerostride_shape::ShapeError>(())
/// ```
pub fn broadcast_shape(shapes: &[&[Size]]) -> Result<Shape, ShapeError> {
    // Usually all shapes are equal, or scalars.
    let longest = shapes.iter().copied().max_by_key(|shape| shape.len()).unwrap_or_default();
    if shapes.iter().all(|shape| shape.is_empty() || *shape == longest) {
        return Shape::new(longest);
    }
    let mut common = blank(shapes)?;
    for (operand, shape) in shapes.iter().enumerate() {
        if let Err(mismatch) = fold(&mut common, shape) {
            return Err(incompatible(shapes, operand, &mismatch));
        }
    }
    Shape::from_dims(common)
}

/// Folds one more operand into the sizes that the operands so far broadcast to, from the right; `false` if it
/// does not broadcast. [`broadcast_shape`] does this for each operand, and adds the error and a check of the
/// element count.
///
/// # Panics
/// If `common` has fewer dimensions than the operand; start with ones.
///
/// ```
/// use zerostride_shape::broadcast_onto;
///
/// let mut common = [1, 1];
/// assert!(broadcast_onto(&mut common, &[1, 3]) && broadcast_onto(&mut common, &[2, 1]));
/// assert_eq!(common, [2, 3]);
/// assert!(!broadcast_onto(&mut common, &[4]));
/// ```
#[inline]
pub fn broadcast_onto(common: &mut [Size], operand: &[Size]) -> bool {
    fold(common, operand).is_ok()
}

/// `torch.broadcast_shapes`: the rule of [`broadcast_shape`], with the error text of this function.
///
/// # Errors
/// As [`broadcast_shape`], but the mismatch is counted from the right, and the message names the argument.
///
/// Source: PyTorch `torch/_refs/__init__.py`, `_broadcast_shapes`.
///
/// ```
/// use zerostride_shape::broadcast_shapes;
///
/// assert_eq!(broadcast_shapes(&[&[5, 1, 4, 1], &[3, 1, 2]])?, [5, 3, 4, 2]);
/// assert_eq!(
///     broadcast_shapes(&[&[2, 3], &[3, 2]]).unwrap_err().to_string(),
///     "Attempting to broadcast a dimension of length 2 at -1! Mismatching argument at index 1 had (3, 2); \
///      but expected shape should be broadcastable to [2, 3]"
/// );
/// # Ok::<(), zerostride_shape::ShapeError>(())
/// ```
pub fn broadcast_shapes(shapes: &[&[Size]]) -> Result<Shape, ShapeError> {
    let mut common = blank(shapes)?;
    for (argument, shape) in shapes.iter().enumerate() {
        if let Err(mismatch) = fold(&mut common, shape) {
            return Err(ShapeError::NotBroadcastable {
                from_right: mismatch.from_right + 1,
                argument,
                expected: Shape::from_dims(common)?,
                shapes: owned(shapes)?,
            });
        }
    }
    Shape::from_dims(common)
}

/// The shape before any operand is folded in: as many ones as the longest shape has sizes.
#[inline]
fn blank(shapes: &[&[Size]]) -> Result<Dims<Size>, ShapeError> {
    let ndim = shapes.iter().map(|shape| shape.len()).max().unwrap_or(0);
    check_rank(ndim)?;
    Ok(Dims::filled(ndim, 1))
}

#[cold]
fn incompatible(shapes: &[&[Size]], operand: usize, mismatch: &Mismatch) -> ShapeError {
    let size_of = |shape: &[Size]| shape.iter().rev().nth(mismatch.from_right).copied();
    let first = shapes.iter().position(|shape| size_of(shape) == Some(mismatch.a)).unwrap_or(0);
    // Only the operands up to this one have been accumulated, so the dimension is an index into their result.
    let ndim = shapes[..=operand].iter().map(|shape| shape.len()).max().unwrap_or(0);
    match owned(shapes) {
        Ok(shapes) => ShapeError::Incompatible {
            a: mismatch.a,
            b: mismatch.b,
            dim: ndim - 1 - mismatch.from_right,
            operands: (first, operand),
            shapes,
        },
        Err(error) => error,
    }
}

fn owned(shapes: &[&[Size]]) -> Result<Box<[Shape]>, ShapeError> {
    shapes.iter().map(|shape| Shape::new(shape)).collect()
}

/// What happens to one dimension of an operand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Role {
    /// The operand has this dimension at the size of the result.
    #[default]
    Kept,
    /// The operand has size 1 here, and the result another size, possibly 0.
    Stretched,
    /// The operand does not have this dimension.
    Added,
}

/// The roles of one operand, one for each dimension of the result; behaves like a slice of [`Role`].
#[derive(Clone, Default)]
pub struct Roles(Dims<Role>);

reads_like_a_slice!(Roles, Role);

/// A broadcast as a value: the resulting shape, and for each operand what happens to each dimension.
///
/// The planner runs it and `explain` draws it, so the picture cannot differ from what runs.
///
/// ```
/// use zerostride_shape::{Broadcast, Role::*};
///
/// let broadcast = Broadcast::new(&[&[4, 3], &[1, 3], &[]])?;
/// assert_eq!(*broadcast.shape(), [4, 3]);
/// assert_eq!(broadcast.operands()[1], [Stretched, Kept]);
/// assert_eq!(broadcast.operands()[2], [Added, Added]);
/// # Ok::<(), zerostride_shape::ShapeError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broadcast {
    shape: Shape,
    operands: Vec<Roles>,
}

impl Broadcast {
    /// Broadcasts operands of these shapes together.
    ///
    /// # Errors
    /// As [`broadcast_shape`].
    pub fn new(shapes: &[&[Size]]) -> Result<Broadcast, ShapeError> {
        let shape = broadcast_shape(shapes)?;
        let operands = shapes.iter().map(|operand| roles(&shape, operand)).collect();
        Ok(Broadcast { shape, operands })
    }

    /// The shape of the result.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The roles of every operand, in the order in which the shapes were given.
    pub fn operands(&self) -> &[Roles] {
        &self.operands
    }

    /// The strides with which operand `i`, laid out as `layout`, is read over the whole result: 0 wherever it
    /// is stretched or added.
    ///
    /// Units: elements.
    ///
    /// # Panics
    /// If there is no operand `i`. A layout of another rank than the operand's is aligned to the right, with
    /// stride 0 where it has no dimension.
    ///
    /// ```
    /// use zerostride_shape::{Broadcast, Layout, Shape};
    ///
    /// let broadcast = Broadcast::new(&[&[5, 1, 4, 1], &[3, 1, 2]])?;
    /// let a = Layout::contiguous(Shape::new(&[5, 1, 4, 1])?);
    /// assert_eq!(broadcast.expanded_strides(0, &a), [4, 0, 1, 0]);
    /// # Ok::<(), zerostride_shape::ShapeError>(())
    /// ```
    pub fn expanded_strides(&self, i: usize, layout: &Layout) -> Strides {
        let roles = &self.operands[i];
        let mut strides = Dims::filled(roles.len(), 0);
        for ((slot, role), &stride) in strides.iter_mut().zip(roles).rev().zip(layout.strides().iter().rev())
        {
            if *role == Role::Kept {
                *slot = stride;
            }
        }
        Strides::from_dims(strides)
    }

    /// The dimensions of the result to sum over to get back to operand `i`: those stretched or added.
    ///
    /// # Panics
    /// If there is no operand `i`.
    ///
    /// ```
    /// use zerostride_shape::Broadcast;
    ///
    /// let broadcast = Broadcast::new(&[&[5, 1, 4, 1], &[3, 1, 2]])?;
    /// assert_eq!(broadcast.reduced_dims(0), [1, 3]);
    /// assert_eq!(broadcast.reduced_dims(1), [0, 2]);
    /// # Ok::<(), zerostride_shape::ShapeError>(())
    /// ```
    pub fn reduced_dims(&self, i: usize) -> Vec<usize> {
        let roles = self.operands[i].iter().enumerate();
        roles.filter(|(_, role)| **role != Role::Kept).map(|(dim, _)| dim).collect()
    }
}

fn roles(result: &[Size], operand: &[Size]) -> Roles {
    let mut roles = Dims::filled(result.len(), Role::Added);
    for ((role, &size), &own) in roles.iter_mut().zip(result).rev().zip(operand.iter().rev()) {
        *role = if own == size { Role::Kept } else { Role::Stretched };
    }
    Roles(roles)
}

/// Checks that an operation may write its result of shape `broadcast` into a tensor of shape `target`:
/// operands are stretched, the target never is.
///
/// # Errors
/// The shapes differ.
///
/// Source: PyTorch `aten/src/ATen/TensorIterator.cpp`, `TensorIteratorBase::mark_resize_outputs`.
///
/// ```
/// use zerostride_shape::{broadcast_shape, check_in_place};
///
/// check_in_place(&[5, 3, 4, 1], &broadcast_shape(&[&[5, 3, 4, 1], &[3, 1, 1]])?)?;
/// assert_eq!(
///     check_in_place(&[1, 3, 1], &broadcast_shape(&[&[1, 3, 1], &[3, 1, 7]])?).unwrap_err().to_string(),
///     "output with shape [1, 3, 1] doesn't match the broadcast shape [3, 3, 7]"
/// );
/// # Ok::<(), zerostride_shape::ShapeError>(())
/// ```
pub fn check_in_place(target: &[Size], broadcast: &Shape) -> Result<(), ShapeError> {
    if *broadcast == *target {
        return Ok(());
    }
    Err(ShapeError::InPlace { output: Shape::new(target)?, broadcast: broadcast.clone() })
}

/// The dimensions of `shape` to sum over so that a tensor of that shape becomes one of shape `target`.
///
/// Leading dimensions that `target` does not have are included, even those of size 1. The caller drops these,
/// and keeps the others with size 1.
///
/// # Errors
/// A tensor of shape `target` could not have been expanded to `shape`.
///
/// Source: PyTorch `aten/src/ATen/ExpandUtils.h`, `is_expandable_to` and `sum_to`.
///
/// ```
/// use zerostride_shape::sum_to_size_dims;
///
/// assert_eq!(sum_to_size_dims(&[4, 2, 3], &[2, 1])?, [0, 2]);
/// assert_eq!(
///     sum_to_size_dims(&[4, 5], &[3, 1]).unwrap_err().to_string(),
///     "size {[3, 1]} is not expandable to size {[4, 5]}."
/// );
/// # Ok::<(), zerostride_shape::ShapeError>(())
/// ```
pub fn sum_to_size_dims(shape: &[Size], target: &[Size]) -> Result<Vec<usize>, ShapeError> {
    let sizes = Shape::new(shape)?;
    let fits = |(&size, &to): (&Size, &Size)| to == size || to == 1;
    if target.len() > shape.len() || !shape.iter().rev().zip(target.iter().rev()).all(fits) {
        return Err(ShapeError::SumToSize { target: target.to_vec(), sizes });
    }
    let added = shape.len() - target.len();
    let summed = |&dim: &usize| dim < added || target[dim - added] != shape[dim];
    Ok((0..shape.len()).filter(summed).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::{String, ToString};
    use alloc::vec;

    /// The shapes of the operands, as the tables list them.
    type Operands = &'static [&'static [usize]];

    fn text(shapes: &[&[Size]]) -> String {
        broadcast_shape(shapes).unwrap_err().to_string()
    }

    #[test]
    fn the_examples_of_the_source_documents_have_their_shapes() {
        let table: [(&str, Operands, &[Size]); 13] = [
            ("S1", &[&[4, 3], &[1, 3]], &[4, 3]),
            ("S3", &[&[5, 3, 4, 1], &[3, 1, 1]], &[5, 3, 4, 1]),
            ("S5", &[&[5, 1, 4, 1], &[3, 1, 2]], &[5, 3, 4, 2]),
            ("S6", &[&[1, 3], &[3, 1]], &[3, 3]),
            ("S7", &[&[1, 3], &[]], &[1, 3]),
            ("S9", &[&[5, 7, 3], &[5, 7, 3]], &[5, 7, 3]),
            ("S11", &[&[5, 1, 4, 1], &[3, 1, 1]], &[5, 3, 4, 1]),
            ("S12", &[&[1], &[3, 1, 7]], &[3, 1, 7]),
            ("S15", &[&[2, 2], &[]], &[2, 2]),
            ("S15", &[&[2, 3], &[3]], &[2, 3]),
            ("S15", &[&[3, 2], &[3, 1]], &[3, 2]),
            ("S15", &[&[3, 1], &[2]], &[3, 2]),
            ("S16, which the document calls an error", &[&[1, 3], &[2, 1]], &[2, 3]),
        ];
        for (name, operands, expected) in table {
            assert_eq!(broadcast_shape(operands).unwrap(), expected, "{name}");
            assert_eq!(broadcast_shapes(operands).unwrap(), expected, "{name}");
            assert_eq!(*Broadcast::new(operands).unwrap().shape(), expected, "{name}");
        }
    }

    #[test]
    fn the_mismatches_of_the_source_documents_have_pytorch_s_texts() {
        let table: [(&str, Operands, usize, usize, usize); 4] = [
            ("S2", &[&[0], &[3, 4]], 0, 4, 1),
            ("S4", &[&[5, 2, 4, 1], &[3, 1, 1]], 2, 3, 1),
            ("S8", &[&[1, 2, 3], &[3, 3]], 2, 3, 1),
            ("S10", &[&[0], &[2, 2]], 0, 2, 1),
        ];
        for (name, operands, a, b, dim) in table {
            let expected = alloc::format!(
                "The size of tensor a ({a}) must match the size of tensor b ({b}) at non-singleton dimension {dim}"
            );
            assert_eq!(text(operands), expected, "{name}");
        }
    }

    #[test]
    fn a_size_of_one_takes_the_other_size_even_zero() {
        assert_eq!(broadcast_shape(&[&[0], &[1]]).unwrap(), [0]);
        assert_eq!(broadcast_shape(&[&[1], &[0]]).unwrap(), [0]);
        assert_eq!(broadcast_shape(&[&[2, 1], &[1, 0]]).unwrap(), [2, 0]);
        assert_eq!(broadcast_shape(&[]).unwrap(), Shape::scalar());
        assert_eq!(broadcast_shapes(&[]).unwrap(), Shape::scalar());
        assert_eq!(Broadcast::new(&[&[1], &[0]]).unwrap().operands()[0], [Role::Stretched]);
    }

    #[test]
    fn several_operands_fold_from_the_left() {
        // The third operand is compared with [2, 3], the result of the first two; the fourth is not looked
        // at.
        let error = broadcast_shape(&[&[3], &[2, 1], &[4, 3], &[7, 1, 1, 1]]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "The size of tensor a (2) must match the size of tensor b (4) at non-singleton dimension 0"
        );
        let diagnostic = error.diagnostic();
        assert_eq!(diagnostic.operands, Some((1, 2)));
        assert_eq!((diagnostic.dim, diagnostic.from_right), (Some(0), Some(1)));
        assert_eq!(diagnostic.shapes.len(), 4);
    }

    #[test]
    fn broadcast_shapes_counts_from_the_right_and_prints_python_s_tuples() {
        let table: [(Operands, &str); 4] = [
            (
                &[&[3], &[2]],
                "Attempting to broadcast a dimension of length 2 at -1! Mismatching argument at index 1 had (2,); \
                 but expected shape should be broadcastable to [3]",
            ),
            (
                &[&[2, 3], &[4, 1], &[5, 1, 1]],
                "Attempting to broadcast a dimension of length 4 at -2! Mismatching argument at index 1 had (4, 1); \
                 but expected shape should be broadcastable to [1, 2, 3]",
            ),
            (
                &[&[0], &[2]],
                "Attempting to broadcast a dimension of length 2 at -1! Mismatching argument at index 1 had (2,); \
                 but expected shape should be broadcastable to [0]",
            ),
            (
                // The expected shape includes what the failing argument has already stretched.
                &[&[1, 2, 1, 1], &[4, 3, 4]],
                "Attempting to broadcast a dimension of length 4 at -3! Mismatching argument at index 1 had \
                 (4, 3, 4); but expected shape should be broadcastable to [1, 2, 3, 4]",
            ),
        ];
        for (shapes, expected) in table {
            assert_eq!(broadcast_shapes(shapes).unwrap_err().to_string(), expected);
        }
        let diagnostic = broadcast_shapes(&[&[1, 3], &[2, 1], &[4, 3]]).unwrap_err().diagnostic();
        assert_eq!(diagnostic.operands, Some((1, 2)));
        assert_eq!((diagnostic.dim, diagnostic.from_right), (Some(0), Some(1)));
    }

    #[test]
    fn a_result_that_no_memory_could_hold_is_refused_with_its_size() {
        let operands: [&[Size]; 2] = [&[1 << 40, 1], &[1, 1 << 40]];
        for error in [
            broadcast_shape(&operands).unwrap_err(),
            broadcast_shapes(&operands).unwrap_err(),
            Broadcast::new(&operands).unwrap_err(),
        ] {
            assert_eq!(
                error.to_string(),
                "Storage size calculation overflowed with sizes=[1099511627776, 1099511627776]: \
                 1208925819614629174706176 elements"
            );
        }
        let long = vec![1; 65];
        assert_eq!(broadcast_shape(&[&[2], &long]), Err(ShapeError::RankTooHigh { ndim: 65 }));
        assert_eq!(broadcast_shape(&[&[2], &long[..64]]).unwrap().ndim(), 64);
    }

    #[test]
    fn in_place_targets_never_stretch() {
        let table: [(&[Size], &[Size], Option<&str>); 5] = [
            (&[5, 3, 4, 1], &[3, 1, 1], None),
            (
                &[1, 3, 1],
                &[3, 1, 7],
                Some("output with shape [1, 3, 1] doesn't match the broadcast shape [3, 3, 7]"),
            ),
            (&[3], &[1, 3], Some("output with shape [3] doesn't match the broadcast shape [1, 3]")),
            (&[], &[1], Some("output with shape [] doesn't match the broadcast shape [1]")),
            (&[1], &[0], Some("output with shape [1] doesn't match the broadcast shape [0]")),
        ];
        for (target, operand, expected) in table {
            let result = check_in_place(target, &broadcast_shape(&[target, operand]).unwrap());
            assert_eq!(result.err().map(|error| error.to_string()).as_deref(), expected);
        }
    }

    #[test]
    fn sums_reduce_what_expanding_had_stretched_or_added() {
        let table: [(&[Size], &[Size], &[Size]); 6] = [
            (&[4, 2, 3], &[2, 1], &[0, 2]),
            (&[2, 3], &[2, 3], &[]),
            (&[2, 3], &[], &[0, 1]),
            (&[1, 3], &[3], &[0]),
            (&[0, 3], &[1, 3], &[0]),
            (&[1, 3], &[1, 1], &[1]),
        ];
        for (shape, target, dims) in table {
            assert_eq!(sum_to_size_dims(shape, target).unwrap(), dims);
        }
        for target in [&[3, 1][..], &[0, 5], &[1, 4, 5]] {
            let error = sum_to_size_dims(&[4, 5], target).unwrap_err().to_string();
            assert_eq!(error, alloc::format!("size {{{target:?}}} is not expandable to size {{[4, 5]}}."));
        }
    }
}
