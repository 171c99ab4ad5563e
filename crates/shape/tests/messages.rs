//! Every refusal of a view, word for word as PyTorch 2.15 prints it, with the class of its exception.

use zerostride_shape::ErrorClass::{self, Index, Runtime, Value};
use zerostride_shape::{Layout, Shape, ShapeError, Strides};

fn x(sizes: &[usize]) -> Layout {
    Layout::contiguous(Shape::new(sizes).unwrap())
}

fn check<T: std::fmt::Debug>(table: &[(Result<T, ShapeError>, ErrorClass, &str)]) {
    for (result, class, text) in table {
        let error = result.as_ref().expect_err(text);
        assert_eq!(error.to_string(), *text);
        assert_eq!(error.class(), *class, "{text}");
    }
}

#[test]
fn expanding() {
    let t = x(&[2, 3]);
    check(&[
        (
            t.expand(&[3, 3]),
            Runtime,
            "The expanded size of the tensor (3) must match the existing size (2) at non-singleton dimension 0.  \
             Target sizes: [3, 3].  Tensor sizes: [2, 3]",
        ),
        (
            t.broadcast_to(&[3, 3]),
            Runtime,
            "The expanded size of the tensor (3) must match the existing size (2) at non-singleton dimension 0.  \
             Target sizes: [3, 3].  Tensor sizes: [2, 3]",
        ),
        (
            t.expand(&[-2, 3]),
            Runtime,
            "The expanded size of the tensor (-2) must match the existing size (2) at non-singleton dimension 0.  \
             Target sizes: [-2, 3].  Tensor sizes: [2, 3]",
        ),
        (
            t.expand(&[-1, 2, 3]),
            Runtime,
            "The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension 0",
        ),
        (
            x(&[5]).expand(&[-1, -1, -1]),
            Runtime,
            "The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension 1",
        ),
        (
            t.expand(&[3]),
            Runtime,
            "expand(torch.FloatTensor{[2, 3]}, size=[3]): the number of sizes provided (1) must be greater or equal \
             to the number of dimensions in the tensor (2)",
        ),
        (t.expand(&[-2, 2, 3]), Runtime, "Trying to create tensor with negative dimension -2: [-2, 2, 3]"),
        (
            x(&[1, 1]).expand(&[1 << 40, 1 << 40]),
            Runtime,
            "Storage size calculation overflowed with sizes=[1099511627776, 1099511627776]: \
             1208925819614629174706176 elements",
        ),
        (t.expand(&[1; 65]), Runtime, "a tensor of 65 dimensions is not supported: at most 64 are"),
        (x(&[1; 64]).unsqueeze(0), Runtime, "a tensor of 65 dimensions is not supported: at most 64 are"),
        (x(&[1; 64]).unfold(0, 1, 1), Runtime, "a tensor of 65 dimensions is not supported: at most 64 are"),
    ]);
}

#[test]
fn dimensions() {
    let (scalar, t, cube) = (x(&[]), x(&[2, 3]), x(&[2, 3, 4]));
    let out = "Dimension out of range (expected to be in range of";
    let range = |range: &str, got: isize| format!("{out} {range}, but got {got})");
    for (result, text) in [
        (t.unsqueeze(5), range("[-3, 2]", 5)),
        (t.unsqueeze(-4), range("[-3, 2]", -4)),
        (scalar.unsqueeze(1), range("[-1, 0]", 1)),
        (t.squeeze_dim(2), range("[-2, 1]", 2)),
        (scalar.squeeze_dim(-2), range("[-1, 0]", -2)),
        (t.permute(&[0, 2]), range("[-2, 1]", 2)),
        (t.transpose(-3, 0), range("[-2, 1]", -3)),
        (t.movedim(&[2], &[0]), range("[-2, 1]", 2)),
        (t.flatten(0, 5), range("[-2, 1]", 5)),
        (t.narrow(2, 0, 1), range("[-2, 1]", 2)),
        (t.select(2, 0), range("[-2, 1]", 2)),
        (t.slice(2, None, None, 1), range("[-2, 1]", 2)),
        (t.flip(&[2]), range("[-2, 1]", 2)),
        (x(&[3]).diagonal(0, 0, 1), range("[-1, 0]", 1)),
        (t.unfold(isize::MIN, 2, 1), range("[-2, 1]", isize::MIN)),
    ] {
        check(&[(result, Index, &text)]);
    }
    check(&[
        (t.flip(&[-1, 1]), Runtime, "dim 1 appears multiple times in the list of dims"),
        (t.squeeze_dims(&[0, 0]), Runtime, "dim 0 appears multiple times in the list of dims"),
        (
            t.permute(&[0]),
            Runtime,
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired \
             ordering of dimensions i.e. input.dim() = 2 is not equal to len(dims) = 1",
        ),
        (t.permute(&[0, -2]), Runtime, "permute(): duplicate dims are not allowed."),
        (cube.t(), Runtime, "t() expects a tensor with <= 2 dimensions, but self is 3D"),
        (
            x(&[3]).matrix_transpose(),
            Runtime,
            "tensor.mT is only supported on matrices or batches of matrices. Got 1-D tensor.",
        ),
        (
            cube.movedim(&[0, 1], &[2]),
            Runtime,
            "movedim: Invalid source or destination dims: source ([0, 1] dims) should contain the same number of \
             dims as destination ([2] dims)",
        ),
        (cube.movedim(&[0, -3], &[2, 1]), Runtime, "movedim: repeated dim in `source` ([0, -3])"),
        (cube.movedim(&[0, 1], &[2, -1]), Runtime, "movedim: repeated dim in `destination` ([2, -1])"),
        (t.flatten(1, 0), Runtime, "flatten() has invalid args: start_dim cannot come after end_dim"),
        (t.diagonal(0, -1, 1), Runtime, "diagonal dimensions cannot be identical -1, 1"),
    ]);
}

