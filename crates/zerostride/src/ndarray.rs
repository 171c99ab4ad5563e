//! Tensors on the memory of the [`ndarray`](https://docs.rs/ndarray) crate's arrays, and results in such
//! arrays, without copies. Needs the feature `ndarray`.
//!
//! ```
//! use ndarray::{Array1, Array2};
//! use zerostride::scope;
//!
//! let x = Array2::<f32>::ones((3, 4));
//! let row = Array1::from_iter((0..4).map(|i| i as f32));
//! let y = scope(|scope| (scope.view(x.view())? * scope.view(row.view())? + 1).eval_array::<f32>())?;
//! assert_eq!(y.shape(), [3, 4]);
//! assert_eq!(y[[2, 3]], 4.0);
//! # Ok::<(), zerostride::Error>(())
//! ```

use bytemuck::{NoUninit, Pod};
use ndarray::{ArcArray, Array, ArrayBase, ArrayD, ArrayView, ArrayViewMut, Data, Dimension, RawData};
use zerostride_ops::Element;
use zerostride_shape::{Layout, Shape, Strides, checked_bytes};

use crate::{Error, Expr, Lent, Result, Scope, Tensor, scope};

impl<'env> Scope<'env> {
    /// A tensor on the elements of an array's view, with its strides, only for reading.
    ///
    /// A view with gaps, as of every second column, is copied: what lies in the gaps may be borrowed by
    /// somebody else. To save that copy, take the whole array and slice the tensor.
    ///
    /// # Errors
    /// The array has more dimensions than a tensor can have, or there is no memory for a copy.
    pub fn view<T: Element + NoUninit, D: Dimension>(&self, array: ArrayView<'env, T, D>) -> Result<Tensor> {
        if has_gaps(&array)? {
            return Tensor::from_vec(array.iter().copied().collect(), array.shape());
        }
        // SAFETY: the elements lie so, alone in their memory, and are borrowed until the scope ends.
        unsafe { self.borrowed(array.as_ptr(), array.shape(), array.strides(), false) }
    }

    /// As [`Scope::view`], for writing too.
    ///
    /// ```
    /// use ndarray::arr2;
    /// use zerostride::scope;
    /// let mut x = arr2(&[[1.0f64, 2.0], [3.0, 4.0]]);
    /// scope(|scope| scope.view_mut(x.view_mut())?.mul_(10).map(drop))?;
    /// assert_eq!(x, arr2(&[[10.0, 20.0], [30.0, 40.0]]));
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    ///
    /// # Errors
    /// The array has more dimensions than a tensor can have, or the view has gaps: take the whole array and
    /// write to a slice of the tensor then.
    pub fn view_mut<T: Element + Pod, D: Dimension>(
        &self,
        mut array: ArrayViewMut<'env, T, D>,
    ) -> Result<Tensor> {
        if has_gaps(&array)? {
            return Err(Error::runtime(
                "the array's view has gaps, which may be borrowed by somebody else; take the whole array and \
                 write to a slice of its tensor",
            ));
        }
        let data = array.as_mut_ptr();
        // SAFETY: as for `view`, and the borrow is exclusive.
        unsafe { self.borrowed(data, array.shape(), array.strides(), true) }
    }
}

/// Whether memory between the elements of an array is none of its own.
fn has_gaps<S: RawData, D: Dimension>(array: &ArrayBase<S, D>) -> Result<bool> {
    // Neither a stretched dimension nor one that runs backwards has other elements.
    let (sizes, steps): (Vec<usize>, Vec<isize>) = array
        .shape()
        .iter()
        .zip(array.strides())
        .map(|(&size, &stride)| (if stride == 0 { size.min(1) } else { size }, stride.saturating_abs()))
        .unzip();
    let layout = Layout::new(Shape::new(&sizes)?, Strides::new(&steps)?, 0)?;
    Ok(layout.numel() > 0 && !layout.is_non_overlapping_and_dense())
}

impl<T: Element + Pod, D: Dimension + 'static> TryFrom<Array<T, D>> for Tensor {
    type Error = Error;

    /// A tensor that keeps the array, and writes its elements where they are.
    ///
    /// ```
    /// use ndarray::Array2;
    /// use zerostride::Tensor;
    /// let x = Tensor::try_from(Array2::<f32>::ones((2, 3)))?;
    /// assert_eq!(x.sum(0)?.to_vec::<f32>()?, [2.0, 2.0, 2.0]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    ///
    /// # Errors
    /// The array has more dimensions than a tensor can have.
    fn try_from(mut array: Array<T, D>) -> Result<Tensor> {
        let data = array.as_mut_ptr();
        // SAFETY: moved, the array keeps its elements, and nothing else has it.
        unsafe { keep(data, array, true) }
    }
}

impl<T: Element + NoUninit, D: Dimension + 'static> TryFrom<ArcArray<T, D>> for Tensor {
    type Error = Error;

    /// A tensor that shares the array's elements, only for reading; a write to the array copies them first.
    ///
    /// # Errors
    /// The array has more dimensions than a tensor can have.
    fn try_from(array: ArcArray<T, D>) -> Result<Tensor> {
        // SAFETY: the array shares its elements, which nothing writes while they are shared.
        unsafe { keep(array.as_ptr(), array, false) }
    }
}

/// A tensor that keeps an array.
///
/// # Safety
/// The array's elements begin at `data` wherever it is moved, among others of a vector that stays as long as
/// it does; nothing else writes there meanwhile, and the array may if `writable`.
unsafe fn keep<S, D>(data: *const S::Elem, array: ArrayBase<S, D>, writable: bool) -> Result<Tensor>
where
    S: Data<Elem: Element + NoUninit> + Send + Sync + 'static,
    D: Dimension + 'static,
{
    let (shape, strides) = (array.shape().to_vec(), array.strides().to_vec());
    let lent = Lent::elements(data, &shape, &strides, writable);
    // SAFETY: elements of `NoUninit` are initialised; the memory is the caller's word until the array is
    // dropped.
    unsafe { Tensor::from_lent(&lent, array) }
}

