//! Matrix products of random shapes and layouts against three nested loops over elements.

use proptest::prelude::*;
use zerostride::{DType, Error, Expr, Slice, Tensor, interruptible};

use crate::corpus::values;

/// One factor's sizes and how it lies in memory.
#[derive(Clone, Debug)]
struct Factor {
    batch: Vec<usize>,
    rows: usize,
    columns: usize,
    transposed: bool,
    reversed: bool,
    offset: usize,
    stretched: bool,
}

impl Factor {
    fn shape(&self) -> Vec<usize> {
        self.batch.iter().copied().chain([self.rows, self.columns]).collect()
    }

    /// Small integers in the layout.
    fn tensor(&self, dtype: DType) -> Tensor {
        let own = if self.stretched { vec![1; self.batch.len()] } else { self.batch.clone() };
        let (inner, outer) =
            if self.transposed { (self.rows, self.columns) } else { (self.columns, self.rows) };
        let sizes: Vec<isize> = own.iter().copied().chain([outer, inner]).map(|size| size as isize).collect();
        let count: isize = sizes.iter().product();
        let numbers: Vec<i64> = (0..self.offset as i64 + count as i64).map(|k| k * 5 % 7 + 1).collect();
        let storage = Tensor::from_slice(&numbers, &[numbers.len()]).unwrap().to_dtype(dtype).unwrap();
        let mut view = storage.narrow(0, self.offset as isize, count).unwrap().view(&sizes).unwrap();
        if self.reversed {
            view = view.flip(&[-1]).unwrap();
        }
        if self.transposed {
            view = view.transpose(-1, -2).unwrap();
        }
        view.broadcast_to(&self.shape()).unwrap()
    }
}

/// Batches that broadcast: dimensions missing on one side, or 1, or equal.
fn factors() -> impl Strategy<Value = (Factor, Factor)> {
    let batch = prop::collection::vec((0usize..4, 0u8..4), 0..3);
    let layout = || (any::<bool>(), any::<bool>(), 0usize..4, any::<bool>());
    (batch, 0usize..6, 0usize..6, 0usize..6, layout(), layout(), 0usize..3).prop_map(
        |(batch, n, k, m, left, right, missing)| {
            let side = |ones: u8| batch.iter().map(move |&(size, one)| if one == ones { 1 } else { size });
            let make = |batch: Vec<usize>, rows, columns, (transposed, reversed, offset, stretched)| Factor {
                batch,
                rows,
                columns,
                transposed,
                reversed,
                offset,
                stretched,
            };
            let right_batch: Vec<usize> = side(1).skip(missing.min(batch.len())).collect();
            (make(side(0).collect(), n, k, left), make(right_batch, k, m, right))
        },
    )
}

/// The product by its definition, on f64.
fn naive(a: &Tensor, b: &Tensor, shape: &[usize]) -> Vec<f64> {
    let at = |tensor: &Tensor, numbers: &[f64], batch: &[usize], row: usize, column: usize| {
        let sizes = tensor.shape();
        let own = sizes.len() - 2;
        let index = batch[batch.len() - own..]
            .iter()
            .zip(sizes)
            .fold(0, |index, (&at, &size)| index * size + if size == 1 { 0 } else { at });
        numbers[(index * sizes[own] + row) * sizes[own + 1] + column]
    };
    let (left, right) = (values(a), values(b));
    let (batch_sizes, [n, m]) = shape.split_at(shape.len() - 2) else { unreachable!() };
    let mut product = Vec::new();
    let batches: usize = batch_sizes.iter().product();
    for batch in 0..batches {
        let mut rest = batch;
        let mut index = vec![0; batch_sizes.len()];
        for (at, &size) in index.iter_mut().zip(batch_sizes).rev() {
            (*at, rest) = (rest % size, rest / size);
        }
        for row in 0..*n {
            for column in 0..*m {
                let inner = 0..a.shape()[a.ndim() - 1];
                product.push(
                    inner.map(|k| at(a, &left, &index, row, k) * at(b, &right, &index, k, column)).sum(),
                );
            }
        }
    }
    product
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn a_product_is_its_definition((a, b) in factors(), dtype in 1usize..15) {
        let dtype = DType::ALL[dtype];
        let (a, b) = (a.tensor(dtype), b.tensor(dtype));
        let product = a.matmul(&b).unwrap();
        let wanted = naive(&a, &b, product.shape());
        // Five products of at most 49 each: exact everywhere but in 8 bits, where they wrap.
        let wrapped: Vec<f64> = match dtype {
            DType::I8 => wanted.iter().map(|&sum| f64::from(sum as i64 as i8)).collect(),
            _ => wanted,
        };
        prop_assert_eq!(values(&product), wrapped);
    }
}

