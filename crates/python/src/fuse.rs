//! Owns the calls of fused functions: which of them are the same computation, and to which library's arrays a
//! result is converted. It does not know signatures (`signature.rs`). A function is traced once for each
//! signature; the resulting plan is kept without its operands.

use std::cell::Cell;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyTypeError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyList, PyString, PyTuple};
use smallvec::SmallVec;
use zerostride::stream::Passes;
use zerostride::{DType, Expr, Operand, Plan, Template, Tensor, eval_all};

use crate::autocast;
use crate::derivative::{self, Derivative};
use crate::error::{TraceError, raise, type_name};
use crate::expr::PyExpr;
use crate::memory;
use crate::naming::{self, Label, Named};
use crate::once::Once;
use crate::operand::Given;
use crate::results::{Output, Returned};
use crate::rules::Rules;
use crate::signature::{self, MOST_NESTED, Part, Signature};
use crate::team;
use crate::tensor::PyTensor;
use crate::threads::compute;

/// Signatures that are kept for one function; the least recently used is dropped.
pub(crate) const MOST_TRACED: usize = 64;

/// Tensors among which another one is sought one by one.
const FEW_TENSORS: usize = 16;

thread_local! {
    /// The number of functions that are being traced, one inside another.
    static TRACING: Cell<usize> = const { Cell::new(0) };
}

/// A function that runs in one pass over its operands; made by ``fuse``.
// Without attributes, which the package's own class has: CPython 3.11 and 3.12 allocate them before the
// struct is written, and the garbage collector, which may run then, would traverse what is not there yet.
#[pyclass(name = "Fused", module = "zerostride", frozen, subclass)]
pub(crate) struct Fused {
    function: Py<PyAny>,
    /// Whose rules traced arrays follow; `None` if the operands decide.
    rules: Option<Rules>,
    /// The derivatives that are computed instead of the function's results, each of the one before it.
    derivatives: Vec<Derivative>,
    memory: Mutex<Memory>,
}

/// The state of a function between calls.
#[derive(Default)]
struct Memory {
    /// The signatures that it has been traced for, the most recently used first.
    traced: Vec<Arc<Traced>>,
    outside: Option<Arc<Outside>>,
    /// What the function itself wrote while it was traced, such as a counter of calls: that is not part of
    /// its inputs.
    written: Vec<Place>,
}

/// What a function reads from outside; `None` if that cannot be determined.
struct Outside(Option<Vec<Place>>);

/// A global of a module, a cell of a closure, or an attribute of either, perhaps several levels deep.
struct Place {
    holder: Py<PyAny>,
    name: Py<PyString>,
    /// The attributes, each of the one before it.
    attributes: Py<PyTuple>,
    /// Whether the object there is compared by identity.
    is_fixed: bool,
}

/// A function traced for one signature.
pub(crate) struct Traced {
    signature: Signature,
    rules: Rules,
    arrays: Vec<Array>,
    /// What computes all results together, and how it is printed; `None` where nothing is computed.
    pub(crate) computation: Option<(Template, String)>,
    pub(crate) output: Output,
}

/// What a plan depends on of an operand; the storage offset is not part of it.
struct Array {
    dtype: DType,
    shape: SmallVec<[usize; 4]>,
    strides: SmallVec<[isize; 4]>,
}

/// The library whose arrays a function was called with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Library {
    #[default]
    Numpy,
    Own,
    Jax,
    Torch,
}

