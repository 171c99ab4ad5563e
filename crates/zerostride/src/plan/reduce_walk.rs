//! Owns the walk of a reduction: the order of its dimensions, which results lie side by side, and how large
//! blocks and tiles are. It does not run it (`exec/body/reduce.rs`).

use smallvec::SmallVec;
use zerostride_kernels::{LEAF_ELEMENTS, Reducer, lanes};
use zerostride_shape::{Shape, Strides, coalesce, contiguous_strides, order_dims, turn_dims};

use super::grid::{FoldForm, Grid, LANE_ROWS};
use super::program::slices;
use super::program::{Instruction, Load, Program, REDUCED_TILE_ELEMENTS};
use crate::num_threads;

/// Rows of a tile, where the rows of operands are contiguous and results are combined row by row.
const TILE_ROWS: usize = 16;

/// The least results of a tile for which some operand is transposed: a line of memory has as many elements.
const TRANSPOSED_COLUMNS: usize = 16;

/// Elements from which on lines of them are read in place, without code and with it, which has a loop over
/// lines: shorter ones are joined in tiles first, unless they are contiguous as a whole.
pub(crate) const SHORT_LINE_ELEMENTS: usize = 128;
pub(crate) const SHORT_PRINTED_LINE_ELEMENTS: usize = 32;

/// Neighbouring results that fill vectors.
const VECTOR_RESULTS: usize = 16;

/// Results that a thread's share of them is a multiple of.
const SHARE_RESULTS: usize = 128;

/// Elements that are read in place for a block of results, of which there are no more than are worth reading
/// at once: starting a fold takes as long as some thousands.
const IN_PLACE_ELEMENTS: usize = 1 << 18;

/// The strides of a load.
type LoadStrides = SmallVec<[isize; 8]>;

/// The walk over a window of kept dimensions of certain sizes, wherever it begins.
pub(crate) struct ReduceWalk {
    /// Kept dimensions in the order of the operands' strides, as few as there can be for these, and how many
    /// they are; then reduced ones.
    pub(crate) sizes: SmallVec<[usize; 8]>,
    pub(crate) kept: usize,
    /// The kept dimensions as they are for results, and their strides.
    pub(crate) results: Shape,
    pub(crate) out: Strides,
    /// The first result.
    pub(crate) first: isize,
    /// The first element of each load, from the one it has in the program, and its strides: kept dimensions,
    /// then reduced ones.
    pub(crate) loads: Vec<(isize, LoadStrides)>,
    /// The elements of the first load.
    pub(crate) grid: Grid,
    /// Whether all elements that are reduced to one result are the same.
    pub(crate) repeats: bool,
    /// Whether the elements are those of the only load.
    pub(crate) is_load: bool,
    /// Whether some load's rows are closer in memory than its columns, or each result's elements are the
    /// same.
    across: bool,
    /// Whether rows are closer in memory than columns in some loads, and columns than rows in others.
    crosses: bool,
}

