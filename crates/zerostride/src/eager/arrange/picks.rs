//! Owns the meaning of index tensors: which elements integers and masks pick along the dimensions that they
//! stand for. It does not know how an index is written (`index.rs`), nor copying (`offsets.rs`).

use std::ops::Range;

use bytemuck::cast_slice;
use smallvec::SmallVec;
use zerostride_ops::DType;
use zerostride_shape::{ErrorClass, Layout, Shape, broadcast_shape};

use super::offsets::{PickedOffsets, masked, start};
use super::{access, list};
use crate::exec::StridedDims;
use crate::interrupt::{self, STRIDE};
use crate::{Error, Result, Tensor};

/// One index tensor and the dimensions of the indexed tensor that it stands for.
#[derive(Debug)]
pub(super) enum Pick {
    /// Integers along one dimension.
    Integers { dim: usize, index: Tensor },
    /// A mask over neighbouring dimensions, and how many of its elements are true.
    Mask { dims: Range<usize>, mask: Tensor, count: usize },
}

impl Pick {
    /// A mask over the dimensions from `dim` on, which has their sizes.
    pub(super) fn mask(dim: usize, mask: Tensor) -> Result<Pick> {
        let mask = mask.contiguous()?;
        let count = access::read("indexing", [&mask], |[mask]| Ok(count_true(mask)))?;
        Ok(Pick::Mask { dims: dim..dim + mask.ndim(), mask, count })
    }

    /// Elements that are picked.
    pub(super) fn count(&self) -> usize {
        match self {
            Pick::Integers { index, .. } => index.numel(),
            Pick::Mask { count, .. } => *count,
        }
    }

    fn dims(&self) -> Range<usize> {
        match self {
            Pick::Integers { dim, .. } => *dim..dim + 1,
            Pick::Mask { dims, .. } => dims.clone(),
        }
    }

    fn shape(&self) -> Result<Shape> {
        Ok(match self {
            Pick::Integers { index, .. } => index.shape_value().clone(),
            Pick::Mask { count, .. } => Shape::new(&[*count])?,
        })
    }

    /// Refuses integers along a dimension without elements, even where the result has no elements.
    fn refuse_nothing(&self, sizes: &[usize]) -> Result<()> {
        match self {
            Pick::Integers { dim, index } if sizes[*dim] == 0 && index.numel() > 0 => {
                wrapped(0, 0, *dim).map(drop)
            }
            _ => Ok(()),
        }
    }

    /// The offset of each picked element from the first element of the tensor, in row-major order. `ordinal`
    /// is the number of index tensors before this one, as PyTorch's error counts them.
    pub(super) fn offsets(&self, of: &Layout, ordinal: usize) -> Result<Vec<isize>> {
        match self {
            Pick::Integers { dim, index } => {
                let (size, stride) = (of.shape()[*dim], of.strides()[*dim]);
                let index = index.to_dtype(DType::I64)?.contiguous()?;
                let mut offsets = list(index.numel(), index.shape_value())?;
                access::read("indexing", [&index], |[bytes]| {
                    for indices in cast_slice::<u8, i64>(bytes).chunks(STRIDE) {
                        interrupt::check();
                        for &at in indices {
                            offsets.push(wrapped(at, size, ordinal)? as isize * stride);
                        }
                    }
                    Ok(offsets)
                })
            }
            Pick::Mask { dims, mask, count } => {
                // Every offset is written, and kept where the mask is true: a branch would be mispredicted.
                let mut offsets: Vec<isize> = list(count + 1, mask.shape_value())?;
                offsets.resize(count + 1, 0);
                access::read("indexing", [mask], |[bools]| {
                    let mut found = 0;
                    masked(mask.shape(), &of.strides()[dims.clone()], bools, |offset, truth| {
                        offsets[found] = offset;
                        // Another thread may have changed the mask since it was counted.
                        found = (found + usize::from(truth)).min(*count);
                    });
                    Ok(())
                })?;
                offsets.truncate(*count);
                Ok(offsets)
            }
        }
    }
}

/// How many bools are true.
fn count_true(mask: &[u8]) -> usize {
    // A byte holds the count of so few, so that registers count many at once.
    let few = |bools: &[u8]| bools.iter().fold(0, |count: u8, &truth| count + u8::from(truth != 0));
    mask.chunks(u8::MAX.into()).map(|bools| usize::from(few(bools))).sum()
}

/// An index along a dimension, negative ones counted from its end.
fn wrapped(at: i64, size: usize, ordinal: usize) -> Result<usize> {
    let wrapped = if at < 0 { at.saturating_add_unsigned(size as u64) } else { at };
    match usize::try_from(wrapped) {
        Ok(wrapped) if wrapped < size => Ok(wrapped),
        _ if size == 0 => Err(Error::index("index is out of bounds for dimension with size 0")),
        _ => Err(Error::index(format_args!(
            "index {at} is out of bounds for dimension {ordinal} with size {size}"
        ))),
    }
}

