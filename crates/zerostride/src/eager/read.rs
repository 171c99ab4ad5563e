//! Owns the reading of a tensor's elements into Rust values. It does not know how a strided tensor is copied.

use std::ops::Range;

use bytemuck::cast_slice;
use zerostride_kernels::load_scalar;
use zerostride_ops::{DType, Element, Scalar, with_type};
use zerostride_shape::ErrorClass;

use crate::memory::{Claim, Guard, Holder, Request};
use crate::tensor::{PRECISION, PrintedElement, format};
use crate::{Error, Expr, Result, Tensor};

impl Tensor {
    /// Calls `read` with the elements in row-major order and in their stored form; a strided view is copied
    /// first, and so is what is on a device: elements are read where the program is.
    pub(crate) fn with_bytes<R>(&self, read: impl FnOnce(&[u8]) -> R) -> Result<R> {
        self.cpu()?.contiguous()?.with_reach(read)
    }

    /// Calls `read` with the bytes from the lowest to the highest element.
    pub(crate) fn with_reach<R>(&self, read: impl FnOnce(&[u8]) -> R) -> Result<R> {
        let guard = self.reading()?;
        Ok(read(guard.bytes(self.reach())))
    }

    /// A claim to read the tensor's elements.
    fn reading(&self) -> Result<Guard> {
        let claims = Request::from_iter([Claim { bytes: self.reach(), write: false }]);
        Guard::acquire(self.storage(), claims, &Holder::here(None))
    }

    /// Calls `read` with the bytes from the lowest to the highest element, and a function that gives the
    /// range of them in which an element is stored, by its index; nothing is copied.
    fn with_elements<R>(
        &self,
        read: impl FnOnce(&[u8], &dyn Fn(&[usize]) -> Range<usize>) -> R,
    ) -> Result<R> {
        let tensor = self.cpu()?;
        let (reach, size) = (tensor.reach(), tensor.dtype().item_size());
        let place = |index: &[usize]| {
            let steps = index.iter().zip(tensor.strides()).map(|(&index, &stride)| index as isize * stride);
            let start = (tensor.layout().offset() + steps.sum::<isize>()) as usize * size - reach.start;
            start..start + size
        };
        tensor.with_reach(|bytes| read(bytes, &place))
    }

