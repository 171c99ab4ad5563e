//! Owns calls of operations by their row of the table: binds positional and named arguments, as PyTorch does,
//! to the row's signature, and checks them. The shell and Python call operations through it. It does not know
//! the shell's syntax (`cli`) nor Python objects.

use zerostride_ops::{
    self as ops, Category, DType, Kind, Misfit, Op, Reduction, Rule, Scalar, Signature, for_each_op,
    promote_types,
};
use zerostride_shape::ErrorClass;

use super::{Dims, Expr, Operands, formula, keepdim};
use crate::{Error, Result, Tensor};

/// One argument of a call.
#[derive(Clone, Debug)]
pub enum Argument {
    /// A tensor, a computation or a number.
    Expr(Expr),
    /// A bare number, kept apart from `Expr` so that no node is made where none is needed.
    Number(Scalar),
    /// A list of dimensions, such as `(0, -1)`, or of sizes.
    Dims(Vec<isize>),
    /// Two lists of dimensions.
    Pairs([Vec<isize>; 2]),
    /// A tensor whose elements are in memory, for a function that reads them or takes a view of it.
    Tensor(Tensor),
    /// A list of tensors whose elements are in memory.
    Tensors(Vec<Tensor>),
    /// A quoted word, such as a rounding mode.
    Word(String),
    /// The dtype to compute in.
    DType(DType),
    /// `None`.
    None,
}

impl Argument {
    /// The argument as a number, if it is one.
    fn number(&self) -> Option<Scalar> {
        match self {
            Argument::Number(number) => Some(*number),
            Argument::Expr(expr) => expr.number(),
            _ => None,
        }
    }
}

/// The arguments of a call.
#[derive(Clone, Debug, Default)]
pub struct Arguments {
    /// By position.
    pub positional: Vec<Argument>,
    /// By name.
    pub named: Vec<(String, Argument)>,
}

/// Calls an operation of the table, as `torch.NAME(...)` would be called.
///
/// # Errors
/// An argument is missing, unknown, given twice or of the wrong kind. Errors of the operation itself are in
/// the expression, as they are for methods.
///
/// ```
/// use zerostride::{Argument, Arguments, Op, call, tensor};
/// let x = Argument::Expr((&tensor![[1.0, 2.0], [3.0, 4.0]]).into());
/// let arguments = Arguments {
///     positional: vec![x, Argument::Expr(0.into())],
///     named: vec![("keepdim".to_owned(), Argument::Expr(true.into()))],
/// };
/// assert_eq!(call(Op::Sum, arguments)?.eval()?.to_vec::<f32>()?, [4.0, 6.0]);
/// # Ok::<(), zerostride::Error>(())
/// ```
#[track_caller]
pub fn call(op: Op, arguments: Arguments) -> Result<Expr> {
    BoundArguments::new(op, arguments)?.call()
}

/// Arguments in the order of the signature.
struct BoundArguments {
    op: Op,
    signature: &'static Signature,
    values: Vec<Option<Argument>>,
}

impl BoundArguments {
    fn new(op: Op, arguments: Arguments) -> Result<BoundArguments> {
        let signature = op.signature();
        let given = arguments.positional.len();
        match signature.bind(arguments.positional, arguments.named) {
            Ok(bound) => Ok(BoundArguments { op, signature, values: bound.values }),
            Err(Misfit::TooMany(_)) => {
                let by_position =
                    signature.arguments.iter().filter(|argument| !argument.keyword_only).count();
                let arguments = if by_position == 1 { "argument" } else { "arguments" };
                let message =
                    format_args!("takes {by_position} positional {arguments} but {given} were given");
                Err(wrong(op, message))
            }
            Err(Misfit::Unknown(name)) => {
                Err(wrong(op, format_args!("got an unexpected keyword argument '{name}'")))
            }
            Err(Misfit::Twice(name)) => {
                Err(wrong(op, format_args!("got multiple values for argument '{name}'")))
            }
        }
    }

    fn position(&self, name: &str) -> usize {
        self.signature.position(name).expect("the signature of the operation has the argument")
    }

    /// The argument as given, or its default.
    fn take(&mut self, position: usize) -> Result<Argument> {
        let argument = &self.signature.arguments[position];
        match (self.values[position].take(), argument.default) {
            (Some(value), _) => Ok(value),
            (None, ops::Default::Scalar(scalar)) => Ok(Argument::Number(scalar)),
            (None, ops::Default::Word(word)) => Ok(Argument::Word(word.to_owned())),
            (None, ops::Default::None) => Ok(Argument::None),
            (None, ops::Default::Required) => {
                Err(wrong(self.op, format_args!("is missing the argument '{}'", argument.name)))
            }
        }
    }

