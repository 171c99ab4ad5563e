//! Owns the `Reduction` enum, the reductions among the operations, and the columns that only they have. It
//! does not know how elements are accumulated (`kernels`).

use crate::{Category, DType, Op, OpInfo, Scalar};

/// For which elements a reduction gives the same bits in any order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(non_camel_case_types, reason = "the table spells its columns in lower case")]
pub enum Order {
    /// For all.
    any,
    /// For bools and integers.
    exact,
    /// For none.
    never,
}

/// The result of a reduction of equal elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(non_camel_case_types, reason = "the table spells its columns in lower case")]
pub enum Equal {
    /// That of one of them.
    same,
    /// The element times their number, for integers.
    multiple,
    /// Something else.
    other,
}

/// The result of a reduction of one element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(non_camel_case_types, reason = "the table spells its columns in lower case")]
pub enum One {
    /// The element.
    element,
    /// The element, unless it is complex.
    real,
    /// The element plus zero, which turns -0.0 into 0.0.
    from_zero,
    /// Whether the element is not zero.
    truth,
    /// Something else.
    other,
}

/// The result of a reduction of no elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(non_camel_case_types, reason = "the table spells its columns in lower case")]
pub enum Empty {
    /// A value.
    value,
    /// An error, since there is no largest or smallest element.
    no_extreme,
    /// An error, since there is no index.
    no_place,
}

/// The meaning of an empty list of dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(non_camel_case_types, reason = "the table spells its columns in lower case")]
pub enum List {
    /// All dimensions, as in most of PyTorch's reductions.
    all,
    /// No dimensions.
    none,
}

/// What a reduction holds while elements come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accumulator {
    /// An element, at first one that changes nothing, then what the operation makes of the next element and
    /// the one that is held, in this order.
    Element(Op, Start),
    /// An element and its place. The element stays as long as the comparison of it with the next one is true,
    /// and is NaN from the first one on.
    Place(Op, Start),
    /// The moments of a distribution.
    Moments,
}

/// The element that is held before the first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(non_camel_case_types, reason = "the table spells its columns in lower case")]
pub enum Start {
    /// 0, or false.
    zero,
    /// 1, or true.
    one,
    /// The lowest element of the dtype: of floats, minus infinity.
    lowest,
    /// The highest element of the dtype: of floats, infinity.
    highest,
}

impl Start {
    /// The element as a number of a dtype, modulo 2^64 if it is an integer.
    ///
    /// ```
    /// use zerostride_ops::{DType, Scalar, Start};
    /// assert_eq!(Start::lowest.scalar(DType::I8), Scalar::Int(-128));
    /// assert_eq!(Start::highest.scalar(DType::F32), Scalar::Float(f64::INFINITY));
    /// ```
    pub fn scalar(self, dtype: DType) -> Scalar {
        let (least, most) = dtype.int_range();
        let is_whole = dtype.category() < Category::Float;
        match self {
            Start::zero => Scalar::Int(0),
            Start::one => Scalar::Int(1),
            Start::lowest if is_whole => Scalar::Int(least as i64),
            Start::highest if is_whole => Scalar::Int(most as i64),
            Start::lowest => Scalar::Float(f64::NEG_INFINITY),
            Start::highest => Scalar::Float(f64::INFINITY),
        }
    }
}

/// The columns of a reduction.
#[derive(Debug)]
pub struct ReductionInfo {
    /// For which elements it gives the same bits in any order.
    pub order: Order,
    /// Its result for equal elements.
    pub equal: Equal,
    /// Its result for one element.
    pub one: One,
    /// What it holds while elements come.
    pub accumulator: Accumulator,
    /// Its result for no elements.
    pub empty: Empty,
    /// The meaning of an empty list of dimensions.
    pub list: List,
}

macro_rules! accumulator {
    (($op:ident $start:ident)) => {
        Accumulator::Element(Op::$op, Start::$start)
    };
    (($op:ident $start:ident place)) => {
        Accumulator::Place(Op::$op, Start::$start)
    };
    ((moments)) => {
        Accumulator::Moments
    };
}

macro_rules! define_reductions {
    (
        unary { $($unary:tt)* }
        binary { $($binary:tt)* }
        nary { $($nary:tt)* }
        reduce { $($(#[doc = $doc:literal])* $variant:ident $name:ident $domain:ident $rule:ident $order:ident $equal:ident $one:ident $accumulator:tt $empty:ident $list:ident $derivative:ident $dtype:tt $kernel:literal ($($list_of_arguments:tt)*);)* }
        formula { $($formula:tt)* }
    ) => {
        /// A reduction: one row of the table's section `reduce`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Reduction {
            $($(#[doc = $doc])* $variant,)*
        }

        impl Reduction {
            /// Every reduction, in table order.
            pub const ALL: &'static [Reduction] = &[$(Reduction::$variant),*];

            /// The operation.
            pub const fn op(self) -> Op {
                match self {
                    $(Reduction::$variant => Op::$variant,)*
                }
            }

            /// The columns that only reductions have.
            pub const fn columns(self) -> &'static ReductionInfo {
                match self {
                    $(Reduction::$variant => &ReductionInfo {
                        order: Order::$order,
                        equal: Equal::$equal,
                        one: One::$one,
                        accumulator: accumulator!($accumulator),
                        empty: Empty::$empty,
                        list: List::$list,
                    },)*
                }
            }
        }

        impl Op {
            /// The operation as a reduction, if it is one.
            pub const fn reduction(self) -> Option<Reduction> {
                match self {
                    $(Op::$variant => Some(Reduction::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

crate::for_each_op!(define_reductions);

impl Reduction {
    /// The operation's row.
    pub const fn info(self) -> &'static OpInfo {
        self.op().info()
    }

    /// PyTorch's name.
    pub fn name(self) -> &'static str {
        self.info().name
    }

    /// The operation on two elements of which it consists, if there is one.
    pub fn step(self) -> Option<Op> {
        if let Accumulator::Element(step, _) = self.columns().accumulator { Some(step) } else { None }
    }

    /// Whether a reduction of elements of that dtype gives the same bits in any order.
    ///
    /// ```
    /// use zerostride_ops::{DType, Reduction};
    /// assert!(Reduction::Sum.is_in_any_order(DType::I64));
    /// assert!(!Reduction::Sum.is_in_any_order(DType::F32));
    /// ```
    pub fn is_in_any_order(self, dtype: DType) -> bool {
        match self.columns().order {
            Order::any => true,
            Order::exact => dtype.category() < Category::Float,
            Order::never => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reductions_are_operations() {
        for &reduction in Reduction::ALL {
            assert_eq!(reduction.op().reduction(), Some(reduction));
        }
        assert_eq!(Op::Add.reduction(), None);
    }
}
