//! Owns the oracle: arrays that are stretched by copying and combined by loops over indices. It shares no
//! code with the engine.

#[derive(Clone, Debug)]
pub(crate) struct Array {
    pub(crate) shape: Vec<usize>,
    pub(crate) data: Vec<i64>,
}

/// Every index of a shape, in row-major order.
fn indices(shape: &[usize]) -> Vec<Vec<usize>> {
    shape.iter().fold(vec![Vec::new()], |outer, &size| {
        outer.iter().flat_map(|index| (0..size).map(move |i| index.iter().copied().chain([i]).collect())).collect()
    })
}

impl Array {
    fn at(&self, index: &[usize]) -> i64 {
        self.data[index.iter().zip(&self.shape).fold(0, |position, (i, size)| position * size + i)]
    }

    /// The array of that shape whose elements come from indices of this one.
    fn gather(&self, shape: Vec<usize>, from: impl Fn(&[usize]) -> Vec<usize>) -> Array {
        let data = indices(&shape).iter().map(|index| self.at(&from(index))).collect();
        Array { shape, data }
    }

    pub(crate) fn map(&self, f: impl Fn(i64) -> i64) -> Array {
        Array { shape: self.shape.clone(), data: self.data.iter().map(|&value| f(value)).collect() }
    }

    /// The dimension, if it exists; a scalar accepts 0 and -1.
    pub(crate) fn wrap(&self, dim: isize) -> Option<usize> {
        let ndim = self.shape.len().max(1) as isize;
        (-ndim <= dim && dim < ndim).then(|| dim.rem_euclid(ndim) as usize)
    }

    pub(crate) fn reduce(&self, dim: isize, keep: bool, start: i64, f: fn(i64, i64) -> i64) -> Option<Array> {
        let dim = self.wrap(dim)?;
        if self.shape.is_empty() {
            return Some(self.map(|value| f(start, value)));
        }
        let mut shape = self.shape.clone();
        shape[dim] = 1;
        let fold = |index: &Vec<usize>| {
            (0..self.shape[dim]).fold(start, |result, i| {
                let mut at = index.clone();
                at[dim] = i;
                f(result, self.at(&at))
            })
        };
        let data = indices(&shape).iter().map(fold).collect();
        if !keep {
            shape.remove(dim);
        }
        Some(Array { shape, data })
    }

    pub(crate) fn unsqueeze(&self, dim: isize) -> Option<Array> {
        let ndim = self.shape.len() as isize + 1;
        if !(-ndim..ndim).contains(&dim) {
            return None;
        }
        let mut shape = self.shape.clone();
        shape.insert(dim.rem_euclid(ndim) as usize, 1);
        Some(Array { shape, data: self.data.clone() })
    }

    pub(crate) fn transpose(&self, dim0: isize, dim1: isize) -> Option<Array> {
        let (dim0, dim1) = (self.wrap(dim0)?, self.wrap(dim1)?);
        if self.shape.is_empty() {
            return Some(self.clone());
        }
        let mut shape = self.shape.clone();
        shape.swap(dim0, dim1);
        Some(self.gather(shape, |index| {
            let mut at = index.to_vec();
            at.swap(dim0, dim1);
            at
        }))
    }

    /// Python's `[start::step]` along a dimension.
    pub(crate) fn slice(&self, dim: isize, start: Option<isize>, step: isize) -> Option<Array> {
        if self.shape.is_empty() {
            return None;
        }
        let dim = self.wrap(dim)?;
        let size = self.shape[dim] as isize;
        let (low, high) = if step > 0 { (0, size) } else { (-1, size - 1) };
        let start = match start {
            None if step > 0 => 0,
            None => size - 1,
            Some(start) if start < 0 => (start + size).clamp(low, high),
            Some(start) => start.clamp(low, high),
        };
        let picked: Vec<usize> = std::iter::successors(Some(start), |i| Some(i + step))
            .take_while(|i| (0..size).contains(i))
            .map(|i| i as usize)
            .collect();
        let mut shape = self.shape.clone();
        shape[dim] = picked.len();
        Some(self.gather(shape, |index| {
            let mut at = index.to_vec();
            at[dim] = picked[at[dim]];
            at
        }))
    }

    pub(crate) fn ravel(&self) -> Array {
        Array { shape: vec![self.data.len()], data: self.data.clone() }
    }
}

/// The array copied to a shape that it broadcasts to.
pub(crate) fn stretch(a: &Array, shape: &[usize]) -> Option<Array> {
    let added = shape.len().checked_sub(a.shape.len())?;
    let fits = a.shape.iter().zip(&shape[added..]).all(|(&own, &size)| own == size || own == 1);
    fits.then(|| {
        a.gather(shape.to_vec(), |index| {
            index[added..].iter().zip(&a.shape).map(|(&i, &own)| if own == 1 { 0 } else { i }).collect()
        })
    })
}

/// Two arrays combined element by element after stretching both.
pub(crate) fn zip(a: &Array, b: &Array, f: fn(i64, i64) -> i64) -> Option<Array> {
    let ndim = a.shape.len().max(b.shape.len());
    let padded = |shape: &[usize]| -> Vec<usize> {
        std::iter::repeat_n(1, ndim - shape.len()).chain(shape.iter().copied()).collect()
    };
    let shape: Vec<usize> = padded(&a.shape)
        .into_iter()
        .zip(padded(&b.shape))
        .map(|pair| match pair {
            (1, size) | (size, 1) => Some(size),
            (x, y) => (x == y).then_some(x),
        })
        .collect::<Option<_>>()?;
    let (a, b) = (stretch(a, &shape)?, stretch(b, &shape)?);
    Some(Array { data: a.data.iter().zip(&b.data).map(|(&x, &y)| f(x, y)).collect(), shape })
}
