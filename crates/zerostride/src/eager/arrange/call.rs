//! Owns the call of a function by its row of the table: the conversion of arguments to Rust's types, the
//! method of the row's name, and the shapes and dtypes of its results before it runs. The shell and Python
//! call functions here.

use zerostride_ops::{self as ops, Argument as Parameter, Function, Scalar, for_each_function};
use zerostride_shape::ErrorClass;

use super::join::JoinedParts;
use super::repeat::Repeats;
use super::results::Results;
use crate::expr::ContractedDims;
use crate::tensor::signed;
use crate::{Argument, Dims, Error, Expr, Result, Tensor};

/// The outcome of a call.
pub enum Outcome {
    /// A tensor, which may be a view of an argument.
    Tensor(Tensor),
    /// An expression.
    Expr(Expr),
    /// A function that has not run yet, and what is known of its results.
    Moved(Moved),
}

/// A function that moves elements, about to run.
pub struct Moved {
    results: Results,
    run: Box<dyn FnOnce() -> Result<Vec<Tensor>> + Send>,
}

impl Moved {
    fn ready<R: Several>(results: Results, run: impl FnOnce() -> Result<R> + Send + 'static) -> Outcome {
        Outcome::Moved(Moved { results, run: Box::new(move || run().map(R::tensors)) })
    }

    /// What is known of the results.
    pub fn results(&self) -> &Results {
        &self.results
    }

    /// The results.
    ///
    /// # Errors
    /// The values are refused, as an index out of bounds is, or there is no memory.
    pub fn run(self) -> Result<Vec<Tensor>> {
        (self.run)()
    }
}

/// One tensor or several.
trait Several {
    fn tensors(self) -> Vec<Tensor>;
}

impl Several for Tensor {
    fn tensors(self) -> Vec<Tensor> {
        vec![self]
    }
}

impl Several for (Tensor, Tensor) {
    fn tensors(self) -> Vec<Tensor> {
        vec![self.0, self.1]
    }
}

/// The operand of a view.
enum ViewOperand {
    Tensor(Tensor),
    Expr(Expr),
}

/// Calls a function of the table with arguments in the order of its signature, of the kinds that this says;
/// `None` is an argument that is not given, and what `*size` collects is one argument. Everything is refused
/// here that can be refused without reading an element.
///
/// # Errors
/// As the method of the function's name in Rust, or an argument is missing or of another kind.
///
/// ```
/// use zerostride::{Argument, Function, Outcome, call_function, tensor};
/// let x = Argument::Tensor(tensor![3, 1, 2]);
/// let Outcome::Moved(sort) = call_function(Function::Sort, vec![Some(x), None, Some(true.into())])? else {
///     unreachable!("elements are moved")
/// };
/// assert_eq!(sort.results().bytes(), 2 * 3 * 8);
/// assert_eq!(sort.run()?[0].to_vec::<i64>()?, [3, 2, 1]);
/// # Ok::<(), zerostride::Error>(())
/// ```
pub fn call_function(function: Function, arguments: Vec<Option<Argument>>) -> Result<Outcome> {
    GivenArguments {
        function,
        values: arguments.into_iter(),
        parameters: function.signature().arguments.iter(),
    }
    .call()
}

impl<N: Into<Scalar>> From<N> for Argument {
    fn from(number: N) -> Argument {
        Argument::Number(number.into())
    }
}

/// Arguments, taken one after the other.
struct GivenArguments {
    function: Function,
    values: std::vec::IntoIter<Option<Argument>>,
    parameters: std::slice::Iter<'static, Parameter>,
}

