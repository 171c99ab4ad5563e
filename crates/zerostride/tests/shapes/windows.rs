//! Owns the making of strided windows out of public views, as `torch.as_strided` makes them: non-negative
//! strides only.

use zerostride::Tensor;

/// The window of a one-dimensional storage with these sizes and strides, from `offset` on.
pub(crate) fn window(storage: &Tensor, shape: &[usize], strides: &[usize], offset: usize) -> Tensor {
    if shape.contains(&0) {
        let none = storage.narrow(0, offset as isize, 0).unwrap();
        return none.view(&shape.iter().map(|&size| size as isize).collect::<Vec<_>>()).unwrap();
    }
    // The length that the dimensions from `dim` on reach over.
    let reach =
        |dim: usize| 1 + shape[dim..].iter().zip(&strides[dim..]).map(|(n, s)| (n - 1) * s).sum::<usize>();
    let mut view = storage.narrow(0, offset as isize, reach(0) as isize).unwrap();
    for (dim, (&size, &stride)) in shape.iter().zip(strides).enumerate() {
        view = if stride == 0 {
            let sizes: Vec<isize> = shape[..=dim].iter().map(|&size| size as isize).chain([-1]).collect();
            view.unsqueeze(dim as isize).unwrap().expand(&sizes).unwrap()
        } else {
            view.unfold(dim as isize, reach(dim + 1) as isize, stride as isize).unwrap()
        };
        assert_eq!(view.shape()[dim], size);
    }
    view.select(shape.len() as isize, 0).unwrap()
}

#[test]
fn a_window_lies_where_it_should() {
    let storage = Tensor::arange(0, 24, 1).unwrap();
    for (shape, strides, offset) in [
        (&[3, 3][..], &[1, 3][..], 2),
        (&[2, 3], &[0, 1], 4),
        (&[], &[], 5),
        (&[2, 2, 2], &[3, 2, 7], 1),
        (&[4], &[0], 0),
    ] {
        let view = window(&storage, shape, strides, offset);
        assert!(view.shares_storage(&storage));
        assert_eq!((view.shape(), view.storage_offset()), (shape, offset));
        assert!(view.strides().iter().zip(strides).all(|(&own, &stride)| own == stride as isize));
    }
}