/// The arguments of a call.
struct Arguments<'py> {
    signature: Signature,
    /// Whether the signature contains all that the computation depends on.
    is_known: bool,
    tensors: SmallVec<[Tensor; 4]>,
    /// The first tensor at each address, once there are more than a few.
    firsts: HashMap<usize, usize>,
    /// The arrays as they were passed.
    arrays: SmallVec<[Bound<'py, PyAny>; 4]>,
    library: Library,
    rules: Rules,
    /// The dtype in which torch wants products.
    autocast: Option<DType>,
    /// Whether an array is in a file or traced.
    has_exprs: bool,
    /// The arguments that the function gets, with arrays replaced by expressions.
    positional: SmallVec<[Argument<'py>; 4]>,
    named: Vec<(String, Argument<'py>)>,
}

/// One argument of a call.
enum Argument<'py> {
    /// An array, by its number among the arrays.
    Array(usize),
    Other(Bound<'py, PyAny>),
}

/// The result of a function called on expressions in place of arrays.
struct Called {
    output: Output,
    exprs: Vec<Expr>,
}

impl Default for Arguments<'_> {
    fn default() -> Self {
        Arguments {
            signature: Signature::new(),
            is_known: true,
            tensors: SmallVec::new(),
            arrays: SmallVec::new(),
            library: Library::default(),
            rules: Rules::default(),
            autocast: None,
            firsts: HashMap::new(),
            has_exprs: false,
            positional: SmallVec::new(),
            named: Vec::new(),
        }
    }
}

impl<'py> Arguments<'py> {
    /// Reads all arguments of a call, in place, since the struct is large to move.
    fn read(
        &mut self,
        fused: &Fused,
        positional: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<()> {
        let cotangents: usize = fused.derivatives.iter().map(Derivative::cotangents).sum();
        let own = positional.len().saturating_sub(cotangents);
        for object in positional.iter_borrowed().take(own) {
            let argument = self.take(&object)?;
            self.positional.push(argument);
        }
        for (name, object) in named.into_iter().flatten() {
            let name = name.to_string();
            self.signature.push(Part::Name(name.clone()));
            let argument = self.take(&object)?;
            self.named.push((name, argument));
        }
        // Whatever the cotangents are, they are those of what the function computes of its arguments.
        self.rules = fused.rules.unwrap_or_else(|| self.library.rules());
        for place in own..positional.len() {
            let argument = self.take(&positional.get_item(place)?)?;
            self.positional.push(argument);
        }
        if self.library == Library::Torch
            && let Some(dtype) = autocast::wanted(positional.py())?
        {
            self.autocast = Some(dtype);
            self.signature.push(Part::Text(format!("autocast {dtype}")));
        }
        Ok(())
    }

    fn take(&mut self, object: &Bound<'py, PyAny>) -> PyResult<Argument<'py>> {
        let is_own = object.cast::<PyTensor>().is_ok();
        if !is_own && !memory::is_numpy(object)? && memory::is_made_from_torch(object)? {
            // `_autograd.py` asks the class.
            return Err(PyTypeError::new_err(
                "a class made from torch.Tensor decides what its tensors become",
            ));
        }
        // An integer out of i64's range is a value, but no operand.
        let given = if object.is_exact_instance_of::<PyInt>() { None } else { Given::new(object)? };
        let (tensor, library) = match given {
            Some(Given::Tensor(tensor)) => (tensor.alias(), Library::Own),
            Some(Given::Foreign(tensor)) => (tensor, Library::of(object)?),
            Some(Given::Traced(_)) => {
                self.has_exprs = true;
                self.library = self.library.max(Library::Own);
                return Ok(Argument::Other(object.clone()));
            }
            Some(Given::Number(_)) | None => {
                self.is_known &= signature::add(object, &mut self.signature)?;
                if !self.is_known {
                    check_no_arrays(object, MOST_NESTED)?;
                }
                return Ok(Argument::Other(object.clone()));
            }
        };
        let (place, twin) = (self.tensors.len(), self.twin(&tensor));
        self.signature.push(Part::Array(twin));
        self.library = self.library.max(library);
        self.tensors.push(tensor);
        self.arrays.push(object.clone());
        Ok(Argument::Array(place))
    }

    /// The place of the first tensor that is the same as another one.
    fn twin(&mut self, tensor: &Tensor) -> Option<usize> {
        let same = |other: &Tensor| {
            other.data_ptr() == tensor.data_ptr()
                && (other.dtype(), other.layout()) == (tensor.dtype(), tensor.layout())
        };
        if self.tensors.len() < FEW_TENSORS {
            return self.tensors.iter().position(same);
        }
        if self.firsts.is_empty() {
            let places = self.tensors.iter().enumerate().rev();
            self.firsts = places.map(|(place, tensor)| (tensor.data_ptr() as usize, place)).collect();
        }
        let first = *self.firsts.entry(tensor.data_ptr() as usize).or_insert(self.tensors.len());
        self.tensors[first..].iter().position(same).map(|place| first + place)
    }

    /// Calls the function on expressions in place of arrays.
    fn call(&self, py: Python<'py>, fused: &Fused) -> PyResult<Called> {
        /// Decrements the depth when the function has returned or raised.
        struct Depth;
        impl Drop for Depth {
            fn drop(&mut self) {
                TRACING.set(TRACING.get() - 1);
            }
        }
        let traced =
            |tensor: &Tensor| Ok(Bound::new(py, PyExpr(Expr::from(Operand::from(tensor))))?.into_any());
        let exprs = self.tensors.iter().map(traced).collect::<PyResult<Vec<_>>>()?;
        let object = |argument: &Argument<'py>| match argument {
            Argument::Array(place) => exprs[*place].clone(),
            Argument::Other(object) => object.clone(),
        };
        let positional = PyTuple::new(py, self.positional.iter().map(object))?;
        let named = PyDict::new(py);
        for (name, argument) in &self.named {
            named.set_item(name, object(argument))?;
        }
        let returned = {
            TRACING.set(TRACING.get() + 1);
            let _depth = Depth;
            let call = || fused.call(py, &positional, Some(&named));
            let named = Named { function: fused.function.clone_ref(py), arrays: self.labelled() };
            naming::within(named, || self.rules.within(|| autocast::within(self.autocast, call)))?
        };
        let mut taken = Returned::new(&exprs);
        let output = taken.output(&returned)?;
        Ok(Called { output, exprs: taken.exprs() })
    }

    /// The arrays, and how each was passed.
    fn labelled(&self) -> Vec<(Tensor, Label)> {
        let places = self.positional.iter().enumerate().map(|(place, given)| (given, Label::Place(place)));
        let names = self.named.iter().map(|(name, given)| (given, Label::Name(name.clone())));
        let array = |(given, label): (&Argument<'_>, Label)| match given {
            Argument::Array(array) => Some((self.tensors[*array].alias(), label)),
            Argument::Other(_) => None,
        };
        places.chain(names).filter_map(array).collect()
    }

    /// The value of one of the function's results.
    fn value(&self, py: Python<'py>, leaf: &Output, exprs: &[Expr]) -> PyResult<Expr> {
        match leaf {
            Output::Result(number) => Ok(exprs[*number].clone()),
            Output::Argument(place) => Ok(Expr::from(&self.tensors[*place])),
            Output::Constant(object) => match Given::new(object.bind(py))? {
                Some(number) => Ok(number.expr()),
                None => Err(TraceError::new_err("a file takes an array, and the function returns None")),
            },
            _ => unreachable!("a tuple, list or dict is no leaf"),
        }
    }

    /// Traces the function for this signature, which is filled in later.
    fn trace(&self, py: Python<'py>, fused: &Fused) -> PyResult<Traced> {
        let Called { output, exprs } = self.call(py, fused)?;
        let plan = (!exprs.is_empty()).then(|| Plan::of(&exprs)).transpose().map_err(raise)?;
        let tensors: Vec<&Tensor> = self.tensors.iter().collect();
        Ok(Traced {
            signature: Signature::new(),
            rules: self.rules,
            arrays: tensors.iter().map(|tensor| Array::of(tensor)).collect(),
            computation: plan.map(|plan| (plan.clone().template(&tensors), plan.to_string())),
            output,
        })
    }

    /// Traces and runs the function without keeping the result: if its signature is incomplete, if a policy
    /// or an audit looks at each of its operations, or on arrays in files.
    fn anew(&self, py: Python<'py>, fused: &Fused) -> PyResult<Bound<'py, PyAny>> {
        let Called { output, exprs } = self.call(py, fused)?;
        let numels = if self.has_exprs {
            SmallVec::from_slice(&[usize::MAX])
        } else {
            self.tensors.iter().map(Tensor::numel).collect::<SmallVec<[usize; 4]>>()
        };
        let run = || if exprs.is_empty() { Ok(Vec::new()) } else { eval_all(&exprs) };
        let results: zerostride::Result<Vec<Tensor>> = compute(py, numels, run);
        self.returned(py, &output, results.map_err(raise)?)
    }

    /// The return value, in arrays of the library that the function was called with.
    fn returned(
        &self,
        py: Python<'py>,
        output: &Output,
        results: Vec<Tensor>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let results = results.into_iter().map(|result| self.library.array(py, result));
        output.object(py, &results.collect::<PyResult<SmallVec<[_; 1]>>>()?, &self.arrays)
    }
}

impl Traced {
    /// Whether a call with these arguments is this computation.
    fn is_of(&self, py: Python<'_>, arguments: &Arguments<'_>) -> bool {
        self.rules == arguments.rules
            && signature::are_same(py, &self.signature, &arguments.signature)
            && self.fits(arguments.tensors.iter())
    }

    /// Whether tensors are as those that it was traced for.
    pub(crate) fn fits<'a>(&self, tensors: impl Iterator<Item = &'a Tensor>) -> bool {
        tensors.zip(&self.arrays).all(|(tensor, array)| array.is_as(tensor))
    }
}

impl Array {
    fn of(tensor: &Tensor) -> Array {
        let (shape, strides) = (tensor.shape().into(), tensor.strides().into());
        Array { dtype: tensor.dtype(), shape, strides }
    }

    fn is_as(&self, tensor: &Tensor) -> bool {
        (self.dtype, &self.shape[..], &self.strides[..]) == (tensor.dtype(), tensor.shape(), tensor.strides())
    }
}

impl Outside {
    /// What the function reads, without what it wrote itself.
    fn of(py: Python<'_>, function: &Py<PyAny>, written: &[Place]) -> PyResult<Outside> {
        static PLACES: Once<Py<PyAny>> = Once::new();
        let found = PLACES.import(py, "zerostride._outside", "places")?.call1((function,))?;
        if found.is_none() {
            return Ok(Outside(None));
        }
        let mut places = Vec::new();
        for place in found.try_iter()? {
            let (holder, name, attributes, is_fixed) = place?.extract()?;
            let place = Place { holder, name, attributes, is_fixed };
            if !written.iter().any(|written| written.is(py, &place)) {
                places.push(place);
            } else if !place.attributes.bind(py).is_empty() {
                // An object that is written to is read as a whole, and anew in each call.
                places.push(Place { attributes: PyTuple::empty(py).unbind(), is_fixed: false, ..place });
            }
        }
        Ok(Outside(Some(places)))
    }

    fn is(&self, py: Python<'_>, other: &Outside) -> bool {
        match (&self.0, &other.0) {
            (Some(own), Some(other)) => {
                own.len() == other.len()
                    && own
                        .iter()
                        .zip(other)
                        .all(|(own, other)| own.is_fixed == other.is_fixed && own.is(py, other))
            }
            (own, other) => own.is_none() && other.is_none(),
        }
    }

    /// The signature of what is there now; `None` if it may change undetected.
    fn parts(&self, py: Python<'_>) -> PyResult<Option<Vec<Signature>>> {
        let Some(places) = &self.0 else { return Ok(None) };
        places.iter().map(|place| place.parts(py)).collect()
    }

    /// Adds it to a signature; `false` if that is incomplete then.
    fn add(&self, py: Python<'_>, signature: &mut Signature) -> PyResult<bool> {
        let Some(places) = &self.0 else { return Ok(false) };
        for place in places {
            if !place.add(py, signature)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Place {
    fn is(&self, py: Python<'_>, other: &Place) -> bool {
        self.holder.is(&other.holder)
            && self.name.bind(py).as_any().eq(&other.name).unwrap_or(false)
            && self.attributes.bind(py).as_any().eq(&other.attributes).unwrap_or(false)
    }

    fn again(&self, py: Python<'_>) -> Place {
        let (holder, name) = (self.holder.clone_ref(py), self.name.clone_ref(py));
        Place { holder, name, attributes: self.attributes.clone_ref(py), is_fixed: self.is_fixed }
    }

    fn add(&self, py: Python<'_>, signature: &mut Signature) -> PyResult<bool> {
        let (holder, name) = (self.holder.bind(py), self.name.bind(py));
        let mut found = match holder.cast_exact::<PyDict>() {
            Ok(names) => names.get_item(name)?,
            // A cell of the closure may be empty.
            Err(_) => holder.getattr(name).ok(),
        };
        for attribute in self.attributes.bind(py).iter_borrowed() {
            found = found.and_then(|object| object.getattr(attribute.cast::<PyString>().ok()?).ok());
        }
        match found {
            None => signature.push(Part::Absent),
            Some(object) if self.is_fixed => signature.push(Part::object(&object)),
            Some(object) => return signature::add(&object, signature),
        }
        Ok(true)
    }

    fn parts(&self, py: Python<'_>) -> PyResult<Option<Signature>> {
        let mut parts = Signature::new();
        Ok(self.add(py, &mut parts)?.then_some(parts))
    }
}

/// Refuses arrays inside lists and other containers, and in those inside of them, to a depth: a list may
/// contain itself.
fn check_no_arrays(object: &Bound<'_, PyAny>, nested: usize) -> PyResult<()> {
    let items = if let Ok(dict) = object.cast::<PyDict>() {
        dict.values().into_any()
    } else if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
        object.clone()
    } else {
        return Ok(());
    };
    if nested == 0 {
        return Ok(());
    }
    for item in items.try_iter()? {
        let item = item?;
        check_no_arrays(&item, nested - 1)?;
        if !matches!(Given::new(&item)?, None | Some(Given::Number(_))) {
            let name = type_name(object);
            let message = format!("a fused function takes arrays and numbers one by one, not in a {name}");
            return Err(PyTypeError::new_err(message));
        }
    }
    Ok(())
}

impl Library {
    /// By the module of the object's class.
    fn of(object: &Bound<'_, PyAny>) -> PyResult<Library> {
        if memory::is_numpy(object)? {
            return Ok(Library::Numpy);
        }
        if memory::is_torch(object)? {
            return Ok(Library::Torch);
        }
        let module = object.get_type().getattr("__module__")?;
        let module = module.cast::<PyString>().map(|module| module.to_string()).unwrap_or_default();
        Ok(match module.split('.').next() {
            Some("torch") => Library::Torch,
            Some("jax" | "jaxlib") => Library::Jax,
            _ => Library::Numpy,
        })
    }

    /// The rules of a function that is handed arrays of this library and those before it only.
    fn rules(self) -> Rules {
        if self == Library::Numpy { Rules::Numpy } else { Rules::Torch }
    }

    /// The tensor as an array of the library, on the same memory.
    fn array<'py>(self, py: Python<'py>, tensor: Tensor) -> PyResult<Bound<'py, PyAny>> {
        static JAX: Once<Py<PyAny>> = Once::new();
        match self {
            Library::Own => Ok(Bound::new(py, PyTensor(tensor))?.into_any()),
            Library::Numpy => memory::numpy(&Bound::new(py, PyTensor(tensor))?),
            Library::Torch => memory::torch(py, tensor),
            Library::Jax => JAX.import(py, "jax.dlpack", "from_dlpack")?.call1((PyTensor(tensor),)),
        }
    }
}

impl Fused {
    /// Calls the function on expressions, and differentiates its results.
    fn call<'py>(
        &self,
        py: Python<'py>,
        positional: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        derivative::call(self.function.bind(py), &self.derivatives, positional, named)
    }

    /// The computation on these operands, whatever the function reads from outside.
    pub(crate) fn trace(&self, operands: &Bound<'_, PyTuple>) -> PyResult<Traced> {
        let mut arguments = Arguments::default();
        arguments.read(self, operands, None)?;
        arguments.trace(operands.py(), self)
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The computation for these arguments; `None` if it has to be traced in each call.
    fn traced<'py>(&self, py: Python<'py>, arguments: &mut Arguments<'py>) -> PyResult<Option<Arc<Traced>>> {
        if !arguments.is_known {
            return Ok(None);
        }
        let given = arguments.signature.len();
        let outside = self.memory().outside.clone();
        if let Some(outside) = outside {
            if !outside.add(py, &mut arguments.signature)? {
                return Ok(None);
            }
            if let Some(known) = self.known(py, arguments) {
                return Ok(Some(known));
            }
            arguments.signature.truncate(given);
        }
        let outside = self.outside(py)?;
        let Some(before) = outside.parts(py)? else { return Ok(None) };
        let mut traced = arguments.trace(py, self)?;
        // If later changes cannot be detected, the trace is right for this call only.
        let Some(after) = outside.parts(py)? else { return Ok(Some(Arc::new(traced))) };
        let is_written = |(before, after): (&Signature, &Signature)| !signature::are_same(py, before, after);
        let parts = || before.iter().zip(&after);
        let outside = if parts().any(is_written) {
            let places = outside.0.iter().flatten().zip(parts());
            let written = places.filter(|(_, parts)| is_written(*parts)).map(|(place, _)| place.again(py));
            let written: Vec<Place> = written.collect();
            self.memory().written.extend(written);
            self.outside(py)?
        } else {
            outside
        };
        if !outside.add(py, &mut arguments.signature)? {
            return Ok(Some(Arc::new(traced)));
        }
        traced.signature = signature::kept(py, std::mem::take(&mut arguments.signature));
        let new = Arc::new(traced);
        let mut memory = self.memory();
        memory.traced.insert(0, Arc::clone(&new));
        let oldest = if memory.traced.len() > MOST_TRACED { memory.traced.pop() } else { None };
        // Dropping it may run the user's code, which may call the function.
        drop(memory);
        drop(oldest);
        Ok(Some(new))
    }

    /// The computation, if it is known. No lock is held while signatures are compared: that may run the
    /// user's code, in which another thread may call the function, or fork.
    fn known(&self, py: Python<'_>, arguments: &Arguments<'_>) -> Option<Arc<Traced>> {
        let latest = self.memory().traced.first().cloned()?;
        if latest.is_of(py, arguments) {
            return Some(latest);
        }
        let all = self.memory().traced.clone();
        let found = all.into_iter().find(|traced| traced.is_of(py, arguments))?;
        let mut memory = self.memory();
        if let Some(place) = memory.traced.iter().position(|traced| Arc::ptr_eq(traced, &found)) {
            memory.traced[..=place].rotate_right(1);
        }
        Some(found)
    }

    /// What the function reads now, determined anew. If that has changed, all traces are dropped.
    fn outside(&self, py: Python<'_>) -> PyResult<Arc<Outside>> {
        let written: Vec<Place> = self.memory().written.iter().map(|place| place.again(py)).collect();
        let new = Arc::new(Outside::of(py, &self.function, &written)?);
        let known = self.memory().outside.clone();
        if let Some(known) = known
            && known.is(py, &new)
        {
            return Ok(known);
        }
        let mut memory = self.memory();
        let old = (std::mem::take(&mut memory.traced), memory.outside.replace(Arc::clone(&new)));
        drop(memory);
        drop(old);
        Ok(new)
    }

    /// Makes `run` compute the results, of which some are written to files and come back as `None`. `paths`
    /// is called with what the function returns, computations in place of arrays, and tells for each array in
    /// it the file, or `None`. `run` gets what is written, and what stays in memory, whose values it returns.
    pub(crate) fn run<'py>(
        &self,
        py: Python<'py>,
        positional: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
        paths: &Bound<'py, PyAny>,
        run: impl FnOnce(Vec<(Expr, PathBuf)>, Vec<Expr>) -> zerostride::Result<Vec<Tensor>> + Send,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut arguments = Arguments::default();
        arguments.read(self, positional, named)?;
        let Called { output, exprs } = arguments.call(py, self)?;
        let traced = exprs.iter().map(|expr| Ok(Bound::new(py, PyExpr(expr.clone()))?.into_any()));
        let form = output.object(py, &traced.collect::<PyResult<Vec<_>>>()?, &arguments.arrays)?;
        let paths: Vec<Option<PathBuf>> = paths.call1((form,))?.extract()?;
        let (mut written, mut kept) = (Vec::new(), Vec::new());
        for (leaf, path) in output.leaves().into_iter().zip(paths) {
            match (leaf, path) {
                (_, Some(path)) => written.push((arguments.value(py, leaf, &exprs)?, path)),
                (Output::Result(number), None) if !kept.contains(number) => kept.push(*number),
                _ => {}
            }
        }
        let in_memory = kept.iter().map(|&number| exprs[number].clone()).collect();
        let values = compute(py, [usize::MAX], || run(written, in_memory)).map_err(raise)?;
        let mut results = vec![py.None().into_bound(py); exprs.len()];
        for (number, value) in kept.into_iter().zip(values) {
            results[number] = arguments.library.array(py, value)?;
        }
        output.object(py, &results, &arguments.arrays)
    }
}

