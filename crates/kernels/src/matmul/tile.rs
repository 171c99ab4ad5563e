//! Owns the register tile: the products of a few rows and columns, whose sums stay in registers. It does not
//! know where the factors are, nor what complex numbers are.

use crate::lane::Register;

/// The most rows of a tile, and the most sums: three registers of 16 floats for each row.
pub(super) const TILE_ROWS: usize = 8;
pub(super) const TILE_SUMS: usize = TILE_ROWS * 3 * 16;

/// Whether there are 32 registers, and not 16.
const fn has_many<L: Register>() -> bool {
    size_of::<L>() == 64 || cfg!(target_arch = "aarch64")
}

/// The most rows of a tile: 24 sums with three registers of columns, or 12 with two, leave registers for the
/// factors.
pub(super) const fn most_rows<L: Register>() -> usize {
    if has_many::<L>() { TILE_ROWS } else { 6 }
}

/// The most registers of columns of a tile.
pub(super) const fn registers<L: Register>() -> usize {
    if has_many::<L>() { 3 } else { 2 }
}

/// The rows of a tile: the first element of each, and the distance between the elements of a row.
#[derive(Clone, Copy)]
pub(super) struct TileRows<'a, E> {
    pub(super) elements: &'a [E],
    pub(super) starts: [usize; TILE_ROWS],
    pub(super) count: usize,
    pub(super) step: usize,
}

/// The contiguous columns of a tile, and the distance between the elements of a column. A tile also reads
/// what follows them in its last register.
#[derive(Clone, Copy)]
pub(super) struct TileColumns<'a, E> {
    pub(super) elements: &'a [E],
    pub(super) count: usize,
    pub(super) step: usize,
}

/// Writes the sums over `depth` of products of rows and columns to `sums`, row by row, and returns the length
/// of such a row. Each sum is one chain of fused multiply-adds in the order of the depth, which begins at 0.
///
/// # Panics
/// If an element is not in its slice.
#[inline(always)]
pub(super) fn multiply<L: Register>(
    depth: usize,
    a: TileRows<'_, L::Elem>,
    b: TileColumns<'_, L::Elem>,
    sums: &mut [L::Elem],
) -> usize {
    let registers = b.count.div_ceil(L::LEN);
    match (a.count, registers) {
        (1, 1) => tile::<L, 1, 1>(depth, a, b, sums),
        (1, 2) => tile::<L, 1, 2>(depth, a, b, sums),
        (2, 1) => tile::<L, 2, 1>(depth, a, b, sums),
        (2, 2) => tile::<L, 2, 2>(depth, a, b, sums),
        (3 | 4, 1) => tile::<L, 4, 1>(depth, a, b, sums),
        (3 | 4, 2) => tile::<L, 4, 2>(depth, a, b, sums),
        (_, 1) if const { !has_many::<L>() } => tile::<L, 6, 1>(depth, a, b, sums),
        (_, _) if const { !has_many::<L>() } => tile::<L, 6, 2>(depth, a, b, sums),
        (1, _) => tile::<L, 1, 3>(depth, a, b, sums),
        (2, _) => tile::<L, 2, 3>(depth, a, b, sums),
        (3 | 4, _) => tile::<L, 4, 3>(depth, a, b, sums),
        (_, 1) => tile::<L, 8, 1>(depth, a, b, sums),
        (_, 2) => tile::<L, 8, 2>(depth, a, b, sums),
        _ => tile::<L, 8, 3>(depth, a, b, sums),
    }
    registers * L::LEN
}

/// Whether `width` elements lie in a slice of `len` from each of some steps on, of which there is one; the
/// first is at `start`.
#[inline(always)]
fn is_inside(steps: usize, start: usize, step: usize, width: usize, len: usize) -> bool {
    let last = steps.checked_sub(1).and_then(|last| last.checked_mul(step)?.checked_add(start));
    last.is_some_and(|last| last < len && width <= len - last)
}

