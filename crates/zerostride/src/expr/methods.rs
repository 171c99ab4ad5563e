//! Owns the methods of `Expr`, most of which are generated from the table of operations. It does not know how
//! an operation is inferred or evaluated.

use zerostride_ops::{Op, Reduction, Scalar, for_each_op};
use zerostride_shape::unflattened_shape;

use super::dims::Dims;
use super::node::Slope;
use super::{Expr, View, formula};
use crate::Slice;
use crate::tensor::{flipped_dim, signed};

/// The type of a method's parameter, by the argument's type in the row, and the expression that passes it to
/// the row's function.
#[rustfmt::skip]
macro_rules! argument {
    (type operand) => { impl Into<Expr> };
    (type optional) => { impl Into<crate::expr::Optional> };
    (type sizes) => { &[usize] };
    (type scalar) => { impl Into<Scalar> };
    (type float) => { f64 };
    (type order) => { f64 };
    (type float_or_zero) => { f64 };
    (type optional_float) => { Option<f64> };
    (type int) => { i64 };
    (type flag) => { bool };
    (type dim) => { isize };
    (type dims) => { impl Into<Dims> };
    (type spread) => { impl Into<Dims> };
    (operand $value:ident) => { &$value.into() };
    (optional $value:ident) => { $value.into().0.as_ref() };
    (scalar $value:ident) => { $value.into() };
    (dims $value:ident) => { &$value.into() };
    (spread $value:ident) => { ($value.into(), 1.0) };
    ($plain:ident $value:ident) => { $value };
}
pub(crate) use argument;