/// The shape of what index tensors pick, and the dimensions of the tensor in it.
pub(super) struct Shapes {
    /// The shape of the result.
    pub(super) whole: Shape,
    /// The shapes of the index tensors, and the one that they broadcast to.
    each: Vec<Shape>,
    common: Shape,
    /// The dimensions that are not picked along, before and after those that are.
    before: SmallVec<[usize; 8]>,
    after: SmallVec<[usize; 8]>,
}

impl Shapes {
    /// `picks` are in the order of their dimensions, at least one.
    ///
    /// # Errors
    /// The index tensors do not broadcast, or index a dimension without elements.
    pub(super) fn new(of: &Layout, picks: &[Pick]) -> Result<Shapes> {
        let each: Vec<Shape> = picks.iter().map(Pick::shape).collect::<Result<_>>()?;
        let common = broadcast_shape(&each.iter().map(|shape| &shape[..]).collect::<Vec<_>>())
            .map_err(|_| mismatch(picks, &each))?;
        let is_picked = |dim: &usize| picks.iter().any(|pick| pick.dims().contains(dim));
        // The dimensions of neighbouring index tensors replace those that they index; of others, they come
        // first.
        let first = picks.iter().map(|pick| pick.dims().start).min().unwrap_or(0);
        let last = picks.iter().map(|pick| pick.dims().end).max().unwrap_or(0);
        let together = (first..last).all(|dim| is_picked(&dim));
        let before: SmallVec<[usize; 8]> = if together { (0..first).collect() } else { SmallVec::new() };
        let after: SmallVec<[usize; 8]> = (before.len()..of.ndim()).filter(|dim| !is_picked(dim)).collect();
        let whole = Shape::new(&[&sizes(of, &before)[..], &common[..], &sizes(of, &after)[..]].concat())?;
        if whole.numel() == 0 {
            picks.iter().try_for_each(|pick| pick.refuse_nothing(of.shape()))?;
        }
        Ok(Shapes { whole, each, common, before, after })
    }
}

fn sizes(of: &Layout, dims: &[usize]) -> SmallVec<[usize; 8]> {
    dims.iter().map(|&dim| of.shape()[dim]).collect()
}

/// What index tensors pick from a tensor: the shape of the result, and the offsets of its elements.
#[derive(Debug)]
pub(super) struct Picked {
    pub(super) shape: Shape,
    /// `None` where there are no elements.
    pub(super) offsets: Option<PickedOffsets>,
}

impl Picked {
    /// `picks` are in the order of their dimensions, at least one.
    ///
    /// # Errors
    /// As [`Shapes::new`]; an integer is out of bounds, or there is no memory.
    pub(super) fn new(tensor: &Tensor, picks: &[Pick]) -> Result<Picked> {
        let of = tensor.layout();
        let Shapes { whole: shape, each, common, before, after } = Shapes::new(of, picks)?;
        if shape.numel() == 0 {
            return Ok(Picked { shape, offsets: None });
        }
        let along = |dims: &[usize]| {
            let strides: SmallVec<[isize; 8]> = dims.iter().map(|&dim| of.strides()[dim]).collect();
            StridedDims::of(&sizes(of, dims), &strides)
        };
        let picked = combined(picks, &each, &common, of)?;
        Ok(Picked {
            shape,
            offsets: Some(PickedOffsets::new(start(tensor), along(&before), picked, along(&after))),
        })
    }
}

/// PyTorch's words, in which a mask counts once for each of its dimensions.
fn mismatch(picks: &[Pick], shapes: &[Shape]) -> Error {
    let listed =
        picks.iter().zip(shapes).flat_map(|(pick, shape)| pick.dims().map(move |_| shape.to_string()));
    let listed = listed.collect::<Vec<_>>().join(", ");
    Error::index(format_args!(
        "shape mismatch: indexing tensors could not be broadcast together with shapes {listed}"
    ))
}

/// The offsets of all picks added up, broadcast to their common shape.
fn combined(picks: &[Pick], shapes: &[Shape], common: &Shape, of: &Layout) -> Result<Vec<isize>> {
    let mut ordinal = 0;
    let mut each = picks.iter().zip(shapes).map(|(pick, shape)| {
        let offsets = pick.offsets(of, ordinal)?;
        ordinal += pick.dims().len();
        Ok((offsets, shape))
    });
    if picks.len() == 1 {
        return each.next().map_or(Ok(Vec::new()), |alone: Result<_>| Ok(alone?.0));
    }
    let mut sum: Vec<isize> = list(common.numel(), common)?;
    sum.resize(common.numel(), 0);
    for next in each {
        let (offsets, shape) = next?;
        let stretched = Layout::contiguous(shape.clone()).broadcast_to(common)?;
        let steps = StridedDims::of(common, stretched.strides());
        for (sum, [step]) in sum.iter_mut().zip(steps.walk(0)) {
            *sum += offsets[step as usize];
        }
    }
    Ok(sum)
}

impl Error {
    /// An argument error of PyTorch's `IndexError` class.
    pub(super) fn index(message: impl std::fmt::Display) -> Error {
        Error::Argument { class: ErrorClass::Index, message: message.to_string() }
    }
}
