//! Owns the crate's error: everything that can stop an evaluation, with the data that a diagnosis needs.

#[cfg(feature = "io")]
pub(crate) mod file;
#[cfg(feature = "io")]
pub(crate) mod format;
mod objection;

use std::fmt;

use zerostride_ops::{DType, OpError};
use zerostride_shape::{Diagnostic, ErrorClass, Shape, ShapeError};

use crate::Device;

#[cfg(feature = "io")]
pub use file::{FileError, HeaderLimit, Printable, Problem};
#[cfg(feature = "io")]
pub use format::Format;
pub use objection::{Objection, Record};

/// What `zerostride` functions return.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why something could not be computed. `Display` is PyTorch's line where PyTorch has one.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Shapes that do not go together, or a view that does not exist.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// Dtypes that do not go together, or an operation that refuses one.
    #[error(transparent)]
    Op(#[from] OpError),
    /// A file that could not be read or written.
    #[cfg(feature = "io")]
    #[error(transparent)]
    Io(#[from] std::sync::Arc<FileError>),
    /// An integer was divided by zero. What an in-place operation had written before stays written.
    #[error("ZeroDivisionError")]
    ZeroDivision,
    /// An integer tensor was raised to a negative number.
    #[error("Integers to negative integer powers are not allowed.")]
    NegativePower,
    /// A tensor is written to whose elements share memory.
    #[error(
        "unsupported operation: more than one element of the written-to tensor refers to a single memory location. Please clone() the tensor before performing the operation."
    )]
    WriteToExpanded,
    /// A tensor is written to while it is read at other places.
    #[error(
        "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory location. Please clone() the tensor before performing the operation."
    )]
    PartialOverlap,
    /// A tensor is written to whose memory was lent for reading.
    #[error(
        "the tensor is read-only: its memory was lent for reading. Please clone() the tensor before writing to it."
    )]
    ReadOnly,
    /// The tensor is on memory that was borrowed for a [`scope`](crate::scope), which has ended.
    #[error(
        "the tensor is on memory that was borrowed for a scope, and the scope has ended. Please clone() inside the scope what is to outlive it."
    )]
    ScopeEnded,
    /// An operand was written to in place between its capture in an expression and the evaluation.
    #[error(
        "an operand of shape {shape} was modified in place after the expression captured it (it is at version {found}; the expression expects version {captured}). Evaluate before writing, or clone() the tensor first."
    )]
    Modified {
        /// The operand's shape.
        shape: Shape,
        /// Writes the expression has seen.
        captured: u64,
        /// Writes there were.
        found: u64,
    },
    /// A tensor was wanted that an operation below on the same stack has: the call comes from code that this
    /// operation runs meanwhile, such as a signal's handler, a callback or a destructor, and goes on after
    /// it.
    #[error("{}", held_here(operation, *writes))]
    HeldHere {
        /// The operation, as its plan prints it; empty where it has no name.
        operation: String,
        /// Whether it writes the tensor, or only reads it.
        writes: bool,
    },
    /// As [`Error::HeldHere`], but another thread holds the tensor, and waits for one that the operation that
    /// is running on this thread holds.
    #[error(
        "another thread holds this tensor and waits for one that an operation of this thread holds, which continues only when this call returns: a deadlock. Call this after that operation."
    )]
    Deadlock,
    /// The process forked in code that the evaluation called, and this is the child, which has none of the
    /// evaluation's threads.
    #[error(
        "the evaluation was started by the parent process, whose threads do not exist in this one; evaluate again"
    )]
    Forked,
    /// The evaluation was stopped, by [`interruptible`](crate::interruptible) or by `Options::watch`.
    #[error("the evaluation was interrupted")]
    Interrupted,
    /// The system has no memory left.
    #[error("cannot allocate {bytes} bytes for a tensor of shape {shape}")]
    OutOfMemory {
        /// Bytes asked for.
        bytes: usize,
        /// The tensor's shape.
        shape: Shape,
    },
    /// The system, or a device, has no memory left for what is held while a result is computed.
    #[error("cannot allocate {bytes} bytes that are needed to compute a tensor of shape {shape}")]
    OutOfScratch {
        /// Bytes asked for.
        bytes: usize,
        /// The result's shape.
        shape: Shape,
    },
    /// Elements on a device are wanted by an operation that only the CPU has. Nothing was moved.
    #[error("{} has no kernel for {device}; move its operands with .cpu()", named(operation))]
    NoKernel {
        /// The operation, in PyTorch's words or as its plan prints it; empty where it has no name.
        operation: String,
        /// Where its operands are.
        device: Device,
    },
    /// A device that is not there or does not work.
    #[error("{device}: {reason}")]
    Device {
        /// The device.
        device: Device,
        /// What its driver says.
        reason: String,
    },
    /// Arrays that are not in memory would have to be, and there is not enough of it.
    #[error("{needed} bytes of memory are needed, and {limit} may be taken: {reason}")]
    Memory {
        /// Bytes that evaluation would hold at once.
        needed: u64,
        /// Bytes that it may hold.
        limit: u64,
        /// What needs them, and what to do.
        reason: String,
    },
    /// An argument that the operation does not accept.
    #[error("{message}")]
    Argument {
        /// PyTorch's class of exception.
        class: ErrorClass,
        /// What was wrong, in PyTorch's words where it has some.
        message: String,
    },
    /// Data of another length than the shape asks for.
    #[error("shape '{shape}' is invalid for input of size {len}")]
    Length {
        /// The shape asked for.
        shape: Shape,
        /// Elements given.
        len: usize,
    },
    /// Elements were asked for as another type than the tensor's.
    #[error("expected a tensor of dtype {expected} but got {found}; convert it with to_dtype() first")]
    WrongType {
        /// The dtype of the Rust type asked for.
        expected: DType,
        /// The tensor's dtype.
        found: DType,
    },
    /// A broadcast that the policy in force refuses; nothing was computed.
    #[error("the policy refuses {0}")]
    Policy(Box<Objection>),
    /// Any of the above, with the expression or the call that it came from; [`Error::root`] is the error
    /// itself, to be matched on.
    #[error("{source}")]
    In {
        /// The sub-expression that failed.
        expression: String,
        /// What went wrong there.
        source: Box<Error>,
    },
}

