//! Owns operands in every layout: memory of known bytes, and views of it. What a view shows is found here by
//! an index by index walk, so that nothing depends on the engine's own copies.

use zerostride::{DType, Element, Slice, Tensor};
use zerostride_ops::{Category, with_type};

use crate::tree::Random;

/// How a view lies in its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Contiguous,
    /// All dimensions in the opposite order.
    Permuted,
    /// The last two dimensions in the opposite order.
    Transposed,
    /// Every other element of a row.
    Stepped,
    /// Every other of the outermost rows.
    SteppedRows,
    /// All strides negative.
    Reversed,
    /// Rows that begin in the middle of longer ones.
    Offset,
    /// Windows of one row that share elements.
    Windows,
    /// Stretched along all but the last dimension.
    Row,
    /// Stretched along the last dimension.
    Column,
    /// Stretched along the middle dimension.
    Middle,
    /// Stretched along the first dimension.
    Outer,
    /// One element for all.
    Scalar,
}

use Place::*;

impl Place {
    pub(crate) const ALL: [Place; 13] = [
        Contiguous,
        Permuted,
        Transposed,
        Stepped,
        SteppedRows,
        Reversed,
        Offset,
        Windows,
        Row,
        Column,
        Middle,
        Outer,
        Scalar,
    ];

    /// Those without elements that share memory.
    pub(crate) const WRITABLE: [Place; 7] =
        [Contiguous, Permuted, Transposed, Stepped, SteppedRows, Reversed, Offset];
}

/// What the elements may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Values {
    Any,
    /// No bool or integer is 0.
    NoIntegerZero,
}

/// A view of three dimensions and all the memory behind it.
pub(crate) struct Placed {
    base: Tensor,
    pub(crate) view: Tensor,
}

impl Placed {
    /// A view of that shape, with random elements.
    pub(crate) fn new(
        place: Place,
        [a, b, n]: [usize; 3],
        dtype: DType,
        values: Values,
        random: &mut Random,
    ) -> Placed {
        let size = match place {
            Contiguous | Reversed => vec![a, b, n],
            Permuted => vec![n, b, a],
            Transposed => vec![a, n, b],
            Stepped => vec![a, b, 2 * n + 1],
            SteppedRows => vec![2 * a + 1, b, n],
            Offset => vec![a, b, n + 5],
            Windows => vec![a, n + b],
            Row => vec![n],
            Column => vec![a, b, 1],
            Middle => vec![a, 1, n],
            Outer => vec![1, b, n],
            Scalar => vec![],
        };
        let base = tensor(random, &size, dtype, values);
        let view = match place {
            Contiguous => Ok(base.alias()),
            Permuted => base.permute(&[2, 1, 0]),
            Transposed => base.transpose(1, 2),
            Stepped => base.slice(2, Slice::from(1..).step_by(2)),
            SteppedRows => base.slice(0, Slice::from(1..).step_by(2)),
            Reversed => base.flip(&[0, 1, 2]),
            Offset => base.narrow(2, 3, n as isize),
            Windows => base.unfold(1, n as isize, 1).and_then(|windows| windows.narrow(1, 0, b as isize)),
            Row | Column | Middle | Outer | Scalar => base.expand(&[a as isize, b as isize, n as isize]),
        };
        let view = view.unwrap();
        assert_eq!(view.shape(), [a, b, n], "{place:?}");
        Placed { base, view }
    }

    /// The same elements in memory of their own, in row-major order.
    pub(crate) fn plain(&self) -> Tensor {
        with_type!(self.view.dtype(), T => {
            let all = self.base.to_vec::<T>().unwrap();
            let own: Vec<T> = positions(&self.view).into_iter().map(|at| all[at]).collect();
            Tensor::from_vec(own, self.view.shape()).unwrap()
        })
    }

    /// All the memory behind the view.
    pub(crate) fn memory(&self) -> Vec<u8> {
        bytes(&self.base)
    }

