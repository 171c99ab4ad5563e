//! Owns `tensor!`: nested array literals as tensors, with PyTorch's dtypes for bare numbers. It does not know
//! how a tensor stores them.

use zerostride_ops::{Complex32, Complex64, Element, bf16, f16};

use super::Tensor;
use crate::Result;

/// What can stand in [`tensor!`](crate::tensor!): a number, or an array of literals.
///
/// A bare Rust literal is what a bare Python number is to `torch.tensor`: an integer becomes i64, a float
/// f32. Rust takes them for `i32` and `f64`, so variables of these two types become i64 and f32, too:
/// [`Tensor::from_vec`] keeps them. Numbers of another type keep it.
pub trait Literal {
    /// The type of the tensor's elements.
    type Item: Element;
    /// The sizes of the nested arrays, outermost first.
    fn shape(sizes: &mut Vec<usize>);
    /// The numbers in row-major order.
    fn flatten(self, items: &mut Vec<Self::Item>);
}

impl<L: Literal, const N: usize> Literal for [L; N] {
    type Item = L::Item;

    fn shape(sizes: &mut Vec<usize>) {
        sizes.push(N);
        L::shape(sizes);
    }

    fn flatten(self, items: &mut Vec<L::Item>) {
        self.into_iter().for_each(|inner| inner.flatten(items));
    }
}

macro_rules! literals {
    ($($from:ty => $to:ty: |$value:ident| $convert:expr;)*) => {
        $(impl Literal for $from {
            type Item = $to;
            fn shape(_sizes: &mut Vec<usize>) {}
            fn flatten(self, items: &mut Vec<$to>) {
                let $value = self;
                items.push($convert);
            }
        })*
    };
}

literals! {
    i32 => i64: |value| i64::from(value);
    f64 => f32: |value| value as f32;
    bool => bool: |value| value;
    u8 => u8: |value| value;
    u16 => u16: |value| value;
    u32 => u32: |value| value;
    u64 => u64: |value| value;
    i8 => i8: |value| value;
    i16 => i16: |value| value;
    i64 => i64: |value| value;
    f32 => f32: |value| value;
    f16 => f16: |value| value;
    bf16 => bf16: |value| value;
    Complex32 => Complex32: |value| value;
    Complex64 => Complex64: |value| value;
}

impl Tensor {
    /// The tensor of a nested array; [`tensor!`](crate::tensor!) calls this.
    ///
    /// # Errors
    /// There is no memory, or the literal nests deeper than 64 dimensions.
    pub fn from_literal<L: Literal>(literal: L) -> Result<Tensor> {
        let (mut shape, mut items) = (Vec::new(), Vec::new());
        L::shape(&mut shape);
        literal.flatten(&mut items);
        Tensor::from_vec(items, &shape)
    }
}

/// A tensor from a nested literal, as `torch.tensor`.
///
/// Bare integers make an i64 tensor, bare floats an f32 one; so do variables of `i32` and `f64`, which
/// [`Tensor::from_vec`](crate::Tensor::from_vec) keeps.
///
/// # Panics
/// If there is no memory for the numbers.
///
/// ```
/// use zerostride::{tensor, DType};
/// let x = tensor![[1, 2, 3]];
/// assert_eq!((x.dtype(), x.shape()), (DType::I64, &[1, 3][..]));
/// assert_eq!(tensor![0.5, 1.5].dtype(), DType::F32);
/// assert_eq!(tensor![true, false].dtype(), DType::Bool);
/// assert_eq!(tensor![5].shape(), [1]);
/// assert_eq!(tensor![0.5; 3].shape(), [3]);
/// ```
#[macro_export]
macro_rules! tensor {
    ($value:expr; $count:expr) => {
        $crate::Tensor::from_literal([$value; $count]).expect("a literal fits in memory")
    };
    ($($row:expr),* $(,)?) => {
        $crate::Tensor::from_literal([$($row),*]).expect("a literal fits in memory")
    };
}
