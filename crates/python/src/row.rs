//! Owns the call of a row of the table of operations from Python: what the arguments mean, and whether the
//! row is evaluated, written to a target, or traced. It does not know how Python calls (`entry.rs`).

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList, PyString, PyTuple};
use smallvec::SmallVec;
use zerostride::{
    Argument, Arguments, DType, Op, OpError, Scalar, Shape, ShapeError, Tensor, broadcast_shapes, policy,
};
use zerostride_ops::{Category, Class, Kind};

use crate::call::Call;
use crate::error::{TraceError, raise, raise_in, type_name};
use crate::expr::PyExpr;
use crate::functions;
use crate::operand::Given;
use crate::sequence::{self, Limit};
use crate::target::{target, untraceable_target};
use crate::tensor::PyTensor;
use crate::threads::{built, compute, is_large};
use crate::{dtype, expr, tensor};

/// The signature of a row's function, in Python's notation.
pub(crate) fn signature(op: Op) -> String {
    let arguments = op.info().arguments;
    let star = if arguments.contains("*, ") { "" } else { ", *" };
    format!("({arguments}{star}, out=None)")
}

/// Calls a row: as a function, or as a method with its receiver.
pub(crate) fn function<'py>(op: Op, call: &mut Call<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
    if op == Op::Where && !call.method {
        match (&call.positional[..], &call.named[..]) {
            ([condition], []) => return functions::places(condition),
            ([], [(name, condition)]) if name == "condition" => return functions::places(condition),
            _ => {}
        }
    }
    let out = match &call.named[..] {
        [] => None,
        [(name, out)] if name == "out" && !out.is_none() => Some(*out),
        _ => return general(op, call),
    };
    match (op.info().class, &call.positional[..]) {
        (Class::Unary, [x]) => {
            let x = operand(op, x)?;
            if !x.is_traced() {
                return eager(call.py, op, [x], out);
            }
        }
        (Class::Binary, [a, b]) => {
            let (x, y) = (operand(op, a)?, operand(op, b)?);
            check_wide([(a, &x), (b, &y)])?;
            if !x.is_traced() && !y.is_traced() {
                return eager(call.py, op, [x, y], out);
            }
        }
        _ => {}
    }
    general(op, call)
}

/// A row on one or two small tensors, without policy or audit: most calls are of this kind, and the general
/// case would cost more than the operation. `None` for all other calls.
#[inline]
pub(crate) fn on_tensors<'py>(
    op: Op,
    operands: &[&Bound<'py, PyAny>],
) -> Option<PyResult<Bound<'py, PyAny>>> {
    match (op.info().class, operands) {
        (Class::Unary, [x]) => small(op, [x.cast().ok()?]),
        (Class::Binary, [a, b]) => small(op, [a.cast().ok()?, b.cast().ok()?]),
        _ => None,
    }
}

#[inline]
fn small<'py, const N: usize>(
    op: Op,
    operands: [&Bound<'py, PyTensor>; N],
) -> Option<PyResult<Bound<'py, PyAny>>> {
    let tensors = operands.map(|operand| &operand.get().0);
    if policy::is_on() || is_large(tensors.map(Tensor::numel)) {
        return None;
    }
    let result = Tensor::apply(op, tensors.map(Into::into)).map_err(|error| raise_in(error, Some(op)));
    Some(result.and_then(|result| tensor::object(operands[0].py(), result)))
}

/// Calls the in-place method of a row.
pub(crate) fn in_place<'py>(op: Op, call: &mut Call<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
    let receiver = call.positional[0];
    let Ok(target) = receiver.cast::<PyTensor>() else {
        return Err(TraceError::new_err(format!(
            "{0}_() writes to an array, which a traced function cannot do: use {0}()",
            op.name()
        )));
    };
    let target = &target.get().0;
    let raise = |error| raise_in(error, Some(op));
    match (op, op.info().class, &call.positional[1..]) {
        (_, Class::Unary, []) if call.named.is_empty() => {
            compute(call.py, [target.numel()], || target.apply_(op, None)).map_err(raise)?;
        }
        (_, Class::Binary, [other]) if call.named.is_empty() => {
            let (object, other) = (other, operand(op, other)?);
            check_wide([(receiver, &Given::Tensor(target)), (object, &other)])?;
            let numels = [target.numel(), other.numel()];
            compute(call.py, numels, || target.apply_(op, Some(other.operand()))).map_err(raise)?;
        }
        (Op::FloatPower, _, [exponent]) => {
            let exponent = operand(op, exponent)?;
            compute(call.py, [target.numel()], || target.float_power_(exponent.operand())).map_err(raise)?;
        }
        _ => {
            let gathered = Gathered::new(op, call)?;
            gathered.write(call.py, op, target)?;
        }
    }
    Ok(receiver.clone())
}

