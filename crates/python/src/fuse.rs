//! Owns the calls of fused functions: which of them mean the same computation, and in which library's arrays a result
//! goes back. A function is traced once for each signature; what it then computes is a plan, kept without its operands.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};
use smallvec::SmallVec;
use zerostride::{DType, Expr, Layout, Operand, Plan, Template, Tensor};

use crate::error::{TraceError, raise};
use crate::expr::PyExpr;
use crate::operand::Given;
use crate::row::type_name;
use crate::tensor::PyTensor;
use crate::threads::compute;
use crate::{memory, number};

/// Signatures that are kept for one function; the one that has not been used for longest goes.
const MOST_TRACED: usize = 64;

/// A function that runs in one pass over its operands; made by ``fuse``.
#[pyclass(name = "Fused", module = "zerostride", frozen, dict, subclass)]
pub(crate) struct Fused {
    function: Py<PyAny>,
    /// The latest used first.
    traced: Mutex<Vec<Arc<Traced>>>,
}

/// What a call's arguments are, apart from arrays' dtypes and layouts.
#[derive(Clone, Debug, PartialEq)]
enum Part {
    /// An array, and which of the arrays before it is the same.
    Array(Option<usize>),
    /// A number, a word or the like, as Python writes it; or the name of a keyword argument.
    Written(String),
    /// Any other object, which is itself alone.
    Object(Itself),
}

/// An object that is kept, so that no other one can have its address.
#[derive(Clone, Debug)]
struct Itself(Arc<Py<PyAny>>);

impl PartialEq for Itself {
    fn eq(&self, other: &Itself) -> bool {
        self.0.is(&*other.0)
    }
}

type Signature = SmallVec<[Part; 4]>;

/// A function for one signature.
struct Traced {
    signature: Signature,
    arrays: Vec<(DType, Layout)>,
    templates: Vec<Template>,
    plans: Vec<String>,
    output: Output,
}

/// What a function returns, with results in their places.
enum Output {
    Result(usize),
    Tuple(Vec<Output>),
    List(Vec<Output>),
    Dict(Vec<(String, Output)>),
}

/// The library whose arrays a function got.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Library {
    #[default]
    Numpy,
    Own,
    Jax,
    Torch,
}