    fn refuse<T>(&self, name: &str, wanted: &str) -> Result<T> {
        Err(wrong(self.op, format_args!("wants {wanted} as argument '{name}'")))
    }

    fn first(&mut self) -> Result<Expr> {
        self.expr(self.signature.arguments[0].name)
    }

    /// All operands.
    fn operands(&mut self) -> Result<Operands> {
        let arguments = self.signature.arguments.iter();
        let operands = arguments.filter(|argument| argument.kind == Kind::Operand);
        operands.map(|argument| self.expr(argument.name)).collect()
    }

    fn expr(&mut self, name: &str) -> Result<Expr> {
        match self.take(self.position(name))? {
            Argument::Expr(expr) => Ok(expr),
            Argument::Number(number) => Ok(number.into()),
            _ => self.refuse(name, "a tensor or a number"),
        }
    }

    fn optional_expr(&mut self, name: &str) -> Result<Option<Expr>> {
        match self.take(self.position(name))? {
            Argument::Expr(expr) => Ok(Some(expr)),
            Argument::Number(number) => Ok(Some(number.into())),
            Argument::None => Ok(None),
            _ => self.refuse(name, "a tensor, a number or None"),
        }
    }

    fn scalar(&mut self, name: &str) -> Result<Scalar> {
        match self.take(self.position(name))?.number() {
            Some(number) => Ok(number),
            None => self.refuse(name, "a number"),
        }
    }

    fn float(&mut self, name: &str) -> Result<f64> {
        match self.scalar(name)? {
            Scalar::Complex(_) => self.refuse(name, "a real number"),
            number => Ok(number.to_f64()),
        }
    }

    /// The order of a norm.
    fn order(&mut self, name: &str) -> Result<f64> {
        let position = self.position(name);
        match &self.values[position] {
            Some(Argument::None) => Ok(2.0),
            Some(Argument::Word(word)) if word == "fro" => Ok(2.0),
            Some(Argument::Word(_)) => self.refuse(name, "a number or 'fro'"),
            _ => self.float(name),
        }
    }

    fn optional_float(&mut self, name: &str) -> Result<Option<f64>> {
        let argument = self.take(self.position(name))?;
        match argument.number() {
            Some(number) if !matches!(number, Scalar::Complex(_)) => Ok(Some(number.to_f64())),
            None if matches!(argument, Argument::None) => Ok(None),
            _ => self.refuse(name, "a real number or None"),
        }
    }

    fn int(&mut self, name: &str) -> Result<i64> {
        match self.scalar(name)? {
            Scalar::Int(number) => Ok(number),
            _ => self.refuse(name, "an integer"),
        }
    }

    fn flag(&mut self, name: &str) -> Result<bool> {
        match self.scalar(name)? {
            Scalar::Bool(flag) => Ok(flag),
            _ => self.refuse(name, "True or False"),
        }
    }

    fn word(&mut self, name: &str) -> Result<Option<String>> {
        match self.take(self.position(name))? {
            Argument::Word(word) => Ok(Some(word)),
            Argument::None => Ok(None),
            _ => self.refuse(name, "a quoted word or None"),
        }
    }

    /// The expression that the call makes, computed in the `dtype` that is given.
    #[track_caller]
    fn call(mut self) -> Result<Expr> {
        let Some(dtype) = self.dtype()? else { return self.row() };
        let (op, input) = (self.op, self.first()?);
        // What is refused is refused as it is given: converted, it might be of a dtype that is taken.
        let input = match input.dtype() {
            Ok(own) if takes(op, own) => {
                check_dtype(op, own, dtype)?;
                // No integer is what NaN becomes.
                let input = if op == Op::Nansum { formula::without_nan(&input) } else { input };
                input.to_dtype(dtype)
            }
            _ => input,
        };
        self.values[0] = Some(Argument::Expr(input));
        let result = self.row()?;
        // Sums of integers are i64 whatever the integers' dtype.
        Ok(if op.info().rule == Rule::sum { result.to_dtype(dtype) } else { result })
    }

    fn dtype(&mut self) -> Result<Option<DType>> {
        match self.signature.position("dtype").and_then(|position| self.values[position].take()) {
            Some(Argument::DType(dtype)) => Ok(Some(dtype)),
            None | Some(Argument::None) => Ok(None),
            Some(_) => self.refuse("dtype", "a dtype or None"),
        }
    }

