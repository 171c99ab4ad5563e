//! Fits a sum of Gaussian bells to a table by gradient descent: an RBF regression.
//!
//! What a wine's alcohol is follows from its 12 other measurements, by 23 bells whose centres and heights are
//! learned. Neither the distances of all pairs nor their gradients hold an array of wines times centres times
//! measurements.
//!
//!     cargo run --release -p zerostride --example rbf

use std::path::PathBuf;

use zerostride::{Expr, Result, Slice, Tensor, io, keepdim};

pub(crate) fn main() -> Result<()> {
    let (first, last) = fit(200)?;
    println!("The mean squared error was {first:.3} and is {last:.3}.");
    Ok(())
}

/// The loss before the first step and before the last one.
pub(crate) fn fit(steps: usize) -> Result<(f64, f64)> {
    let table = Expr::from(&io::load(data("wine.npy"))?);
    let z = ((&table - table.mean(keepdim(0))) / table.std_corrected(keepdim(0), 0.0)).eval()?;
    let (alcohol, x) = (z.select(1, 0)?, z.narrow(1, 1, 12)?);

    let mut centres = x.slice(0, Slice::from(..).step_by(8))?.contiguous()?; // every eighth wine
    let mut heights = Tensor::zeros(&[23])?.to_dtype(z.dtype())?;
    let mut losses = Vec::new();
    for _ in 0..steps {
        let bells = ((x.unsqueeze(1)? - centres.unsqueeze(0)?).square().sum(-1) * -0.1).exp();
        let loss = ((bells * &heights).sum(-1) - &alcohol).square().mean(..);
        losses.push(loss.eval()?.item::<f64>()?);
        let gradients = loss.grad(&[&centres, &heights])?;
        (centres, heights) = ((&centres - &gradients[0]).eval()?, (&heights - &gradients[1]).eval()?);
    }
    Ok((losses[0], losses[steps - 1]))
}

fn data(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../../examples/data", name].iter().collect()
}
