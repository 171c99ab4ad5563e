//! Owns the `Reduction` enum, the reductions among the operations, and the columns that only they have. It
//! does not know how elements are accumulated (`kernels`).

use crate::{Category, DType, Op, OpInfo};

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

/// The columns of a reduction.
#[derive(Debug)]
pub struct ReductionInfo {
    /// For which elements it gives the same bits in any order.
    pub order: Order,
    /// Its result for equal elements.
    pub equal: Equal,
    /// Its result for one element.
    pub one: One,
    /// The operation on two elements that combines a few of them, if there is one.
    pub pair: Option<Op>,
    /// Its result for no elements.
    pub empty: Empty,
    /// The meaning of an empty list of dimensions.
    pub list: List,
}

#[rustfmt::skip]
macro_rules! pair {
    (-) => { None };
    ($pair:ident) => { Some(Op::$pair) };
}

macro_rules! define_reductions {
    (
        unary { $($unary:tt)* }
        binary { $($binary:tt)* }
        nary { $($nary:tt)* }
        reduce { $($(#[doc = $doc:literal])* $variant:ident $name:ident $domain:ident $rule:ident $order:ident $equal:ident $one:ident $pair:tt $empty:ident $list:ident $derivative:ident $dtype:tt $kernel:literal ($($list_of_arguments:tt)*);)* }
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
                        pair: pair!($pair),
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