impl GivenArguments {
    /// The next argument, else its default.
    fn next(&mut self) -> Result<(&'static Parameter, Argument)> {
        let parameter = self.parameters.next().expect("a function takes the arguments of its signature");
        let argument = match (self.values.next().flatten(), parameter.default) {
            (Some(Argument::None) | None, ops::Default::Scalar(scalar)) => Argument::Number(scalar),
            (Some(Argument::None) | None, ops::Default::None) => Argument::None,
            (Some(Argument::None) | None, _) if !parameter.collects => {
                return Err(self.wrong(format_args!("is missing the argument '{}'", parameter.name)));
            }
            (argument, _) => argument.unwrap_or(Argument::Dims(Vec::new())),
        };
        Ok((parameter, argument))
    }

    fn wrong(&self, message: std::fmt::Arguments<'_>) -> Error {
        let name = self.function.name();
        let message =
            format!("{name}() {message}; it is called as {name}({})", self.function.info().arguments);
        Error::Argument { class: ErrorClass::Type, message }
    }

    fn refuse<T>(&self, parameter: &Parameter, wanted: &str) -> Result<T> {
        Err(self.wrong(format_args!("wants {wanted} as argument '{}'", parameter.name)))
    }
}

/// How the next argument is converted, by its type in the row: the values that it may have, and what the
/// error says it must be.
#[rustfmt::skip]
macro_rules! define_types {
    ($($type:ident -> $taken:ty, $wanted:literal { $($argument:pat $(if $guard:expr)? => $value:expr,)+ })*) => {
        impl GivenArguments {
            $(fn $type(&mut self) -> Result<$taken> {
                match self.next()? {
                    $((_, $argument) $(if $guard)? => Ok($value),)+
                    (parameter, _) => self.refuse(parameter, $wanted),
                }
            })*
        }
    };
}

#[rustfmt::skip]
define_types! {
    value -> ViewOperand, "a tensor" {
        Argument::Tensor(tensor) => ViewOperand::Tensor(tensor),
        Argument::Expr(expr) => ViewOperand::Expr(expr),
        Argument::Number(number) => ViewOperand::Expr(number.into()),
    }
    factor -> Expr, "a tensor" {
        Argument::Tensor(tensor) => Expr::current(&tensor),
        Argument::Expr(expr) => expr,
        Argument::Number(number) => number.into(),
    }
    shape_of -> Vec<usize>, "a tensor" {
        Argument::Tensor(tensor) => tensor.shape().to_vec(),
        Argument::Expr(expr) => expr.shape()?.to_vec(),
        Argument::Number(_) => Vec::new(),
    }
    sizes_of -> Vec<isize>, "a tensor" {
        Argument::Tensor(tensor) => signed(tensor.shape()),
        Argument::Expr(expr) => signed(expr.shape()?),
        Argument::Number(_) => Vec::new(),
    }
    tensor -> Tensor, "a tensor" { Argument::Tensor(tensor) => tensor, }
    optional_tensor -> Option<Tensor>, "a tensor" { Argument::Tensor(tensor) => Some(tensor), Argument::None => None, }
    tensors -> Vec<Tensor>, "a list of tensors" { Argument::Tensors(tensors) => tensors, }
    integer -> isize, "an integer" { Argument::Number(Scalar::Int(number)) => number as isize, }
    optional_integer -> Option<isize>, "an integer" {
        Argument::Number(Scalar::Int(number)) => Some(number as isize),
        Argument::None => None,
    }
    long -> i64, "an integer" { Argument::Number(Scalar::Int(number)) => number, }
    count -> usize, "a number that is not negative" { Argument::Number(Scalar::Int(count @ 0..)) => count as usize, }
    sizes -> Vec<isize>, "integers" { Argument::Dims(numbers) => numbers, }
    integers -> Vec<isize>, "integers" { Argument::Dims(numbers) => numbers, Argument::None => Vec::new(), }
    optional_integers -> Option<Vec<isize>>, "integers" { Argument::Dims(numbers) => Some(numbers), Argument::None => None, }
    counts -> Vec<usize>, "numbers that are not negative" {
        Argument::Dims(counts) if counts.iter().all(|count| *count >= 0) => counts.into_iter().map(|count| count as usize).collect(),
    }
    flag -> bool, "True or False" { Argument::Number(Scalar::Bool(flag)) => flag, }
    reduced -> Dims, "dimensions" { Argument::Dims(dims) => Dims::from(&dims[..]), Argument::None => Dims::default(), }
    repeats -> Repeats, "a number that is not negative, or a tensor" {
        Argument::Number(Scalar::Int(count @ 0..)) => Repeats::Count(count as usize),
        Argument::Tensor(counts) => Repeats::Each(counts),
    }
    pairs -> ContractedDims, "an integer, or two lists of dimensions" {
        Argument::Number(Scalar::Int(count)) => ContractedDims::Last(count as isize),
        Argument::Pairs([own, theirs]) => ContractedDims::Named(own, theirs),
    }
}

