//! Owns the transposes of views: what a view shows of an operand's cotangent, put back where the operand's
//! elements are, and zeros elsewhere. It does not know why (`transform.rs`).

use smallvec::SmallVec;
use zerostride_shape::{Layout, Shape, Strides};

use crate::expr::{Expr, View};
use crate::{Result, Tensor};

/// The cotangent of a view's operand of that shape, given that of the view. Where the view stretches, the
/// caller sums.
pub(super) fn transpose(view: &View, shape: &Shape, cotangent: &Expr) -> Result<Expr> {
    let ndim = shape.ndim();
    let place = |dim: isize| if dim < 0 { (dim + ndim as isize) as usize } else { dim as usize };
    Ok(match view {
        View::Expand(_) | View::BroadcastTo(_) => cotangent.clone(),
        View::Unsqueeze(_) | View::Squeeze | View::SqueezeDims(_) | View::Reshape(_) | View::Flatten(..) => {
            reshaped(cotangent, shape)
        }
        View::Permute(_) | View::Transpose(..) | View::T | View::MatrixTranspose | View::Movedim(..) => {
            // The strides tell where each dimension went.
            let numbers = Strides::new(&(0..ndim as isize).collect::<Vec<isize>>())?;
            let turned = view.apply(&Layout::new(Shape::new(&vec![1; ndim])?, numbers, 0)?)?;
            let mut back: Vec<isize> = vec![0; ndim];
            turned.strides().iter().enumerate().for_each(|(to, &from)| back[from as usize] = to as isize);
            cotangent.permute(&back)
        }
        View::Flip(dims) => cotangent.flip(dims),
        View::Narrow { dim, start, .. } => {
            let dim = place(*dim);
            let start = if *start < 0 { start + shape[dim] as isize } else { *start };
            padded(cotangent, dim, start as usize, shape[dim])?
        }
        View::Select { dim, index } => {
            let dim = place(*dim);
            let index = if *index < 0 { index + shape[dim] as isize } else { *index };
            padded(&cotangent.unsqueeze(dim as isize), dim, index as usize, shape[dim])?
        }
        View::Slice { dim, step, .. } => {
            // The layout knows where the slice begins.
            let dim = place(*dim);
            let mut sizes = vec![1; ndim];
            sizes[dim] = shape[dim];
            let seen = view.apply(&Layout::contiguous(Shape::new(&sizes)?))?;
            let (count, first, apart) = (seen.shape()[dim], seen.offset() as usize, step.unsigned_abs());
            match (count, *step < 0) {
                (0, _) => zeros(cotangent, shape)?,
                (_, false) => spread(cotangent, dim, apart, first, shape[dim])?,
                (_, true) => {
                    let last = first - (count - 1) * apart;
                    spread(&cotangent.flip(&[dim as isize]), dim, apart, last, shape[dim])?
                }
            }
        }
        View::Diagonal { offset, dim1, dim2 } => {
            let (rows, columns) = (place(*dim1), place(*dim2));
            diagonal(cotangent, *offset, [rows, columns], shape)?
        }
        View::Unfold { dim, size, step } => {
            // Windows overlap: what is seen in each place of a window is put back alone.
            let (dim, step) = (if ndim == 0 { 0 } else { place(*dim) }, *step as usize);
            let of_place = |place: isize| -> Result<Expr> {
                let seen = cotangent.select(-1, place);
                if ndim == 0 {
                    Ok(reshaped(&seen, shape))
                } else {
                    spread(&seen, dim, step, place as usize, shape[dim])
                }
            };
            let mut sum = zeros(cotangent, shape)?;
            for place in 0..*size {
                sum = if place == 0 { of_place(place)? } else { sum + of_place(place)? };
            }
            sum
        }
    })
}

fn reshaped(expr: &Expr, shape: &Shape) -> Expr {
    if expr.shape().is_ok_and(|own| own == &shape[..]) {
        return expr.clone();
    }
    let sizes: SmallVec<[isize; 8]> = shape.iter().map(|&size| size as isize).collect();
    expr.reshape(&sizes)
}