    /// The dimensions, and what `correction` or `unbiased` says to subtract from the number of elements.
    fn spread(&mut self) -> Result<(Dims, f64)> {
        let correction = self.correction()?;
        Ok((self.dims()?, correction))
    }

    fn correction(&mut self) -> Result<f64> {
        let [dim, unbiased, correction] = ["dim", "unbiased", "correction"].map(|name| self.position(name));
        let is_flag = |value: &Argument| matches!(value.number(), Some(Scalar::Bool(_)));
        // PyTorch has an overload whose second argument is `unbiased`, where the others take `dim`: `std(x,
        // False)`.
        if self.values[unbiased].is_none() && self.values[dim].as_ref().is_some_and(is_flag) {
            self.values.swap(dim, unbiased);
        }
        match (&self.values[unbiased], &self.values[correction]) {
            (None | Some(Argument::None), _) => Ok(self.optional_float("correction")?.unwrap_or(1.0)),
            (_, None) => Ok(f64::from(u8::from(self.flag("unbiased")?))),
            _ => Err(wrong(self.op, format_args!("takes 'unbiased' or 'correction', not both"))),
        }
    }

    fn sizes(&mut self, name: &str) -> Result<Vec<usize>> {
        let sizes: Option<Vec<usize>> = match self.take(self.position(name))? {
            Argument::Dims(sizes) => sizes.into_iter().map(|size| usize::try_from(size).ok()).collect(),
            other => match other.number() {
                Some(Scalar::Int(size)) => usize::try_from(size).ok().map(|size| vec![size]),
                _ => None,
            },
        };
        sizes.map_or_else(|| self.refuse(name, "sizes"), Ok)
    }

    /// `dim` and `keepdim` together.
    fn dims(&mut self) -> Result<Dims> {
        let dims = match self.take(self.position("dim"))? {
            Argument::None => Dims::default(),
            Argument::Dims(dims) => Dims::from(&dims[..]),
            other => match other.number() {
                Some(Scalar::Int(dim)) => Dims::from(isize::try_from(dim).unwrap_or(isize::MAX)),
                _ => return self.refuse("dim", "a dimension, several, or None"),
            },
        };
        Ok(if self.flag("keepdim")? { keepdim(dims) } else { dims })
    }
}

/// How a row's function gets an argument, by the argument's type in the row.
#[rustfmt::skip]
macro_rules! argument {
    ($bound:ident operand $name:ident) => { &$bound.expr(stringify!($name))? };
    ($bound:ident optional $name:ident) => { $bound.optional_expr(stringify!($name))?.as_ref() };
    ($bound:ident scalar $name:ident) => { $bound.scalar(stringify!($name))? };
    ($bound:ident order $name:ident) => { $bound.order(stringify!($name))? };
    ($bound:ident float $name:ident) => { $bound.float(stringify!($name))? };
    ($bound:ident optional_float $name:ident) => { $bound.optional_float(stringify!($name))? };
    ($bound:ident float_or_zero $name:ident) => { $bound.optional_float(stringify!($name))?.unwrap_or(0.0) };
    ($bound:ident int $name:ident) => { $bound.int(stringify!($name))? };
    ($bound:ident flag $name:ident) => { $bound.flag(stringify!($name))? };
    ($bound:ident word $name:ident) => { $bound.word(stringify!($name))?.as_deref() };
    ($bound:ident dim $name:ident) => { $bound.int(stringify!($name))? as isize };
    ($bound:ident sizes $name:ident) => { &$bound.sizes(stringify!($name))? };
    ($bound:ident dims $name:ident) => { &$bound.dims()? };
    ($bound:ident spread $name:ident) => { $bound.spread()? };
}

/// How a row is called: as an operation on its operands, or by its function if it takes other arguments, too.
#[rustfmt::skip]
macro_rules! row {
    ($bound:ident $op:ident $name:ident) => { Expr::map(Op::$op, $bound.operands()?) };
    ($bound:ident $op:ident $name:ident ($($argument:ident $type:ident)*)) => { formula::$name(&$bound.first()?, $(argument!($bound $type $argument)),*) };
    ($bound:ident $op:ident $name:ident tried $list:tt) => { row!($bound $op $name $list)? };
    ($bound:ident reduce $op:ident dims) => { Expr::reduce(Reduction::$op, $bound.first()?, &$bound.dims()?, 1.0) };
    ($bound:ident reduce $op:ident spread) => {{
        let (dims, correction) = $bound.spread()?;
        Expr::reduce(Reduction::$op, $bound.first()?, &dims, correction)
    }};
}

