//! Owns prepared calls: those of a function that reads nothing but its operands, tensors of torch's. Which
//! computation a call is depends on their dtypes, shapes and strides alone. It does not know how a function
//! is traced (`fuse.rs`) nor which functions there are (`zerostride.torch`).

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use smallvec::SmallVec;
use zerostride::{Tensor, policy};

use crate::error::raise;
use crate::fuse::{Fused, MOST_TRACED, Traced};
use crate::memory;
use crate::results::Output;
use crate::team;
use crate::threads::compute;

/// A fused function, whose results are a list, on torch's tensors.
///
/// A class made from it computes other calls: `_otherwise` gets operands that are no plain tensors, or all of
/// them while a policy looks at each operation; `_instead` gets the operands and an error of the engine.
#[pyclass(name = "_Prepared", module = "zerostride", frozen, subclass)]
pub(crate) struct Prepared {
    fused: Py<Fused>,
    /// For each result the order in which its dimensions are returned; `None` for their own.
    orders: Vec<Option<Vec<isize>>>,
    /// The operands that may be views whose elements are negated when they are read.
    doubtful: Vec<usize>,
    /// The computations, the most recently used first.
    known: Mutex<Vec<Arc<Traced>>>,
    calls: AtomicU64,
    nanos: AtomicU64,
}

impl Prepared {
    /// The results; `None` for operands that are no plain tensors of torch's.
    fn results<'py>(&self, operands: &Bound<'py, PyTuple>) -> PyResult<Option<Bound<'py, PyList>>> {
        let py = operands.py();
        let mut tensors: SmallVec<[Tensor; 4]> = SmallVec::new();
        for object in operands.iter_borrowed() {
            let Some(tensor) = memory::of_torch(&object)? else { return Ok(None) };
            tensors.push(tensor);
        }
        for &place in &self.doubtful {
            if memory::negates(&operands.get_item(place)?)? {
                return Ok(None);
            }
        }
        let given: SmallVec<[&Tensor; 4]> = tensors.iter().collect();
        let traced = self.traced(operands, &given)?;
        let results = match &traced.computation {
            Some((template, _)) => {
                compute(py, [template.visits()], || team::with_torch(|| template.run_all(&given)))
            }
            None => Ok(Vec::new()),
        };
        let results = results.map_err(raise)?;
        let Output::List(_, outputs) = &traced.output else { return Ok(None) };
        // In the order of its dimensions a result is contiguous, also where those of the operands lie
        // otherwise.
        let object = |(output, order): (&Output, &Option<Vec<isize>>)| match (output, order) {
            (Output::Result(number), order) => {
                let mut result = results[*number].contiguous().map_err(raise)?;
                if let Some(order) = order {
                    result = result.permute(order).map_err(raise)?;
                }
                memory::torch(py, result)
            }
            (Output::Argument(place), _) => operands.get_item(*place),
            _ => output.object(py, &[], &[]),
        };
        let objects = outputs.iter().zip(&self.orders).map(object).collect::<PyResult<SmallVec<[_; 4]>>>()?;
        PyList::new(py, objects).map(Some)
    }

    /// The computation on these operands.
    fn traced(&self, operands: &Bound<'_, PyTuple>, given: &[&Tensor]) -> PyResult<Arc<Traced>> {
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        {
            let mut known = known();
            if let Some(place) = known.iter().position(|traced| traced.fits(given.iter().copied())) {
                known[..=place].rotate_right(1);
                return Ok(Arc::clone(&known[0]));
            }
        }
        let traced = Arc::new(self.fused.bind(operands.py()).get().trace(operands)?);
        let mut known = known();
        known.insert(0, Arc::clone(&traced));
        let oldest = if known.len() > MOST_TRACED { known.pop() } else { None };
        drop(known);
        drop(oldest);
        Ok(traced)
    }
}

#[pymethods]
impl Prepared {
    #[new]
    fn new(fused: Py<Fused>, orders: Vec<Option<Vec<isize>>>, doubtful: Vec<usize>) -> Prepared {
        Prepared {
            fused,
            orders,
            doubtful,
            known: Mutex::default(),
            calls: AtomicU64::new(0),
            nanos: AtomicU64::new(0),
        }
    }

    #[pyo3(signature = (*operands))]
    fn __call__<'py>(slf: &Bound<'py, Self>, operands: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
        let (py, prepared, began) = (slf.py(), slf.get(), Instant::now());
        let found = if policy::is_on() { Ok(None) } else { prepared.results(operands) };
        let results = match found {
            Ok(Some(results)) => results.into_any(),
            Ok(None) => slf.call_method1("_otherwise", (operands,))?,
            Err(error) => slf.call_method1("_instead", (operands, error.into_value(py)))?,
        };
        prepared.calls.fetch_add(1, Ordering::Relaxed);
        prepared.nanos.fetch_add(began.elapsed().as_nanos() as u64, Ordering::Relaxed);
        Ok(results)
    }

    /// How often it has been called.
    #[getter]
    fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// How long the calls took together.
    #[getter]
    fn seconds(&self) -> f64 {
        self.nanos.load(Ordering::Relaxed) as f64 / 1e9
    }

    /// How the latest computation is run; `None` if there is none.
    #[getter]
    fn plan(&self) -> Option<String> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.first()?.computation.as_ref().map(|(_, plan)| plan.clone())
    }
}