/// The arguments of a call.
#[derive(Default)]
struct Arguments<'py> {
    signature: Signature,
    tensors: SmallVec<[Tensor; 4]>,
    library: Library,
    /// Whether an array is in a file.
    is_read: bool,
    /// What the function gets, arrays replaced by computations.
    positional: SmallVec<[Argument<'py>; 4]>,
    named: Vec<(String, Argument<'py>)>,
}

/// One argument of a call.
enum Argument<'py> {
    /// An array, by its place among the arrays.
    Array(usize),
    Other(Bound<'py, PyAny>),
}

impl<'py> Arguments<'py> {
    /// Takes all arguments of a call, in place: they are too large to be handed on for nothing.
    fn read(&mut self, positional: &Bound<'py, PyTuple>, named: Option<&Bound<'py, PyDict>>) -> PyResult<()> {
        for object in positional.iter_borrowed() {
            let argument = self.take(&object)?;
            self.positional.push(argument);
        }
        for (name, object) in named.into_iter().flatten() {
            let name = name.to_string();
            self.signature.push(Part::Written(name.clone()));
            let argument = self.take(&object)?;
            self.named.push((name, argument));
        }
        Ok(())
    }

    fn take(&mut self, object: &Bound<'py, PyAny>) -> PyResult<Argument<'py>> {
        let (tensor, library) = match Given::new(object)? {
            Some(Given::Tensor(tensor)) => (tensor.clone(), Library::Own),
            Some(Given::Foreign(tensor)) => (tensor, Library::of(object)?),
            Some(Given::Traced(expr)) if expr.has_inputs() => {
                self.is_read = true;
                self.library = self.library.max(Library::Own);
                return Ok(Argument::Other(object.clone()));
            }
            Some(Given::Traced(_)) => {
                return Err(TraceError::new_err(
                    "a fused function is called inside another: call what it wraps",
                ));
            }
            Some(Given::Number(_)) | None => {
                self.signature.push(Part::other(object)?);
                return Ok(Argument::Other(object.clone()));
            }
        };
        let same = |other: &Tensor| {
            other.data_ptr() == tensor.data_ptr()
                && (other.dtype(), other.layout()) == (tensor.dtype(), tensor.layout())
        };
        let place = self.tensors.len();
        let twin = self.tensors.iter().position(same);
        self.signature.push(Part::Array(twin));
        self.library = self.library.max(library);
        self.tensors.push(tensor);
        Ok(Argument::Array(place))
    }

    /// Runs the function on computations instead of arrays.
    fn call(&self, py: Python<'py>, function: &Py<PyAny>) -> PyResult<(Output, Vec<Expr>)> {
        let traced = |tensor: &Tensor| Bound::new(py, PyExpr(Expr::from(Operand::from(tensor))));
        let exprs = self.tensors.iter().map(traced).collect::<PyResult<Vec<_>>>()?;
        let object = |argument: &Argument<'py>| match argument {
            Argument::Array(place) => exprs[*place].clone().into_any(),
            Argument::Other(object) => object.clone(),
        };
        let positional = PyTuple::new(py, self.positional.iter().map(object))?;
        let named = PyDict::new(py);
        for (name, argument) in &self.named {
            named.set_item(name, object(argument))?;
        }
        let returned = function.bind(py).call(positional, Some(&named))?;
        let mut results = Vec::new();
        let output = Output::new(&returned, &mut results)?;
        Ok((output, results))
    }

    /// What the function does for this signature.
    fn trace(&self, py: Python<'py>, function: &Py<PyAny>) -> PyResult<Traced> {
        let (output, results) = self.call(py, function)?;
        let plans =
            results.iter().map(Expr::plan).collect::<zerostride::Result<Vec<Plan>>>().map_err(raise)?;
        let tensors: Vec<&Tensor> = self.tensors.iter().collect();
        Ok(Traced {
            signature: self.signature.clone(),
            arrays: tensors.iter().map(|tensor| (tensor.dtype(), tensor.layout().clone())).collect(),
            plans: plans.iter().map(ToString::to_string).collect(),
            templates: plans.into_iter().map(|plan| plan.template(&tensors)).collect(),
            output,
        })
    }

    /// Runs the function anew: where a policy or an audit looks at each of its operations, and on arrays in files.
    fn anew(&self, py: Python<'py>, function: &Py<PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let (output, exprs) = self.call(py, function)?;
        let run = || exprs.iter().map(Expr::eval).collect();
        let results: zerostride::Result<SmallVec<[Tensor; 1]>> = compute(py, [usize::MAX], run);
        self.returned(py, &output, results.map_err(raise)?)
    }

    /// What the function returns, in the arrays of the library that it was called with.
    fn returned(
        &self,
        py: Python<'py>,
        output: &Output,
        results: SmallVec<[Tensor; 1]>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let results = results.into_iter().map(|result| self.library.array(py, result));
        output.object(py, &results.collect::<PyResult<SmallVec<[_; 1]>>>()?)
    }
}

impl Traced {
    /// Whether a call with these arguments means this computation.
    fn is_of(&self, arguments: &Arguments<'_>) -> bool {
        let same = |(tensor, (dtype, layout)): (&Tensor, &(DType, Layout))| {
            tensor.dtype() == *dtype && tensor.layout() == layout
        };
        self.signature == arguments.signature && arguments.tensors.iter().zip(&self.arrays).all(same)
    }
}

impl Part {
    /// An argument that is no array.
    fn other(object: &Bound<'_, PyAny>) -> PyResult<Part> {
        if is_value(object)? {
            return Ok(Part::Written(format!("{} {}", type_name(object), object.repr()?)));
        }
        if object.is_instance_of::<PyList>()
            || object.is_instance_of::<PyDict>()
            || object.is_instance_of::<PyTuple>()
        {
            let name = type_name(object);
            let message = format!("a fused function takes arrays and numbers one by one, not in a {name}");
            return Err(PyTypeError::new_err(message));
        }
        Ok(Part::Object(Itself(Arc::new(object.clone().unbind()))))
    }
}

/// Whether an object is what Python writes for it: a number, a word, `None`, a tuple of those.
fn is_value(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    match object.cast::<PyTuple>() {
        Ok(items) => items.iter().try_fold(true, |all, item| Ok(all && is_value(&item)?)),
        Err(_) => {
            let is_word = object.is_none() || object.is_instance_of::<PyString>();
            Ok(is_word || number::extract(object)?.is_some())
        }
    }
}

impl Library {
    /// By the module that the object's class is from.
    fn of(object: &Bound<'_, PyAny>) -> PyResult<Library> {
        if memory::is_numpy(object)? {
            return Ok(Library::Numpy);
        }
        let module = object.get_type().getattr("__module__")?;
        let module = module.cast::<PyString>().map(|module| module.to_string()).unwrap_or_default();
        Ok(match module.split('.').next() {
            Some("torch") => Library::Torch,
            Some("jax" | "jaxlib") => Library::Jax,
            _ => Library::Numpy,
        })
    }

    /// A tensor as an array of the library, on the same memory.
    fn array<'py>(self, py: Python<'py>, tensor: Tensor) -> PyResult<Bound<'py, PyAny>> {
        static TORCH: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        static JAX: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let object = Bound::new(py, PyTensor(tensor))?;
        match self {
            Library::Own => Ok(object.into_any()),
            Library::Numpy => memory::numpy(&object),
            Library::Torch => TORCH.import(py, "torch.utils.dlpack", "from_dlpack")?.call1((object,)),
            Library::Jax => JAX.import(py, "jax.dlpack", "from_dlpack")?.call1((object,)),
        }
    }
}