/// The Rust type of a method's argument, by its type in the row.
#[rustfmt::skip]
macro_rules! lent {
    (shape_of $value:ident) => { &$value };
    (sizes_of $value:ident) => { &$value };
    (tensor $value:ident) => { &$value };
    (optional_tensor $value:ident) => { $value.as_ref() };
    (tensors $value:ident) => { &$value.iter().collect::<Vec<_>>() };
    (integers $value:ident) => { &$value };
    (optional_integers $value:ident) => { $value.as_deref() };
    (sizes $value:ident) => { &$value };
    (counts $value:ident) => { &$value };
    (reduced $value:ident) => { $value.clone() };
    (repeats $value:ident) => { &$value };
    (pairs $value:ident) => { &$value };
    ($plain:ident $value:ident) => { $value };
}

macro_rules! define_call {
    (
        view { $($(#[$vdoc:meta])* $vv:ident $vm:ident [$($vn:ident)*] $vs:ident ($vfirst:ident: value $(, $vp:ident: $vt:ident $($vtext:literal)?)*) $($vmore:literal)?;)* }
        product { $($(#[$pdoc:meta])* $pv:ident $pm:ident [$($pn:ident)*] $ps:ident ($pfirst:ident: factor $(, $pp:ident: $pt:ident $($ptext:literal)?)*) $($pmore:literal)?;)* }
        join { $($(#[$jdoc:meta])* $jv:ident $jm:ident [$($jn:ident)*] $js:ident ($($jp:ident: $jt:ident $($jtext:literal)?),*) $($jmore:literal)?;)* }
        move { $($(#[$mdoc:meta])* $mv:ident $mm:ident [$($mn:ident)*] $ms:ident ($mfirst:ident: tensor $(, $mp:ident: $mt:ident $($mtext:literal)?)*) $($mmore:literal)?;)* }
    ) => {
        impl GivenArguments {
            fn call(mut self) -> Result<Outcome> {
                Ok(match self.function {
                    $(Function::$vv => {
                        let of = self.value()?;
                        $(let $vp = self.$vt()?;)*
                        match of {
                            ViewOperand::Tensor(of) => Outcome::Tensor(of.$vm($(lent!($vt $vp)),*)?),
                            ViewOperand::Expr(of) => Outcome::Expr(of.$vm($(lent!($vt $vp)),*)),
                        }
                    })*
                    $(Function::$pv => {
                        let of = self.factor()?;
                        $(let $pp = self.$pt()?;)*
                        Outcome::Expr(of.$pm($(lent!($pt $pp)),*))
                    })*
                    $(Function::$jv => {
                        $(let $jp = self.$jt()?;)*
                        let parts = JoinedParts::$jm($(lent!($jt $jp)),*)?;
                        Moved::ready(parts.results()?, move || parts.joined())
                    })*
                    $(Function::$mv => {
                        let of = self.tensor()?;
                        $(let $mp = self.$mt()?;)*
                        let results = Results::$mm(&of, $(lent!($mt $mp)),*)?;
                        Moved::ready(results, move || of.$mm($(lent!($mt $mp)),*))
                    })*
                })
            }
        }
    };
}

for_each_function!(define_call);