/// Zeros of an expression's dtype.
pub(super) fn zeros(like: &Expr, shape: &[usize]) -> Result<Expr> {
    Ok(Expr::from(0.0).to_dtype(like.dtype()?).broadcast_to(shape))
}

/// The elements of a dimension `step` apart, the first of them at `first`, in a dimension of size `size`.
fn spread(expr: &Expr, dim: usize, step: usize, first: usize, size: usize) -> Result<Expr> {
    let count = expr.shape()?[dim];
    let at = dim as isize;
    if step == 1 || count <= 1 {
        return padded(expr, dim, first, size);
    }
    let apart = padded(&expr.unsqueeze(at + 1), dim + 1, 0, step)?.flatten(at, at + 1);
    padded(&apart.narrow(at, 0, ((count - 1) * step + 1) as isize), dim, first, size)
}

/// A dimension with zeros around: its elements begin at `first` in a dimension of size `size`.
///
/// No view shows zeros that are nowhere. The elements are repeated so often that a part of that, as long as
/// the dimension is to be, has them in the right place, and a mask puts zeros everywhere else.
fn padded(expr: &Expr, dim: usize, first: usize, size: usize) -> Result<Expr> {
    let shape = expr.shape()?;
    let (count, at) = (shape[dim], dim as isize);
    if count == size {
        return Ok(expr.clone());
    }
    if count == 0 {
        let mut sizes = shape.to_vec();
        sizes[dim] = size;
        return zeros(expr, &sizes);
    }
    let start = (count - first % count) % count;
    let mut copies: Vec<usize> = shape.to_vec();
    copies.insert(dim, (start + size).div_ceil(count));
    let repeated = expr.unsqueeze(at).broadcast_to(&copies).flatten(at, at + 1);
    let moved = repeated.narrow(at, start as isize, size as isize);
    let is_there: Vec<bool> = (0..size).map(|index| (first..first + count).contains(&index)).collect();
    let mut sizes = vec![1; shape.len() - dim];
    sizes[0] = size;
    Ok(moved.where_(&Tensor::from_vec(is_there, &sizes)?, 0.0))
}

/// The matrices of two dimensions whose diagonals are given in the last dimension.
fn diagonal(expr: &Expr, offset: isize, [rows, columns]: [usize; 2], shape: &Shape) -> Result<Expr> {
    let last = expr.shape()?.len() - 1;
    let (height, width) = (shape[rows], shape[columns]);
    let first = (-offset).max(0) as usize;
    let column = padded(expr, last, first.min(height), height)?.unsqueeze(-1);
    let is_there =
        (0..height * width).map(|index| (index % width) as isize - (index / width) as isize == offset);
    let is_there = Tensor::from_vec(is_there.collect::<Vec<bool>>(), &[height, width])?;
    let matrices = column.where_(&is_there, 0.0);
    Ok(matrices.movedim(&[-2, -1], &[rows as isize, columns as isize]))
}

