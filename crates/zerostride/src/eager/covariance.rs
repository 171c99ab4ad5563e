//! Owns covariances and correlations of variables: PyTorch's formulas in its order, and its messages. They
//! are expressions, but weights are checked by their values. It does not know how products and sums run.

use zerostride_ops::{Category, DType};
use zerostride_shape::ErrorClass;

use crate::{Error, Expr, Result, Tensor};

/// The names of the two kinds of weights, as the messages have them.
const FREQUENCIES: &str = "fweights";
const WEIGHTS: &str = "aweights";

impl Expr {
    /// The covariances of variables, as `torch.cov`: each row is a variable, each column an observation of
    /// all. A vector is one variable, and its covariance has no dimension.
    ///
    /// The sum of products is divided by the number of observations less `correction`, or by 0 if that is
    /// less. `fweights` says how often each observation was made, `aweights` how much it counts; their values
    /// are checked when the expression is built.
    ///
    /// Shapes: `(v, n) -> (v, v)`; `(n) -> ()`.
    ///
    /// ```
    /// use zerostride::tensor;
    /// let x = tensor![[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]];
    /// assert_eq!(x.cov(1, None, None)?.to_vec::<f32>()?, [1.0, -1.0, -1.0, 1.0]);
    /// assert_eq!(x.cov(1, Some(&tensor![1, 0, 3]), None)?.to_vec::<f32>()?, [1.0, -1.0, -1.0, 1.0]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    ///
    /// Source: PyTorch's `Correlation.cpp`.
    pub fn cov(&self, correction: i64, fweights: Option<&Tensor>, aweights: Option<&Tensor>) -> Expr {
        covariance(self, correction, fweights, aweights).unwrap_or_else(|error| self.failed("cov", error))
    }

    /// Pearson's correlation coefficients of variables, as `torch.corrcoef`: the covariances, divided by the
    /// standard deviations of both variables.
    ///
    /// Shapes: `(v, n) -> (v, v)`; `(n) -> ()`.
    ///
    /// ```
    /// use zerostride::tensor;
    /// let x = tensor![[0.0, 1.0, 2.0], [4.0, 2.0, 0.0]];
    /// assert_eq!(x.corrcoef()?.to_vec::<f32>()?, [1.0, -1.0, -1.0, 1.0]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    ///
    /// Source: PyTorch's `Correlation.cpp`.
    pub fn corrcoef(&self) -> Expr {
        correlation(self).unwrap_or_else(|error| self.failed("corrcoef", error))
    }
}

fn check_ndim(input: &Expr, name: &str) -> Result<()> {
    match input.shape()?.len() {
        0..=2 => Ok(()),
        ndim => Err(Error::runtime(format_args!(
            "{name}(): expected input to have two or fewer dimensions but got an input with {ndim} dimensions"
        ))),
    }
}

fn covariance(
    input: &Expr,
    correction: i64,
    fweights: Option<&Tensor>,
    aweights: Option<&Tensor>,
) -> Result<Expr> {
    check_ndim(input, "cov")?;
    if input.dtype()? == DType::Bool {
        let message = "cov(): bool dtype is not supported for input".to_owned();
        return Err(Error::Argument { class: ErrorClass::NotImplemented, message });
    }
    let rows = if input.shape()?.len() < 2 { input.reshape(&[1, -1]) } else { input.clone() };
    let observations = rows.shape()?[1];
    for (name, weights) in [(FREQUENCIES, fweights), (WEIGHTS, aweights)] {
        weights.map_or(Ok(()), |weights| check_weights(name, weights, observations))?;
    }
    let [fweights, aweights] = [fweights, aweights].map(|weights| weights.map(Expr::current));
    let weights = match (&fweights, &aweights) {
        (Some(fweights), Some(aweights)) => Some(fweights * aweights),
        (Some(one), None) | (None, Some(one)) => Some(one.clone()),
        (None, None) => None,
    };
    let weighted = |rows: &Expr| weights.as_ref().map_or_else(|| rows.clone(), |weights| rows * weights);
    let sum = weighted(&rows).sum(1);
    let (means, freedom) = match &weights {
        None => (sum / observations as i64, Expr::from((observations as i64 - correction).max(0))),
        Some(weights) => {
            let total = weights.sum(..);
            if !total.ne(0).eval()?.item::<bool>()? {
                return Err(Error::runtime("cov(): weights sum to zero, can't be normalized"));
            }
            let lost = match aweights {
                Some(aweights) if correction != 0 => correction * (weights * aweights).sum(..) / &total,
                _ => correction.into(),
            };
            let freedom = &total - lost;
            (sum / total, freedom.masked_fill(freedom.le(0), 0))
        }
    };
    let centred = rows - means.unsqueeze(1);
    let other = weighted(&centred).matrix_transpose();
    // Real numbers need no pass for their conjugates.
    let is_complex = other.dtype()?.category() == Category::Complex;
    let products = centred.matmul(if is_complex { other.conj_physical() } else { other });
    let covariances = products / freedom;
    // One variable has one covariance.
    let is_single = covariances.shape()? == [1, 1];
    Ok(if is_single { covariances.reshape(&[]) } else { covariances })
}

/// Refuses weights of another kind, number or sign.
fn check_weights(name: &str, weights: &Tensor, observations: usize) -> Result<()> {
    let dtype = weights.dtype();
    let (is_kind, kind) = match name {
        FREQUENCIES => (dtype.category() == Category::Int, "integral"),
        _ => (dtype.category() == Category::Float, "floating point"),
    };
    let refused = |message: String| Err(Error::runtime(format_args!("cov(): {message}")));
    if weights.ndim() > 1 {
        let ndim = weights.ndim();
        return refused(format!(
            "expected {name} to have one or fewer dimensions but got {name} with {ndim} dimensions"
        ));
    }
    if !is_kind {
        let dtype = dtype.scalar_name();
        return refused(format!("expected {name} to have {kind} dtype but got {name} with {dtype} dtype"));
    }
    if weights.numel() != observations {
        let numel = weights.numel();
        return refused(format!(
            "expected {name} to have the same numel as there are observations in the input but got {numel} != {observations}"
        ));
    }
    if !Expr::current(weights).ge(0).all(..).eval()?.item::<bool>()? {
        return refused(format!("{name} cannot be negative"));
    }
    Ok(())
}

fn correlation(input: &Expr) -> Result<Expr> {
    check_ndim(input, "corrcoef")?;
    let covariances = covariance(input, 1, None, None)?;
    if covariances.shape()?.is_empty() {
        // Of one variable it is 1, or NaN where the variance is 0 or not finite.
        return Ok(covariances.div(&covariances));
    }
    let is_complex = covariances.dtype()?.category() == Category::Complex;
    let real = |expr: &Expr| if is_complex { expr.real() } else { expr.clone() };
    let deviations = real(&covariances.diagonal(0, 0, 1)).sqrt();
    let correlations = covariances / deviations.unsqueeze(1) / deviations.unsqueeze(0);
    // Rounding may leave [-1, 1].
    let held = |expr: Expr| expr.clamp(-1, 1);
    Ok(if is_complex {
        held(correlations.real()).complex(held(correlations.imag()))
    } else {
        held(correlations)
    })
}
