//! Owns the arguments of the package's own functions: how they are bound to parameters, and how they are
//! converted. It does not know what a function does with them.

use pyo3::exceptions::{PyNotImplementedError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use smallvec::SmallVec;
use zerostride::{Argument, DType, Device, Expr, Scalar, ShapeError, Tensor, broadcast_shapes};
use zerostride_ops::{self as ops, Misfit, Signature};

use crate::call::Call;
use crate::error::{TraceError, raise, type_name};
use crate::expr::PyExpr;
use crate::operand::Given;
use crate::sequence::{self, Limit};
use crate::{dtype, expr, naming, number, tensor, threads};

/// A tensor, or a traced expression.
pub(crate) enum Value {
    Tensor(Tensor),
    Traced(Expr),
}

impl From<Tensor> for Value {
    fn from(tensor: Tensor) -> Value {
        Value::Tensor(tensor)
    }
}

impl Value {
    pub(crate) fn dtype(&self) -> PyResult<DType> {
        match self {
            Value::Tensor(tensor) => Ok(tensor.dtype()),
            Value::Traced(expr) => expr.dtype().map_err(raise),
        }
    }

    /// The value as an expression.
    pub(crate) fn expr(&self) -> Expr {
        match self {
            Value::Tensor(tensor) => tensor.into(),
            Value::Traced(expr) => expr.clone(),
        }
    }

    /// The result of a computation on the value: evaluated at once, or traced if the value is.
    pub(crate) fn computed(&self, py: Python<'_>, compute: impl FnOnce(Expr) -> Expr) -> PyResult<Value> {
        let result = compute(self.expr());
        match self {
            Value::Tensor(x) => {
                threads::compute(py, [x.numel()], || result.eval()).map(Value::Tensor).map_err(raise)
            }
            Value::Traced(_) => Ok(Value::Traced(result)),
        }
    }

    pub(crate) fn object<'py>(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Value::Tensor(value) => tensor::object(py, value),
            Value::Traced(value) => expr::object(py, value),
        }
    }
}

/// An argument, borrowed from Python.
type Object<'a, 'py> = &'a Bound<'py, PyAny>;

/// PyTorch's parameters with a single choice here: the name, the arguments that mean this choice, and the
/// error message.
const SETTLED: [(&str, &[&str], &str); 4] = [
    ("layout", &["torch.strided"], "all tensors are strided"),
    (
        "memory_format",
        &["torch.contiguous_format", "torch.preserve_format"],
        "dimensions lie in row-major order or in that of the input",
    ),
    ("pin_memory", &["False"], "there is no pinned memory"),
    ("requires_grad", &["False"], "gradients are those of functions, as zs.grad(f) takes them"),
];