#[test]
fn vectors_of_every_layout_multiply() {
    let x = Tensor::arange(0, 12, 1).unwrap();
    let every_other = x.slice(0, Slice::from(..).step_by(2)).unwrap();
    let reversed = x.narrow(0, 3, 6).unwrap().flip(&[0]).unwrap();
    let stretched = x.narrow(0, 4, 1).unwrap().expand(&[6]).unwrap();
    for a in [&every_other, &reversed, &stretched] {
        for b in [&every_other, &reversed, &stretched] {
            let wanted: f64 = values(a).iter().zip(values(b)).map(|(a, b)| a * b).sum();
            for dtype in [DType::I64, DType::F64, DType::F16, DType::C128] {
                let (a, b) = (Expr::from(a).to_dtype(dtype), Expr::from(b).to_dtype(dtype));
                assert_eq!(values(&a.matmul(&b).eval().unwrap()), [wanted]);
            }
        }
    }
}

#[test]
fn large_products_are_the_same_from_any_number_of_threads() {
    let a = Tensor::rand(&[3, 200, 70], 1).unwrap();
    let b = Tensor::rand(&[70, 90], 2).unwrap().expand(&[3, 70, 90]).unwrap();
    let wanted = a.matmul(&b).unwrap().to_vec::<f32>().unwrap();
    for threads in [1, 2, 3, 16] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        assert_eq!(
            pool.install(|| a.matmul(&b)).unwrap().to_vec::<f32>().unwrap(),
            wanted,
            "{threads} threads"
        );
    }
}

#[test]
fn a_stretched_batch_is_read_once_and_never_held() {
    let a = Tensor::rand(&[1, 4, 8], 1).unwrap().expand(&[1000, 4, 8]).unwrap();
    let b = Tensor::rand(&[8, 2], 2).unwrap();
    let plan = Expr::from(&a).matmul(&b).plan().unwrap();
    assert_eq!(plan.bytes_read(), (4 * 8 + 8 * 2) * 4);
    assert_eq!(plan.scratch_bytes(), 0);
    assert_eq!(plan.output_bytes(), 1000 * 4 * 2 * 4);
    // The views of an expression are no copies either.
    let plan = Expr::from(&b).unsqueeze(0).expand(&[1000, -1, -1]).transpose(1, 2);
    let plan = plan.matmul(Tensor::ones(&[8, 3]).unwrap()).plan().unwrap();
    assert_eq!((plan.bytes_read(), plan.passes()), ((8 * 2 + 8 * 3) * 4, 1));
}

/// A matrix's elements in another layout: in columns, reversed, with gaps, or with a gap before them.
fn laid_out(matrix: &Tensor, layout: usize) -> Tensor {
    let twice: Vec<usize> = matrix.shape().iter().map(|&size| 2 * size).collect();
    match layout {
        0 => matrix.alias(),
        1 => matrix.transpose(-1, -2).unwrap().contiguous().unwrap().transpose(-1, -2).unwrap(),
        2 => matrix.flip(&[-1]).unwrap().contiguous().unwrap().flip(&[-1]).unwrap(),
        3 => matrix.flip(&[-2]).unwrap().contiguous().unwrap().flip(&[-2]).unwrap(),
        _ => {
            let spread = Tensor::zeros(&twice).unwrap().to_dtype(matrix.dtype()).unwrap();
            let mut view = spread;
            for dim in 0..twice.len() as isize {
                view = view.slice(dim, Slice::from(..).step_by(2)).unwrap();
            }
            view.copy_(matrix).unwrap();
            view
        }
    }
}