/// The methods of rows whose functions are formulas.
macro_rules! formulas {
    ($(#[$doc:meta])* $name:ident) => {};
    ($(#[$doc:meta])* $name:ident ($($argument:ident $type:ident)*)) => {
        $(#[$doc])*
        #[track_caller]
        pub fn $name(&self, $($argument: argument!(type $type)),*) -> Expr {
            formula::$name(self, $(argument!($type $argument)),*)
        }
    };
}

/// The methods that each section of the table makes.
macro_rules! define_methods {
    (
        unary { $($(#[$udoc:meta])* $uv:ident $un:ident $ui:tt [$($ua:ident)*] $us:tt $ud:ident $ur:ident $ue:ident $ug:ident $uk:literal $($uarg:literal)? $(($($ulist:tt)*))?;)* }
        binary { $($(#[$bdoc:meta])* $bv:ident $bn:ident $bi:tt [$($ba:ident)*] $bs:tt $bd:ident $br:ident $be:ident $bg:ident $bk:literal $($barg:literal)? $(($($blist:tt)*))? $([$law:ident])?;)* }
        nary { $($(#[$ndoc:meta])* $nv:ident $nn:ident $ni:tt [$($na:ident)*] $ns:tt $nd:ident $nr:ident $ne:ident $ng:ident $nk:literal $($narg:literal)? $(($nfirst:ident $(, $np:ident: $nt:ident $($ntext:literal)?)*))?;)* }
        reduce { $($(#[$rdoc:meta])* $rv:ident $rn:ident $rd:ident $rr:ident $ro:ident $req:ident $rone:ident $rp:tt $rem:ident $rl:ident $rg:ident $rdt:tt $rk:literal ($rfirst:ident, $rdims:ident: $rt:ident $rtext:literal);)* }
        formula { $($(#[$fdoc:meta])* $fv:ident $fname:ident $fi:tt $fd:ident $fr:ident $fdt:tt $fk:literal ($ffirst:ident $(, $fp:ident: $ft:ident $($ftext:literal)?)*);)* }
    ) => {
        /// Element-wise operations, reductions and formulas of the table.
        impl Expr {
            $($(#[$udoc])*
            #[track_caller]
            pub fn $un(&self) -> Expr {
                Expr::map(Op::$uv, [self.clone()])
            }
            )*
            $($(#[$bdoc])*
            #[track_caller]
            pub fn $bn(&self, other: impl Into<Expr>) -> Expr {
                Expr::map(Op::$bv, [self.clone(), other.into()])
            }
            )*
            $($(#[$rdoc])*
            pub fn $rn(&self, dims: impl Into<Dims>) -> Expr {
                Expr::reduce(Reduction::$rv, self.clone(), &dims.into(), 1.0)
            }
            )*
            $(formulas! { $(#[$ndoc])* $nn $(($($np $nt)*))? })*
            $(formulas! { $(#[$fdoc])* $fname ($($fp $ft)*) })*
        }
    };
}

for_each_op!(define_methods);

/// Methods for an argument of a row that PyTorch's functions take by name.
impl Expr {
    /// `self + alpha * other`.
    pub fn add_scaled(&self, other: impl Into<Expr>, alpha: impl Into<Scalar>) -> Expr {
        formula::add_scaled(Op::Add, self, &other.into(), alpha.into())
    }

    /// `self - alpha * other`.
    pub fn sub_scaled(&self, other: impl Into<Expr>, alpha: impl Into<Scalar>) -> Expr {
        formula::add_scaled(Op::Sub, self, &other.into(), alpha.into())
    }

    /// `logit` of the value clamped to [eps, 1 - eps]; if the bounds cross, the lower one is applied first.
    ///
    /// ```
    /// let moved = zerostride::Expr::from(&zerostride::tensor![-1.0, 0.9]).logit_clamped(0.75).sigmoid();
    /// assert_eq!(moved.eval()?.to_vec::<f32>()?, [0.75, 0.25]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn logit_clamped(&self, eps: f64) -> Expr {
        formula::logit_clamped(self, eps)
    }

    /// `self` where the bool `condition` holds, else `other`; `torch.where(condition, self, other)`.
    #[track_caller]
    pub fn where_(&self, condition: impl Into<Expr>, other: impl Into<Expr>) -> Expr {
        Expr::map(Op::Where, [condition.into(), self.clone(), other.into()])
    }

    /// The largest elements along a dimension, as [`Expr::amax`] gives them. Of equal ones the first has the
    /// whole derivative, as the values of `torch.max(dim)`; those of `amax` share it.
    ///
    /// ```
    /// use zerostride::{Expr, tensor};
    /// let x = tensor![1.0, 3.0, 3.0];
    /// let gradients = Expr::from(&x).max_along(0).grad(&[&x])?;
    /// assert_eq!(gradients[0].eval()?.to_vec::<f32>()?, [0.0, 1.0, 0.0]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn max_along(&self, dim: impl Into<Dims>) -> Expr {
        self.amax(dim).with_slope(Slope::First)
    }

    /// The smallest elements along a dimension, as [`Expr::max_along`] gives the largest.
    pub fn min_along(&self, dim: impl Into<Dims>) -> Expr {
        self.amin(dim).with_slope(Slope::First)
    }

    /// The variance with `n - correction` degrees of freedom; [`Expr::var`] takes 1.
    pub fn var_corrected(&self, dims: impl Into<Dims>, correction: f64) -> Expr {
        Expr::reduce(Reduction::Var, self.clone(), &dims.into(), correction)
    }

    /// The standard deviation, with `n - correction` degrees of freedom; [`Expr::std`] takes 1.
    pub fn std_corrected(&self, dims: impl Into<Dims>, correction: f64) -> Expr {
        formula::std(self, (dims.into(), correction))
    }

    /// The indices of a dimension that a range takes; negative bounds count from the end, and steps may be
    /// negative ([`Slice`]).
    pub fn slice(&self, dim: isize, slice: impl Into<Slice>) -> Expr {
        let Slice { start, stop, step } = slice.into();
        self.view(View::Slice { dim, start, stop, step })
    }

    /// One dimension as several; -1 is inferred.
    pub fn unflatten(&self, dim: isize, sizes: &[isize]) -> Expr {
        let shape = self.shape().and_then(|shape| Ok(unflattened_shape(shape, dim, sizes)?));
        shape.map_or_else(|error| self.failed("unflatten", error), |shape| self.reshape(&signed(&shape)))
    }

    /// Reverses the second dimension.
    pub fn fliplr(&self) -> Expr {
        self.flipped("fliplr", 1)
    }

    /// Reverses the first dimension.
    pub fn flipud(&self) -> Expr {
        self.flipped("flipud", 0)
    }

    fn flipped(&self, name: &str, dim: usize) -> Expr {
        let dim = self.shape().and_then(|shape| flipped_dim(shape, dim));
        dim.map_or_else(|error| self.failed(name, error), |dim| self.flip(&[dim]))
    }

    /// All dimensions of size 1 dropped, or those of the given ones.
    pub(crate) fn squeeze_some(&self, dims: Option<&[isize]>) -> Expr {
        dims.map_or_else(|| self.squeeze(), |dims| self.squeeze_dims(dims))
    }

    /// Sums over the dimensions that a broadcast from `shape` stretched or added: the transpose of `expand`.
    ///
    /// ```
    /// use zerostride::{Expr, Tensor};
    /// let gradient = Expr::from(&Tensor::ones(&[4, 3])?);
    /// assert_eq!(gradient.sum_to_size(&[1, 3]).eval()?.to_vec::<f32>()?, [4.0, 4.0, 4.0]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn sum_to_size(&self, shape: &[usize]) -> Expr {
        formula::sum_to_size(self, shape)
    }
}

/// Makes each view a method that stores the view as data. It is applied once there is a layout.
macro_rules! views {
    ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $type:ty),*) => $view:expr;)*) => {
        /// The views of `Tensor`, for values that are not computed yet.
        impl Expr {
            $($(#[$doc])*
            pub fn $name(&self, $($arg: $type),*) -> Expr {
                self.view($view)
            }
            )*
        }
    };
}

views! {
    /// Stretches dimensions of size 1, and adds dimensions in front; -1 keeps a size.
    fn expand(sizes: &[isize]) => View::Expand(sizes.into());
    /// `expand` to a shape without -1.
    fn broadcast_to(shape: &[usize]) => View::BroadcastTo(shape.into());
    /// Adds a dimension of size 1.
    fn unsqueeze(dim: isize) => View::Unsqueeze(dim);
    /// Drops all dimensions of size 1.
    fn squeeze() => View::Squeeze;
    /// Drops those of the dimensions whose size is 1.
    fn squeeze_dims(dims: &[isize]) => View::SqueezeDims(dims.into());
    /// Reorders the dimensions.
    fn permute(dims: &[isize]) => View::Permute(dims.into());
    /// Swaps two dimensions.
    fn transpose(dim0: isize, dim1: isize) => View::Transpose(dim0, dim1);
    /// Swaps the dimensions of a matrix; fewer dimensions stay.
    fn t() => View::T;
    /// Swaps the last two dimensions: PyTorch's `mT`.
    fn matrix_transpose() => View::MatrixTranspose;
    /// Moves dimensions to other positions.
    fn movedim(source: &[isize], destination: &[isize]) => View::Movedim(source.into(), destination.into());
    /// The same elements in the same order under other sizes; -1 is inferred.
    fn reshape(sizes: &[isize]) => View::Reshape(sizes.into());
    /// Several dimensions as one.
    fn flatten(start: isize, end: isize) => View::Flatten(start, end);
    /// The part of a dimension that starts at `start`.
    fn narrow(dim: isize, start: isize, length: isize) => View::Narrow { dim, start, length };
    /// One index of a dimension, which goes away.
    fn select(dim: isize, index: isize) => View::Select { dim, index };
    /// Reverses dimensions.
    fn flip(dims: &[isize]) => View::Flip(dims.into());
    /// The diagonal of two dimensions, as the last dimension.
    fn diagonal(offset: isize, dim1: isize, dim2: isize) => View::Diagonal { offset, dim1, dim2 };
    /// All windows of a size along a dimension, as the last dimension.
    fn unfold(dim: isize, size: isize, step: isize) => View::Unfold { dim, size, step };
}