/// An operator; `None` if an operand is not supported.
pub(crate) fn operator<'py>(
    op: Op,
    a: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    if let Some(result) = on_tensors(op, &[a, b]) {
        return result.map(Some);
    }
    let (Some(x), Some(y)) = (Given::new(a)?, Given::new(b)?) else { return Ok(None) };
    check_wide([(a, &x), (b, &y)])?;
    if x.is_traced() || y.is_traced() {
        let positional = vec![Argument::Expr(x.expr()), Argument::Expr(y.expr())];
        let arguments = Arguments { positional, named: Vec::new() };
        let traced =
            built(a.py(), || zerostride::call(op, arguments)).map_err(|error| raise_in(error, Some(op)))?;
        return expr::object(a.py(), traced).map(Some);
    }
    eager(a.py(), op, [x, y], None).map(Some)
}

fn eager<'py, const N: usize>(
    py: Python<'py>,
    op: Op,
    operands: [Given<'_>; N],
    out: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let numels = operands.each_ref().map(Given::numel);
    let operands = || operands.each_ref().map(Given::operand);
    let raise = |error| raise_in(error, Some(op));
    let Some(out) = out else {
        let result = compute(py, numels, || Tensor::apply(op, operands()));
        return tensor::object(py, result.map_err(raise)?);
    };
    let target = target(out)?;
    let numels = numels.into_iter().chain([target.numel()]);
    compute(py, numels, || Tensor::apply_out(op, operands(), &target)).map_err(raise)?;
    Ok(out.clone())
}

/// Writes the result of `evaluate` to its target, broadcast to it, with the dtypes that `out` allows.
#[pyfunction]
pub(crate) fn _write(result: &Bound<'_, PyAny>, target: &Bound<'_, PyTensor>) -> PyResult<()> {
    let stretched = _stretched(result, target)?;
    let target = &target.get().0;
    compute(result.py(), [target.numel()], || stretched.0.eval_into(target)).map_err(raise)
}

/// The result of `evaluate`, broadcast to its target.
#[pyfunction]
pub(crate) fn _stretched(result: &Bound<'_, PyAny>, target: &Bound<'_, PyTensor>) -> PyResult<PyExpr> {
    let wrong = || PyTypeError::new_err("a formula with out has one array or number as its result");
    let (expr, target) = (Given::new(result)?.ok_or_else(wrong)?.expr(), target.get().0.shape());
    let own = expr.shape().map_err(raise)?;
    if broadcast_shapes(&[target, own]).is_ok_and(|whole| whole[..] == *target) {
        return Ok(PyExpr(expr.broadcast_to(target)));
    }
    let shape = |sizes: &[usize]| Shape::new(sizes).map_err(|error| raise(error.into()));
    Err(raise(ShapeError::InPlace { output: shape(target)?, broadcast: shape(own)? }.into()))
}

/// Refuses an integer that only u64 holds, which stands as an array without dimensions, beside an operand of
/// another dtype of integers, in which it would be another number.
fn check_wide<const N: usize>(operands: [(&Bound<'_, PyAny>, &Given<'_>); N]) -> PyResult<()> {
    if !operands.iter().any(|(object, given)| is_wide(object, given)) {
        return Ok(());
    }
    match operands.iter().find_map(|(_, given)| narrow(given)) {
        Some(dtype) => Err(raise(OpError::Overflow { dtype }.into())),
        None => Ok(()),
    }
}

fn is_wide(object: &Bound<'_, PyAny>, given: &Given<'_>) -> bool {
    matches!(given, Given::Foreign(_)) && object.is_exact_instance_of::<PyInt>()
}

/// The dtype of the operand, if it has integers that are not of u64.
fn narrow(given: &Given<'_>) -> Option<DType> {
    let dtype = match given {
        Given::Tensor(tensor) => tensor.dtype(),
        Given::Foreign(tensor) => tensor.dtype(),
        Given::Traced(expr) => expr.dtype().ok()?,
        Given::Number(_) => return None,
    };
    (dtype.category() == Category::Int && dtype != DType::U64).then_some(dtype)
}

fn operand<'a>(op: Op, object: &'a Bound<'_, PyAny>) -> PyResult<Given<'a>> {
    Given::new(object)?.ok_or_else(|| {
        PyTypeError::new_err(format!(
            "{}(): an operand must be a tensor, an array or a number, not {}; it is called as {}",
            op.name(),
            type_name(object),
            op.usage()
        ))
    })
}

