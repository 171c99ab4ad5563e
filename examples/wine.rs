//! Standardises a table by column: mean 0, standard deviation 1.
//!
//! The table is f64, (178, 13): 178 wines, 13 measurements. Both statistics are one row, (1, 13), which
//! `keepdim` leaves in a shape that goes back on the table.
//!
//!     cargo run --release -p zerostride --example wine

use std::path::PathBuf;

use zerostride::{Expr, Result, Tensor, io, keepdim};

pub(crate) fn main() -> Result<()> {
    let table = io::load(data("wine.npy"))?;
    let standardised = standardise(&table);
    println!("{}\n", standardised.plan()?);

    let z = standardised.eval()?;
    println!("The first wine: {}", table.select(0, 0)?);
    println!("In standard deviations from the average wine: {}", z.select(0, 0)?);
    let (alcohol, proline) = (z.select(1, 0)?, z.select(1, 12)?);
    println!(
        "Alcohol and proline correlate by {:.2}.",
        (alcohol * proline).sum(..).eval()?.item::<f64>()? / 177.0
    );
    Ok(())
}

/// Shapes: `(n, m) -> (n, m)`.
pub(crate) fn standardise(table: &Tensor) -> Expr {
    let x = Expr::from(table);
    (&x - x.mean(keepdim(0))) / x.std(keepdim(0))
}

fn data(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../../examples/data", name].iter().collect()
}
