//! Squared distances between all pairs of 1797 handwritten digits: `(n, 1, 64) - (1, n, 64)`, squared, summed
//! to (n, n).
//!
//! The array of all differences would have (1797, 1797, 64) elements, 827 MB; it never exists. With the
//! distances at hand, every digit is read by asking its nearest neighbour.
//!
//!     cargo run --release -p zerostride --example digits

use std::path::PathBuf;

use zerostride::{DType, Expr, Result, Tensor, io};

pub(crate) fn main() -> Result<()> {
    let digits = io::load(data("digits.npy"))?;
    let squared = distances(&digits);
    println!("{}\n", squared.plan()?);

    let distances = squared.eval()?;
    println!("{} {} squared distances:\n{distances}\n", distances.layout().shape(), distances.dtype());

    let itself = Tensor::eye(distances.shape()[0])?.to_dtype(DType::Bool)?;
    let nearest = distances.masked_fill(itself, f32::INFINITY)?.argmin(1)?.to_vec::<i64>()?;
    let labels = io::load(data("digits_labels.npy"))?.to_vec::<u8>()?;
    let right = (0..labels.len()).filter(|&i| labels[nearest[i] as usize] == labels[i]).count();
    println!("{right} of {} digits have a nearest neighbour that means the same.", labels.len());

    let wrong = (0..labels.len()).find(|&i| labels[nearest[i] as usize] != labels[i]).unwrap_or(0);
    let neighbour = nearest[wrong] as usize;
    println!("This {} looks like that {}:\n", labels[wrong], labels[neighbour]);
    for row in 0..8 {
        println!("    {}    {}", drawing(&digits, wrong, row)?, drawing(&digits, neighbour, row)?);
    }
    Ok(())
}

/// Shapes: `(n, k) -> (n, n)`.
pub(crate) fn distances(digits: &Tensor) -> Expr {
    // Differences of u8 would wrap. The conversion is part of the expression, so that no f32 copy is kept
    // either.
    let x = Expr::from(digits).to_dtype(DType::F32);
    (x.unsqueeze(1) - x.unsqueeze(0)).square().sum(-1)
}

/// One of the 8 rows of a digit, two characters for each of its 8 pixels.
fn drawing(digits: &Tensor, digit: usize, row: isize) -> Result<String> {
    let pixels = digits.select(0, digit as isize)?.narrow(0, row * 8, 8)?;
    Ok(pixels.iter::<u8>()?.map(|ink| ["  ", "..", "++", "##"][usize::from(ink.min(15) / 4)]).collect())
}

fn data(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../../examples/data", name].iter().collect()
}
