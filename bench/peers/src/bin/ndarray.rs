//! ndarray as a peer: `Zip` over the operands, each stretched to the result's shape; in parallel if the
//! result is large. Sums and products are the library's own.

use std::cell::RefCell;
use std::ops::{Add, AddAssign};
use std::rc::Rc;

use ndarray::linalg::general_mat_mul;
use ndarray::{
    Array, Array2, Array3, ArrayD, ArrayView, Axis, Dimension, Ix1, Ix2, Ix3, Ix4, IxDyn, LinalgScalar, Zip,
};
use zerostride_bench::{Case, Element, Kind, Peer, Task, Values, serve, values};

struct Ndarray;

impl Peer for Ndarray {
    fn hello(&self) -> (String, String) {
        ("ndarray".into(), env!("VERSION_NDARRAY").into())
    }

    fn prepare(&mut self, task: &Task) -> Result<Case, String> {
        match task.dtype {
            Kind::F32 => floats(task),
            Kind::F64 => numbers::<f64>(task),
            Kind::I32 => numbers::<i32>(task),
            Kind::U8 => numbers::<u8>(task),
            other => Err(format!("no {}", other.name())),
        }
    }
}

const FITS: &str = "the table's shapes go together";

/// An operand of fixed rank.
fn operand<T: Element, D: Dimension>(task: &Task, index: usize) -> Array<T, D> {
    let operand = &task.operands[index];
    let values = values(index, operand.numel(), operand.low, operand.high);
    let array = ArrayD::from_shape_vec(IxDyn(&operand.shape), values).expect(FITS);
    array.into_dimensionality().expect(FITS)
}

fn read<T: Element, D: Dimension>(array: &Array<T, D>) -> Values {
    (array.shape().to_vec(), array.iter().map(|x| x.number()).collect())
}

/// Whether a result of that size is worth a second thread.
fn divided(task: &Task) -> bool {
    rayon::current_num_threads() > 1 && task.numel() >= 1 << 15
}

/// A dimension from a shape of the same rank.
fn dimension<D: Dimension>(shape: &[usize]) -> D {
    let mut dim = D::zeros(shape.len());
    dim.slice_mut().copy_from_slice(shape);
    dim
}

fn stretched<'a, T, D: Dimension>(array: &'a ArrayD<T>, dim: &D) -> ArrayView<'a, T, D> {
    array.broadcast(dim.clone().into_dyn()).expect(FITS).into_dimensionality().expect(FITS)
}

/// An element-wise formula: task, dimension and element of the result, operands.
macro_rules! zip {
    ($task:ident, $D:ty, $R:ty, |$first:ident: $F:ty $(, $rest:ident: $T:ty)*| $body:expr) => {{
        let parallel = divided($task);
        let function = |$first: &$F $(, $rest: &$T)*| -> $R {
            let ($first, $($rest),*) = (*$first, $(*$rest),*);
            $body
        };
        let dim: $D = dimension(&$task.shape);
        let mut indices = 0..;
        let mut next = || indices.next().unwrap_or_default();
        let $first: Rc<ArrayD<$F>> = Rc::new(operand($task, next()));
        $(let $rest: Rc<ArrayD<$T>> = Rc::new(operand($task, next()));)*
        let mut out = Array::<$R, $D>::from_elem(dim.clone(), <$R>::from_number(0.0));
        let fresh = {
            let ($first, $($rest,)* dim) = (Rc::clone(&$first), $(Rc::clone(&$rest),)* dim.clone());
            move || {
                let zip = Zip::from(stretched(&$first, &dim))$(.and(stretched(&$rest, &dim)))*;
                if parallel { zip.par_map_collect(function) } else { zip.map_collect(function) }
            }
        };
        Ok(Case::fresh(fresh, read).reuse(move || {
            let zip = Zip::from(stretched(&$first, &dim))$(.and(stretched(&$rest, &dim)))*;
            if parallel { zip.par_map_assign_into(&mut out, function) } else { zip.map_assign_into(&mut out, function) }
        }))
    }};
}

/// Formulas for integers and floats.
fn numbers<T>(task: &Task) -> Result<Case, String>
where
    T: Element + Send + Sync + LinalgScalar + Add<Output = T> + AddAssign,
{
    match (task.formula.as_str(), task.shape.len()) {
        ("add", 2) if task.numel() < 64 => {
            let (x, y): (Array2<T>, Array2<T>) = (operand(task, 0), operand(task, 1));
            Ok(Case::fresh(move || &x + &y, read))
        }
        ("add", 1) => zip!(task, Ix1, T, |x: T, y: T| x + y),
        ("add", 2) => zip!(task, Ix2, T, |x: T, y: T| x + y),
        ("add", 4) => zip!(task, Ix4, T, |x: T, y: T| x + y),
        ("transposed", _) => {
            let (x, y): (Array2<T>, Array2<T>) = (operand(task, 0), operand(task, 1));
            let parallel = divided(task);
            let add = |x: &T, y: &T| *x + *y;
            let compute = move || {
                let zip = Zip::from(&x).and(y.t());
                if parallel { zip.par_map_collect(add) } else { zip.map_collect(add) }
            };
            Ok(Case::fresh(compute, read))
        }
        ("where", _) => zip!(task, Ix2, T, |c: bool, x: T, row: T| if c { x } else { row }),
        ("add_in_place", _) => {
            let x = Rc::new(RefCell::new(operand::<T, Ix2>(task, 0)));
            let row: Array<T, Ix1> = operand(task, 1);
            let parallel = divided(task);
            let result = Rc::clone(&x);
            let add = move || {
                let mut x = x.borrow_mut();
                let zip = Zip::from(&mut *x).and_broadcast(&row);
                if parallel { zip.par_for_each(|x, r| *x += *r) } else { zip.for_each(|x, r| *x += *r) }
            };
            Ok(Case::in_place(add, move || read(&result.borrow())))
        }
        ("sum_outer" | "sum_inner", _) => {
            let x: Array2<T> = operand(task, 0);
            let axis = Axis(usize::from(task.formula == "sum_inner"));
            Ok(Case::fresh(move || x.sum_axis(axis), read))
        }
        _ => Err("no such function".into()),
    }
}

