//! Owns THE table of functions that are not element-wise: views, products, and functions that move elements.
//! The shell, Python and the documents are generated from it. It does not know what a function does: that is
//! a method of its name in `zerostride`.
//!
//! Columns, left to right:
//! - `Variant`, the name in Rust, `[names]` in PyTorch and the array API; the first of them is the name here;
//! - where Python has it: as a `function` of the module, as a `method`, or as `both`;
//! - the arguments, the first of which is `self` in Rust: each by its name in Rust, its type (`Parameter`),
//!   and PyTorch's notation if that is more than the name;
//! - if there are any, the arguments that only Python takes: `out`, `dtype`, and those that have no effect
//!   here.

use once_cell::race::OnceBox;

use crate::signature::{Parameter, parameter};
use crate::{Kind, Signature};

/// Passes the table to `$callback!`, in four sections: `view`, `product`, `join` and `move`.
///
/// A `view` is a method of tensors and expressions, a `product` one of expressions. `join` is a function of
/// tensors and `move` a method of tensors: both read elements.
#[macro_export]
macro_rules! for_each_function {
    ($callback:path) => {
        $callback! {
            view {
                /// Stretches dimensions of size 1 without copying, and adds dimensions in front; -1 keeps a
                /// size.
                Expand expand [expand] both (input: value, size: sizes "*size");
                /// Stretches the tensor to the shape of another one.
                ExpandAs broadcast_to [expand_as] both (input: value, other: shape_of);
                /// Stretches the tensor to a shape, without copying.
                BroadcastTo broadcast_to [broadcast_to] both (input: value, size: counts "*size");
                /// The same elements under other sizes, without copying where that is possible; -1 is
                /// inferred.
                Reshape reshape [reshape] both (input: value, shape: sizes "*shape");
                /// The same elements under other sizes; -1 is inferred.
                View reshape [view] method (input: value, shape: sizes "*shape");
                /// The same elements in the shape of another tensor, without copying where that is possible.
                ReshapeAs reshape [reshape_as] method (input: value, other: sizes_of);
                /// The same elements in the shape of another tensor.
                ViewAs reshape [view_as] method (input: value, other: sizes_of);
                /// Adds a dimension of size 1.
                Unsqueeze unsqueeze [unsqueeze] both (input: value, dim: integer);
                /// Adds a dimension of size 1: the array API's name of `unsqueeze`.
                ExpandDims unsqueeze [expand_dims] function (input: value, dim: integer "dim=0");
                /// Drops the dimensions of size 1, or those of the given ones whose size is 1.
                Squeeze squeeze_some [squeeze] both (input: value, dim: optional_integers "dim=None");
                /// Reorders the dimensions.
                Permute permute [permute] both (input: value, dims: sizes "*dims");
                /// Reorders the dimensions: the array API's name of `permute`.
                PermuteDims permute [permute_dims] function (input: value, axes: integers);
                /// Swaps two dimensions.
                Transpose transpose [transpose swapdims] both (input: value, dim0: integer, dim1: integer);
                /// Swaps two dimensions.
                Swapaxes transpose [swapaxes] both (input: value, axis0: integer, axis1: integer);
                /// Swaps the dimensions of a matrix; fewer dimensions stay.
                T t [t] both (input: value);
                /// Swaps the last two dimensions.
                MatrixTranspose matrix_transpose [matrix_transpose] function (input: value);
                /// Moves dimensions to other positions.
                Movedim movedim [movedim moveaxis] both (input: value, source: integers, destination: integers);
                /// Several dimensions as one.
                Flatten flatten [flatten] both (input: value, start_dim: integer "start_dim=0", end_dim: integer "end_dim=-1");
                /// One dimension as several; -1 is inferred.
                Unflatten unflatten [unflatten] both (input: value, dim: integer, sizes: integers);
                /// The part of a dimension that starts at `start`.
                Narrow narrow [narrow] both (input: value, dim: integer, start: integer, length: integer);
                /// One index of a dimension, which goes away.
                Select select [select] both (input: value, dim: integer, index: integer);
                /// Reverses dimensions, as a view.
                Flip flip [flip] both (input: value, dims: sizes "*dims");
                /// Reverses the second dimension, as a view.
                Fliplr fliplr [fliplr] both (input: value);
                /// Reverses the first dimension, as a view.
                Flipud flipud [flipud] both (input: value);
                /// The diagonal of two dimensions, as the last dimension.
                Diagonal diagonal [diagonal] both (input: value, offset: integer "offset=0", dim1: integer "dim1=0", dim2: integer "dim2=1");
                /// All windows of a size along a dimension, as the last dimension.
                Unfold unfold [unfold] method (input: value, dimension: integer, size: integer, step: integer);
            }
            product {
                /// The matrix product; batch dimensions broadcast without copies.
                Matmul matmul [matmul] both (input: factor, other: factor) "*, out=None";
                /// All products of an element of one vector and one of another.
                Outer outer [outer] both (input: factor, vec2: factor) "*, out=None";
                /// The sum of products along a dimension, the first factor conjugated.
                Vecdot vecdot [vecdot] function (x: factor, y: factor, dim: integer "*, dim=-1") "out=None";
                /// The sum of products over the last dimensions of `a` and the first of `b`, or over two
                /// lists of dimensions.
                Tensordot tensordot_over [tensordot] function (a: factor, b: factor, dims: pairs "dims=2") "*, out=None";
                /// The sums of products over the last dimension of both.
                Inner inner [inner] both (input: factor, other: factor) "*, out=None";
                /// The sum of the diagonal of a matrix.
                Trace trace [trace] both (input: factor);
                /// The covariances of variables, one in each row; each column is an observation of all.
                Cov cov [cov] both (input: factor, correction: long "*, correction=1", fweights: optional_tensor "fweights=None", aweights: optional_tensor "aweights=None");
                /// Pearson's correlation coefficients of variables, one in each row.
                Corrcoef corrcoef [corrcoef] both (input: factor);
                /// Sums what a broadcast from that shape has stretched: the transpose of `expand`.
                SumToSize sum_to_size [sum_to_size] method (input: factor, size: counts "*size");
            }
            join {
                /// Joins tensors along a dimension.
                Cat cat [cat concat concatenate] function (tensors: tensors, dim: integer "dim=0") "*, out=None";
                /// Joins tensors along a new dimension.
                Stack stack [stack] function (tensors: tensors, dim: integer "dim=0") "*, out=None";
                /// Joins tensors side by side: vectors along their only dimension, others along the second.
                Hstack hstack [hstack] function (tensors: tensors) "*, out=None";
                /// Joins tensors one below the other, vectors as rows.
                Vstack vstack [vstack row_stack] function (tensors: tensors) "*, out=None";
                /// Joins tensors along the third dimension.
                Dstack dstack [dstack] function (tensors: tensors) "*, out=None";
            }
            move {
                /// A copy.
                Clone clone_elements [clone] both (input: tensor) "*, memory_format=None";
                /// The tensor repeated along each dimension.
                Repeat repeat [repeat] method (input: tensor, repeats: counts "*repeats");
                /// The tensor repeated along each dimension; with fewer counts, along the last ones.
                Tile tile [tile] both (input: tensor, dims: counts "*dims");
                /// Each element, or slice of a dimension, repeated consecutively: a number of times, or as
                /// often as a tensor gives for it.
                RepeatInterleave repeat_by [repeat_interleave] both (input: tensor, repeats: repeats, dim: optional_integer "dim=None");
                /// The elements shifted along dimensions; those shifted out re-enter at the other end.
                Roll roll [roll] both (input: tensor, shifts: integers, dims: integers "dims=None");
                /// The elements on and below a diagonal of the last two dimensions, zero elsewhere.
                Tril tril [tril] both (input: tensor, diagonal: long "diagonal=0") "*, out=None";
                /// The elements on and above a diagonal of the last two dimensions, zero elsewhere.
                Triu triu [triu] both (input: tensor, diagonal: long "diagonal=0") "*, out=None";
                /// The elements sorted along a dimension, and the index of each; equal elements keep their
                /// order.
                Sort sort [sort] both (input: tensor, dim: integer "dim=-1", descending: flag "descending=False") "stable=False, *, out=None";
                /// The indices that sort the elements along a dimension.
                Argsort argsort [argsort] both (input: tensor, dim: integer "dim=-1", descending: flag "descending=False") "stable=False, *, out=None";
                /// The `k` largest or smallest elements along a dimension, the most extreme first, and their
                /// indices.
                Topk topk [topk] both (input: tensor, k: count, dim: integer "dim=-1", largest: flag "largest=True") "sorted=True, *, out=None";
                /// The distinct values, in rising order.
                Unique unique_values [unique] both (input: tensor);
                /// For each element of an index, the element at that index along a dimension.
                Gather gather [gather] both (input: tensor, dim: integer, index: tensor) "*, sparse_grad=False, out=None";
                /// The elements at flat indices, which count row-major through all dimensions.
                Take take [take] both (input: tensor, index: tensor) "*, out=None";
                /// For each element of an index, the element at that index along a dimension; other
                /// dimensions broadcast.
                TakeAlongDim take_along_dim [take_along_dim] both (input: tensor, indices: tensor, dim: optional_integer "dim=None") "*, out=None";
                /// The slices of a dimension at the given indices.
                IndexSelect index_select [index_select] both (input: tensor, dim: integer, index: tensor) "*, out=None";
                /// The elements where a mask is true, in one dimension.
                MaskedSelect masked_select [masked_select] both (input: tensor, mask: tensor) "*, out=None";
                /// The index of every nonzero element, one row each.
                Nonzero nonzero [nonzero argwhere] both (input: tensor);
                /// The number of elements that are not zero.
                CountNonzero count_nonzero [count_nonzero] both (input: tensor, dim: reduced "dim=None");
                /// The indices at which values would be inserted into sorted ones to keep them sorted.
                Searchsorted searchsorted [searchsorted] function (sorted_sequence: tensor, input: tensor, right: flag "right=False");
                /// The cumulative sums along a dimension.
                Cumsum cumsum [cumsum] both (input: tensor, dim: integer) "*, dtype=None, out=None";
                /// The cumulative products along a dimension.
                Cumprod cumprod [cumprod] both (input: tensor, dim: integer) "*, dtype=None, out=None";
                /// The `n`-th differences of neighbouring elements along a dimension.
                Diff diff [diff] both (input: tensor, n: count "n=1", dim: integer "dim=-1", prepend: optional_tensor "prepend=None", append: optional_tensor "append=None") "*, out=None";
            }
        }
    };
}