/// Rows beyond the last repeat it.
#[inline(always)]
fn tile<L: Register, const TALL: usize, const WIDE: usize>(
    depth: usize,
    a: TileRows<'_, L::Elem>,
    b: TileColumns<'_, L::Elem>,
    sums: &mut [L::Elem],
) {
    let mut acc = [[L::num(0.0); WIDE]; TALL];
    let mut starts = [a.starts[a.count - 1]; TALL];
    for (start, &own) in starts.iter_mut().zip(&a.starts[..a.count]) {
        *start = own;
    }
    assert!(is_inside(depth, 0, b.step, WIDE * L::LEN, b.elements.len()), "the columns are in the slice");
    for &start in &starts {
        assert!(is_inside(depth, start, a.step, 1, a.elements.len()), "the rows are in the slice");
    }
    for at in 0..depth {
        // SAFETY: as asserted, the slice has as many elements from the last step on, and no step comes after
        // it.
        let b = unsafe { b.elements.get_unchecked(at * b.step..at * b.step + WIDE * L::LEN) };
        let mut columns = [L::num(0.0); WIDE];
        for (register, columns) in columns.iter_mut().enumerate() {
            *columns = L::load(&b[register * L::LEN..]);
        }
        for (acc, &start) in acc.iter_mut().zip(&starts) {
            // SAFETY: as asserted, the row's element at the last step is in the slice, and no step comes
            // after it.
            let a = L::splat(unsafe { *a.elements.get_unchecked(start + at * a.step) });
            for (acc, &columns) in acc.iter_mut().zip(&columns) {
                *acc = a.mul_add(columns, *acc);
            }
        }
    }
    let sums = &mut sums[..TALL * WIDE * L::LEN];
    for (row, acc) in acc.iter().enumerate() {
        for (register, acc) in acc.iter().enumerate() {
            acc.store(&mut sums[(row * WIDE + register) * L::LEN..]);
        }
    }
}

/// Blocks whose sums of one register of columns, or of two, are extended in turn, to hide the latency of
/// additions.
pub(super) const CHAINS: usize = 8;

/// Writes the sums over blocks of `depth` of products of a line by columns to `sums`, block by block: each is
/// one chain of fused multiply-adds in the order of the depth, which begins at 0. `R` registers have the
/// columns, and `N` blocks begin at the steps that `starts` says.
///
/// # Panics
/// If an element is not in its slice.
#[inline(always)]
pub(super) fn multiply_blocks<L: Register, const N: usize, const R: usize>(
    depth: usize,
    starts: [usize; N],
    (line, line_step): (&[L::Elem], usize),
    (columns, column_step): (&[L::Elem], usize),
    sums: &mut [L::Elem],
) {
    for start in starts {
        let steps = start.checked_add(depth).expect("steps are counted by a usize");
        assert!(is_inside(steps, 0, line_step, 1, line.len()), "the line is in its slice");
        assert!(is_inside(steps, 0, column_step, R * L::LEN, columns.len()), "the columns are in the slice");
    }
    let mut acc = [[L::num(0.0); R]; N];
    for at in 0..depth {
        for (acc, start) in acc.iter_mut().zip(starts) {
            let (own, row) = ((start + at) * line_step, (start + at) * column_step);
            // SAFETY: as asserted, the line has its element at the last step of the block, and the columns
            // have a row of so many there; no step comes after it.
            let (own, row) =
                unsafe { (*line.get_unchecked(own), columns.get_unchecked(row..row + R * L::LEN)) };
            let own = L::splat(own);
            for (register, acc) in acc.iter_mut().enumerate() {
                *acc = own.mul_add(L::load(&row[register * L::LEN..]), *acc);
            }
        }
    }
    for (acc, sums) in acc.as_flattened().iter().zip(sums.chunks_exact_mut(L::LEN)) {
        acc.store(sums);
    }
}