/// What becomes of a call whose arguments are not read as arrays: arrays in tuples, lists and dicts
/// (`_structures.py`), torch tensors that are more than their elements (`_autograd.py`), or arrays of
/// `dask.array` (`_lazy.py`); `None` if there are none.
fn elsewhere<'py>(
    fused: &Bound<'py, Fused>,
    positional: &Bound<'py, PyTuple>,
    named: Option<&Bound<'py, PyDict>>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    static STRUCTURES: Once<Py<PyAny>> = Once::new();
    static TORCH: Once<Py<PyAny>> = Once::new();
    static CHUNKS: Once<Py<PyAny>> = Once::new();
    let py = fused.py();
    let named = named.cloned().unwrap_or_else(|| PyDict::new(py));
    let of_named = named.iter().map(|(_, object)| object);
    // The module of what torch's tensors need imports torch.
    let of_torch =
        positional.iter().chain(of_named).any(|object| memory::is_torch_tensor(&object).unwrap_or(false));
    let calls = [
        (true, &STRUCTURES, "zerostride._structures", "call"),
        (of_torch, &TORCH, "zerostride._autograd", "call"),
        (true, &CHUNKS, "zerostride._lazy", "in_chunks"),
    ];
    for (_, call, module, name) in calls.into_iter().filter(|call| call.0) {
        let result = call.import(py, module, name)?.call1((fused, positional, &named))?;
        if !result.is(py.NotImplemented()) {
            return Ok(Some(result));
        }
    }
    Ok(None)
}