/// Bits of a tensor's elements.
fn bits(tensor: &Tensor) -> Vec<u64> {
    let real = |tensor: Expr| -> Vec<u64> {
        tensor
            .to_dtype(DType::F64)
            .eval()
            .unwrap()
            .to_vec::<f64>()
            .unwrap()
            .into_iter()
            .map(f64::to_bits)
            .collect()
    };
    match tensor.dtype() {
        DType::C64 | DType::C128 => [Expr::from(tensor).real(), Expr::from(tensor).imag()].map(real).concat(),
        _ => real(Expr::from(tensor)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn an_element_of_a_product_depends_on_its_row_and_column_alone(
        [n, k, m] in prop::array::uniform3(prop_oneof![1usize..8, 1usize..70, 120usize..140]),
        batches in 1usize..4,
        left in 0usize..5,
        right in 0usize..5,
        dtype in prop::sample::select(vec![DType::F16, DType::BF16, DType::F32, DType::F64, DType::C64, DType::C128]),
        seed in any::<u64>(),
    ) {
        let random = |shape: &[usize], seed| {
            let part = |seed| Expr::from(Tensor::rand(shape, seed).unwrap()) - 0.4;
            let real = part(seed);
            let value = if matches!(dtype, DType::C64 | DType::C128) { real.complex(part(seed ^ 7)) } else { real };
            value.to_dtype(dtype).eval().unwrap()
        };
        let (a, b) = (random(&[batches, n, k], seed), random(&[k, m], seed ^ 1));
        let whole = a.matmul(&b).unwrap();
        prop_assert_eq!(bits(&laid_out(&a, left).matmul(laid_out(&b, right)).unwrap()), bits(&whole));
        // Alone, in any company, as a vector, and as the other factor.
        let (batch, row, column) = ((batches - 1) as isize, (n / 2) as isize, (m / 3) as isize);
        let one = |tensor: &Tensor, row: isize, column: isize| {
            bits(&tensor.narrow(-2, row, 1).unwrap().narrow(-1, column, 1).unwrap())
        };
        let own = a.select(0, batch).unwrap();
        let wanted = one(&whole.select(0, batch).unwrap(), row, column);
        prop_assert_eq!(&one(&own.matmul(&b).unwrap(), row, column), &wanted);
        let (vector, other) = (own.select(0, row).unwrap(), b.select(1, column).unwrap());
        prop_assert_eq!(&bits(&vector.matmul(&other).unwrap()), &wanted);
        prop_assert_eq!(&bits(&vector.matmul(&b).unwrap().narrow(0, column, 1).unwrap()), &wanted);
        prop_assert_eq!(&bits(&own.matmul(&other).unwrap().narrow(0, row, 1).unwrap()), &wanted);
        let turned = b.transpose(0, 1).unwrap().matmul(own.transpose(0, 1).unwrap()).unwrap();
        prop_assert_eq!(&one(&turned, column, row), &wanted);
    }
}

#[test]
fn a_product_that_would_take_hours_hears_that_it_is_to_stop() {
    let stretched = |dtype, shape: [isize; 2]| {
        Tensor::ones(&[1, 1]).unwrap().to_dtype(dtype).unwrap().expand(&shape).unwrap()
    };
    for dtype in [DType::F32, DType::C128, DType::BF16, DType::I16, DType::I64] {
        for (n, k, m) in [(1, 1 << 45, 1), (1, 1 << 40, 64), (64, 1 << 40, 1), (200, 1 << 36, 200)] {
            let (a, b) = (stretched(dtype, [n, k]), stretched(dtype, [k, m]));
            let stopped = interruptible(|| true, || a.matmul(&b));
            assert!(matches!(stopped, Err(Error::Interrupted)), "{dtype} {n} x {k} by {k} x {m}");
        }
    }
}
