//! Owns the in-place methods and `out`: what may be written to, and which operands may share memory with it,
//! by PyTorch's rules. It does not know how anything is computed.

use zerostride_ops::{Category, Op, OpError, Rule, Scalar, can_cast, for_each_op};
use zerostride_shape::{InternalOverlap, broadcast_shape, check_in_place};

use super::methods::{argument, check_count};
use super::{Operand, evaluate};
use crate::expr::Kind;
use crate::{Argument, Arguments, Error, Expr, Result, Tensor, call, policy};

/// Evaluates `expr`, an operation on `operands`, into `out`, by the rules of PyTorch's `out=` and in-place
/// methods: shared memory is checked before shapes, and shapes before dtypes.
///
/// If an operand shares memory with `out` in another order, this is an error where PyTorch raises one. Where
/// PyTorch would read elements that it has overwritten, the operand's old elements are used.
#[track_caller]
pub(crate) fn write(op: Op, operands: &[Expr], out: &Tensor, expr: Expr) -> Result<()> {
    if let (Op::MaskedFill, [_, mask, ..]) = (op, operands) {
        // In place, PyTorch's message names the tensor's size before the mask's.
        check_in_place(out.shape(), &broadcast_shape(&[out.shape(), mask.shape()?])?)?;
    }
    operands.iter().try_for_each(|operand| out.check_operand(operand))?;
    let refused = expr.meta().map_err(|error| error.root().clone());
    if let Err(Error::Op(refusal @ OpError::Unsupported { op, .. })) = &refused
        && refusal.comes_after_shapes()
        && op.info().class.is_elementwise()
    {
        let shapes = operands.iter().map(Expr::shape).chain([Ok(out.shape())]).collect::<Result<Vec<_>>>()?;
        check_in_place(out.shape(), &broadcast_shape(&shapes)?)?;
    }
    match refused {
        // PyTorch checks that the result can be cast to `out` before it looks for a kernel.
        Err(Error::Op(ref refusal @ OpError::Unsupported { op, dtype }))
            if refusal.comes_after_shapes()
                && op.info().rule != Rule::bool
                && !can_cast(dtype, out.dtype()) =>
        {
            Err(OpError::Cast { from: dtype, to: out.dtype() }.into())
        }
        Ok(_) if out.dtype().category() == Category::Complex && is_modulus(&expr) => {
            Err(Error::runtime("In-place abs is not supported for complex tensors."))
        }
        _ => expr.eval_into(out),
    }
}

fn is_modulus(expr: &Expr) -> bool {
    matches!(expr.node().kind, Kind::Map { op: Op::Abs, .. })
}

/// Evaluates a row of the table of operands alone into its first operand, the target.
#[track_caller]
fn write_at_once<const N: usize>(op: Op, target: &Tensor, operands: [Operand<'_>; N]) -> Result<()> {
    if evaluate::into_at_once(op, &operands, target).is_some() {
        return Ok(());
    }
    let operands = operands.map(Operand::expr);
    write(op, &operands[1..], target, Expr::map(op, operands.iter().cloned()))
}

/// Evaluates a row with further arguments into its first operand, the target. PyTorch refuses to cast the
/// result of `float_power`.
#[track_caller]
fn write_over(op: Op, operands: &[Expr], target: &Tensor, expr: Expr) -> Result<()> {
    match expr.dtype() {
        Ok(result) if op == Op::FloatPower && result != target.dtype() => Err(Error::runtime(format_args!(
            "the base given to float_power_ has dtype {} but the operation's result requires dtype {}",
            target.dtype().scalar_name(),
            result.scalar_name()
        ))),
        _ => write(op, operands, target, expr),
    }
}

/// Adds an argument to a list if it is an operand.
macro_rules! list {
    ($list:ident operand $value:ident) => {
        $list.push($value.clone());
    };
    ($list:ident $type:ident $value:ident) => {};
}

/// One in-place method, if the row has one.
macro_rules! method {
    (- $($rest:tt)*) => {};
    ($name:ident unary $variant:ident $doc:expr) => {
        #[doc = $doc]
        ///
        /// # Errors
        /// The result does not fit the tensor's dtype, or the tensor is stretched.
        #[track_caller]
        pub fn $name(&self) -> Result<()> {
            write_at_once(Op::$variant, self, [self.into()])
        }
    };
    ($name:ident binary $variant:ident $doc:expr) => {
        #[doc = $doc]
        ///
        /// # Errors
        /// The result would be of another shape or not fit the tensor's dtype, the tensor is stretched, or
        /// the operand shares memory with it in another order.
        #[track_caller]
        pub fn $name<'a>(&self, other: impl Into<Operand<'a>>) -> Result<()> {
            write_at_once(Op::$variant, self, [self.into(), other.into()])
        }
    };
}