/// The arguments of a function, by the names of its parameters, which are written as `input, dim=None,
/// *size`.
pub(crate) struct Arguments<'a, 'py> {
    pub(crate) py: Python<'py>,
    function: &'static str,
    parameters: &'static str,
    values: SmallVec<[(&'static str, Option<Object<'a, 'py>>); 6]>,
    /// How many of them may have been given without their names.
    positional: usize,
    /// The arguments that `*size` has collected.
    rest: Vec<Object<'a, 'py>>,
}

impl<'a, 'py> Arguments<'a, 'py> {
    /// Binds the arguments of a call to the parameters, which are written as `input, dim=None`.
    pub(crate) fn new(
        function: &'static str,
        (parameters, signature): (&'static str, &Signature),
        call: &Call<'a, 'py>,
    ) -> PyResult<Arguments<'a, 'py>> {
        let (values, rest) = (SmallVec::new(), Vec::new());
        let positional = call.positional.len();
        let mut arguments = Arguments { py: call.py, function, parameters, values, positional, rest };
        let named = call.named.iter().map(|(name, object)| (name, *object));
        match signature.bind(call.positional.iter().copied(), named) {
            Ok(ops::Bound { values, rest }) => {
                let names = signature.arguments.iter().map(|argument| argument.name);
                (arguments.values, arguments.rest) = (names.zip(values).collect(), rest);
                Ok(arguments)
            }
            Err(Misfit::TooMany(_)) => Err(arguments.misused("too many arguments")),
            Err(Misfit::Twice(name)) => Err(arguments.misused(&format!("`{name}` is given twice"))),
            Err(Misfit::Unknown(name)) => Err(arguments.misused(&format!("there is no argument `{name}`"))),
        }
    }

    /// Whether an argument is given by its name.
    pub(crate) fn is_named(&self, name: &str) -> bool {
        self.values[self.positional.min(self.values.len())..]
            .iter()
            .any(|(own, value)| *own == name && value.is_some())
    }

    /// The device that an argument names.
    pub(crate) fn device(&self, object: Object<'_, '_>) -> PyResult<Device> {
        let text = object.str()?.to_string();
        text.parse::<Device>().map_err(|error| {
            PyNotImplementedError::new_err(format!(
                "{}(): device={text} is not there: {error}",
                self.function
            ))
        })
    }

    /// Refuses other choices than the single ones.
    pub(crate) fn check_settled(&self) -> PyResult<()> {
        SETTLED.iter().try_for_each(|(name, ..)| match self.optional(name) {
            Some(object) => self.settled(name, object),
            None => Ok(()),
        })
    }

    /// Refuses an argument that is not the single choice of a parameter.
    pub(crate) fn settled(&self, name: &str, object: Object<'_, '_>) -> PyResult<()> {
        let text = object.str()?.to_string();
        match SETTLED.iter().find(|(settled, ..)| *settled == name) {
            Some((_, choices, state)) if !choices.contains(&&*text) => Err(PyNotImplementedError::new_err(
                format!("{}(): {name}={text} is not there: {state}; leave it out", self.function),
            )),
            _ => Ok(()),
        }
    }

    /// Whether a memory format asks for row-major order.
    pub(crate) fn is_row_major(&self, name: &str) -> PyResult<bool> {
        let format = self.optional(name).map(|format| format.str()).transpose()?;
        Ok(format.is_some_and(|format| format == "torch.contiguous_format"))
    }

    pub(crate) fn misused(&self, what: &str) -> PyErr {
        PyTypeError::new_err(format!(
            "{0}(): {what}; it is called as {0}({1})",
            self.function, self.parameters
        ))
    }

    fn unwanted(&self, name: &str, wanted: &str, found: &Bound<'_, PyAny>) -> PyErr {
        self.misused(&format!("`{name}` must be {wanted}, not {}", type_name(found)))
    }

    /// An argument that may be missing, or be `None`.
    pub(crate) fn optional(&self, name: &str) -> Option<Object<'a, 'py>> {
        let found = self.values.iter().find(|(known, _)| *known == name);
        found.and_then(|(_, value)| *value).filter(|value| !value.is_none())
    }

    /// An argument that must be given.
    pub(crate) fn required(&self, name: &str) -> PyResult<Object<'a, 'py>> {
        self.optional(name).ok_or_else(|| {
            let is_given = self.values.iter().any(|(known, value)| *known == name && value.is_some());
            let state = if is_given { "is None" } else { "is missing" };
            self.misused(&format!("`{name}` {state}"))
        })
    }

    /// The arguments that `*size` has collected.
    pub(crate) fn rest(&self) -> &[Object<'a, 'py>] {
        &self.rest
    }

    /// A tensor, an array of another library, or a traced expression.
    pub(crate) fn value(&self, name: &str) -> PyResult<Value> {
        let object = self.required(name)?;
        match Given::new(object)? {
            Some(Given::Tensor(tensor)) => Ok(Value::Tensor(tensor.alias())),
            Some(Given::Foreign(tensor)) => Ok(Value::Tensor(tensor)),
            Some(Given::Number(number)) => Tensor::scalar(number).map(Value::Tensor).map_err(raise),
            Some(Given::Traced(expr)) => Ok(Value::Traced(expr.clone())),
            None => Err(self.unwanted(name, "a tensor or an array", object)),
        }
    }

    /// An operand beside `value`, as an expression; a number stays a number. If the operand is traced,
    /// `value` becomes traced, too.
    pub(crate) fn operand(&self, name: &str, value: &mut Value) -> PyResult<Expr> {
        let object = self.required(name)?;
        let unwanted = || self.unwanted(name, "a tensor, an array or a number", object);
        let given = Given::new(object)?.ok_or_else(unwanted)?;
        if given.is_traced() {
            *value = Value::Traced(value.expr());
        }
        Ok(given.expr())
    }

    /// A tensor or an array, whose elements are in memory.
    pub(crate) fn tensor(&self, name: &str) -> PyResult<Tensor> {
        match self.value(name)? {
            Value::Tensor(tensor) => Ok(tensor),
            Value::Traced(expr) if expr.has_inputs() => PyExpr(expr).read(self.py),
            Value::Traced(expr) => Err(self.untraceable(&expr)),
        }
    }

    /// A list or tuple of tensors and arrays.
    pub(crate) fn tensors(&self, name: &str) -> PyResult<Vec<Tensor>> {
        let objects = self.required(name)?;
        self.tensors_of(&sequence::items(objects, Limit::Operands)?)
    }

    /// Converts objects to tensors.
    pub(crate) fn tensors_of(&self, objects: &[Bound<'py, PyAny>]) -> PyResult<Vec<Tensor>> {
        let tensor = |object: &Bound<'py, PyAny>| match Given::new(object)? {
            Some(Given::Tensor(tensor)) => Ok(tensor.alias()),
            Some(Given::Foreign(tensor)) => Ok(tensor),
            Some(Given::Traced(expr)) if expr.has_inputs() => PyExpr(expr.clone()).read(self.py),
            Some(Given::Traced(expr)) => Err(self.untraceable(expr)),
            _ => Err(self.misused(&format!("expected tensors and arrays, not {}", type_name(object)))),
        };
        objects.iter().map(tensor).collect()
    }

    fn untraceable(&self, expr: &Expr) -> PyErr {
        let function = self.function;
        let instead = match function {
            "cat" | "stack" | "hstack" | "vstack" | "dstack" => "return the parts, and join them outside",
            "chunk" | "split" | "tensor_split" | "unbind" => "take slices, as in x[:2]",
            "diff" => "subtract slices, as in x[1:] - x[:-1]",
            "repeat" | "tile" => "stretch it with expand(), which copies nothing",
            "tril" | "triu" => "write where(mask, x, 0) with a mask from outside",
            _ => "call it outside of the function, and pass its result in",
        };
        let message = format!(
            "{function}() needs the elements of {}, which a traced function does not know yet: {instead}",
            naming::formula(self.py, expr)
        );
        TraceError::new_err(message)
    }

    pub(crate) fn number(&self, name: &str) -> PyResult<Scalar> {
        let object = self.required(name)?;
        if let Some(number) = number::extract(object)? {
            return Ok(number);
        }
        match Given::new(object)? {
            Some(Given::Tensor(tensor)) if tensor.ndim() == 0 => tensor.scalar_at(&[]).map_err(raise),
            Some(Given::Foreign(tensor)) if tensor.ndim() == 0 => tensor.scalar_at(&[]).map_err(raise),
            _ => Err(self.unwanted(name, "a number or a tensor of one without dimensions", object)),
        }
    }

    /// A number to be stored with that dtype.
    pub(crate) fn number_as(&self, name: &str, dtype: DType) -> PyResult<Scalar> {
        number::stored(self.required(name)?, dtype)?.map_or_else(|| self.number(name), Ok)
    }

    pub(crate) fn number_or(&self, name: &str, default: Scalar) -> PyResult<Scalar> {
        if self.optional(name).is_some() { self.number(name) } else { Ok(default) }
    }

    pub(crate) fn integer(&self, name: &str) -> PyResult<isize> {
        let object = self.required(name)?;
        sequence::integer(object)?.ok_or_else(|| self.unwanted(name, "an integer", object))
    }

    pub(crate) fn integer_or(&self, name: &str, default: isize) -> PyResult<isize> {
        if self.optional(name).is_some() { self.integer(name) } else { Ok(default) }
    }

    pub(crate) fn integer_or_none(&self, name: &str) -> PyResult<Option<isize>> {
        self.optional(name).map(|_| self.integer(name)).transpose()
    }

    pub(crate) fn count(&self, name: &str) -> PyResult<usize> {
        let object = self.required(name)?;
        let count = sequence::integer(object)?
            .ok_or_else(|| self.unwanted(name, "an integer that is not negative", object))?;
        usize::try_from(count).map_err(|_| {
            let function = self.function;
            PyRuntimeError::new_err(format!("{function}(): `{name}` must not be negative, and is {count}"))
        })
    }

    pub(crate) fn flag(&self, name: &str) -> PyResult<bool> {
        match self.optional(name) {
            Some(object) => object.extract().map_err(|_| self.unwanted(name, "True or False", object)),
            None => Ok(false),
        }
    }

    /// Integers for dimensions: one, or a list or tuple of them.
    pub(crate) fn integers(&self, name: &str) -> PyResult<Vec<isize>> {
        self.integers_within(name, Limit::Rank)
    }

    fn integers_within(&self, name: &str, limit: Limit) -> PyResult<Vec<isize>> {
        let object = self.required(name)?;
        self.one_or_several(object, limit)?
            .ok_or_else(|| self.unwanted(name, "an integer or several", object))
    }

    fn one_or_several(&self, object: &Bound<'_, PyAny>, limit: Limit) -> PyResult<Option<Vec<isize>>> {
        match sequence::integer(object)? {
            Some(one) => Ok(Some(vec![one])),
            None => sequence::integers(object, limit),
        }
    }

    /// Sizes, none of them negative.
    pub(crate) fn shape(&self, name: &str) -> PyResult<Vec<usize>> {
        lengths(&self.integers(name)?)
    }

    /// Sizes of parts, of which there can be many.
    pub(crate) fn sections(&self, name: &str) -> PyResult<Vec<usize>> {
        lengths(&self.integers_within(name, Limit::Operands)?)
    }

    /// The shapes that `*shapes` has collected; a shape with a single size may be a number.
    pub(crate) fn shapes(&self) -> PyResult<Vec<Vec<usize>>> {
        let shape = |object: &Object<'_, '_>| {
            let sizes = self.one_or_several(object, Limit::Rank)?;
            let wrong = || self.misused(&format!("expected shapes, not {}", type_name(object)));
            sizes.ok_or_else(wrong)
        };
        let mut shapes = Vec::new();
        for sizes in self.rest.iter().map(shape) {
            let sizes = sizes?;
            match lengths(&sizes) {
                Ok(shape) => shapes.push(shape),
                Err(_) => return Err(negative_size(self.py, shapes, &sizes)?),
            }
        }
        Ok(shapes)
    }

    /// `*size`, which must be given: integers one by one, or as one list or tuple.
    pub(crate) fn sizes_of(&self, name: &str) -> PyResult<Vec<isize>> {
        if self.rest.is_empty() { Err(self.misused(&format!("`{name}` is missing"))) } else { self.sizes() }
    }

    /// What stands alone in the place of `*size` and is neither an integer nor a list or tuple.
    pub(crate) fn no_size(&self) -> Option<Object<'a, 'py>> {
        let [one] = self.rest[..] else { return None };
        let is_list = one.is_instance_of::<PyTuple>() || one.is_instance_of::<PyList>();
        let is_size = is_list || one.get_type().hasattr("__index__").unwrap_or(true);
        (!is_size).then_some(one)
    }

    /// `*size`: integers one by one, or as one list or tuple.
    fn sizes(&self) -> PyResult<Vec<isize>> {
        let wrong = |object: &Bound<'_, PyAny>| {
            self.misused(&format!("expected integers, not {}", type_name(object)))
        };
        if let [one] = self.rest[..]
            && (one.is_instance_of::<PyTuple>() || one.is_instance_of::<PyList>())
        {
            return sequence::integers(one, Limit::Rank)?.ok_or_else(|| wrong(one));
        }
        let integer = |(place, size): (usize, &Object<'a, 'py>)| {
            sequence::integer_at(place, size)?.ok_or_else(|| wrong(size))
        };
        self.rest.iter().enumerate().map(integer).collect()
    }

    /// `*size`, which must be given, none of them negative.
    pub(crate) fn counts(&self) -> PyResult<Vec<usize>> {
        lengths(&self.sizes_of("size")?)
    }

    /// A number of dimensions, or two lists of them.
    pub(crate) fn pairs(&self, name: &str) -> PyResult<Argument> {
        let object = self.required(name)?;
        if let Some(count) = sequence::integer(object)? {
            return Ok((count as i64).into());
        }
        let wrong = || self.misused(&format!("`{name}` must be an integer, or two lists of dimensions"));
        let lists = sequence::items(object, Limit::Rank)?;
        let [own, theirs] = &lists[..] else { return Err(wrong()) };
        // A number means a list of one.
        let list = |list| self.one_or_several(list, Limit::Rank)?.ok_or_else(wrong);
        Ok(Argument::Pairs([list(own)?, list(theirs)?]))
    }

    pub(crate) fn dtype(&self, name: &str) -> PyResult<Option<DType>> {
        self.optional(name).map(dtype::extract).transpose()
    }
}

/// PyTorch's error for a shape with a negative size after other shapes. Its sizes are compared with those of
/// the others from the right; beside a size other than 1 a negative one is a mismatch.
fn negative_size(py: Python<'_>, mut others: Vec<Vec<usize>>, sizes: &[isize]) -> PyResult<PyErr> {
    let at = sizes.iter().rposition(|size| *size < 0).unwrap_or(0);
    let from_right = sizes.len() - at;
    others.push(lengths(&sizes[at + 1..])?);
    let others: Vec<&[usize]> = others.iter().map(Vec::as_slice).collect();
    let common = broadcast_shapes(&others).map_err(|error| raise(error.into()))?;
    Ok(match common.len().checked_sub(from_right).map(|place| common[place]) {
        None | Some(1) => PyValueError::new_err("Attempting to broadcast a dimension with negative length!"),
        Some(_) => PyRuntimeError::new_err(format!(
            "Attempting to broadcast a dimension of length {} at -{from_right}! Mismatching argument at index {} had {}; but expected shape should be broadcastable to {:?}",
            sizes[at],
            others.len() - 1,
            PyTuple::new(py, sizes)?.repr()?,
            &common[..]
        )),
    })
}

/// Sizes, none of which is negative.
pub(crate) fn lengths(sizes: &[isize]) -> PyResult<Vec<usize>> {
    let length = |&size: &isize| {
        let negative = || ShapeError::NegativeSize { size, sizes: sizes.into() };
        usize::try_from(size).map_err(|_| raise(negative().into()))
    };
    sizes.iter().map(length).collect()
}