#[pymethods]
impl Fused {
    /// Of a fused function that is given, the derivative comes after its own ones.
    #[new]
    #[pyo3(signature = (function, derivative=None, rules=None))]
    fn new(function: &Bound<'_, PyAny>, derivative: Option<Derivative>, rules: Option<Rules>) -> Fused {
        let (function, mut derivatives, own) = match function.cast::<Fused>().map(Bound::get) {
            Ok(fused) => (fused.function.clone_ref(function.py()), fused.derivatives.clone(), fused.rules),
            Err(_) => (function.clone().unbind(), Vec::new(), None),
        };
        derivatives.extend(derivative);
        Fused { function, rules: rules.or(own), derivatives, memory: Mutex::default() }
    }

    /// Whose rules methods and operators of traced arrays follow: "numpy", "torch", or `None` if the operands
    /// decide.
    #[getter]
    fn rules(&self) -> Option<&'static str> {
        self.rules.map(Rules::name)
    }

    #[pyo3(signature = (*positional, **named))]
    fn __call__<'py>(
        slf: &Bound<'py, Self>,
        positional: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (fused, py) = (slf.get(), slf.py());
        let mut arguments = Arguments::default();
        if let Err(error) = arguments.read(fused, positional, named) {
            return elsewhere(slf, positional, named)?.ok_or(error);
        }
        if arguments.has_exprs && TRACING.get() > 0 {
            // Inside another function that is being traced, it becomes part of that, and has its rules.
            let call = || fused.call(py, positional, named);
            return fused.rules.map_or_else(call, |rules| rules.within(call));
        }
        let is_watched = zerostride::policy::is_on();
        if arguments.has_exprs || (is_watched && fused.derivatives.is_empty()) {
            return arguments.anew(py, fused);
        }
        let traced = if is_watched {
            // The function's own broadcasts are checked while it is traced; those of derivatives are not.
            Arc::new(arguments.trace(py, fused)?)
        } else if let Some(traced) = fused.traced(py, &mut arguments)? {
            traced
        } else {
            return arguments.anew(py, fused);
        };
        let operands: SmallVec<[&Tensor; 4]> = arguments.tensors.iter().collect();
        let is_of_torch = arguments.library == Library::Torch;
        let results = match &traced.computation {
            Some((template, _)) => compute(py, [template.visits()], || {
                let run = || template.run_all(&operands);
                if is_of_torch { team::with_torch(run) } else { run() }
            }),
            None => Ok(Vec::new()),
        };
        arguments.returned(py, &traced.output, results.map_err(raise)?)
    }

    /// Calls the function on computations, and puts together what `results` makes of those that it returns.
    /// `results` gets them and the arguments that are arrays, and returns what takes the place of both. The
    /// `models` of the arguments decide about the rules.
    #[pyo3(signature = (results, positional, named, models))]
    fn _traced<'py>(
        &self,
        py: Python<'py>,
        results: &Bound<'py, PyAny>,
        positional: &Bound<'py, PyTuple>,
        named: &Bound<'py, PyDict>,
        models: (Bound<'py, PyTuple>, Bound<'py, PyDict>),
    ) -> PyResult<Bound<'py, PyAny>> {
        let (mut arguments, mut model) = (Arguments::default(), Arguments::default());
        arguments.read(self, positional, Some(named))?;
        model.read(self, &models.0, Some(&models.1))?;
        arguments.rules = model.rules;
        let Called { output, exprs } = arguments.call(py, self)?;
        let exprs = exprs.into_iter().map(|expr| Bound::new(py, PyExpr(expr)));
        let exprs = exprs.collect::<PyResult<Vec<_>>>()?;
        let (made, arrays): (Vec<Bound<'py, PyAny>>, Vec<Bound<'py, PyAny>>) =
            results.call1((exprs, arguments.arrays.to_vec()))?.extract()?;
        output.object(py, &made, &arrays)
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
        arguments.read(self, positional, named)?;
        if !arguments.has_exprs
            && let Some(traced) = self.traced(py, &mut arguments)?
        {
            return Ok(traced.computation.as_ref().map_or_else(String::new, |(_, plan)| plan.clone()));
        }
        let Called { exprs, .. } = arguments.call(py, self)?;
        let plan = || match (exprs.is_empty(), arguments.has_exprs) {
            (true, _) => Ok(String::new()),
            (false, true) => Ok(format!("{}\n{}", Plan::of(&exprs)?, Passes::of(&exprs, None)?)),
            (false, false) => Ok(Plan::of(&exprs)?.to_string()),
        };
        plan().map_err(raise)
    }

    /// For the garbage collector: a function that refers to itself is collected with what it holds.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.function)?;
        let Ok(memory) = self.memory.try_lock() else { return Ok(()) };
        let outside = memory.outside.iter().flat_map(|outside| outside.0.iter().flatten());
        outside.chain(&memory.written).try_for_each(|place| visit.call(&place.holder))
    }

    /// As a method of a class it is bound to its object.
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
