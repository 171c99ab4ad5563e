//! Owns the oracle: arrays in row-major order and loops over indices. It knows nothing of strides, plans or
//! kernels.

#[derive(Debug, PartialEq)]
pub(crate) struct Array {
    pub(crate) shape: Vec<usize>,
    pub(crate) data: Vec<f64>,
}

/// All indices of a shape, in row-major order.
fn indices(shape: &[usize]) -> Vec<Vec<usize>> {
    shape.iter().fold(vec![Vec::new()], |all, &size| {
        all.iter().flat_map(|index| (0..size).map(move |i| [&index[..], &[i]].concat())).collect()
    })
}

impl Array {
    pub(crate) fn new(shape: &[usize], data: Vec<f64>) -> Array {
        assert_eq!(data.len(), shape.iter().product::<usize>());
        Array { shape: shape.to_vec(), data }
    }

    fn from_indices(shape: Vec<usize>, value: impl Fn(&[usize]) -> f64) -> Array {
        let data = indices(&shape).iter().map(|index| value(index)).collect();
        Array { shape, data }
    }

    fn at(&self, index: &[usize]) -> f64 {
        self.data[index.iter().zip(&self.shape).fold(0, |flat, (i, size)| flat * size + i)]
    }

    /// The element that stands at an index of the broadcast shape.
    fn stretched(&self, index: &[usize]) -> f64 {
        let own = &index[index.len() - self.shape.len()..];
        let own: Vec<usize> =
            own.iter().zip(&self.shape).map(|(&i, &size)| if size == 1 { 0 } else { i }).collect();
        self.at(&own)
    }

    pub(crate) fn map(&self, f: impl Fn(f64) -> f64) -> Array {
        Array::new(&self.shape, self.data.iter().map(|&x| f(x)).collect())
    }

    /// `None` where the shapes do not broadcast.
    pub(crate) fn zip(&self, other: &Array, f: impl Fn(f64, f64) -> f64) -> Option<Array> {
        let ndim = self.shape.len().max(other.shape.len());
        let size = |array: &Array, dim: usize| {
            (dim + array.shape.len()).checked_sub(ndim).map_or(1, |own| array.shape[own])
        };
        let shape = (0..ndim)
            .map(|dim| match (size(self, dim), size(other, dim)) {
                (a, b) if a == b || b == 1 => Some(a),
                (1, b) => Some(b),
                _ => None,
            })
            .collect::<Option<Vec<usize>>>()?;
        Some(Array::from_indices(shape, |index| f(self.stretched(index), other.stretched(index))))
    }

    /// Of an array without dimensions, the first and last are allowed, and do nothing.
    fn dim(&self, dim: isize) -> Option<usize> {
        if self.shape.is_empty() && matches!(dim, 0 | -1) {
            return Some(0);
        }
        let ndim = self.shape.len() as isize;
        let dim = if dim < 0 { dim + ndim } else { dim };
        (0..ndim).contains(&dim).then_some(dim as usize)
    }

    /// `None` where the dimension does not exist, or an extreme is sought among nothing.
    pub(crate) fn fold(
        &self,
        dim: isize,
        keep: bool,
        start: f64,
        f: impl Fn(f64, f64) -> f64,
    ) -> Option<Array> {
        let dim = self.dim(dim)?;
        if self.shape.is_empty() {
            return Some(self.map(|x| x));
        }
        if self.shape[dim] == 0 && start != 0.0 {
            return None;
        }
        let mut shape = self.shape.clone();
        shape[dim] = 1;
        let mut folded = Array::from_indices(shape, |index| {
            let row = (0..self.shape[dim]).map(|i| {
                let mut index = index.to_vec();
                index[dim] = i;
                self.at(&index)
            });
            row.fold(start, &f)
        });
        if !keep {
            folded.shape.remove(dim);
        }
        Some(folded)
    }

    pub(crate) fn flip(&self, dim: isize) -> Option<Array> {
        let dim = self.dim(dim)?;
        Some(Array::from_indices(self.shape.clone(), |index| {
            let mut index = index.to_vec();
            if let Some(i) = index.get_mut(dim) {
                *i = self.shape[dim] - 1 - *i;
            }
            self.at(&index)
        }))
    }

    pub(crate) fn swap(&self, a: usize, b: usize) -> Option<Array> {
        let mut shape = self.shape.clone();
        (a.max(b) < shape.len()).then(|| shape.swap(a, b))?;
        Some(Array::from_indices(shape, |index| {
            let mut index = index.to_vec();
            index.swap(a, b);
            self.at(&index)
        }))
    }
}