impl ReduceWalk {
    /// The walk over a window whose kept dimensions have the sizes `part`, or over all results (`is_whole`).
    pub(crate) fn new(
        reducer: &Reducer,
        (part, reduced): (&Shape, &Shape),
        program: &Program,
        is_whole: bool,
    ) -> ReduceWalk {
        // Results in the order of the operands' strides, and forwards, whatever order they are wanted in.
        let step = contiguous_strides(part);
        let of_kept = program.loads.iter().map(|load| &load.strides[..part.ndim()]);
        let strides: Vec<&[isize]> = of_kept.chain([&step[..]]).collect();
        let (turned, firsts) = turn_dims(part, &strides);
        let (mut ordered, mut strides) = order_dims(part, &slices(&turned));
        if lanes(reduced.numel()) == 1 && !has_neighbours(&ordered, &strides, program) {
            let last_first = |own: &[isize]| Strides::new(&rotated(own)).unwrap_or_default();
            strides = strides.iter().map(|own| last_first(own)).collect();
            ordered = Shape::new(&rotated(&ordered)).expect("the same sizes");
        }
        let strides = slices(&strides);
        let (of_results, of_loads) = strides.split_last().expect("results have strides");
        let (kept, strides) = coalesce(&ordered, of_loads);
        let (results, out) = coalesce(&ordered, &[of_results]);
        let whole = |((load, strides), &first): ((&Load, &Strides), &isize)| {
            (first, strides.iter().chain(&load.strides[part.ndim()..]).copied().collect())
        };
        let loads: Vec<(isize, LoadStrides)> =
            program.loads.iter().zip(&strides).zip(&firsts).map(whole).collect();
        let (first, out) = (firsts[program.loads.len()], out[0].clone());
        let of_loads: Vec<&[isize]> = loads.iter().map(|(_, strides)| strides.as_slice()).collect();
        let repeats = of_loads.iter().all(|strides| strides[kept.ndim()..].iter().all(|&stride| stride == 0));
        let is_across = |strides: &&[isize]| is_across(strides, &kept);
        let is_along = |strides: &&[isize]| {
            let [column, _, row] = steps(strides, &kept);
            is_nearer(row, column)
        };
        // Rows of a lane are too far apart for lines of memory along them to be transposed.
        let any_along = of_loads.iter().any(is_along);
        let crosses = lanes(reduced.numel()) > 1 && any_along && of_loads.iter().any(is_across);
        let across = repeats || !crosses && of_loads.iter().any(is_across);
        let is_load = matches!(program.instructions[program.result], Instruction::Load(0));
        let [column, outer, row] = of_loads.first().map_or([None; 3], |strides| steps(strides, &kept));
        let is_even = reduced.ndim() <= 1 && !of_loads.is_empty();
        let steps = (column.unwrap_or(1), is_even.then(|| row.unwrap_or(1)));
        let elements = (program.dtypes[program.result], reduced.numel());
        let results_of = (kept.last().copied().unwrap_or(1), kept.numel());
        let grid = Grid::new(reducer, elements, results_of, steps, is_nearer(outer, row));
        let grid = grid.in_tiles(is_whole, (is_load || any_along, is_scattered(&of_loads, &kept, reduced)));
        let sizes = kept.iter().chain(&**reduced).copied().collect();
        let kept = kept.ndim();
        ReduceWalk { sizes, kept, results, out, first, loads, grid, repeats, is_load, across, crosses }
    }

    /// How elements are handed to a fold that are read in place, or not.
    pub(crate) fn form(&self, in_place: bool) -> FoldForm {
        self.grid.form(self.across, in_place)
    }

    /// Results of a block, where so many elements are worth a thread.
    pub(crate) fn columns(&self, form: FoldForm, in_place: bool, grain: usize) -> usize {
        let Grid { inner, results, widest, count, .. } = self.grid;
        match form {
            // All threads have columns, of a few cache lines at least. Moments take more room than elements.
            FoldForm::Across if in_place => {
                let threads = (results.saturating_mul(count) / grain).clamp(1, num_threads());
                let share = inner.div_ceil(threads).next_multiple_of(SHARE_RESULTS);
                share.min(widest).min(inner)
            }
            FoldForm::Along if in_place => {
                let area = grain.min(IN_PLACE_ELEMENTS);
                // A fold reads lines at one distance.
                (area / count.min(area)).min(widest).clamp(1, if self.is_load { inner } else { results })
            }
            _ => self.tile_columns(form),
        }
    }

    /// Results of a tile.
    fn tile_columns(&self, form: FoldForm) -> usize {
        let Grid { inner, results, count, .. } = self.grid;
        match form {
            FoldForm::Across => results.min(REDUCED_TILE_ELEMENTS / count.clamp(1, self.tile_rows(form, 1))),
            FoldForm::Narrow => self.grid.tile_row.unwrap_or(inner),
            FoldForm::Along => {
                let least = if self.crosses { TRANSPOSED_COLUMNS } else { 1 };
                (REDUCED_TILE_ELEMENTS / count.min(REDUCED_TILE_ELEMENTS)).max(least).min(results)
            }
        }
    }

    /// The most rows of a tile of so many results: of a lane, all that there are unless operands' rows are
    /// contiguous; else whole leaves.
    pub(crate) fn tile_rows(&self, form: FoldForm, columns: usize) -> usize {
        match form {
            FoldForm::Across if self.across => TILE_ROWS,
            FoldForm::Across => LANE_ROWS,
            FoldForm::Narrow | FoldForm::Along => {
                (REDUCED_TILE_ELEMENTS / columns / LEAF_ELEMENTS).max(1) * LEAF_ELEMENTS
            }
        }
    }