    /// All the memory, as it would be had the view those elements.
    pub(crate) fn memory_with(&self, elements: &[u8]) -> Vec<u8> {
        let mut all = self.memory();
        let size = self.view.dtype().item_size();
        for (at, element) in positions(&self.view).into_iter().zip(elements.chunks(size)) {
            all[at * size..][..size].copy_from_slice(element);
        }
        all
    }
}

/// Where the elements of a view lie, in row-major order.
fn positions(view: &Tensor) -> Vec<usize> {
    let start = vec![view.storage_offset() as isize];
    let walk = |places: Vec<isize>, (&size, &stride): (&usize, &isize)| {
        places.iter().flat_map(|place| (0..size as isize).map(move |at| place + at * stride)).collect()
    };
    let places = view.shape().iter().zip(view.strides()).fold(start, walk);
    places.into_iter().map(|place| place as usize).collect()
}

/// Small numbers, the ends of the dtype's range, and any bits whatever.
fn tensor(random: &mut Random, shape: &[usize], dtype: DType, values: Values) -> Tensor {
    let (size, part) = (dtype.item_size(), dtype.to_real());
    let one = values == Values::NoIntegerZero && matches!(part.category(), Category::Bool | Category::Int);
    let mut elements = Vec::new();
    for _ in 0..shape.iter().product::<usize>() * size / part.item_size() {
        let start = elements.len();
        elements.extend_from_slice(&element(random, part)[..part.item_size()]);
        if one && elements[start..].iter().all(|&byte| byte == 0) {
            elements[start] = 1;
        }
    }
    with_type!(dtype, T => {
        let values = elements.chunks(size).map(|bytes| T::load(bytemuck::pod_read_unaligned(bytes)));
        Tensor::from_vec(values.collect(), shape).unwrap()
    })
}

/// The bytes of an element of a dtype that is not complex.
fn element(random: &mut Random, dtype: DType) -> [u8; 8] {
    let bits = random.next() << 40 ^ random.next() << 20 ^ random.next();
    let small = random.below(9) as f64 - 3.0;
    let number =
        random.of(&[small, small * 0.37, small * 11.7, -0.0, f64::INFINITY, f64::NAN, 1e-40, 65504.0]);
    let bits = match (dtype, random.below(4) > 0) {
        (DType::Bool, _) => bits & 1,
        (DType::F16, true) => zerostride::f16::from_f64(number).to_bits().into(),
        (DType::BF16, true) => zerostride::bf16::from_f64(number).to_bits().into(),
        (DType::F32, true) => (number as f32).to_bits().into(),
        (DType::F64, true) => number.to_bits(),
        (_, true) => {
            random.of(&[small as i64 as u64, 1 << (8 * dtype.item_size() - 1), u64::MAX, u64::MAX >> 1])
        }
        (_, false) => bits,
    };
    bits.to_le_bytes()
}

/// The bytes of the elements in row-major order.
pub(crate) fn bytes(tensor: &Tensor) -> Vec<u8> {
    with_type!(tensor.dtype(), T => {
        let stored: Vec<_> = tensor.to_vec::<T>().unwrap().into_iter().map(T::store).collect();
        bytemuck::cast_slice(&stored).to_vec()
    })
}

/// Makes every NaN the same one.
pub(crate) fn one_nan(mut bytes: Vec<u8>, dtype: DType) -> Vec<u8> {
    let (size, infinity) = match dtype.to_real() {
        DType::F16 => (2, 0x7c00),
        DType::BF16 => (2, 0x7f80),
        DType::F32 => (4, 0x7f80_0000),
        DType::F64 => (8, 0x7ff0 << 48),
        _ => return bytes,
    };
    for part in bytes.chunks_mut(size) {
        let mut word = [0; 8];
        word[..size].copy_from_slice(part);
        let magnitude = u64::from_le_bytes(word) & !(1 << (8 * size - 1));
        if magnitude > infinity {
            part.fill(0xff);
        }
    }
    bytes
}
