//! Owns the sizes around those from which on elements are taken in other ways. It does not know what is made
//! of them.

pub(crate) const SIZES: [usize; 24] = [
    1, 2, 3, 5, 8, 9, 15, 16, 17, 31, 33, 64, 65, 100, 127, 128, 129, 200, 1023, 1024, 1025, 1040, 1100, 2049,
];

/// Those of some sizes that make up to 200,000 elements together.
pub(crate) fn few(sizes: impl IntoIterator<Item = usize>) -> Vec<usize> {
    let mut shape: Vec<usize> = Vec::new();
    for size in sizes {
        if shape.iter().product::<usize>() * size <= 200_000 {
            shape.push(size);
        }
    }
    shape
}