    /// Whether a load is read once for a line of its tiles: where its elements are the same all along, and
    /// lines have `shortest` elements at least. A load that is the value itself is wanted as it is.
    pub(crate) fn is_splat(&self, load: usize, shortest: usize) -> bool {
        let form = self.form(false);
        let line = match form {
            FoldForm::Across | FoldForm::Narrow => self.tile_columns(form),
            FoldForm::Along => self.grid.count,
        };
        let of_rows = &self.loads[load].1[self.kept..];
        let is_same = match form {
            FoldForm::Along => of_rows.iter().all(|&stride| stride == 0),
            _ => self.is_same_across(load),
        };
        line >= shortest && !self.is_load && is_same
    }

    /// Whether all results read the same elements of a load.
    fn is_same_across(&self, load: usize) -> bool {
        self.loads[load].1[..self.kept].iter().all(|&stride| stride == 0)
    }

    /// As the function of this name.
    pub(crate) fn is_shared(&self, load: usize) -> bool {
        is_shared(&self.loads[load].1, &self.sizes[..self.kept])
    }

    /// Whether all results of a block have to be neighbours, since only these read the same elements.
    pub(crate) fn is_of_neighbours(&self) -> bool {
        (0..self.loads.len()).any(|load| self.is_shared(load) && !self.is_same_across(load))
    }
}

/// The strides of a load along the last kept dimension and the one before, and the shortest one along what is
/// reduced, 0 if it is one element there.
fn steps(strides: &[isize], kept: &Shape) -> [Option<isize>; 3] {
    let (kept, reduced) = strides.split_at(kept.ndim());
    let mut kept = kept.iter().rev().copied();
    let moves = reduced.iter().copied().filter(|&step| step != 0);
    let row = moves.min_by_key(|step| step.unsigned_abs()).or(reduced.first().map(|_| 0));
    [kept.next(), kept.next(), row]
}

/// Whether columns are closer in memory than rows. One element for all that are reduced to a result suits
/// both.
fn is_across(strides: &[isize], kept: &Shape) -> bool {
    let [column, _, row] = steps(strides, kept);
    row != Some(0) && (column == Some(1) || is_nearer(column, row))
}

/// Whether the last kept dimension has neighbours enough for vectors, or an operand moves along it that is
/// read once: the elements of others are copied anyway, whatever is innermost.
fn has_neighbours(kept: &Shape, strides: &[Strides], program: &Program) -> bool {
    let [outer @ .., inner] = &kept[..] else { return true };
    let moves = |strides: &Strides| strides.last() != Some(&0);
    let is_read_once = |load: &Load| !load.strides.contains(&0);
    let mut loads = program.loads.iter().zip(strides);
    *inner >= VECTOR_RESULTS
        || outer.iter().product::<usize>() < 4 * VECTOR_RESULTS
        || loads.any(|(load, strides)| moves(strides) && is_read_once(load))
}

/// The last one before the others.
fn rotated<T: Copy>(of: &[T]) -> SmallVec<[T; 8]> {
    of.last().into_iter().chain(&of[..of.len() - 1]).copied().collect()
}

/// Whether the results of a block read the same elements of a load: all results do, or neighbours, of which
/// there are many.
fn is_shared(strides: &[isize], kept: &[usize]) -> bool {
    let strides = &strides[..kept.len()];
    let are_many = kept.last().is_some_and(|&inner| inner >= SHORT_PRINTED_LINE_ELEMENTS);
    strides.iter().all(|&stride| stride == 0) || are_many && strides.last() == Some(&0)
}

/// Whether columns of some loads are closer in memory than rows, but code could not read the rows of all of
/// them where they are: it wants contiguous ones, or one element, at one distance from each other.
pub(super) fn is_scattered(loads: &[&[isize]], kept: &Shape, reduced: &Shape) -> bool {
    let is_row = |strides: &&[isize]| steps(strides, kept)[0] == Some(1) || is_shared(strides, kept);
    loads.iter().any(|strides| is_across(strides, kept)) && (reduced.ndim() > 1 || !loads.iter().all(is_row))
}

/// Whether one step leads elsewhere, but less far than another.
fn is_nearer(one: Option<isize>, other: Option<isize>) -> bool {
    matches!((one, other), (Some(one), Some(other)) if one != 0 && one.unsigned_abs() < other.unsigned_abs())
}