/// Where Python has a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(non_camel_case_types, reason = "the table spells its columns in lower case")]
pub enum Shown {
    /// As a function of the module.
    function,
    /// As a method.
    method,
    /// As both.
    both,
}

/// The section of the table that a function is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// Other layouts of the same elements.
    View,
    /// Sums of products.
    Product,
    /// Tensors joined.
    Join,
    /// Elements moved, ordered, selected and counted.
    Move,
}

/// One row of the table of functions.
#[derive(Debug)]
pub struct FunctionInfo {
    /// Its names, PyTorch's first.
    pub names: &'static [&'static str],
    /// The section of the table.
    pub section: Section,
    /// Where Python has it.
    pub shown: Shown,
    /// The arguments in PyTorch's notation.
    pub arguments: &'static str,
    /// The arguments that Python takes.
    pub python: &'static str,
    /// The arguments that only Python takes.
    more: &'static str,
    /// What it does, in one sentence.
    pub doc: &'static str,
    parameters: &'static [Parameter],
}

macro_rules! define_functions {
    ($($section:ident {
        $($(#[doc = $doc:literal])* $variant:ident $method:ident [$($name:ident)*] $shown:ident
            ($first:ident: $of:ident $($text:literal)? $(, $argument:ident: $type:ident $($notation:literal)?)*) $($more:literal)?;)*
    })*) => {
        /// A function: one row of the table of functions.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Function {
            $($($(#[doc = $doc])* $variant,)*)*
        }

        impl Function {
            /// Every function, in table order.
            pub const ALL: &'static [Function] = &[$($(Function::$variant,)*)*];
        }

        static ROWS: &[FunctionInfo] = &[$($(FunctionInfo {
            names: &[$(stringify!($name)),*],
            section: section!($section),
            shown: Shown::$shown,
            arguments: concat!(
                parameter!(notation $first $($text)?) $(, ", ", parameter!(notation $argument $($notation)?))*
            ),
            python: concat!(
                parameter!(notation $first $($text)?) $(, ", ", parameter!(notation $argument $($notation)?))*
                $(, ", ", $more)?
            ),
            more: concat!($($more)?),
            doc: concat!($($doc),*),
            parameters: &[
                Parameter { notation: parameter!(notation $first $($text)?), kinds: parameter!(kinds $of) },
                $(Parameter { notation: parameter!(notation $argument $($notation)?), kinds: parameter!(kinds $type) },)*
            ],
        },)*)*];
    };
}

#[rustfmt::skip]
macro_rules! section {
    (view) => { Section::View };
    (product) => { Section::Product };
    (join) => { Section::Join };
    (move) => { Section::Move };
}

crate::for_each_function!(define_functions);

impl Function {
    /// The function's row.
    pub const fn info(self) -> &'static FunctionInfo {
        &ROWS[self as usize]
    }

    /// The first of its names.
    pub fn name(self) -> &'static str {
        self.info().names[0]
    }

    /// The arguments with their kinds and defaults.
    pub fn signature(self) -> &'static Signature {
        static SIGNATURES: [OnceBox<Signature>; Function::ALL.len()] =
            [const { OnceBox::new() }; Function::ALL.len()];
        let parse = || Box::new(Signature::parse(self.info().parameters.iter().copied()));
        SIGNATURES[self as usize].get_or_init(parse)
    }

    /// The arguments that Python takes.
    pub fn python_signature(self) -> &'static Signature {
        static SIGNATURES: [OnceBox<Signature>; Function::ALL.len()] =
            [const { OnceBox::new() }; Function::ALL.len()];
        let FunctionInfo { parameters, more, .. } = *self.info();
        let more = (!more.is_empty()).then_some(Parameter { notation: more, kinds: &[] });
        let parse = || Box::new(Signature::parse(parameters.iter().copied().chain(more)));
        SIGNATURES[self as usize].get_or_init(parse)
    }

    /// The function of that name.
    ///
    /// ```
    /// use zerostride_ops::Function;
    /// assert_eq!(Function::from_name("moveaxis"), Some(Function::Movedim));
    /// assert_eq!(Function::from_name("move"), None);
    /// ```
    pub fn from_name(name: &str) -> Option<Function> {
        Function::ALL.iter().copied().find(|function| function.info().names.contains(&name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Op;

    #[test]
    fn a_name_means_one_function_and_no_operation() {
        assert_eq!(ROWS.len(), Function::ALL.len());
        for &function in Function::ALL {
            for name in function.info().names {
                assert_eq!(
                    (Function::from_name(name), Op::from_name(name)),
                    (Some(function), None),
                    "{name}"
                );
            }
        }
    }

    #[test]
    fn every_row_is_documented_and_its_signature_reads() {
        for function in Function::ALL {
            assert!(function.info().doc.ends_with('.'), "{function:?}");
            assert!(!function.signature().arguments.is_empty(), "{function:?}");
        }
    }
}