/// The cotangent of a tensor, given that of a view of it that an expression reads; `None` where the view
/// shows elements of the tensor more than once other than by stretching, or not as its layout tells.
pub(super) fn of_tensor(cotangent: &Expr, seen: &Layout, tensor: &Layout) -> Result<Option<Expr>> {
    if seen == tensor {
        return Ok(Some(cotangent.clone()));
    }
    let (Some(seen), Some(whole)) = (InMemoryOrder::of(seen), InMemoryOrder::of(tensor)) else {
        return Ok(None);
    };
    let numel = whole.sizes.iter().product();
    let begins = seen.first - whole.first;
    if !whole.stretched.is_empty()
        || whole.reach != numel
        || begins < 0
        || begins as usize + seen.reach > numel
    {
        return Ok(None);
    }
    // In order of memory, without what is stretched.
    let kept: Vec<isize> = seen.stretched.iter().map(|&dim| dim as isize).collect();
    let summed = if kept.is_empty() { cotangent.clone() } else { cotangent.sum(crate::keepdim(&kept[..])) };
    let turned = summed.flip(&seen.flipped).permute(&seen.order);
    let mut block = reshaped(&turned, &Shape::new(&seen.sizes)?);
    if (&seen.sizes, &seen.strides) != (&whole.sizes, &whole.strides) {
        block = flat(block, &seen, begins as usize, numel)?;
    }
    let mut ordered: Vec<usize> = vec![1; tensor.shape().ndim() - whole.sizes.len()];
    ordered.extend(&whole.sizes);
    let ordered = reshaped(&block, &Shape::new(&ordered)?);
    let mut back = vec![0; whole.order.len()];
    whole.order.iter().enumerate().for_each(|(from, &to)| back[to as usize] = from as isize);
    Ok(Some(ordered.permute(&back).flip(&whole.flipped)))
}

/// Elements `strides` apart, in one dimension of that size.
fn flat(mut block: Expr, seen: &InMemoryOrder, first: usize, size: usize) -> Result<Expr> {
    let mut reach = 1;
    block = block.unsqueeze(-1);
    for (dim, (&count, &stride)) in seen.sizes.iter().zip(&seen.strides).enumerate().rev() {
        let apart = padded(&block, dim + 1, 0, stride as usize)?.flatten(dim as isize, dim as isize + 1);
        reach += (count - 1) * stride as usize;
        block = if stride == 1 { apart } else { apart.narrow(-1, 0, reach as isize) };
    }
    padded(&block, 0, first, size)
}

/// A layout in order of memory: dimensions of size 1 first, then by falling strides, none of them negative.
struct InMemoryOrder {
    /// The dimensions in that order.
    order: Vec<isize>,
    /// Those whose strides were negative.
    flipped: Vec<isize>,
    /// Those that are stretched.
    stretched: Vec<usize>,
    /// The sizes and strides of those that are more than 1 and not stretched.
    sizes: Vec<usize>,
    strides: Vec<isize>,
    /// The least offset of an element.
    first: isize,
    /// Elements from there to the last one, this one included.
    reach: usize,
}

impl InMemoryOrder {
    /// `None` if there are no elements, or if elements stand twice other than by stretching.
    fn of(layout: &Layout) -> Option<InMemoryOrder> {
        let (shape, strides) = (layout.shape(), layout.strides());
        if shape.numel() == 0 {
            return None;
        }
        let is_plain = |dim: usize| shape[dim] > 1 && strides[dim] != 0;
        let mut order: Vec<usize> = (0..shape.ndim()).collect();
        order.sort_by_key(|&dim| (is_plain(dim), std::cmp::Reverse(strides[dim].abs())));
        let plain: Vec<usize> = order.iter().copied().filter(|&dim| is_plain(dim)).collect();
        let flipped: Vec<usize> = plain.iter().copied().filter(|&dim| strides[dim] < 0).collect();
        let back = |dim: &usize| strides[*dim] * (shape[*dim] as isize - 1);
        let first = layout.offset() + flipped.iter().map(back).sum::<isize>();
        let mut reach = 1;
        for &dim in plain.iter().rev() {
            if strides[dim].unsigned_abs() < reach {
                return None;
            }
            reach += strides[dim].unsigned_abs() * (shape[dim] - 1);
        }
        Some(InMemoryOrder {
            order: order.iter().map(|&dim| dim as isize).collect(),
            flipped: flipped.iter().map(|&dim| dim as isize).collect(),
            stretched: (0..shape.ndim()).filter(|&dim| shape[dim] > 1 && strides[dim] == 0).collect(),
            sizes: plain.iter().map(|&dim| shape[dim]).collect(),
            strides: plain.iter().map(|&dim| strides[dim].abs()).collect(),
            first,
            reach,
        })
    }
}
