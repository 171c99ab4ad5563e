//! Owns the oracle: a tensor as a plain list of storage indices, and each view as a mapping of multi-indices.
//! It deliberately knows no strides, so that it shares no idea with the code it judges.

use zerostride_shape::Layout;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Naive {
    pub(crate) shape: Vec<usize>,
    pub(crate) elements: Vec<isize>,
}

/// Every multi-index of `shape`, in row-major order.
pub(crate) fn indices(shape: &[usize]) -> Vec<Vec<usize>> {
    shape.iter().fold(vec![vec![]], |all, &size| {
        all.iter().flat_map(|index| (0..size).map(move |i| [&index[..], &[i]].concat())).collect()
    })
}

impl Naive {
    pub(crate) fn contiguous(shape: &[usize]) -> Naive {
        let numel: usize = shape.iter().product();
        Naive { shape: shape.to_vec(), elements: (0..numel as isize).collect() }
    }

    /// What a layout reaches, by the definition of strides.
    pub(crate) fn read(layout: &Layout) -> Naive {
        Naive {
            shape: layout.shape().to_vec(),
            elements: read(layout.shape(), layout.strides(), layout.offset()),
        }
    }

    pub(crate) fn at(&self, index: &[usize]) -> isize {
        assert_eq!(index.len(), self.shape.len());
        let place = index.iter().zip(&self.shape).fold(0, |place, (i, size)| {
            assert!(i < size);
            place * size + i
        });
        self.elements[place]
    }

    /// The view of shape `shape` whose element at an index is the one of `self` at the index that `source`
    /// tells.
    pub(crate) fn map(&self, shape: &[usize], source: impl Fn(&[usize]) -> Vec<usize>) -> Naive {
        let elements = indices(shape).iter().map(|index| self.at(&source(index))).collect();
        Naive { shape: shape.to_vec(), elements }
    }

    /// Replaces the size of one dimension, and reads it at the places that `source` tells.
    pub(crate) fn along(&self, dim: usize, places: &[usize]) -> Naive {
        let mut shape = self.shape.clone();
        shape[dim] = places.len();
        self.map(&shape, |index| {
            let mut index = index.to_vec();
            index[dim] = places[index[dim]];
            index
        })
    }

    pub(crate) fn permute(&self, dims: &[usize]) -> Naive {
        let shape: Vec<usize> = dims.iter().map(|&dim| self.shape[dim]).collect();
        self.map(&shape, |index| {
            let mut source = vec![0; index.len()];
            dims.iter().zip(index).for_each(|(&dim, &i)| source[dim] = i);
            source
        })
    }

    pub(crate) fn expand(&self, shape: &[usize]) -> Naive {
        let added = shape.len() - self.shape.len();
        self.map(shape, |index| {
            index[added..].iter().zip(&self.shape).map(|(&i, &size)| if size == 1 { 0 } else { i }).collect()
        })
    }

    pub(crate) fn reshape(&self, shape: &[usize]) -> Naive {
        Naive { shape: shape.to_vec(), elements: self.elements.clone() }
    }

    /// Whether some strides reach these elements: whether the steps along each dimension are all the same.
    pub(crate) fn is_strided(&self) -> bool {
        let Some(&first) = self.elements.first() else { return true };
        let step = |dim: usize| {
            let mut index = vec![0; self.shape.len()];
            index[dim] = 1;
            if self.shape[dim] > 1 { self.at(&index) - first } else { 0 }
        };
        let strides: Vec<isize> = (0..self.shape.len()).map(step).collect();
        self.elements == read(&self.shape, &strides, first)
    }
}

/// The elements that sizes, strides and an offset reach.
pub(crate) fn read(shape: &[usize], strides: &[isize], offset: isize) -> Vec<isize> {
    let reach = |index: &Vec<usize>| {
        index.iter().zip(strides).map(|(&i, &stride)| i as isize * stride).sum::<isize>()
    };
    indices(shape).iter().map(|index| offset + reach(index)).collect()
}