#[test]
fn viewing() {
    let (t, empty) = (x(&[2, 3]), x(&[0, 3]));
    check(&[
        (t.view(&[7]), Runtime, "shape '[7]' is invalid for input of size 6"),
        (t.view(&[-1, 4]), Runtime, "shape '[-1, 4]' is invalid for input of size 6"),
        (t.view(&[-1, 0]), Runtime, "shape '[-1, 0]' is invalid for input of size 6"),
        (t.view(&[]), Runtime, "shape '[]' is invalid for input of size 6"),
        (t.view(&[1 << 62, 4]), Runtime, "shape '[4611686018427387904, 4]' is invalid for input of size 6"),
        (t.view(&[-1, -1]), Runtime, "only one dimension can be inferred"),
        (t.view(&[-2, -1, -1]), Runtime, "invalid shape dimension -2 at index 0 of shape [-2, -1, -1]"),
        (
            empty.view(&[5, -1, 0]),
            Runtime,
            "cannot reshape tensor of 0 elements into shape [5, -1, 0] because the unspecified dimension size -1 can \
             be any value and is ambiguous",
        ),
        (
            t.t().unwrap().view(&[6]),
            Runtime,
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across \
             two contiguous subspaces). Use .reshape(...) instead.",
        ),
    ]);
    assert_eq!(t.t().unwrap().flatten(0, 1), Err(ShapeError::ViewIncompatible));
}

#[test]
fn choosing() {
    let (scalar, t) = (x(&[]), x(&[2, 3]));
    check(&[
        (scalar.narrow(0, 0, 1), Runtime, "narrow() cannot be applied to a 0-dim tensor."),
        (scalar.select(0, 0), Index, "select() cannot be applied to a 0-dim tensor."),
        (scalar.slice(0, None, None, 1), Index, "slice() cannot be applied to a 0-dim tensor."),
        (t.narrow(0, -3, 1), Index, "start out of range (expected to be in range of [-2, 2], but got -3)"),
        (x(&[0]).narrow(0, 2, 0), Index, "start out of range (expected to be in range of [0, 0], but got 2)"),
        (t.narrow(0, 0, -1), Runtime, "narrow(): length must be non-negative."),
        (t.narrow(1, -1, 2), Runtime, "start (2) + length (2) exceeds dimension size (3)."),
        (
            t.narrow(0, 1, isize::MAX),
            Runtime,
            "start (1) + length (9223372036854775807) exceeds dimension size (2).",
        ),
        (t.select(0, 2), Index, "select(): index 2 out of range for tensor of size [2, 3] at dimension 0"),
        (t.select(-1, -4), Index, "select(): index -4 out of range for tensor of size [2, 3] at dimension 1"),
        (t.slice(0, Some(0), Some(1), 0), Value, "slice step cannot be zero"),
        (t.unfold(0, 3, 1), Runtime, "maximum size for tensor at dimension 0 is 2 but size is 3"),
        (scalar.unfold(0, 2, 1), Runtime, "maximum size for tensor at dimension 0 is 1 but size is 2"),
        (t.unfold(0, -1, 1), Runtime, "size is -1 but must be >= 0"),
        (t.unfold(0, 2, 0), Runtime, "step is 0 but must be > 0"),
    ]);
}

#[test]
fn layouts() {
    let layout = |sizes: &[usize], strides: &[isize], offset| {
        Layout::new(Shape::new(sizes).unwrap(), Strides::new(strides).unwrap(), offset)
    };
    check(&[
        (layout(&[2], &[1, 1], 0), Runtime, "mismatch in length of strides and shape"),
        (layout(&[2, 2], &[1, 1], -1), Runtime, "Tensor: invalid storage offset -1"),
        (
            layout(&[4, 2], &[-1, 1], 2),
            Runtime,
            "a view of sizes [4, 2] would reach element -1, before the start of its storage",
        ),
        (
            layout(&[3, 2], &[isize::MAX, 1], 0),
            Runtime,
            "Storage size calculation overflowed with sizes=[3, 2] and strides=[9223372036854775807, 1]",
        ),
        (
            layout(&[2], &[1], isize::MAX),
            Runtime,
            "Storage size calculation overflowed with sizes=[2] and strides=[1]",
        ),
    ]);
    // Strides of dimensions without steps do not matter.
    assert!(layout(&[0, 3], &[isize::MIN, isize::MAX], 7).is_ok());
    assert!(layout(&[1, 1], &[isize::MIN, isize::MAX], isize::MAX).is_ok());
}

#[test]
fn zero_dimensional_tensors_accept_dimensions_that_they_do_not_have() {
    let scalar = x(&[]);
    assert_eq!(scalar.squeeze_dim(0).as_ref(), Ok(&scalar));
    assert_eq!(scalar.transpose(0, -1).as_ref(), Ok(&scalar));
    assert_eq!(scalar.movedim(&[0], &[-1]).as_ref(), Ok(&scalar));
    assert_eq!(scalar.flip(&[-1]).as_ref(), Ok(&scalar));
    assert_eq!(scalar.permute(&[]).as_ref(), Ok(&scalar));
    assert_eq!(*scalar.flatten(0, -1).unwrap().shape(), [1]);
    assert_eq!(*scalar.unfold(0, 1, 5).unwrap().shape(), [1]);
    assert_eq!(*scalar.expand(&[2, 0]).unwrap().strides(), [0, 0]);
}