/// One in-place method of a row with further arguments, if the row has one.
macro_rules! with_arguments {
    (- $($rest:tt)*) => {};
    ($name:ident $variant:ident $of:ident ($($argument:ident $type:ident)*)) => {
        #[doc = concat!("[`Tensor::", stringify!($of), "`] in place.")]
        ///
        /// # Errors
        /// The result would be of another shape or not fit the tensor's dtype, the tensor is stretched, or an
        /// operand shares memory with it in another order.
        #[track_caller]
        #[allow(unused_mut, reason = "not every row has an operand")]
        pub fn $name<'a>(&self, $($argument: argument!(type 'a $type)),*) -> Result<()> {
            $(let $argument = argument!($type $argument);)*
            let mut operands = vec![Expr::current(self)];
            $(list!(operands $type $argument);)*
            write_over(Op::$variant, &operands, self, Expr::current(self).$of($($argument),*))
        }
    };
}

macro_rules! define_methods {
    (
        unary { $($(#[$udoc:meta])* $uv:ident $un:ident $ui:tt [$($ua:ident)*] $us:tt $ud:ident $ur:ident $ue:ident $ug:ident $uk:literal $($uarg:literal)? $(($($ulist:tt)*))?;)* }
        binary { $($(#[$bdoc:meta])* $bv:ident $bn:ident $bi:tt [$($ba:ident)*] $bs:tt $bd:ident $br:ident $be:ident $bg:ident $bk:literal $($barg:literal)? $(($($blist:tt)*))? $([$law:ident])?;)* }
        nary { $($(#[$ndoc:meta])* $nv:ident $nn:ident $ni:tt [$($na:ident)*] $ns:tt $nd:ident $nr:ident $ne:ident $ng:ident $nk:literal $($narg:literal)? $(($nfirst:ident $(, $np:ident: $nt:ident $($ntext:literal)?)*))?;)* }
        reduce { $($reduce:tt)* }
        formula { $($(#[$fdoc:meta])* $fv:ident $fname:ident $fi:tt $fd:ident $fr:ident $fdt:tt $fk:literal ($ffirst:ident $(, $fp:ident: $ft:ident $($ftext:literal)?)*);)* }
    ) => {
        /// In-place operations: the result is written to the tensor, which keeps its shape and dtype.
        #[allow(clippy::extra_unused_lifetimes, reason = "not every row has an operand")]
        impl Tensor {
            $(method! { $ui unary $uv concat!("[`Tensor::", stringify!($un), "`] in place.") })*
            $(method! { $bi binary $bv concat!("[`Tensor::", stringify!($bn), "`] in place.") })*
            $(with_arguments! { $ni $nv $nn $(($($np $nt)*))? })*
            $(with_arguments! { $fi $fv $fname ($($fp $ft)*) })*
        }
    };
}

for_each_op!(define_methods);

/// In-place methods for an argument that PyTorch's methods take by name.
impl Tensor {
    /// [`Tensor::add_scaled`] in place.
    ///
    /// # Errors
    /// As [`Tensor::add_`].
    #[track_caller]
    pub fn add_scaled_<'a>(&self, other: impl Into<Operand<'a>>, alpha: impl Into<Scalar>) -> Result<()> {
        let other = Operand::expr(other);
        let expr = Expr::current(self).add_scaled(&other, alpha);
        write(Op::Add, &[other], self, expr)
    }

    /// [`Tensor::sub_scaled`] in place.
    ///
    /// # Errors
    /// As [`Tensor::sub_`].
    #[track_caller]
    pub fn sub_scaled_<'a>(&self, other: impl Into<Operand<'a>>, alpha: impl Into<Scalar>) -> Result<()> {
        let other = Operand::expr(other);
        let expr = Expr::current(self).sub_scaled(&other, alpha);
        write(Op::Sub, &[other], self, expr)
    }
}

impl Tensor {
    /// Refuses a target that is stretched, and an operand that shares memory with it in another order.
    fn check_operand(&self, operand: &Expr) -> Result<()> {
        if self.layout().has_internal_overlap() != InternalOverlap::No {
            return Err(Error::WriteToExpanded);
        }
        match &operand.node().kind {
            Kind::Leaf { tensor, .. }
                if tensor.shares_storage(self) && self.layout().pytorch_refuses(tensor.layout()) =>
            {
                Err(Error::PartialOverlap)
            }
            _ => Ok(()),
        }
    }

    /// An element-wise operation of the table written to an existing tensor: PyTorch's `out=`.
    ///
    /// The target keeps its shape and dtype (PyTorch would resize it).
    ///
    /// # Errors
    /// As the in-place methods; or the row takes another number of operands.
    ///
    /// ```
    /// use zerostride::{tensor, Op, Tensor};
    /// let out = Tensor::zeros(&[2, 2])?;
    /// Tensor::apply_out(Op::Add, [(&tensor![[1.0], [2.0]]).into(), (&tensor![10.0, 20.0]).into()], &out)?;
    /// assert_eq!(out.to_vec::<f32>()?, [11.0, 21.0, 12.0, 22.0]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    #[track_caller]
    pub fn apply_out<const N: usize>(op: Op, operands: [Operand<'_>; N], out: &Tensor) -> Result<()> {
        check_count(op, N)?;
        if evaluate::into_at_once(op, &operands, out).is_some() {
            return Ok(());
        }
        let operands = operands.map(Operand::expr);
        write(op, &operands, out, Expr::map(op, operands.iter().cloned()))
    }

    /// Evaluates a row of the table whose first operand is this tensor, and which has at most one more, into
    /// this tensor: as [`Tensor::apply`], in place.
    ///
    /// # Errors
    /// As the in-place method of that name; or the row takes another number of operands.
    #[track_caller]
    pub fn apply_<'a>(&'a self, op: Op, other: Option<Operand<'a>>) -> Result<()> {
        check_count(op, 1 + usize::from(other.is_some()))?;
        match other {
            None => write_at_once(op, self, [self.into()]),
            Some(other) => write_at_once(op, self, [self.into(), other]),
        }
    }

    /// Overwrites the elements with those of another tensor, stretched and converted as needed, and moved if
    /// it is on another device: `torch.Tensor.copy_`.
    ///
    /// # Errors
    /// The other tensor does not broadcast to this one's shape, or this one is stretched.
    #[track_caller]
    pub fn copy_<'a>(&self, other: impl Into<Operand<'a>>) -> Result<()> {
        let other = other.into();
        if evaluate::copied_at_once(&other, self).is_some() {
            return Ok(());
        }
        let other = Operand::expr(other);
        if let Kind::Leaf { tensor, version: None } = &other.node().kind
            && tensor.shares_storage(self)
            && tensor.layout() == self.layout()
        {
            return Ok(());
        }
        self.check_operand(&other)?;
        check_in_place(self.shape(), &broadcast_shape(&[self.shape(), other.shape()?])?)?;
        if !other.is_number() {
            policy::report("copy_", &[self.shape(), other.shape()?], self.dtype().item_size())?;
        }
        // A copy may convert to a lower category of dtype, which a result must not.
        self.brought(other)?.to_dtype(self.dtype()).broadcast_to(self.shape()).eval_into(self)
    }

    /// Overwrites all elements with one number. Elements that a stretched dimension repeats are written once.
    ///
    /// # Errors
    /// Elements share memory in another way than by stride 0, or the dtype cannot hold the number.
    pub fn fill_(&self, value: impl Into<Scalar>) -> Result<()> {
        let value = value.into().held_by(self.dtype())?;
        let stretched = |dim: &usize| self.strides()[*dim] == 0 && self.shape()[*dim] > 1;
        let once = (0..self.ndim())
            .filter(stretched)
            .try_fold(self.alias(), |view, dim| view.narrow(dim as isize, 0, 1))?;
        once.copy_(value)
    }
}

/// Calls an operation of the table and writes its result to `out`, which keeps its shape and dtype: PyTorch's
/// `out=`, and its in-place methods if `out` is also the first argument.
///
/// # Errors
/// As [`call`] and the in-place methods, or `out` has another dtype than the `dtype` among the arguments.
///
/// ```
/// use zerostride::{Argument, Arguments, Op, Operand, call_into, tensor};
/// let x = tensor![1.0, 2.0];
/// let operand = |tensor| Argument::Expr(Operand::from(tensor).into());
/// let positional = vec![operand(&x), operand(&tensor![10.0])];
/// let named = vec![("alpha".to_owned(), Argument::Expr(0.5.into()))];
/// call_into(Op::Add, Arguments { positional, named }, &x)?;
/// assert_eq!(x.to_vec::<f32>()?, [6.0, 7.0]);
/// # Ok::<(), zerostride::Error>(())
/// ```
pub fn call_into(op: Op, arguments: Arguments, out: &Tensor) -> Result<()> {
    let given = arguments.positional.iter().chain(arguments.named.iter().map(|(_, value)| value));
    let operand = |argument: &Argument| match argument {
        Argument::Expr(expr) => Some(expr.clone()),
        _ => None,
    };
    let operands: Vec<Expr> = given.clone().filter_map(operand).collect();
    let names_dtype = given.into_iter().any(|argument| matches!(argument, Argument::DType(_)));
    let expr = call(op, arguments)?;
    // The result of a refused expression has no dtype: `write` says which of its mistakes PyTorch names.
    if names_dtype
        && let Ok(asked) = expr.dtype()
        && asked != out.dtype()
    {
        return Err(OpError::Target { asked, target: out.dtype() }.into());
    }
    write(op, &operands, out, expr)
}