fn general<'py>(op: Op, call: &mut Call<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
    let gathered = Gathered::new(op, call)?;
    let raise = |error| raise_in(error, Some(op));
    match gathered.out {
        Some(out) if gathered.traced => Err(untraceable_target(op.name(), out)),
        Some(out) => {
            gathered.write(call.py, op, &target(out)?)?;
            Ok(out.clone())
        }
        None => {
            let Gathered { arguments, traced, numels, .. } = gathered;
            if traced {
                let traced = built(call.py, || zerostride::call(op, arguments));
                return expr::object(call.py, traced.map_err(raise)?);
            }
            let result = compute(call.py, numels, || zerostride::call(op, arguments)?.eval());
            tensor::object(call.py, result.map_err(raise)?)
        }
    }
}

/// The arguments of a call in the engine's form.
struct Gathered<'a, 'py> {
    arguments: Arguments,
    out: Option<&'a Bound<'py, PyAny>>,
    /// Whether an operand is being traced.
    traced: bool,
    /// Whether an operand is an integer that only u64 holds.
    wide: bool,
    /// The dtype of an operand of other integers.
    narrow: Option<DType>,
    numels: SmallVec<[usize; 4]>,
}

impl<'a, 'py> Gathered<'a, 'py> {
    fn new(op: Op, call: &mut Call<'a, 'py>) -> PyResult<Gathered<'a, 'py>> {
        let signature = op.signature();
        let receiver = signature.position("input").unwrap_or(0);
        if call.method && receiver < call.positional.len() {
            call.positional[..=receiver].rotate_left(1);
        } else if call.method && receiver > 0 {
            call.named.push(("input".to_owned(), call.positional.remove(0)));
        }
        let mut gathered = Gathered {
            arguments: Arguments::default(),
            out: None,
            traced: false,
            wide: false,
            narrow: None,
            numels: SmallVec::new(),
        };
        let kind = |place: usize| signature.arguments.get(place).map(|argument| argument.kind);
        // An argument that the row has not is refused by the engine, whatever it is.
        for (place, object) in call.positional.iter().enumerate() {
            let argument = match place < signature.arguments.len() {
                true => gathered.argument(op, kind(place), object)?,
                false => Argument::None,
            };
            gathered.arguments.positional.push(argument);
        }
        for (name, object) in &call.named {
            match &**name {
                "out" => gathered.out = Some(*object).filter(|out| !out.is_none()),
                _ => {
                    let argument = match signature.position(name) {
                        Some(place) => gathered.argument(op, kind(place), object)?,
                        None => Argument::None,
                    };
                    gathered.arguments.named.push((name.clone(), argument));
                }
            }
        }
        match gathered.narrow.filter(|_| gathered.wide) {
            Some(dtype) => Err(raise(OpError::Overflow { dtype }.into())),
            None => Ok(gathered),
        }
    }

    fn argument(&mut self, op: Op, kind: Option<Kind>, object: &Bound<'_, PyAny>) -> PyResult<Argument> {
        if object.is_none() {
            return Ok(Argument::None);
        }
        if kind == Some(Kind::DType) {
            return Ok(Argument::DType(dtype::extract(object)?));
        }
        if let Ok(word) = object.cast::<PyString>() {
            return Ok(Argument::Word(word.to_string()));
        }
        let is_list = matches!(kind, Some(Kind::Dims | Kind::Integers));
        if is_list && (object.is_instance_of::<PyTuple>() || object.is_instance_of::<PyList>()) {
            let what = if kind == Some(Kind::Dims) { "dimension" } else { "size" };
            let wrong = || PyTypeError::new_err(format!("{}(): a {what} must be an integer", op.name()));
            return Ok(Argument::Dims(sequence::integers(object, Limit::Rank)?.ok_or_else(wrong)?));
        }
        if is_list
            && object.is_exact_instance_of::<PyInt>()
            && let Some(dim) = sequence::integer(object)?
        {
            return Ok(Argument::Number(Scalar::Int(dim as i64)));
        }
        let given = operand(op, object)?;
        self.traced |= given.is_traced();
        self.wide |= is_wide(object, &given);
        self.narrow = self.narrow.or_else(|| narrow(&given));
        self.numels.push(given.numel());
        // What is no operand is a number, also as NumPy's or as a tensor without dimensions.
        let is_number = !matches!(kind, None | Some(Kind::Operand));
        Ok(match &given {
            Given::Number(number) if is_number => Argument::Number(*number),
            Given::Tensor(number) if is_number && number.ndim() == 0 => {
                Argument::Number(number.scalar_at(&[]).map_err(raise)?)
            }
            Given::Foreign(number) if is_number && number.ndim() == 0 => {
                Argument::Number(number.scalar_at(&[]).map_err(raise)?)
            }
            given => Argument::Expr(given.expr()),
        })
    }

    fn write(self, py: Python<'_>, op: Op, target: &Tensor) -> PyResult<()> {
        let Gathered { arguments, mut numels, .. } = self;
        numels.push(target.numel());
        compute(py, numels, || zerostride::call_into(op, arguments, target))
            .map_err(|error| raise_in(error, Some(op)))
    }
}