/// Formulas of floats.
fn floats(task: &Task) -> Result<Case, String> {
    match task.formula.as_str() {
        "add_scalar" => zip!(task, Ix2, f32, |x: f32| x + 2.5),
        "normalise" => zip!(task, Ix2, f32, |x: f32, m: f32, s: f32, g: f32, b: f32| (x - m) / s * g + b),
        "gelu" => zip!(task, Ix2, f32, |x: f32| 0.5
            * x
            * (1.0 + (0.797_884_6 * (x + 0.044_715 * x * x * x)).tanh())),
        "image" => zip!(task, Ix4, f32, |x: u8, m: f32, s: f32| (f32::from(x) / 255.0 - m) / s),
        "exp_outer" => {
            // The exponentials of the operands first, as a user would write it.
            let (col, row): (Array2<f32>, Array<f32, Ix1>) = (operand(task, 0), operand(task, 1));
            Ok(Case::fresh(move || col.exp() * row.exp(), read))
        }
        "squared_distance" => Ok(Case::fresh(distances(task), read)),
        "rbf" => {
            let distances = distances(task);
            Ok(Case::fresh(move || distances().mapv(|d| (-d).exp()).sum_axis(Axis(1)), read))
        }
        "softmax" => {
            let x: Array2<f32> = operand(task, 0);
            let compute = move || {
                let max = x.fold_axis(Axis(1), f32::NEG_INFINITY, |a, b| a.max(*b)).insert_axis(Axis(1));
                let exponentials = (&x - &max).exp();
                let sum = exponentials.sum_axis(Axis(1)).insert_axis(Axis(1));
                exponentials / sum
            };
            Ok(Case::fresh(compute, read))
        }
        "layer_norm" => {
            let x: Array2<f32> = operand(task, 0);
            let (weight, bias): (Array<f32, Ix1>, Array<f32, Ix1>) = (operand(task, 1), operand(task, 2));
            let compute = move || {
                let mean = x.mean_axis(Axis(1)).expect("rows have elements").insert_axis(Axis(1));
                let std = (x.var_axis(Axis(1), 0.0) + 1e-5).sqrt().insert_axis(Axis(1));
                (&x - &mean) / std * &weight + &bias
            };
            Ok(Case::fresh(compute, read))
        }
        "matmul" => {
            let a: Array3<f32> = operand(task, 0);
            let w: Array3<f32> = operand(task, 1);
            let compute = move || {
                let mut out = Array3::zeros(a.raw_dim());
                let w = w.index_axis(Axis(0), 0);
                let product = |a: ndarray::ArrayView2<f32>, mut out: ndarray::ArrayViewMut2<f32>| {
                    general_mat_mul(1.0, &a, &w, 0.0, &mut out);
                };
                Zip::from(a.outer_iter()).and(out.outer_iter_mut()).par_for_each(product);
                out
            };
            Ok(Case::fresh(compute, read))
        }
        "chain_1" => zip!(task, Ix2, f32, |x: f32| x * 1.001),
        "chain_4" => zip!(task, Ix2, f32, |x: f32| link(link(x))),
        "chain_8" => zip!(task, Ix2, f32, |x: f32| link(link(link(link(x))))),
        "chain_12" => zip!(task, Ix2, f32, |x: f32| link(link(link(link(link(link(x))))))),
        _ => numbers::<f32>(task),
    }
}

fn link(x: f32) -> f32 {
    x * 1.001 + 0.5
}

/// Squared distances of all pairs. The differences are stored in an array, as operators do.
fn distances(task: &Task) -> impl Fn() -> Array2<f32> + 'static {
    let (a, b): (Array3<f32>, Array3<f32>) = (operand(task, 0), operand(task, 1));
    let dim: Ix3 =
        dimension(&[task.operands[0].shape[0], task.operands[1].shape[1], task.operands[0].shape[2]]);
    let parallel = rayon::current_num_threads() > 1;
    let square = |a: &f32, b: &f32| (a - b) * (a - b);
    move || {
        let zip = Zip::from(a.broadcast(dim.clone()).expect(FITS)).and(b.broadcast(dim.clone()).expect(FITS));
        let squares = if parallel { zip.par_map_collect(square) } else { zip.map_collect(square) };
        squares.sum_axis(Axis(2))
    }
}

fn main() {
    serve(Ndarray);
}
