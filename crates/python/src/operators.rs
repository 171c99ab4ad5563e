//! Owns Python's operators on tensors and traced expressions: each is a row of the table of operations. It
//! does not know what a row does (`row.rs`).

use pyo3::basic::CompareOp;
use pyo3::exceptions::{PyNotImplementedError, PyTypeError};
use pyo3::prelude::*;
use zerostride::Op;

use crate::call::Call;
use crate::expr::PyExpr;
use crate::functions;
use crate::number;
use crate::once::Once;
use crate::row;
use crate::rules;
use crate::tensor::PyTensor;

fn call<'a, 'py>(operands: &[&'a Bound<'py, PyAny>]) -> Call<'a, 'py> {
    let positional = operands.iter().copied().collect();
    Call { py: operands[0].py(), positional, named: Default::default(), method: true }
}

fn unary<'py>(op: Op, x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    rules::operator(op.name(), &[x]).unwrap_or_else(|| row::function(op, &mut call(&[x]))).map_err(|error| {
        // The function has another class of error than the operator.
        match op == Op::BitwiseNot && error.is_instance_of::<PyNotImplementedError>(x.py()) {
            true => PyTypeError::new_err(
                "~ (operator.invert) is only implemented on integer and Boolean-type tensors",
            ),
            false => error,
        }
    })
}

/// Returns `NotImplemented` if an operand is not supported; Python then tries the other operand's method.
fn answer<'py>(py: Python<'py>, answer: Option<Bound<'py, PyAny>>) -> Bound<'py, PyAny> {
    answer.unwrap_or_else(|| py.NotImplemented().into_bound(py))
}

fn binary<'py>(op: Op, a: &Bound<'py, PyAny>, b: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if let Some(result) = rules::operator(op.name(), &[a, b]) {
        return result;
    }
    let result = row::operator(op, a, b).map(|result| answer(a.py(), result));
    result.or_else(|error| later(op.name(), a, b, error))
}

/// What dask computes later where an operand is one of its arrays, which the operation refused to load.
fn later<'py>(
    name: &str,
    a: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
    error: PyErr,
) -> PyResult<Bound<'py, PyAny>> {
    static LATER: Once<Py<PyAny>> = Once::new();
    if error.is_instance_of::<PyTypeError>(a.py()) {
        let found = LATER.import(a.py(), "zerostride._lazy", "later")?.call1((name, a, b))?;
        if !found.is_none() {
            return Ok(found);
        }
    }
    Err(error)
}

/// A power; `pow(x, y, modulus)` is not supported.
fn power<'py>(
    a: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
    modulus: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    if modulus.is_some_and(|modulus| !modulus.is_none()) {
        return Ok(answer(a.py(), None));
    }
    binary(Op::Pow, a, b)
}

/// A matrix product; numbers have none, as in PyTorch.
fn matmul<'py>(a: &Bound<'py, PyAny>, b: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if let Some(result) = rules::operator("matmul", &[a, b]) {
        return result;
    }
    if number::extract(a)?.or(number::extract(b)?).is_some() {
        return Ok(answer(a.py(), None));
    }
    let product = functions::matmul(a, b, None)
        .and_then(|product| Ok(answer(a.py(), product.map(|product| product.object(a.py())).transpose()?)));
    product.or_else(|error| later("matmul", a, b, error))
}

fn compared(comparison: CompareOp) -> Op {
    match comparison {
        CompareOp::Lt => Op::Lt,
        CompareOp::Le => Op::Le,
        CompareOp::Eq => Op::Eq,
        CompareOp::Ne => Op::Ne,
        CompareOp::Gt => Op::Gt,
        CompareOp::Ge => Op::Ge,
    }
}

/// The operators of one class.
macro_rules! operators {
    ($class:ident; $($unary:ident $of:ident;)* - $($binary:ident $reflected:ident $op:ident;)*) => {
        #[pymethods]
        impl $class {
            $(fn $unary<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
                unary(Op::$of, slf)
            })*

            $(fn $binary<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
                binary(Op::$op, slf, other)
            }

            fn $reflected<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
                binary(Op::$op, other, slf)
            })*

            fn __pow__<'py>(
                slf: &Bound<'py, Self>,
                other: &Bound<'py, PyAny>,
                modulus: Option<&Bound<'py, PyAny>>,
            ) -> PyResult<Bound<'py, PyAny>> {
                power(slf, other, modulus)
            }

            fn __rpow__<'py>(
                slf: &Bound<'py, Self>,
                other: &Bound<'py, PyAny>,
                modulus: Option<&Bound<'py, PyAny>>,
            ) -> PyResult<Bound<'py, PyAny>> {
                power(other, slf, modulus)
            }

            fn __matmul__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
                matmul(slf, other)
            }

            fn __rmatmul__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
                matmul(other, slf)
            }

            fn __richcmp__<'py>(
                slf: &Bound<'py, Self>,
                other: &Bound<'py, PyAny>,
                comparison: CompareOp,
            ) -> PyResult<Bound<'py, PyAny>> {
                binary(compared(comparison), slf, other)
            }

            /// By identity, since `==` compares elements.
            fn __hash__(slf: &Bound<'_, Self>) -> isize {
                slf.as_ptr() as isize >> 4
            }
        }
    };
}

/// The operators of both classes.
macro_rules! both {
    ($($rows:tt)*) => {
        operators!(PyTensor; $($rows)*);
        operators!(PyExpr; $($rows)*);
    };
}

both! {
    __neg__ Neg;
    __pos__ Positive;
    __invert__ BitwiseNot;
    __abs__ Abs;
    -
    __add__ __radd__ Add;
    __sub__ __rsub__ Sub;
    __mul__ __rmul__ Mul;
    __truediv__ __rtruediv__ Div;
    __floordiv__ __rfloordiv__ FloorDivide;
    __mod__ __rmod__ Remainder;
    __and__ __rand__ BitwiseAnd;
    __or__ __ror__ BitwiseOr;
    __xor__ __rxor__ BitwiseXor;
    __lshift__ __rlshift__ BitwiseLeftShift;
    __rshift__ __rrshift__ BitwiseRightShift;
}

macro_rules! in_place {
    ($($name:ident $op:ident;)*) => {
        #[pymethods]
        impl PyTensor {
            $(fn $name(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
                row::in_place(Op::$op, &mut call(&[slf.as_any(), other])).map(drop)
            })*

            fn __ipow__(
                slf: &Bound<'_, Self>,
                other: &Bound<'_, PyAny>,
                _modulo: Option<&Bound<'_, PyAny>>,
            ) -> PyResult<()> {
                row::in_place(Op::Pow, &mut call(&[slf.as_any(), other])).map(drop)
            }
        }
    };
}

in_place! {
    __iadd__ Add;
    __isub__ Sub;
    __imul__ Mul;
    __itruediv__ Div;
    __ifloordiv__ FloorDivide;
    __imod__ Remainder;
    __iand__ BitwiseAnd;
    __ior__ BitwiseOr;
    __ixor__ BitwiseXor;
    __ilshift__ BitwiseLeftShift;
    __irshift__ BitwiseRightShift;
}