impl Output {
    fn new(object: &Bound<'_, PyAny>, results: &mut Vec<Expr>) -> PyResult<Output> {
        let mut all = |objects: Vec<Bound<'_, PyAny>>| {
            objects.iter().map(|object| Output::new(object, results)).collect::<PyResult<Vec<_>>>()
        };
        if let Ok(tuple) = object.cast::<PyTuple>() {
            return all(tuple.iter().collect()).map(Output::Tuple);
        }
        if let Ok(list) = object.cast::<PyList>() {
            return all(list.iter().collect()).map(Output::List);
        }
        if let Ok(dict) = object.cast::<PyDict>() {
            let outputs = all(dict.values().iter().collect())?;
            let names = dict.keys().iter().map(|key| key.to_string()).collect::<Vec<_>>();
            return Ok(Output::Dict(names.into_iter().zip(outputs).collect()));
        }
        match Given::new(object)? {
            Some(given) => {
                results.push(given.expr());
                Ok(Output::Result(results.len() - 1))
            }
            None => Err(TraceError::new_err(format!(
                "a fused function returns arrays, or tuples, lists and dicts of them, not {}",
                type_name(object)
            ))),
        }
    }

    fn object<'py>(&self, py: Python<'py>, results: &[Bound<'py, PyAny>]) -> PyResult<Bound<'py, PyAny>> {
        let all = |outputs: &[Output]| {
            outputs.iter().map(|output| output.object(py, results)).collect::<PyResult<Vec<_>>>()
        };
        Ok(match self {
            Output::Result(place) => results[*place].clone(),
            Output::Tuple(outputs) => PyTuple::new(py, all(outputs)?)?.into_any(),
            Output::List(outputs) => PyList::new(py, all(outputs)?)?.into_any(),
            Output::Dict(outputs) => {
                let dict = PyDict::new(py);
                for (name, output) in outputs {
                    dict.set_item(name, output.object(py, results)?)?;
                }
                dict.into_any()
            }
        })
    }
}