    /// The elements in row-major order.
    ///
    /// # Errors
    /// `T` is not the tensor's type.
    ///
    /// ```
    /// use zerostride::tensor;
    /// assert_eq!(tensor![[1, 2], [3, 4]].t()?.to_vec::<i64>()?, [1, 3, 2, 4]);
    /// assert!(tensor![1.5].to_vec::<i64>().is_err());
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        if T::DTYPE != self.dtype() {
            return Err(Error::WrongType { expected: T::DTYPE, found: self.dtype() });
        }
        self.with_bytes(|bytes| {
            cast_slice::<u8, T::Stored>(bytes).iter().map(|&stored| T::load(stored)).collect()
        })
    }

    /// The elements in row-major order, read when this is called.
    ///
    /// # Errors
    /// As [`Tensor::to_vec`].
    ///
    /// ```
    /// use zerostride::tensor;
    /// assert_eq!(tensor![1, 2, 3].iter::<i64>()?.sum::<i64>(), 6);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn iter<T: Element>(&self) -> Result<std::vec::IntoIter<T>> {
        Ok(self.to_vec::<T>()?.into_iter())
    }

    /// The element of a tensor that has just one.
    ///
    /// # Errors
    /// The tensor has several elements or none, or `T` is not its type.
    ///
    /// ```
    /// use zerostride::tensor;
    /// assert_eq!(tensor![[2.5]].item::<f32>()?, 2.5);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn item<T: Element>(&self) -> Result<T> {
        match self.to_vec()?[..] {
            [item] => Ok(item),
            _ => Err(Error::runtime(format_args!(
                "a Tensor with {} elements cannot be converted to Scalar",
                self.numel()
            ))),
        }
    }

    /// The element at an index, as its Rust type; nothing is copied.
    ///
    /// # Errors
    /// `T` is not the tensor's type, the index has another length than the shape, or an index is not below
    /// its dimension's size.
    ///
    /// ```
    /// use zerostride::tensor;
    /// let x = tensor![[1.0, 2.0], [3.0, 4.0]].sqrt()?;
    /// assert_eq!(x.at::<f32>(&[0, 1])?, 2.0f32.sqrt());
    /// let error = x.at::<f32>(&[0, 2]).unwrap_err();
    /// assert_eq!(error.to_string(), "index [0, 2] is out of bounds for a tensor of shape [2, 2]");
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn at<T: Element>(&self, index: &[usize]) -> Result<T> {
        if T::DTYPE != self.dtype() {
            return Err(Error::WrongType { expected: T::DTYPE, found: self.dtype() });
        }
        self.check_inside(index)?;
        self.with_elements(|bytes, place| T::load(bytemuck::pod_read_unaligned(&bytes[place(index)])))
    }

    /// One element as a number, whatever the dtype; a u64 over `i64::MAX` comes as a float.
    ///
    /// # Errors
    /// The index has another length than the shape, or an index is not below its dimension's size.
    ///
    /// ```
    /// use zerostride::{tensor, Scalar};
    /// assert_eq!(tensor![[1, 2], [3, 4]].scalar_at(&[1, 0])?, Scalar::Int(3));
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn scalar_at(&self, index: &[usize]) -> Result<Scalar> {
        self.check_inside(index)?;
        self.with_elements(|bytes, place| load_scalar(&bytes[place(index)], self.dtype()))
    }

    fn check_inside(&self, index: &[usize]) -> Result<()> {
        let inside =
            index.len() == self.ndim() && index.iter().zip(self.shape()).all(|(index, size)| index < size);
        if inside {
            return Ok(());
        }
        let message =
            format!("index {index:?} is out of bounds for a tensor of shape {}", self.shape_value());
        Err(Error::Argument { class: ErrorClass::Index, message })
    }

    /// The elements converted to another dtype, as PyTorch converts; an alias if it has that dtype.
    ///
    /// # Errors
    /// There is no memory.
    ///
    /// ```
    /// use zerostride::{tensor, DType};
    /// assert_eq!(tensor![1.9, -1.9].to_dtype(DType::I64)?.to_vec::<i64>()?, [1, -1]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn to_dtype(&self, dtype: DType) -> Result<Tensor> {
        if dtype == self.dtype() { Ok(self.alias()) } else { Expr::current(self).to_dtype(dtype).eval() }
    }
}

impl std::fmt::Display for Tensor {
    /// As PyTorch prints it, summarised beyond 1000 elements; `{x:.2}` has two digits after the point.
    ///
    /// ```
    /// let x = zerostride::tensor![0.5, 2.0];
    /// assert_eq!(format!("{x} {x:.2}"), "tensor([0.5000, 2.0000]) tensor([0.50, 2.00])");
    /// ```
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let precision = f.precision().unwrap_or(PRECISION);
        let text = self.with_elements(|bytes, place| {
            format(self.device(), self.dtype(), self.shape(), precision, &mut |index| {
                let stored = &bytes[place(index)];
                with_type!(self.dtype(), T => PrintedElement::from(T::load(bytemuck::pod_read_unaligned(stored))))
            })
        });
        match text {
            Ok(text) => f.write_str(&text),
            // The wait for a thread that writes the tensor was interrupted, or would never end.
            Err(error) => write!(f, "tensor({error})"),
        }
    }
}

impl std::fmt::Display for Expr {
    /// Shape, dtype and the elements, which are computed for it; or the error. An expression that reads files
    /// shows its formula instead of the elements, for these can be many.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let meta = match self.meta() {
            Ok(meta) => meta,
            Err(error) => return write!(f, "expression without a value: {error}"),
        };
        write!(f, "expression of shape {}, {}:", meta.shape, meta.dtype())?;
        if self.node().lazy {
            return write!(f, " {}, not evaluated since it reads files", self.formula());
        }
        match self.eval() {
            Ok(value) => {
                f.write_str("\n")?;
                std::fmt::Display::fmt(&value, f)
            }
            Err(error) => write!(f, " {error}"),
        }
    }
}