#[cfg(feature = "io")]
impl From<FileError> for Error {
    fn from(error: FileError) -> Self {
        Error::Io(std::sync::Arc::new(error))
    }
}

impl Error {
    /// An argument error of PyTorch's `RuntimeError` class.
    pub(crate) fn runtime(message: impl fmt::Display) -> Error {
        Error::Argument { class: ErrorClass::Runtime, message: message.to_string() }
    }

    /// PyTorch's error where one of its kernels is not there for a dtype.
    pub(crate) fn not_implemented(kernel: &str, dtype: DType) -> Error {
        let message = format!("\"{kernel}\" not implemented for '{}'", dtype.scalar_name());
        Error::Argument { class: ErrorClass::NotImplemented, message }
    }

    /// The error itself, without the expression it came from.
    pub fn root(&self) -> &Error {
        match self {
            Error::In { source, .. } => source.root(),
            other => other,
        }
    }

    /// The sub-expression that failed, where the error came out of an evaluation.
    pub fn expression(&self) -> Option<&str> {
        match self {
            Error::In { expression, .. } => Some(expression),
            _ => None,
        }
    }

    /// The shapes and the failing dimension, where shapes were the matter.
    ///
    /// ```
    /// use zerostride::Tensor;
    /// let a = Tensor::ones(&[5, 2, 4, 1])?;
    /// let b = Tensor::ones(&[3, 1, 1])?;
    /// let error = a.add(&b).unwrap_err();
    /// assert_eq!(error.diagnostic().unwrap().dim, Some(1));
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn diagnostic(&self) -> Option<Diagnostic> {
        match self.root() {
            Error::Shape(error) => Some(error.diagnostic()),
            Error::Policy(objection) => Some(objection.diagnostic()),
            _ => None,
        }
    }

    /// The class of the exception that PyTorch raises.
    pub fn class(&self) -> ErrorClass {
        match self.root() {
            Error::Shape(error) => error.class(),
            Error::Op(error) => error.class(),
            Error::Argument { class, .. } => *class,
            Error::WrongType { .. } => ErrorClass::Type,
            Error::ReadOnly => ErrorClass::Value,
            _ => ErrorClass::Runtime,
        }
    }

    /// Notes the expression an error came from, once.
    pub(crate) fn within(self, expression: impl FnOnce() -> String) -> Error {
        match self {
            Error::In { .. } => self,
            source => Error::In { expression: expression(), source: Box::new(source) },
        }
    }
}

fn named(operation: &str) -> &str {
    if operation.is_empty() { "the operation" } else { operation }
}

fn held_here(operation: &str, writes: bool) -> String {
    let operation = if operation.is_empty() { String::new() } else { format!(" ({operation})") };
    let does = if writes { "writes" } else { "reads" };
    format!(
        "an operation of this thread{operation} {does} this tensor now, and continues only when this call returns. Call this after that operation, or on a clone() made before it."
    )
}

/// A float as messages of PyTorch have it: six digits, as C++ streams write.
pub(crate) fn printed(number: f64) -> String {
    if !number.is_finite() {
        return number.to_string().to_lowercase();
    }
    let scientific = format!("{number:.5e}");
    let (mantissa, exponent) = scientific.split_once('e').expect("the format has an exponent");
    let exponent: i32 = exponent.parse().expect("the exponent is an integer");
    let trimmed = |digits: &str| match digits.contains('.') {
        true => digits.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => digits.to_owned(),
    };
    match usize::try_from(5 - exponent) {
        Ok(decimals) if exponent >= -4 => trimmed(&format!("{number:.decimals$}")),
        _ => format!("{}e{exponent:+03}", trimmed(mantissa)),
    }
}

impl From<zerostride_kernels::Fault> for Error {
    fn from(fault: zerostride_kernels::Fault) -> Self {
        match fault {
            zerostride_kernels::Fault::ZeroDivision => Error::ZeroDivision,
        }
    }
}
