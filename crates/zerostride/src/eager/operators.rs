//! Owns the assigning operators of Rust, `+=` and its kin, on tensors and expressions. It does not know what
//! may be written in place (`in_place.rs`).

use zerostride_ops::Op;

use super::Operand;
use crate::{Expr, Tensor};

macro_rules! assigning {
    ($($trait_:ident $method:ident $op:ident;)*) => {
        $(
            /// In place, as the method whose name ends in `_`: views and aliases see it.
            ///
            /// # Panics
            /// Where that method is an error, with its message.
            impl<'a, R: Into<Operand<'a>>> std::ops::$trait_<R> for Tensor {
                #[track_caller]
                fn $method(&mut self, right: R) {
                    if let Err(error) = self.apply_(Op::$op, Some(right.into())) {
                        panic!("{error}");
                    }
                }
            }

            /// The expression of the operator without `=`, in the place of this one.
            impl<R: Into<Expr>> std::ops::$trait_<R> for Expr {
                #[track_caller]
                fn $method(&mut self, right: R) {
                    *self = Expr::map(Op::$op, [self.clone(), right.into()]);
                }
            }
        )*
    };
}

assigning! {
    AddAssign add_assign Add;
    SubAssign sub_assign Sub;
    MulAssign mul_assign Mul;
    DivAssign div_assign Div;
    RemAssign rem_assign Remainder;
    BitAndAssign bitand_assign BitwiseAnd;
    BitOrAssign bitor_assign BitwiseOr;
    BitXorAssign bitxor_assign BitwiseXor;
    ShlAssign shl_assign BitwiseLeftShift;
    ShrAssign shr_assign BitwiseRightShift;
}