/// Results in arrays.
impl Expr {
    /// Runs the expression, and writes its value to a new array.
    ///
    /// # Errors
    /// As [`Expr::eval`], and if `T` is not the expression's type.
    ///
    /// ```
    /// use ndarray::arr1;
    /// use zerostride::tensor;
    /// assert_eq!((tensor![1, 2, 3] * 2).eval_array::<i64>()?, arr1(&[2, 4, 6]).into_dyn());
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    #[track_caller]
    pub fn eval_array<T: Element + Pod>(&self) -> Result<ArrayD<T>> {
        let (dtype, shape) = (self.dtype()?, self.shape()?.to_vec());
        if T::DTYPE != dtype {
            return Err(Error::WrongType { expected: T::DTYPE, found: dtype });
        }
        let whole = Shape::new(&shape)?;
        let bytes = checked_bytes(&whole, dtype.item_size())?;
        let zeros = bytemuck::try_zeroed_slice_box(whole.numel());
        let mut elements = zeros.map_err(|()| Error::OutOfMemory { bytes, shape: whole })?;
        scope(|scope| self.eval_into(&scope.slice_mut(&mut elements, &shape)?))?;
        Ok(ArrayD::from_shape_vec(shape, elements.into_vec()).expect("as many elements as the shape has"))
    }
}

impl Tensor {
    /// A copy of the elements in an array.
    ///
    /// # Errors
    /// As [`Tensor::to_vec`].
    pub fn to_array<T: Element>(&self) -> Result<ArrayD<T>> {
        let elements = self.to_vec::<T>()?;
        Ok(ArrayD::from_shape_vec(self.shape(), elements).expect("as many elements as the shape has"))
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array1, Array2, Array3, Axis, arr2, s};

    use super::*;

    fn counted() -> Array3<f64> {
        Array3::from_shape_fn((2, 3, 4), |(i, j, k)| (100 * i + 10 * j + k) as f64)
    }

    #[test]
    fn a_view_lies_as_the_array_does() {
        let (array, row) = (counted(), Array1::from_iter(0..4));
        let turned = array.view().permuted_axes([2, 0, 1]);
        let mut reversed = array.view();
        reversed.invert_axis(Axis(1));
        let stretched = row.broadcast((5, 4)).unwrap();
        scope(|scope| {
            for array in [turned, reversed, array.slice(s![1.., .., ..])] {
                let x = scope.view(array).unwrap();
                assert_eq!((x.shape(), x.strides()), (array.shape(), array.strides()));
                assert_eq!(x.data_ptr().cast_const().cast(), array.as_ptr());
                assert_eq!(x.to_array::<f64>().unwrap(), array.into_dyn());
            }
            let x = scope.view(stretched).unwrap();
            assert_eq!(
                (x.strides(), x.to_array::<i32>().unwrap()),
                (&[0, 1][..], stretched.to_owned().into_dyn())
            );
        });
    }

    #[test]
    fn gaps_are_not_touched() {
        let mut array = counted();
        let (mut even, mut odd) = array.multi_slice_mut((s![.., .., ..;2], s![.., .., 1..;2]));
        scope(|scope| {
            let x = scope.view(odd.view()).unwrap();
            assert_eq!(x.to_array::<f64>().unwrap(), odd.view().into_dyn());
            assert!(scope.view_mut(even.view_mut()).unwrap_err().to_string().contains("gaps"));
        });
        odd.fill(0.0);
    }

    #[test]
    fn arrays_without_elements_or_dimensions_pass() {
        let (empty, single) = (Array2::<f32>::zeros((0, 3)), ndarray::arr0(2.5f32));
        scope(|scope| {
            assert_eq!(scope.view(empty.view()).unwrap().sum(0).unwrap().to_vec::<f32>().unwrap(), [0.0; 3]);
            assert_eq!(scope.view(single.view()).unwrap().item::<f32>().unwrap(), 2.5);
        });
        assert_eq!(Tensor::ones(&[0, 2]).unwrap().to_array::<f32>().unwrap().shape(), [0, 2]);
    }

    #[test]
    fn an_array_that_is_given_stays_where_it_is() {
        let array = counted();
        let data = array.as_ptr();
        let x = Tensor::try_from(array.slice_move(s![.., 1.., ..;-2])).unwrap();
        assert_eq!((x.shape(), x.strides()), (&[2, 2, 2][..], &[12, 4, -2][..]));
        assert_eq!(x.data_ptr().cast_const().cast(), data.wrapping_add(7));
        x.add_(1).unwrap();
        assert_eq!(x.to_vec::<f64>().unwrap(), [14.0, 12.0, 24.0, 22.0, 114.0, 112.0, 124.0, 122.0]);
    }

    #[test]
    fn a_shared_array_is_only_read() {
        let mut array = arr2(&[[1i64, 2], [3, 4]]).into_shared();
        let x = Tensor::try_from(array.clone()).unwrap();
        assert!(matches!(x.fill_(0).unwrap_err().root(), Error::ReadOnly));
        array[[0, 0]] = 9;
        assert_eq!(x.to_vec::<i64>().unwrap(), [1, 2, 3, 4]);
    }

    #[test]
    fn a_result_of_another_type_is_refused() {
        let error = Tensor::ones(&[2]).unwrap().sqrt().unwrap();
        assert!(matches!(Expr::from(&error).eval_array::<f64>(), Err(Error::WrongType { .. })));
    }
}
