//! Owns the memory that products pack factors into, kept from one product to the next. It does not know what
//! is packed.

use bytemuck::{Pod, Zeroable, cast_slice_mut};

use crate::isa::CACHE_LINE_BYTES;
use crate::lines::Line;

/// Memory for the blocks of factors that products pack, less than 768 KiB; empty at first.
#[derive(Debug)]
pub struct ProductScratch {
    lines: Vec<Line>,
    /// Called between blocks of a product.
    pub(super) between: fn(),
    /// Sums that are rounded to f16 or bf16 in the end.
    pub(super) sums: Vec<f32>,
}

impl Default for ProductScratch {
    fn default() -> ProductScratch {
        ProductScratch::asking(|| ())
    }
}

impl ProductScratch {
    /// For products that call a function between blocks of at most ten million multiplications. It may
    /// unwind, which leaves a product unfinished. Contiguous vectors and lines are one block: memory bounds
    /// their time.
    pub fn asking(between: fn()) -> ProductScratch {
        ProductScratch { lines: Vec::new(), between, sums: Vec::new() }
    }

    /// Three slices with so many elements, whose values are arbitrary.
    pub(super) fn slices<T: Pod>(&mut self, lens: [usize; 3]) -> [&mut [T]; 3] {
        let lines = lens.map(|len| (len * size_of::<T>()).div_ceil(CACHE_LINE_BYTES));
        let all = lines.iter().sum();
        if self.lines.len() < all {
            self.lines.resize(all, Line::zeroed());
        }
        let mut rest = &mut self.lines[..];
        let mut index = 0;
        lens.map(|len| {
            let (own, others) = std::mem::take(&mut rest).split_at_mut(lines[index]);
            (rest, index) = (others, index + 1);
            &mut cast_slice_mut(own)[..len]
        })
    }
}