macro_rules! define_call {
    (
        unary { $($(#[$udoc:meta])* $uv:ident $un:ident $ui:tt [$($ua:ident)*] $us:tt $ud:ident $ur:ident $ue:ident $ug:ident $uk:literal $($uarg:literal)? $(($ufirst:ident $(, $up:ident: $ut:ident $($utext:literal)?)*))?;)* }
        binary { $($(#[$bdoc:meta])* $bv:ident $bn:ident $bi:tt [$($ba:ident)*] $bs:tt $bd:ident $br:ident $be:ident $bg:ident $bk:literal $($barg:literal)? $(($bfirst:ident $(, $bp:ident: $bt:ident $($btext:literal)?)*))? $([$law:ident])?;)* }
        nary { $($(#[$ndoc:meta])* $nv:ident $nn:ident $ni:tt [$($na:ident)*] $ns:tt $nd:ident $nr:ident $ne:ident $ng:ident $nk:literal $($narg:literal)? $(($nfirst:ident $(, $np:ident: $nt:ident $($ntext:literal)?)*))?;)* }
        reduce { $($(#[$rdoc:meta])* $rv:ident $rn:ident $rd:ident $rr:ident $ro:ident $req:ident $rone:ident $rp:tt $rem:ident $rl:ident $rg:ident $rdt:tt $rk:literal ($rfirst:ident, $rdims:ident: $rt:ident $rtext:literal);)* }
        formula { $($(#[$fdoc:meta])* $fv:ident $fname:ident $fi:tt $fd:ident $fr:ident $fdt:tt $fk:literal ($ffirst:ident $(, $fp:ident: $ft:ident $($ftext:literal)?)*);)* }
    ) => {
        impl BoundArguments {
            /// The expression of the row.
            #[track_caller]
            fn row(&mut self) -> Result<Expr> {
                let bound = self;
                Ok(match bound.op {
                    $(Op::$uv => row!(bound $uv $un $(tried ($($up $ut)*))?),)*
                    $(Op::$bv => row!(bound $bv $bn $(tried ($($bp $bt)*))?),)*
                    $(Op::$nv => row!(bound $nv $nn $(($($np $nt)*))?),)*
                    $(Op::$rv => row!(bound reduce $rv $rt),)*
                    $(Op::$fv => row!(bound $fv $fname ($($fp $ft)*)),)*
                })
            }
        }
    };
}

for_each_op!(define_call);

/// Whether the operation takes an input of this dtype when it is told in which dtype to compute.
fn takes(op: Op, own: DType) -> bool {
    match op {
        Op::Norm => own.category() > Category::Int,
        Op::Nanmean => own.category() == Category::Float,
        Op::Nansum => own.category() < Category::Complex,
        _ => true,
    }
}

/// Refuses a dtype in which the operation cannot compute with an input of dtype `own`.
fn check_dtype(op: Op, own: DType, dtype: DType) -> Result<()> {
    let (given, asked) = (own.scalar_name(), dtype.scalar_name());
    let is_complex = |dtype: DType| dtype.category() == Category::Complex;
    let is_exact = dtype.category() <= Category::Int;
    let message = match op {
        Op::Mean | Op::Nanmean if is_exact => format!(
            "{}(): could not infer output dtype. Optional dtype must be either a floating point or complex dtype. Got: {asked}",
            op.name()
        ),
        Op::Norm if is_exact => {
            format!("linalg.vector_norm: dtype should be floating point or complex, but got {asked}")
        }
        Op::Norm if is_complex(own) != is_complex(dtype) => {
            let kind = if is_complex(own) { "complex" } else { "real" };
            format!("linalg.vector_norm: dtype should be {kind} for {kind} inputs, but got {asked}")
        }
        Op::Norm if promote_types(own, dtype) != Ok(dtype) => format!(
            "linalg.vector_norm: the dtype of the input ({given}) should be convertible without narrowing to the specified dtype ({asked})"
        ),
        _ => return Ok(()),
    };
    let class = if op == Op::Mean { ErrorClass::NotImplemented } else { ErrorClass::Runtime };
    Err(Error::Argument { class, message })
}

fn wrong(op: Op, message: std::fmt::Arguments<'_>) -> Error {
    Error::Argument {
        class: ErrorClass::Type,
        message: format!("{}() {message}; it is called as {}", op.name(), op.usage()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor;

    fn called(op: Op, positional: Vec<Argument>, dtype: DType) -> Result<Tensor> {
        let named = vec![("dtype".to_owned(), Argument::DType(dtype))];
        call(op, Arguments { positional, named })?.eval()
    }

    #[test]
    fn rows_compute_in_the_dtype_that_is_asked_for() {
        use DType::{F32, F64, I8, U8};
        let of = |tensor: &Tensor| Argument::Expr(tensor.into());
        let (ints, halves) = (tensor![100, 50], tensor![0.5_f32, 0.5]);
        for (op, tensor, dtype, expected) in [
            (Op::Sum, &ints, I8, -106.0),
            (Op::Nansum, &ints, U8, 150.0),
            (Op::Prod, &ints, F32, 5000.0),
            (Op::Sum, &halves, I8, 0.0),
            (Op::Mean, &ints, F64, 75.0),
            (Op::Norm, &halves, F64, 0.5_f64.sqrt()),
        ] {
            let found = called(op, vec![of(tensor)], dtype).unwrap();
            assert_eq!((found.dtype(), found.scalar_at(&[]).unwrap().to_f64()), (dtype, expected), "{op:?}");
        }
        let softmax = |positional| call(Op::Softmax, Arguments { positional, named: Vec::new() });
        let third = softmax(vec![of(&ints), 0.into(), Argument::DType(F64)]).unwrap();
        assert_eq!(third.dtype().unwrap(), F64);
        assert_eq!(softmax(vec![of(&halves), 0.into(), Argument::None]).unwrap().dtype().unwrap(), F32);
    }

    #[test]
    fn dtypes_are_refused_by_those_that_take_none() {
        use DType::{C64, C128, F32, F64, I16, I32};
        let of = || vec![Argument::Expr((&tensor![1, 2]).into())];
        let as_is = |op, own: DType, dtype| {
            let input = tensor![1, 2].to_dtype(own).unwrap();
            called(op, vec![Argument::Expr((&input).into())], dtype)
        };
        for (op, own, dtype, message) in [
            (
                Op::Norm,
                F32,
                I32,
                "linalg.vector_norm: dtype should be floating point or complex, but got Int",
            ),
            (
                Op::Norm,
                C64,
                F32,
                "linalg.vector_norm: dtype should be complex for complex inputs, but got Float",
            ),
            (
                Op::Norm,
                F32,
                C64,
                "linalg.vector_norm: dtype should be real for real inputs, but got ComplexFloat",
            ),
            (
                Op::Norm,
                C128,
                C64,
                "linalg.vector_norm: the dtype of the input (ComplexDouble) should be convertible without narrowing to the specified dtype (ComplexFloat)",
            ),
            (
                Op::Norm,
                I32,
                F64,
                "linalg.vector_norm: Expected a floating point or complex tensor as input. Got Int",
            ),
            (
                Op::Nanmean,
                F32,
                I16,
                "nanmean(): could not infer output dtype. Optional dtype must be either a floating point or complex dtype. Got: Short",
            ),
            (
                Op::Nanmean,
                I16,
                F32,
                "nanmean(): expected input to have floating point or complex dtype but got Short",
            ),
            (Op::Nansum, C64, F32, "nansum on CPU does not support complex inputs"),
        ] {
            assert_eq!(as_is(op, own, dtype).unwrap_err().root().to_string(), message);
        }
        assert_eq!(as_is(Op::Norm, C64, C128).unwrap().dtype(), F64);
        for (op, dtype, message) in [
            (
                Op::Mean,
                I16,
                "mean(): could not infer output dtype. Optional dtype must be either a floating point or complex dtype. Got: Short",
            ),
            (
                Op::Amax,
                F32,
                "amax() got an unexpected keyword argument 'dtype'; it is called as amax(input, dim=(), keepdim=False)",
            ),
        ] {
            assert_eq!(called(op, of(), dtype).unwrap_err().to_string(), message);
        }
        let third = [of(), vec![Argument::None, false.into(), Argument::DType(F32)]].concat();
        let by_position = call(Op::Sum, Arguments { positional: third, named: Vec::new() });
        assert_eq!(
            by_position.unwrap_err().to_string(),
            "sum() takes 3 positional arguments but 4 were given; it is called as sum(input, dim=None, keepdim=False, *, dtype=None)"
        );
    }
}
