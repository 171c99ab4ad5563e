//! Owns the operands from Python: tensors, numbers, traced expressions, and arrays of other libraries, which
//! are read in place. It does not know operations.

use pyo3::prelude::*;
use zerostride::{Expr, Operand, Scalar, Tensor};

use crate::error::raise;
use crate::expr::PyExpr;
use crate::tensor::PyTensor;
use crate::{memory, number};

/// An operand as it was passed.
pub(crate) enum Given<'a> {
    /// A tensor of this package.
    Tensor(&'a Tensor),
    /// An array of another library, to be read: in place, or a copy if its memory cannot be shared.
    Foreign(Tensor),
    /// A bare number.
    Number(Scalar),
    /// A traced expression.
    Traced(&'a Expr),
}

impl<'a> Given<'a> {
    /// The operand, if the object is one.
    #[inline]
    pub(crate) fn new(object: &'a Bound<'_, PyAny>) -> PyResult<Option<Given<'a>>> {
        if let Ok(tensor) = object.cast::<PyTensor>() {
            return Ok(Some(Given::Tensor(&tensor.get().0)));
        }
        match number::extract(object) {
            Ok(Some(number)) => return Ok(Some(Given::Number(number))),
            Ok(None) => {}
            // What only an unsigned integer holds is an array without dimensions.
            Err(error) => {
                let number: u64 = object.extract().map_err(|_| error)?;
                return Ok(Some(Given::Foreign(Tensor::from_slice(&[number], &[]).map_err(raise)?)));
            }
        }
        if let Ok(expr) = object.cast::<PyExpr>() {
            return Ok(Some(Given::Traced(&expr.get().0)));
        }
        Ok(memory::array(object)?.map(|found| Given::Foreign(found.elements())))
    }

    /// The operand of an eager operation.
    pub(crate) fn operand(&'a self) -> Operand<'a> {
        match self {
            Given::Tensor(tensor) => (*tensor).into(),
            Given::Foreign(tensor) => tensor.into(),
            Given::Number(number) => (*number).into(),
            Given::Traced(expr) => (*expr).into(),
        }
    }

    pub(crate) fn expr(&self) -> Expr {
        self.operand().into()
    }

    pub(crate) fn is_traced(&self) -> bool {
        matches!(self, Given::Traced(_))
    }

    /// The number of elements, if it is known.
    pub(crate) fn numel(&self) -> usize {
        match self {
            Given::Tensor(tensor) => tensor.numel(),
            Given::Foreign(tensor) => tensor.numel(),
            Given::Number(_) | Given::Traced(_) => 1,
        }
    }
}
