//! Normalises a photograph per channel, as vision models want it: `(img / 255 - mean) / std`.
//!
//! The photograph is u8, (H, W, 3); `mean` and `std` have three elements and are stretched over its pixels.
//! One pass reads a byte and writes an f32 for each.
//!
//!     cargo run --release -p zerostride --example photo

use std::path::PathBuf;

use zerostride::{Expr, Result, Tensor, io, tensor};

pub(crate) fn main() -> Result<()> {
    let img = io::load(data("photo.npy"))?;
    let normalised = normalise(&img);
    println!("{}\n{}\n", normalised.formula(), normalised.plan()?);

    let z = normalised.eval()?;
    println!(
        "The first pixel was {}\nand is {}\n",
        img.select(0, 0)?.select(0, 0)?,
        z.select(0, 0)?.select(0, 0)?
    );
    println!("{}", drawing(&z)?);
    Ok(())
}

/// Shapes: `(H, W, 3) -> (H, W, 3)`.
pub(crate) fn normalise(img: &Tensor) -> Expr {
    let mean = tensor![0.485, 0.456, 0.406];
    let std = tensor![0.229, 0.224, 0.225];
    (img / 255 - mean) / std
}

/// The means of blocks of 8 by 4 pixels, in characters from dark to bright.
fn drawing(z: &Tensor) -> Result<String> {
    const INK: [char; 8] = ['@', '#', '*', '+', '=', '-', '.', ' '];
    let blocks = z.unfold(0, 8, 8)?.unfold(1, 4, 4)?; // (26, 80, 3, 8, 4), a view
    let dots = blocks.mean([2, 3, 4])?;
    let (dark, bright) = (dots.amin(..)?, dots.amax(..)?);
    let shade =
        ((&dots - &dark) / (bright - dark) * (INK.len() - 1) as f32).round().eval()?.to_vec::<f32>()?;
    let lines =
        shade.chunks(dots.shape()[1]).map(|row| row.iter().map(|&s| INK[s as usize]).collect::<String>());
    Ok(lines.collect::<Vec<_>>().join("\n"))
}

fn data(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../../examples/data", name].iter().collect()
}