impl Fused {
    fn traced<'py>(&self, py: Python<'py>, arguments: &Arguments<'py>) -> PyResult<Arc<Traced>> {
        let known = || {
            let mut traced = self.traced.lock().unwrap_or_else(PoisonError::into_inner);
            let place = traced.iter().position(|traced| traced.is_of(arguments))?;
            traced[..=place].rotate_right(1);
            Some(Arc::clone(&traced[0]))
        };
        if let Some(known) = known() {
            return Ok(known);
        }
        // Without the lock: the function is the user's.
        let new = Arc::new(arguments.trace(py, &self.function)?);
        let mut traced = self.traced.lock().unwrap_or_else(PoisonError::into_inner);
        traced.insert(0, Arc::clone(&new));
        traced.truncate(MOST_TRACED);
        Ok(new)
    }

    /// Has `run` make the function's only result, or put it somewhere else.
    pub(crate) fn run<'py>(
        &self,
        py: Python<'py>,
        positional: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
        run: impl FnOnce(&Expr) -> zerostride::Result<Option<Tensor>> + Send,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let mut arguments = Arguments::default();
        arguments.read(positional, named)?;
        let (output, exprs) = arguments.call(py, &self.function)?;
        let (Output::Result(_), [expr]) = (output, &exprs[..]) else {
            return Err(TraceError::new_err("what is computed in pieces is one array, not several"));
        };
        let result = compute(py, [usize::MAX], || run(expr)).map_err(raise)?;
        result.map(|result| arguments.library.array(py, result)).transpose()
    }
}

#[pymethods]
impl Fused {
    #[new]
    fn new(function: Py<PyAny>) -> Fused {
        Fused { function, traced: Mutex::default() }
    }

    #[pyo3(signature = (*positional, **named))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        positional: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut arguments = Arguments::default();
        arguments.read(positional, named)?;
        if arguments.is_read || zerostride::policy::is_on() {
            return arguments.anew(py, &self.function);
        }
        let traced = self.traced(py, &arguments)?;
        let operands: SmallVec<[&Tensor; 4]> = arguments.tensors.iter().collect();
        let numels = operands.iter().map(|operand| operand.numel());
        let run = || traced.templates.iter().map(|template| template.run(&operands)).collect();
        let results: zerostride::Result<SmallVec<[Tensor; 1]>> = compute(py, numels, run);
        arguments.returned(py, &traced.output, results.map_err(raise)?)
    }

    /// What a call with these arguments will do: passes over memory, operations, bytes, scratch memory.
    #[pyo3(signature = (*positional, **named))]
    fn plan<'py>(
        &self,
        py: Python<'py>,
        positional: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<String> {
        let mut arguments = Arguments::default();
        arguments.read(positional, named)?;
        if arguments.is_read {
            let (_, exprs) = arguments.call(py, &self.function)?;
            let plan = |expr: &Expr| Ok(format!("{}\n{}", expr.plan()?, expr.passes(None)?));
            let plans = exprs.iter().map(plan).collect::<zerostride::Result<Vec<_>>>();
            return Ok(plans.map_err(raise)?.join("\n\n"));
        }
        Ok(self.traced(py, &arguments)?.plans.join("\n\n"))
    }

    /// A method of a class is bound to its object.
    fn __get__<'py>(
        slf: &Bound<'py, Self>,
        object: &Bound<'py, PyAny>,
        _class: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if object.is_none() {
            return Ok(slf.clone().into_any());
        }
        let bound = slf.py().import("types")?.getattr("MethodType")?;
        bound.call1((slf, object))
    }
}
