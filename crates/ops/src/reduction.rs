//! Owns the `Reduction` enum, the reductions among the operations, and the columns that only they have. It
//! does not know how anything is accumulated (`kernels`).

use crate::{Category, DType, Op, OpInfo};

/// Of which elements a reduction has the same bits in any order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(non_camel_case_types, reason = "the table spells its columns in lower case")]
pub enum Order {
    /// Of all.
    any,
    /// Of bools and integers.
    exact,
    /// Of none.
    never,
}

/// What a reduction gives of elements that are all equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(non_camel_case_types, reason = "the table spells its columns in lower case")]
pub enum Equal {
    /// What it gives of one of them.
    same,
    /// As many times the element, of integers.
    multiple,
    /// Something else.
    other,
}

/// What a reduction gives of one element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(non_camel_case_types, reason = "the table spells its columns in lower case")]
pub enum One {
    /// The element.
    element,
    /// The element unless it is complex.
    real,
    /// What the element adds to zero, which a negative zero does not survive.
    from_zero,
    /// Whether the element is not zero.
    truth,
    /// Something else.
    other,
}

/// What a reduction gives of no elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(non_camel_case_types, reason = "the table spells its columns in lower case")]
pub enum Empty {
    /// A value.
    value,
    /// An error: nothing has a largest or smallest element.
    no_extreme,
    /// An error: nothing stands anywhere.
    no_place,
}

/// The dimensions that an empty list of them means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(non_camel_case_types, reason = "the table spells its columns in lower case")]
pub enum List {
    /// All dimensions, as in most of PyTorch's reductions.
    all,
    /// None.
    none,
}

/// The columns of a reduction.
#[derive(Debug)]
pub struct ReductionInfo {
    /// Of which elements it has the same bits in any order.
    pub order: Order,
    /// What it gives of equal elements.
    pub equal: Equal,
    /// What it gives of one element.
    pub one: One,
    /// The operation on two elements that combines a few of them, if there is one.
    pub pair: Option<Op>,
    /// What it gives of no elements.
    pub empty: Empty,
    /// The dimensions that an empty list of them means.
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

            /// The operation that it is.
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
            /// The reduction that the operation is, if it is one.
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

    /// Whether a reduction of elements of that dtype has the same bits in any order of them.
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
